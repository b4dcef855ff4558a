package host_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// The write of a step is applied without a response, and another process cancels the run
// meanwhile. What the write has stored is in the stream all the same, before the end of the run.
func TestAStreamHasWhatAWriteWithoutAResponseHasStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		faulty := &storetest.Faulty{Backend: r.store}
		counts := func(c *host.Options) {
			c.Agents.Plugins, c.Agents.Specs[0].Plugins = []plugin.Plugin{countBoth{}}, []string{"count"}
		}
		streams, other := r.process("w", faulty, counts), r.process("other", r.store, counts)
		var cancelled error
		faulty.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			outcome, err := r.store.Commit(ctx, key, c)
			if c.Head.Run.Step != 1 || c.Head.Run.Calls != nil { // the round is open
				return outcome, err
			}
			faulty.OnCommit = nil
			cancelled = other.CancelRun(t.Context(), local, c.Head.Run.ID)
			<-ctx.Done()
			return store.Outcome{}, ctx.Err()
		}
		var got []string
		_, err := streams.Play(t.Context(), submission("t1", "echo: hi"), host.ListenerFunc(func(e core.Event) error {
			text := string(e.Type)
			switch {
			case e.Termination != nil:
				text += " " + string(e.Termination.Type)
			case e.Snapshot != nil:
				text += " " + string(e.Snapshot)
			case e.Patch != nil:
				text += " " + string(e.Patch)
			}
			got = append(got, text)
			return nil
		}), nil)
		if err != nil || cancelled != nil {
			t.Fatal(err, cancelled)
		}
		want := []string{
			"run_start", "step_start", "tool_call_start", "tool_call_delta", "tool_call_delta", "tool_call_ready", "inference_complete",
			`state_delta [{"op":"add","path":"/thread/runs","value":1}]`, "tool_call_done",
			"step_restarted", `state_snapshot {"thread":{},"run":{}}`,
			"step_start", "tool_call_start", "tool_call_delta", "tool_call_ready", "inference_complete",
			`state_delta [{"op":"add","path":"/thread/runs","value":1}]`, "tool_call_done",
			`state_delta [{"op":"add","path":"/run/steps","value":1}]`, `state_snapshot {"thread":{"runs":1},"run":{"steps":1}}`,
			"step_end", "run_finish cancelled",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}
