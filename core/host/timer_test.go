package host_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/tool"
)

// sleeps adds the tool sleep, which waits for a time, and returns when it was woken.
func sleeps(wait time.Duration, woken *time.Time) func(*host.Options) {
	return func(c *host.Options) {
		c.Agents.Tools = append(c.Agents.Tools, tool.New(tool.Spec{Name: "sleep"}, func(_ context.Context, call tool.Call, _ struct{}) (tool.Result, error) {
			if call.Resume == nil {
				return tool.Suspended(core.TicketRequest{Kind: core.TicketTimer, WakeAt: call.Now.Add(wait), Keep: true}), nil
			}
			*woken = call.Now
			return tool.NewResult("woken"), nil
		}))
	}
}

// indexed is a store that looks for due threads as DynamoDB does.
type indexed struct{ store.Backend }

func (indexed) DuePolicy() store.DuePolicy { return store.DuePolicy{Grace: 120_000, Round: 60_000} }

// A call that sleeps costs at most two claims that find nothing, both of sweeps, and two delayed
// hints, however long it sleeps. Each sweep looks at the index alone.
func TestOperationsOfACallThatSleeps(t *testing.T) {
	const (
		sweeps = "sweeps that woke it"
		hints  = "hints that were sent"
	)
	tests := []struct {
		wait time.Duration
		want counts
	}{
		// A short wait has its hint from the step that began it. A sweep finds the time at which the
		// thread was due before that, and sends another hint, in case that one is lost.
		{2 * time.Minute, counts{"overdue": 1 * 16, hints: 1}},
		{15 * time.Minute, counts{"overdue": 14 * 16, "head": 1, "commit": 1, sweeps: 1, hints: 2}},
		{16 * time.Minute, counts{"overdue": 15 * 16, "head": 1, "commit": 1, sweeps: 1, hints: 1}},
		{24 * time.Hour, counts{"overdue": 1439 * 16, "head": 2, "commit": 2, sweeps: 2, hints: 1}},
		{3 * 24 * time.Hour, counts{"overdue": 4319 * 16, "head": 2, "commit": 2, sweeps: 2, hints: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.wait.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.queue.Longest = 15 * time.Minute
				way := newWay(r.store)
				var woken time.Time
				p := r.process("w", indexed{way}, sleeps(tt.wait, &woken))
				submitAll(t, p, "call: sleep {}", "t1")
				workNext(t, r, p)
				began := time.Now()
				way.counts()
				got := counts{hints: len(r.queue.Messages())}
				// A sweep each minute, and hints when they are due, up to the one that wakes the call.
				for woken.IsZero() {
					if next := r.queue.Messages(); len(next) > 0 && !next[0].At.After(time.Now().Add(time.Minute)) && next[0].Hint.WakeAt != 0 {
						time.Sleep(time.Until(next[0].At))
						break
					}
					time.Sleep(time.Minute)
					n, err := p.Sweep(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					for range n {
						got[sweeps]++
						sent := len(r.queue.Messages())
						workNext(t, r, p)
						got[hints] += len(r.queue.Messages()) - sent + 1
					}
				}
				for kind, n := range way.counts() {
					got[kind] = n
				}
				workNext(t, r, p)
				if diff := cmp.Diff(tt.want, got); diff != "" || woken.Sub(began) != tt.wait {
					t.Errorf("woken after %s, (-want +got):\n%s", woken.Sub(began), diff)
				}
			})
		})
	}
}

// A client that repeats its request while the run sleeps leaves one delayed hint, not one for
// each request.
func TestARepeatedRequestOfARunThatSleeps(t *testing.T) {
	tests := []struct {
		name string
		send func(t *testing.T, p *host.Host) error
	}{
		{"the submission", func(t *testing.T, p *host.Host) error {
			s := submission("t1", "call: sleep {}")
			s.Key = mailbox.Key{Value: "first"}
			_, err := p.Submit(t.Context(), s)
			return err
		}},
		{"an input that waits", func(t *testing.T, p *host.Host) error {
			s := submission("t1", "hello")
			s.Key = mailbox.Key{Value: "second"}
			_, err := p.Submit(t.Context(), s)
			return err
		}},
		{"runs for later that are cancelled", func(t *testing.T, p *host.Host) error {
			s := submission("t1", "hello")
			s.Opening.Delay = time.Hour
			receipt, err := p.Submit(t.Context(), s)
			if err != nil {
				return err
			}
			return p.CancelRun(t.Context(), local, receipt.RunID)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				var woken time.Time
				p := r.process("w", r.store, sleeps(10*time.Minute, &woken))
				s := submission("t1", "call: sleep {}")
				s.Key = mailbox.Key{Value: "first"}
				if _, err := p.Submit(t.Context(), s); err != nil {
					t.Fatal(err)
				}
				workNext(t, r, p)
				for range 50 {
					time.Sleep(time.Second)
					if err := tt.send(t, p); err != nil {
						t.Fatal(err)
					}
					for hint, ok := r.queue.Receive(); ok; hint, ok = r.queue.Receive() {
						if err := p.WorkLocal(t.Context(), hint); err != nil {
							t.Fatal(err)
						}
					}
				}
				if left := r.queue.Messages(); len(left) != 1 || left[0].Hint.WakeAt != left[0].At.UnixMilli() {
					t.Fatalf("%d hints are left: %v", len(left), left)
				}
				time.Sleep(10*time.Minute - 50*time.Second)
				if workNext(t, r, p); !woken.Equal(time.Now()) {
					t.Errorf("woken at %s, want %s", woken, time.Now())
				}
			})
		})
	}
}

// told are the events about decisions, deadlines and the end of a run.
type told []string

func (l *told) note(e core.Event) error {
	by := ""
	if e.DecidedBy != nil {
		by = fmt.Sprint(" by ", e.DecidedBy.Kind, " ", e.DecidedBy.User)
	}
	switch e.Type {
	case core.EventToolCallResumed, core.EventToolCallDone:
		*l = append(*l, fmt.Sprint(e.Type, by))
	case core.EventError:
		*l = append(*l, fmt.Sprint(e.Type, " ", e.Code))
	case core.EventRunFinish:
		*l = append(*l, fmt.Sprint(e.Type, " ", e.Status, " ", e.Termination.Type, " ", e.Termination.Code))
	}
	return nil
}

// questioning adds the tool ask, which waits with a ticket, for an hour if that has no timeout.
func questioning(ticket core.TicketRequest) func(*host.Options) {
	return func(c *host.Options) {
		c.Agents.Tools = append(c.Agents.Tools, tool.New(tool.Spec{Name: "ask"}, func(_ context.Context, call tool.Call, _ struct{}) (tool.Result, error) {
			if call.Resume != nil {
				return tool.NewResult("decided"), nil
			}
			k := ticket
			if k.Timeout == 0 {
				k.WakeAt = call.Now.Add(time.Hour)
			}
			return tool.Suspended(k), nil
		}))
	}
}

// Events tell by fields whether the clock or which user has decided, or that a deadline has
// passed. A client that comes later sees the clock and the deadline.
func TestEventsTellWhoHasDecided(t *testing.T) {
	timer, question, limited := core.TicketRequest{Kind: core.TicketTimer}, core.TicketRequest{}, core.TicketRequest{Timeout: time.Hour}
	const finished = "run_finish done natural_end "
	waits := told{"run_finish waiting suspended "}
	tests := []struct {
		name   string
		ticket core.TicketRequest
		user   string // decides after a minute; empty: no user does
		live   told   // to the call that waits for the run
		later  told   // to a client that comes later
	}{
		{"the clock", timer, "", told{"tool_call_resumed by time ", "tool_call_done by time ", finished}, told{"tool_call_done by time ", finished}},
		{"the clock, instead of a person", question, "", waits, told{"tool_call_done by time ", finished}},
		{"a person, before the clock", timer, "ann", told{"tool_call_resumed by person ann", "tool_call_done", finished}, told{"tool_call_done", finished}},
		{"a person", limited, "ann", waits, told{"tool_call_done", finished}},
		{"a deadline", limited, "", waits, told{"tool_call_done", "error expired", "run_finish done error expired"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := onStore(t, memory.New(), soloParts(), questioning(tt.ticket))
				id := core.Identity{Tenant: "local", User: tt.user}
				s := submission("t1", "call: ask {}")
				s.User = tt.user
				var live, later told
				over := make(chan struct{})
				go func() { // it ends where the run waits for a person
					defer close(over)
					for e, err := range p.EventsOf(t.Context(), s) {
						if err == nil {
							_ = live.note(e)
						}
					}
				}()
				synctest.Wait()
				time.Sleep(time.Minute)
				th, err := p.Thread(t.Context(), id, "t1")
				if err != nil {
					t.Fatal(err)
				}
				if tt.user != "" {
					d := mailbox.Deciding{Target: ticketOf(t, p, id, th.ActiveRun), Decision: core.Decision{Action: core.DecisionResume}}
					if _, err := p.Decide(t.Context(), id, th.ActiveRun, d); err != nil {
						t.Fatal(err)
					}
				}
				stop := works(t, p)
				defer stop()
				time.Sleep(time.Hour + 10*time.Second)
				<-over
				if err := p.Follow(t.Context(), id, th.ActiveRun, host.ListenerFunc(later.note)); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]told{tt.live, tt.later}, []told{live, later}); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// ticketOf is the id of the only call of a run that waits.
func ticketOf(t *testing.T, p *host.Host, id core.Identity, run core.ID) string {
	t.Helper()
	got, err := p.ReadRun(t.Context(), id, run)
	if err != nil || len(got.Tickets) != 1 {
		t.Fatalf("%+v, %v; want a run with a ticket", got, err)
	}
	return got.Tickets[0].Suspension.ID
}
