package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/stateerror"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// count is a state key; counting is the plugin that registers it.
var count = state.Key[int, int]{Name: "count", Scope: state.ScopeThread, Apply: func(n, more int) int { return n + more }}

type counting struct{}

func (counting) ID() string { return "counting" }

func (counting) Register(r *plugin.Registrar) error {
	r.Key(count)
	return nil
}

// withTool adds a tool t to the demo agent.
func withTool(t *testing.T, change func(*agent.Spec), run func(tool.Call) (tool.Result, error)) *world {
	t.Helper()
	added := tool.New(tool.Spec{Name: "t"}, func(_ context.Context, c tool.Call, _ struct{}) (tool.Result, error) { return run(c) })
	return newWorld(t, func(c *host.Options) {
		c.Agents.Tools, c.Agents.Plugins = append(c.Agents.Tools, added), []plugin.Plugin{counting{}}
		c.Agents.Specs = append(c.Agents.Specs, agent.Spec{ID: "other", Model: c.Agents.Specs[0].Model, Plugins: []string{"counting"}})
		change(&c.Agents.Specs[0])
	})
}

func TestAToolReadsTheStateKeysOfItsAgentOnly(t *testing.T) {
	tests := []struct {
		name    string
		plugins []string
		want    string
	}{
		{"registered", []string{"counting"}, "0 <nil> false"},
		{"not registered", nil, `0 reading state: unknown state key "count" true`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got string
			w := withTool(t, func(s *agent.Spec) { s.Plugins = tt.plugins }, func(c tool.Call) (tool.Result, error) {
				n, err := count.Read(c.Snapshot)
				got = fmt.Sprint(n, err, errors.Is(err, stateerror.ErrUnknownKey))
				return tool.NewResult("read"), nil
			})
			if _, err := w.Submit(t.Context(), submission("t1", "call: t")); err != nil {
				t.Fatal(err)
			}
			w.drain(t)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What went wrong in making a command costs the call its result, and nothing of the
// command is applied: the next call reads the count as it was.
func TestACommandsErrorIsTheCallsResult(t *testing.T) {
	calls := 0
	w := withTool(t, func(s *agent.Spec) { s.Plugins = []string{"counting"} }, func(c tool.Call) (tool.Result, error) {
		calls++
		n, err := count.Read(c.Snapshot)
		result := tool.NewResult(fmt.Sprintf("read %d", n))
		result.Command = count.Update(1)
		if calls == 1 {
			result.Command.Append(state.Command{Err: errors.New("no number")})
		}
		return result, err
	})
	for _, text := range []string{"call: t", "call: t", "call: t"} {
		if _, err := w.Submit(t.Context(), submission("t1", text)); err != nil {
			t.Fatal(err)
		}
		w.drain(t)
	}
	var got []string
	for _, line := range w.transcript(t, "t1") {
		if rest, ok := strings.CutPrefix(line, "tool: "); ok {
			got = append(got, rest)
		}
	}
	if diff := cmp.Diff([]string{"execution failed: no number", `"read 0"`, `"read 1"`}, got); diff != "" {
		t.Error(diff)
	}
}
