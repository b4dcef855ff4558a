package local

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// announce writes the first line of the host: its agents and its address. An empty address
// is standard input. Requests wait until the host serves, a moment later.
func announce(log *slog.Logger, s settings.Settings, parts agent.Parts, triggers []string) {
	url := "stdin"
	if s.Addr != "" {
		url = "http://" + s.Addr
	}
	attributes := []any{"url", url}
	if s.Addr != "" && s.ShowsPage(true) {
		attributes = append(attributes, "page", url+"/")
	}
	attributes = append(attributes, "agents", agents(s, parts), "data", s.Data)
	if len(triggers) > 0 {
		attributes = append(attributes, "triggers", strings.Join(triggers, ", "))
	}
	log.Info("listening", attributes...)
}

// warnOfKeys warns about variables that look like keys of providers under other names. It
// does so if the scripted model runs because no provider has a key.
func warnOfKeys(log *slog.Logger, s settings.Settings) {
	if len(s.Misnamed) == 0 || len(s.Providers) > 0 || s.Model != "" {
		return
	}
	var found, want []string
	for _, name := range slices.Sorted(maps.Keys(s.Misnamed)) {
		found, want = append(found, name), append(want, s.Misnamed[name])
	}
	log.Warn("no provider key is set, the model is scripted", "found", strings.Join(found, ", "), "did_you_mean", strings.Join(want, ", "))
}

// warnOfProxy warns about a proxy that requests to providers do not use.
func warnOfProxy(log *slog.Logger, s settings.Settings, getenv func(string) string) {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy"} {
		if getenv(name) != "" && !s.Proxy {
			log.Warn("requests to providers do not use the proxy", "found", name, "to_use_it", "set REVEILLE_EGRESS_PROXY=on")
			return
		}
	}
}

// agents lists the agents with their models: those of one model together, sorted.
func agents(s settings.Settings, parts agent.Parts) string {
	on := map[string][]string{} // agents by the name of their model
	for _, spec := range parts.Specs {
		name := modelName(s, parts, spec.Model)
		on[name] = append(on[name], spec.ID)
	}
	var all []string
	for name, ids := range on {
		slices.Sort(ids)
		all = append(all, strings.Join(ids, ", ")+" on "+name)
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

// modelName returns PROVIDER/NAME of the model that a spec names, or the id of its pool.
func modelName(s settings.Settings, parts agent.Parts, id string) string {
	for _, m := range parts.ModelSpecs {
		if m.ID == id {
			return m.Provider + "/" + m.UpstreamModel
		}
	}
	binding, bound := parts.Models[id]
	name := cmp.Or(binding.Name, id)
	switch {
	case !bound:
		return "pool " + id
	case binding.Provider == scripted && s.Model == "" && !slices.ContainsFunc(s.Providers, settings.Provider.Said):
		return scripted + " (no key set)"
	case binding.Provider == scripted || binding.Provider == "":
		return name
	}
	return binding.Provider + "/" + name
}

// scripted is the provider of the model that needs no key.
const scripted = "scripted"

// stopping returns the last line of the host, with the runs and requests that it waits for.
func stopping(runs, requests int) string {
	if runs == 0 && requests == 0 {
		return "stopping"
	}
	return fmt.Sprintf("stopping: %s active, %s open; a second signal ends the host immediately", count(runs, "run"), count(requests, "request"))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
