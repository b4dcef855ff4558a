package local

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// announce writes the host's first line: what runs here, and where; at "" it is
// standard input. Requests are served from a moment later on; until then they wait.
func announce(log *slog.Logger, s settings.Settings, parts agent.Parts, triggers []string) {
	url := "stdin"
	if s.Addr != "" {
		url = "http://" + s.Addr
	}
	attributes := []any{"url", url}
	if s.Addr != "" && s.ShowsPage(true) {
		attributes = append(attributes, "page", url+"/")
	}
	attributes = append(attributes, "agents", agents(parts), "data", s.Data)
	if len(triggers) > 0 {
		attributes = append(attributes, "triggers", strings.Join(triggers, ", "))
	}
	log.Info("listening", attributes...)
}

// agents lists the agents with the models that they call.
func agents(parts agent.Parts) string {
	var all []string
	for _, spec := range parts.Specs {
		name := parts.Models[spec.Model].Name
		if name == "" { // data, or bound under its own name
			name = spec.Model
		}
		all = append(all, fmt.Sprintf("%s (model %s)", spec.ID, name))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// stopping says what a host that was told to end waits for.
func stopping(runs, requests int) string {
	if runs == 0 && requests == 0 {
		return "stopping"
	}
	return fmt.Sprintf("stopping: %s under way, %s open; a second signal ends the host at once", count(runs, "run"), count(requests, "request"))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
