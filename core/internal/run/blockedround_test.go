package run_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

// A claim that takes over a round which is blocked says of a sibling what it can know: one
// that a claim before it may have let through may have run, unless the gate that blocks now
// did so then, before any call was started.
func TestWhatIsSaidOfASiblingOfABlockedCall(t *testing.T) {
	const not = "not_executed: not executed: an earlier call was blocked"
	const may = "unknown: outcome unknown: the tool may have run before it was stopped (not executed: an earlier call was blocked)"
	const blocked = "blocked: blocked: no more"
	tests := []struct {
		name   string
		asks   bool                     // the first call's gate at first
		before func(*testing.T, *world) // while the claim stands whose process dies
		behind func(*testing.T, *world) // when it is gone
		want   []string
	}{
		{"its gate says so now, and asked before", true, nil, func(t *testing.T, w *world) { w.mustDecide(t, 0, approve) }, []string{blocked + " after about-gate0", may, may}},
		{"the decision came while the siblings ran", true, func(t *testing.T, w *world) { w.mustDecide(t, 0, approve) }, nil, []string{blocked + " after about-gate0", may, may}},
		{"its gate says so now, and is not bound to", false, nil, nil, []string{blocked, not, not}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gone := false
				w := newWorld(t, options{
					mode: agent.ParallelStreaming, model: replies(calls("deaf", "{}", "deaf", "{}", "deaf", "{}")), tools: []tool.Tool{deaf(false, 9*time.Second)},
					plugins: []plugin.Plugin{gates(func(c plugin.GateCall) (v plugin.Verdict, err error) {
						switch {
						case c.CallIndex > 0:
						case gone:
							v = plugin.Block("no more")
						case tt.asks:
							v = suspends("gate0")
						}
						return v, nil
					})},
				})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				time.AfterFunc(1500*time.Millisecond, func() { // before the watch looks
					if tt.before != nil {
						tt.before(t, w)
					}
					w.store.dead.Store(true)
				})
				w.die(t)
				if gone = true; tt.behind != nil {
					tt.behind(t, w)
				}
				w.finish(t, key, nil)
				if diff := cmp.Diff(tt.want, w.results(t)); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
				if got := w.end(t, key, receipt); got != `done 1 {"type":"blocked","detail":"no more"} ""` {
					t.Errorf("the run is %s", got)
				}
			})
		})
	}
}

// A call before the one that blocks the run, whose process died in it, runs again; those
// behind it do not begin.
func TestACallBeforeABlockRunsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran []int
		died := false
		w := newWorld(t, options{
			mode: agent.ParallelStreaming, model: replies(calls("work", "{}", "echo", `{"text":"b"}`, "work", "{}")), plugins: []plugin.Plugin{gates(blockB)},
			tools: []tool.Tool{toolFunc{name: "work", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
				ran = append(ran, c.Index)
				if !died {
					time.Sleep(9 * time.Second)
				}
				return tool.NewResult("worked"), nil
			}}},
		})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		time.AfterFunc(3*time.Second, func() { w.store.dead.Store(true) })
		w.die(t)
		died = true
		w.finish(t, key, nil)
		want := []string{`ok: "worked"`, "blocked: blocked: not b", "not_executed: not executed: an earlier call was blocked"}
		if diff := cmp.Diff(want, w.results(t)); diff != "" || !slices.Equal(ran, []int{0, 0}) {
			t.Errorf("calls %v ran; results (-want +got):\n%s", ran, diff)
		}
		if got := w.end(t, key, receipt); got != `done 1 {"type":"blocked","detail":"not b"} ""` {
			t.Errorf("the run is %s", got)
		}
	})
}

// A call for which the head had no place is asked again when a write has freed one, also while
// siblings run, and not before.
func TestACallGetsThePlaceOfOneThatIsDone(t *testing.T) {
	const s = "suspended "
	tests := []struct {
		decided []int
		want    string // behind the write
		asked   int    // how often the call that had no place
	}{
		{[]int{3}, "running [" + s + s + s + "done " + s + s + s + s + "new suspended new]{1024 1024}", 1},
		{[]int{0, 7}, "running [done " + s + s + s + s + s + s + "done suspended suspended new]{1024 1024}", 2},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint("calls ", tt.decided), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var turn []string
				for range 9 {
					turn = append(turn, "ask", "{}")
				}
				asked := make([]int, 11)
				w := newWorld(t, options{
					mode: agent.ParallelStreaming, model: replies(calls(append(turn, "late", "{}", "sleeps", `"30s"`)...), text("ok")),
					tools: []tool.Tool{
						sleeps, toolFunc{name: "ask", run: func(context.Context, tool.Call) (tool.Result, error) { return tool.NewResult("asked"), nil }},
						toolFunc{name: "late", run: func(context.Context, tool.Call) (tool.Result, error) {
							time.Sleep(10 * time.Second)
							return tool.Suspended(core.TicketRequest{}), nil
						}},
					},
					plugins: []plugin.Plugin{gates(func(c plugin.GateCall) (v plugin.Verdict, err error) {
						if asked[c.CallIndex]++; c.Call.Name == "ask" {
							v = suspends(fmt.Sprint("gate", c.CallIndex))
						}
						return v, nil
					})},
				})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				var stood []string
				told := 0
				var mu sync.Mutex // timers have goroutines of their own
				stands := func() {
					mu.Lock()
					defer mu.Unlock()
					stood = append(stood, fmt.Sprint(w.stands(t), w.head(t, key).Run.Through))
				}
				time.AfterFunc(12*time.Second, stands)
				time.AfterFunc(5*time.Second, func() {
					stands()
					for _, i := range tt.decided {
						w.mustDecide(t, i, approve)
					}
				})
				if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key)}, func(e core.Event) error {
					if e.Type == core.EventToolCallSuspended {
						told++
					}
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				mu.Lock()
				defer mu.Unlock()
				crowded := "running [" + strings.Repeat(s, 8) + "new new new]{0 0}"
				if diff := cmp.Diff([]string{crowded, tt.want}, stood); diff != "" {
					t.Errorf("the round (-want +got):\n%s", diff)
				}
				want := []int{1, 1, 1, 1, 1, 1, 1, 1, tt.asked, 1, 1}
				for _, i := range tt.decided {
					want[i]++
				}
				if diff := cmp.Diff(want, asked); diff != "" || told != 8+tt.asked {
					t.Errorf("%d tickets were told; gates were asked (-want +got):\n%s", told, diff)
				}
			})
		})
	}
}

// A call for which the head had no place is asked again when the step that ended another call
// ends, although nothing that was decided is left to do.
func TestACallGetsThePlaceOfOneThatTheStepHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turn []string
		for range 9 {
			turn = append(turn, "echo", `{"text":"b"}`)
		}
		w := newWorld(t, options{
			mode: agent.ParallelStreaming, model: replies(calls(append(turn, "sleeps", `"10s"`)...), text("ok")), tools: []tool.Tool{sleeps},
			plugins: []plugin.Plugin{gates(func(c plugin.GateCall) (v plugin.Verdict, err error) {
				if c.Call.Name == "echo" {
					v = suspends(fmt.Sprint("gate", c.CallIndex))
				}
				return v, nil
			})},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		time.AfterFunc(5*time.Second, func() { w.mustDecide(t, 0, approve) })
		w.finish(t, key, nil)
		const s = "suspended "
		if want, got := "waiting [done "+s+s+s+s+s+s+s+"suspended done]", w.stands(t); got != want {
			t.Errorf("the round is %s, want %s", got, want)
		}
	})
}
