package host_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
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
