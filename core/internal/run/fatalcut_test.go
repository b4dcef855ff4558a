package run_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/tool"
)

// A tool that gives up with an error that is to end the run, because the step's time is over,
// ends nothing: the next claim runs it again.
func TestAToolThatIsCutShortEndsNoRun(t *testing.T) {
	for _, mode := range []agent.ExecutionMode{agent.Sequential, agent.ParallelStreaming} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran := 0
				works := toolFunc{name: "works", run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
					if ran++; ran > 1 {
						return tool.NewResult("done"), nil
					}
					<-ctx.Done()
					return tool.Result{}, tool.Fatal(ctx.Err())
				}}
				w := newWorld(t, options{mode: mode, model: replies(calls("works", "{}"), text("ok")), tools: []tool.Tool{works}})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				stepped, err := w.cut(t, 5*time.Second, false)
				if err != nil || !stepped.Retry {
					t.Fatalf("the step is %+v, %v; want it given back", stepped, err)
				}
				w.finish(t, key, nil)
				want := []string{`ok: "done"`, `done 2 {"type":"natural_end"} "ok"`}
				if diff := cmp.Diff(want, append(w.results(t), w.end(t, key, receipt))); diff != "" || ran != 2 {
					t.Errorf("after %d runs of the tool, results and end (-want +got):\n%s", ran, diff)
				}
			})
		})
	}
}
