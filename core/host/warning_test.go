package host_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core/host"
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
