package run_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
)

// A transform that fails since its step is stopped ends no run, and one that succeeds all the
// same is no reason to stop.
func TestATransformOfAStepThatIsStopped(t *testing.T) {
	for _, fails := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			m := &heard{says: [][]model.Delta{text("ok")}}
			tries := 0
			w := newWorld(t, options{agents: demo(t, m, agent.Spec{}, pluginFunc{"slow", func(r *plugin.Registrar) {
				r.Transform(func(ctx context.Context, _ plugin.BeforeInference, _ *model.Request) error {
					if tries++; tries > 1 {
						return nil
					}
					<-ctx.Done()
					if fails {
						return ctx.Err()
					}
					return nil
				})
			}})})
			receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
			stepped, err := w.cut(t, time.Minute, false)
			asked := map[bool]int{true: 0, false: 1}[fails]
			if err != nil || !stepped.Retry || len(m.requests) != asked {
				t.Errorf("fails %v: the step is %+v, %v, behind %d requests; want it given back", fails, stepped, err, len(m.requests))
			}
			w.finish(t, key, nil)
			if got := w.end(t, key, receipt); got != `done 1 {"type":"natural_end"} "ok"` || tries != 2 {
				t.Errorf("fails %v: after %d tries the run is %s", fails, tries, got)
			}
		})
	}
}
