package run_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
)

// A request that is cut since its provider refuses it begins otherwise, and that is told
// before it is asked again.
func TestARequestThatIsCutIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		m := modelFunc(func(ctx context.Context, r model.Request) iterator {
			if n++; n == 4 {
				return func(yield func(model.Delta, error) bool) {
					yield(model.Delta{}, &model.Error{Kind: model.KindOverflow})
				}
			}
			return replies(text("ok"))(ctx, model.Request{})
		})
		w := newWorld(t, options{agents: bound(t, m, 12_000, agent.Spec{}, nil)})
		stream := &openings{}
		for range 4 {
			*stream = nil
			w.submit(t, key, strings.Repeat("x", 4000), mailbox.ModeQueue)
			w.stepTo(t, key, stream.sink)
		}
		want := []string{"run_start", "step_start", "inference_retry", "prefix_changed cut 0 0 0", "text_delta"}
		if diff := cmp.Diff(want, []string(*stream)); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	})
}
