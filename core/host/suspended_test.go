package host_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/plugin"
)

// asking is a plugin whose gate lets the call of echo with the text b wait.
type asking struct{}

func (asking) ID() string { return "asking" }

func (asking) Register(r *plugin.Registrar) error {
	r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
		if string(c.Call.Arguments) != `{"text":"b"}` {
			return plugin.Allow, nil
		}
		return plugin.Suspend(core.TicketRequest{Action: "tool:Permission"}), nil
	})
	return nil
}

// The stream of a run that comes to wait ends with what it waits for. Nothing that
// was shown is void: the step goes on with the decision. A ticket comes before a
// sibling's result when that still runs, else a new call waits behind it.
func TestStreamOfARunThatWaits(t *testing.T) {
	turn := []string{
		"run_start", "step_start",
		"tool_call_start echo", `tool_call_delta {"text`, `tool_call_delta ":"b"}`,
		"tool_call_start echo", `tool_call_delta {"text`, `tool_call_delta ":"a"}`,
		`tool_call_ready echo {"text":"b"}`, `tool_call_ready echo {"text":"a"}`, "inference_complete",
		"tool_call_suspended echo",
	}
	sequential := func(*host.Options) {}
	tests := []struct {
		name string
		mode func(*host.Options)
		want []string
	}{
		{"sequential", sequential, []string{`run_finish {"type":"suspended"}`}},
		{"parallel", parallel, []string{`tool_call_done echo {"text":"a"}`, `run_finish {"type":"suspended"}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				process := r.process("w", r.store, tt.mode, func(c *host.Options) {
					c.Agents.Plugins, c.Agents.Specs[0].Plugins = []plugin.Plugin{asking{}}, []string{"asking"}
				})
				s := submission("t1", "parallel: b, a")
				var got events
				if _, err := process.Stream(t.Context(), s, host.ListenerFunc(got.sink)); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(slices.Concat(turn, tt.want), got.lines); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
				if head := r.head(s.Thread); head.Run.Status != thread.Waiting || head.Claim.Fence != 0 {
					t.Errorf("the run is %s under claim %+v, want it to wait without one", head.Run.Status, head.Claim)
				}
			})
		})
	}
}
