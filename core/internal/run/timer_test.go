package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

// naps is a tool that waits as asked, and then says who has woken it, and after how long.
func naps(asked func(time.Time) core.TicketRequest) toolFunc {
	var began time.Time
	return toolFunc{name: "naps", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
		if c.Resume == nil {
			began = time.Now()
			return tool.Suspended(asked(began)), nil
		}
		by := "a person"
		if c.Resume.Decision.Woken() {
			by = "the clock"
		}
		return tool.NewResult(fmt.Sprintf("woken by %s after %s", by, time.Since(began).Round(time.Second))), nil
	}}
}

func TestACallThatWakes(t *testing.T) {
	in := func(d time.Duration, more func(*core.TicketRequest)) func(time.Time) core.TicketRequest {
		return func(now time.Time) core.TicketRequest {
			r := core.TicketRequest{Kind: core.TicketTimer, WakeAt: now.Add(d)}
			if more != nil {
				more(&r)
			}
			return r
		}
	}
	say := func(t *testing.T, w *world) { w.submit(t, key, "hello", mailbox.ModeSteer) }
	tests := []struct {
		name  string
		asked func(time.Time) core.TicketRequest
		act   func(t *testing.T, w *world) // after a minute
		want  []string
	}{
		{"nobody is earlier", in(time.Hour, nil), nil, []string{`ok: "woken by the clock after 1h0m0s"`}},
		{"the longest time", in(366*24*time.Hour, nil), nil, []string{`ok: "woken by the clock after 8784h0m0s"`}},
		{"a millisecond more", in(366*24*time.Hour+time.Millisecond, nil), nil, []string{"error: execution failed: it waits until 2001-01-01T00:00:00Z, at most 366 days are allowed"}},
		{"a time that has passed", in(-time.Hour, nil), nil, []string{`ok: "woken by the clock after 0s"`}},
		{"the decision is the result", in(time.Hour, func(r *core.TicketRequest) { r.Mode = core.ResumeAsResult }), nil, []string{`set: {"woken":"time"}`}},
		{"a person wakes it", in(time.Hour, nil), func(t *testing.T, w *world) { w.mustDecide(t, 0, approve) }, []string{`ok: "woken by a person after 1m0s"`}},
		{"a person cancels it", in(time.Hour, nil), func(t *testing.T, w *world) { w.mustDecide(t, 0, cancels) }, []string{"cancelled: cancelled: too late"}},
		{"a person says something", in(time.Hour, nil), say, []string{"cancelled: cancelled: the user went on without deciding"}},
		{"a person says something, and it is kept", in(time.Hour, func(r *core.TicketRequest) { r.Keep = true }), say, []string{`ok: "woken by the clock after 1h0m0s"`}},
		{"a question that wakes", in(time.Hour, func(r *core.TicketRequest) { r.Kind = core.TicketPerson }), nil, []string{`ok: "woken by the clock after 1h0m0s"`}},
		{"a question that wakes is answered", in(time.Hour, func(r *core.TicketRequest) { r.Kind = core.TicketPerson }), func(t *testing.T, w *world) { w.mustDecide(t, 0, deny) }, []string{"denied: denied: not today"}},
		{"a timer without a time", func(time.Time) core.TicketRequest { return core.TicketRequest{Kind: core.TicketTimer} }, nil, []string{"error: execution failed: a suspension of kind timer needs a WakeAt"}},
	}
	for _, mode := range allModes {
		for _, tt := range tests {
			t.Run(tt.name+", "+string(mode), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, options{mode: mode, model: replies(calls("naps", "{}"), text("ok"), text("ok")), tools: []tool.Tool{naps(tt.asked)}})
					w.submit(t, key, "hi", mailbox.ModeQueue)
					w.step(t, key)
					if tt.act != nil {
						time.Sleep(time.Minute)
						tt.act(t, w)
					}
					w.finish(t, key, nil)
					if diff := cmp.Diff(tt.want, undecided(w.results(t))); diff != "" {
						t.Errorf("results (-want +got):\n%s", diff)
					}
				})
			})
		}
	}
}

// undecided are results without the decisions that they follow.
func undecided(results []string) (all []string) {
	for _, r := range results {
		r, _, _ = strings.Cut(r, " after wake-")
		r, _, _ = strings.Cut(r, " after about-")
		all = append(all, r)
	}
	return all
}

// A gate asks a person; no time answers for that person.
func TestAGateCannotAskForATimeToWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{plugins: []plugin.Plugin{gates(func(plugin.GateCall) (plugin.Verdict, error) {
			return plugin.Suspend(core.TicketRequest{WakeAt: time.Now().Add(time.Hour)}), nil
		})}})
		w.submit(t, key, "echo: a", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if diff := cmp.Diff([]string{"error: execution failed: a gate has asked for a time to wake, which only a tool may"}, w.results(t)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	})
}

// Where a round waits for all decisions, the clock decides its own call in a write of its own.
func TestATimerBesideAQuestion(t *testing.T) {
	tests := []struct {
		mode  agent.ExecutionMode
		after thread.CallStatus // an hour later: the clock has decided its call, and no person the other one
		fence uint64
	}{
		{agent.ParallelStreaming, thread.CallDone, 2},
		{agent.ParallelBatchApproval, thread.CallResuming, 1},
	}
	for _, tt := range tests {
		t.Run(string(tt.mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				timer := naps(func(now time.Time) core.TicketRequest {
					return core.TicketRequest{Kind: core.TicketTimer, WakeAt: now.Add(time.Hour)}
				})
				w := newWorld(t, options{
					mode: tt.mode, model: replies(calls("naps", "{}", "echo", `{"text":"b"}`), text("ok")), tools: []tool.Tool{timer}, plugins: []plugin.Plugin{asking("echo")},
				})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				head := w.head(t, key)
				if head.Run.Calls[0] != tt.after || head.Fence != tt.fence {
					t.Errorf("the call is %s after claim %d, want %s after %d", head.Run.Calls[0], head.Fence, tt.after, tt.fence)
				}
				tickets, err := w.box.Tickets(t.Context(), key, head)
				if err != nil {
					t.Fatal(err)
				}
				for _, k := range tickets {
					if k.Kind == core.TicketTimer && (k.Decision == nil || !k.Decision.Woken()) {
						t.Errorf("the timer is %+v", k)
					}
				}
				time.Sleep(time.Minute)
				w.mustDecide(t, 1, approve)
				w.finish(t, key, nil)
				want := []string{`ok: "woken by the clock after 1h0m0s"`, `ok: {"text":"b"}`}
				if tt.mode == agent.ParallelBatchApproval {
					want[0] = `ok: "woken by the clock after 1h1m0s"`
				}
				if diff := cmp.Diff(want, undecided(w.results(t))); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
			})
		})
	}
}
