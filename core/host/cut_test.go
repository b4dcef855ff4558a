package host_test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/model"
)

// cut is a model whose first calls break off behind so many deltas each.
type cut struct {
	model.Model
	behind  []int
	failure *model.Error
	calls   *int
}

func (c cut) Stream(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	n := *c.calls
	*c.calls++
	if n >= len(c.behind) {
		return c.Model.Stream(ctx, request)
	}
	return func(yield func(model.Delta, error) bool) {
		left := c.behind[n]
		for d, err := range c.Model.Stream(ctx, request) {
			if left--; left < 0 {
				yield(model.Delta{}, c.failure)
				return
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// Who listens is shown each byte once, as long as the pause is short; behind a
// long one the step is announced as lost and begins anew.
func TestAStreamThatItsModelCuts(t *testing.T) {
	tests := []struct {
		name   string
		failed model.Error
		took   time.Duration
		want   []string
	}{
		{
			name: "a short pause", failed: model.Error{Kind: model.KindInterrupted, Message: "cut"},
			took: 700*time.Millisecond + 2*427387904, // five words and the two that were cut; 1<<62 ns modulo 500 ms and modulo 1 s
			want: []string{
				"run_start", "step_start", "text_delta w1", "text_delta  w2", "inference_retry", "text_delta  w3", "inference_retry",
				"text_delta  w4", "text_delta  w5", "inference_complete", "step_end", `run_finish {"type":"natural_end"}`,
			},
		},
		{
			name: "a long pause", failed: model.Error{Kind: model.KindRateLimited, Message: "later", RetryAfter: 4 * time.Second},
			want: []string{
				"run_start", "step_start", "text_delta w1", "text_delta  w2", "inference_retry", "step_restarted",
				"step_start", "text_delta w1", "inference_retry?", "step_restarted",
				"step_start", "text_delta w1", "text_delta  w2", "text_delta  w3", "text_delta  w4", "text_delta  w5", "inference_complete", "step_end", `run_finish {"type":"natural_end"}`,
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				calls := 0
				process := r.process("w", r.store, func(c *host.Options) {
					c.Agents.Models["m"] = binding(cut{c.Agents.Models["m"].Model, []int{2, 1}, &tt.failed, &calls})
				})
				s := submission("t1", "slow: 5")
				ctx, stop := context.WithCancel(t.Context())
				worked := make(chan struct{})
				defer func() {
					stop()
					<-worked
				}()
				go func() { // the queue
					defer close(worked)
					for ctx.Err() == nil {
						if hint, ok := r.queue.Receive(); ok {
							if err := process.WorkLocal(ctx, hint); err != nil && ctx.Err() == nil {
								t.Error(err)
							}
						}
						time.Sleep(r.untilNext())
					}
				}()
				began := time.Now()
				var got events
				receipt, err := process.Stream(t.Context(), s, host.ListenerFunc(got.sink))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(asSeen(tt.want, got.lines), got.lines); diff != "" {
					t.Errorf("stream (-want +got):\n%s", diff)
				}
				if took := time.Since(began); tt.took != 0 && took != tt.took {
					t.Errorf("the stream takes %s, want %s", took, tt.took)
				}
				record, err := process.ReadRun(t.Context(), local, receipt.RunID)
				if err != nil || record.Response != "w1 w2 w3 w4 w5" || calls != 3 {
					t.Errorf("after %d calls the run is %+v, %v; want 3 and five words", calls, record, err)
				}
			})
		})
	}
}

// asSeen is want without the events that end with a question mark and are not at their
// place in got: who reads them late, behind another event of the same step, is not told.
func asSeen(want, got []string) []string {
	var seen []string
	for _, line := range want {
		sure, perhaps := strings.CutSuffix(line, "?")
		if at := len(seen); !perhaps || at < len(got) && got[at] == sure {
			seen = append(seen, sure)
		}
	}
	return seen
}
