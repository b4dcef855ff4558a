package host_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/model/catalog"
)

func TestWhatHasNoEffectInASpecIsLogged(t *testing.T) {
	var log bytes.Buffer
	newWorld(t, func(c *host.Options) {
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c.Agents.Specs[0].ExcludedToolPatterns = []string{"mcp:*"}
	})
	want := `level=WARN msg="agent spec: \"mcp:*\" matches no tool" agent=demo field=excluded_tool_patterns[0]`
	if !strings.Contains(log.String(), want) {
		t.Errorf("the log is\n%s\nwant %s in it", log.String(), want)
	}
}

// The end of a model is logged from 60 days before on.
func TestARetiredModelIsLogged(t *testing.T) {
	in := func(days int) string { return time.Now().UTC().AddDate(0, 0, days).Format(time.DateOnly) }
	for retired, want := range map[string]bool{"2026-01-01": true, in(60): true, in(62): false} {
		known, err := new(catalog.Catalog).With([]byte(`{"models":[{"provider":"openai","names":["o-1"],"context_window":100000,"retired":"` + retired + `","successor":"o-9"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		newWorld(t, func(c *host.Options) {
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
			c.Agents.Catalog = known
			for id, m := range c.Agents.Models {
				m.Provider, m.Name = "openai", "o-1"
				c.Agents.Models[id] = m
			}
		})
		line := "retires on " + retired + ": use openai/o-9 instead"
		if got := strings.Contains(log.String(), line); got != want {
			t.Errorf("retired on %s: logged %v, want %v:\n%s", retired, got, want, log.String())
		}
	}
}
