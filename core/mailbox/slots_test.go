package mailbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/calendar"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// A sweep whose time is over before it has looked at every slot leaves the rest to the
// next one, which begins there and comes round: no slot waits for more sweeps than all
// of them need.
func TestASweepOfSlotsGoesOnWhereTheLastOneEnded(t *testing.T) {
	tests := []struct {
		name   string
		slots  []int         // of each tenant
		budget time.Duration // of each sweep but the last, which has a minute
		want   []string
	}{
		{"time enough", []int{2, 1}, time.Minute, []string{"a.1 a.2 b.1", "a.1 a.2 b.1"}},
		{"half of them", []int{2, 2}, 2500 * time.Millisecond, []string{"a.1 a.2 b.1", "b.1 b.2 a.1", "a.1 a.2 b.1 b.2"}},
		{"one tenant has more than a sweep can look at", []int{1, 5, 1}, 2500 * time.Millisecond, []string{
			"a.1 b.1 b.2", "b.2 b.3 b.4", "b.4 b.5 c.1", "c.1 a.1 b.1", "b.1 b.2 b.3", "b.3 b.4 b.5 c.1 a.1 b.1 b.2 b.3 b.4 b.5",
		}},
		{"between two tenants", []int{1, 1, 1}, 1500 * time.Millisecond, []string{"a.1 b.1", "b.1 c.1", "c.1 a.1", "a.1 b.1 c.1"}},
		{"not one", []int{1, 1}, 500 * time.Millisecond, []string{"a.1", "a.1", "a.1 b.1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				now := time.Now().UnixMilli()
				for i, n := range tt.slots {
					tenant := string(rune('a' + i))
					for k := range n {
						run := core.ID{15: byte(k + 1)}
						slot := store.Slot{Thread: fmt.Sprint(tenant, ".", k+1), Since: now}
						if _, _, err := w.store.Backend.Admit(t.Context(), tenant, store.Admitting{Day: calendar.Day(now), Run: run, Slot: slot}); err != nil {
							t.Fatal(err)
						}
					}
				}
				box, err := mailbox.New(mailbox.Options{Env: env.System(), Store: w.store, Waker: w.queue, Logger: slog.New(slog.DiscardHandler), Limits: account.Tenants{Default: account.Limits{ConcurrentRuns: 8}}})
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for i := range tt.want {
					seen, budget := "", tt.budget
					if i == len(tt.want)-1 {
						budget = time.Minute
					}
					w.store.OnHead = func(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
						seen += " " + key.Thread
						select {
						case <-ctx.Done():
							return thread.Head{}, ctx.Err()
						case <-time.After(time.Second):
						}
						return w.store.Backend.Head(ctx, key)
					}
					ctx, cancel := context.WithTimeout(t.Context(), budget)
					_, _ = box.Sweep(ctx)
					cancel()
					got = append(got, seen[1:])
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("slots that each sweep looks at (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// limited is a world whose tenant has limits.
func limited(t *testing.T) *world {
	t.Helper()
	return limitedLogging(t, io.Discard)
}

// limitedLogging is limited with a log.
func limitedLogging(t *testing.T, log io.Writer) *world {
	t.Helper()
	w := newWorld(t)
	var err error
	w.Service, err = mailbox.New(mailbox.Options{Env: env.System(), Store: w.store, Waker: w.queue, Logger: slog.New(slog.NewTextHandler(log, nil)), Limits: account.Tenants{Default: account.Limits{ConcurrentRuns: 8}}})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// limitedWithSchemas is the service of a program that reads and writes such records, and
// whose tenant has limits.
func (w *world) limitedWithSchemas(t *testing.T, reads, writes uint16) *mailbox.Service {
	t.Helper()
	box, err := mailbox.New(mailbox.Options{
		Env: env.System(), Store: w.store, Waker: w.queue, Logger: slog.New(slog.DiscardHandler),
		Records: thread.Records{Schemas: thread.Schemas{Reads: reads, Writes: writes}}, Limits: account.Tenants{Default: account.Limits{ConcurrentRuns: 8}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return box
}

// charge charges 100 tokens and 5 billionths of a dollar to a run's slot, today.
func (w *world) charge(t *testing.T, run core.ID) {
	t.Helper()
	day := calendar.Day(time.Now().UnixMilli())
	slot := w.used(t).Slots[run]
	if _, ok, err := w.store.Backend.Charge(t.Context(), "t", store.Use{Day: day, Run: run, Slot: slot, Tokens: 100, Spend: 5}); err != nil || !ok {
		t.Fatal(ok, err)
	}
}

// used is what the tenant has used today.
func (w *world) used(t *testing.T) store.Admission {
	t.Helper()
	used, err := w.store.Backend.Admission(t.Context(), "t", calendar.Day(time.Now().UnixMilli()))
	if err != nil {
		t.Fatal(err)
	}
	return used
}

// A slot is released with what its run's record says that it used, when the run is over or
// waits. What was charged beyond that is taken off the day, and so is the run if it never
// was in the head.
func TestASweepReleasesTheSlotsOfRunsThatAreOver(t *testing.T) {
	const kept, released = true, false
	end := func(t *testing.T, w *world, r mailbox.Receipt) { w.end(t, w.claim(t)) }
	record := func(status core.RunStatus, tokens int, spend core.USD) func(t *testing.T, w *world, r mailbox.Receipt) {
		return func(t *testing.T, w *world, r mailbox.Receipt) {
			w.ranAs(t, thread.RunRecord{Run: core.Run{ID: r.RunID, Dispatch: r.DispatchID, Status: status, Usage: core.Usage{Input: tokens - 1, Output: 1}}, Spend: spend})
		}
	}
	tests := []struct {
		name   string
		change []func(t *testing.T, w *world, r mailbox.Receipt)
		slot   bool // whether it is kept
		runs   int64
		tokens int64
		spend  core.USD
	}{
		{"queued", nil, kept, 1, 100, 5},
		{"open", []func(*testing.T, *world, mailbox.Receipt){func(t *testing.T, w *world, _ mailbox.Receipt) { w.claim(t) }}, kept, 1, 100, 5},
		{"closing", []func(*testing.T, *world, mailbox.Receipt){func(t *testing.T, w *world, r mailbox.Receipt) {
			w.claim(t)
			w.commit(t, thread.Cancel{Run: r.RunID})
		}, record(core.RunDone, 40, 2)}, kept, 1, 100, 5},
		{"over, and all of it in the log", []func(*testing.T, *world, mailbox.Receipt){end, record(core.RunDone, 100, 5)}, released, 1, 100, 5},
		{"over, and a turn was lost", []func(*testing.T, *world, mailbox.Receipt){end, record(core.RunDone, 40, 2)}, released, 1, 40, 2},
		{"over, and more in the log than was charged", []func(*testing.T, *world, mailbox.Receipt){end, record(core.RunDone, 140, 7)}, released, 1, 100, 5},
		{"waiting", []func(*testing.T, *world, mailbox.Receipt){func(t *testing.T, w *world, _ mailbox.Receipt) { w.waits(t, w.claim(t), asks(0)) }, record(core.RunWaiting, 40, 2)}, released, 1, 40, 2},
		{"over, and its record is damaged", []func(*testing.T, *world, mailbox.Receipt){end, func(t *testing.T, w *world, r mailbox.Receipt) {
			w.put(t, store.Record{Name: recordname.Run(r.RunID), Fence: 9, Version: 9, Payload: []byte("{")})
		}}, released, 1, 100, 5},
		{"deleted", []func(*testing.T, *world, mailbox.Receipt){record(core.RunDone, 40, 2), func(t *testing.T, w *world, _ mailbox.Receipt) { w.commit(t, thread.Delete{Owner: "ann"}) }}, released, 1, 100, 5},
		{"taken out of the queue", []func(*testing.T, *world, mailbox.Receipt){func(t *testing.T, w *world, r mailbox.Receipt) { w.commit(t, thread.Cancel{Run: r.RunID}) }}, released, 1, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := limited(t)
				r := w.submit(t, input("one", ""))
				w.charge(t, r.RunID)
				box := w.Service
				w.Service = newWorldOver(t, w) // whose writes release no slots
				for _, f := range tt.change {
					f(t, w, r)
				}
				if _, err := box.Sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
				used := w.used(t)
				if _, got := used.Slots[r.RunID]; got != tt.slot || used.Runs != tt.runs || used.Tokens != tt.tokens || used.Spend != tt.spend {
					t.Errorf("slot kept: %v, %d runs, %d tokens, %d spent; want %v, %d, %d, %d", got, used.Runs, used.Tokens, used.Spend, tt.slot, tt.runs, tt.tokens, tt.spend)
				}
			})
		})
	}
}

// newWorldOver is a service without limits over a world's store.
func newWorldOver(t *testing.T, w *world) *mailbox.Service {
	t.Helper()
	box, err := mailbox.New(mailbox.Options{Env: env.System(), Store: w.store, Waker: w.queue, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return box
}

// A run that is queued for later has no slot until its first step, and one that no head
// knows keeps its slot as long as the write that enqueues it may be on its way.
func TestASweepReleasesTheSlotsOfRunsThatAreNotQueued(t *testing.T) {
	tests := []struct {
		name    string
		arrange func(t *testing.T, w *world, run core.ID)
		after   time.Duration
		kept    bool
		runs    int64
	}{
		{"no pointer, and its write may come", nil, 90*time.Second - time.Millisecond, true, 1},
		{"no pointer, and its write comes no more", nil, 90 * time.Second, false, 0},
		{"a pointer, and its write may come", func(t *testing.T, w *world, run core.ID) {
			w.points(store.Pointer{Name: "run:" + run.String(), Value: []byte(`{"thread":"t1","run":"` + run.String() + `","dispatch":"` + run.String() + `"}`)})
		}, time.Second, true, 1},
		{"its input went to another run and ended there", func(t *testing.T, w *world, run core.ID) {
			w.submit(t, input("one", ""))
			w.points(store.Pointer{Name: "run:" + run.String(), Value: []byte(`{"thread":"t1","run":"` + run.String() + `","dispatch":"` + run.String() + `"}`)})
			w.audit(t, recordname.Ended(run), 1, thread.AuditRecord{Run: core.ID{7}, Status: core.DispatchCancelled})
		}, time.Second, false, 0},
		{"the audit is of a write that was refused", func(t *testing.T, w *world, run core.ID) {
			w.submit(t, input("one", ""))
			w.points(store.Pointer{Name: "run:" + run.String(), Value: []byte(`{"thread":"t1","run":"` + run.String() + `","dispatch":"` + run.String() + `"}`)})
			w.audit(t, recordname.Ended(run), 99, thread.AuditRecord{Run: run, Status: core.DispatchCancelled})
		}, time.Second, true, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := limited(t)
				box := w.Service
				w.Service = newWorldOver(t, w)
				now, run := time.Now().UnixMilli(), core.ID{9}
				if _, _, err := w.store.Backend.Admit(t.Context(), "t", store.Admitting{Day: calendar.Day(now), Run: run, Slot: store.Slot{Thread: "t1", Since: now}}); err != nil {
					t.Fatal(err)
				}
				later := input("later", "") // another run's, which has no slot yet
				later.Opening.Delay = time.Hour
				w.submit(t, later)
				if tt.arrange != nil {
					tt.arrange(t, w, run)
				}
				time.Sleep(tt.after)
				if _, err := box.Sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
				used := w.used(t)
				if _, got := used.Slots[run]; got != tt.kept || used.Runs != tt.runs {
					t.Errorf("slot kept: %v, %d runs; want %v, %d", got, used.Runs, tt.kept, tt.runs)
				}
			})
		})
	}
}

func TestASweepReleasesTheSlotOfARunThatIsDelayed(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after time.Duration
		kept  bool
	}{{"and not due", 59 * time.Minute, false}, {"and due", time.Hour, true}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := limited(t)
				s := input("one", "")
				s.Opening.Delay = time.Hour
				r := w.submit(t, s)
				now := time.Now().UnixMilli()
				if _, _, err := w.store.Backend.Admit(t.Context(), "t", store.Admitting{Day: calendar.Day(now), Run: r.RunID, Slot: store.Slot{Thread: "t1", Since: now}, Again: true}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(tt.after)
				if _, err := w.Sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
				if _, got := w.used(t).Slots[r.RunID]; got != tt.kept {
					t.Errorf("slot kept: %v, want %v", got, tt.kept)
				}
			})
		})
	}
}

// What cannot be read is left to the next sweep, and the sweep says so.
func TestASweepOfSlotsFailsWithItsReads(t *testing.T) {
	down := errors.New("no connection")
	tests := []struct {
		name string
		fail func(w *world)
		want string
	}{
		{"the list", func(w *world) {
			w.store.OnOccupied = func(context.Context, string, int) ([]store.Occupied, error) { return nil, down }
		}, "list tenants with slots: no connection"},
		{"the head", func(w *world) {
			w.store.OnHead = func(context.Context, core.ThreadKey) (thread.Head, error) { return thread.Head{}, down }
		}, "look at the slot of run 09000000-0000-0000-0000-000000000000 of tenant t: read head of t/t1: no connection"},
		{"the record", func(w *world) { w.failing(recordname.Run(core.ID{9}), down) },
			"look at the slot of run 09000000-0000-0000-0000-000000000000 of tenant t: read run 09000000-0000-0000-0000-000000000000: no connection"},
		{"the pointer", func(w *world) {
			w.store.OnPointer = func(context.Context, string, string) ([]byte, bool, error) { return nil, false, down }
		}, "look at the slot of run 09000000-0000-0000-0000-000000000000 of tenant t: no connection"},
		{"the audit", func(w *world) {
			w.points(store.Pointer{Name: "run:09000000-0000-0000-0000-000000000000", Value: []byte(`{"thread":"t1","dispatch":"0a000000-0000-0000-0000-000000000000"}`)})
			w.failing(recordname.Ended(core.ID{10}), down)
		}, "look at the slot of run 09000000-0000-0000-0000-000000000000 of tenant t: no connection"},
		{"the release", func(w *world) {
			w.store.OnRelease = func(context.Context, string, store.Use) (bool, error) { return false, down }
		}, "look at the slot of run 09000000-0000-0000-0000-000000000000 of tenant t: release the slot of run 09000000-0000-0000-0000-000000000000: no connection"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := limited(t)
				now, run := time.Now().UnixMilli(), core.ID{9}
				if _, _, err := w.store.Backend.Admit(t.Context(), "t", store.Admitting{Day: calendar.Day(now), Run: run, Slot: store.Slot{Thread: "t1", Since: now}}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Hour)
				tt.fail(w)
				if _, err := w.Sweep(t.Context()); !errors.Is(err, down) || err.Error() != tt.want {
					t.Errorf("sweep: %v, want %s", err, tt.want)
				}
				if _, ok := w.used(t).Slots[run]; !ok {
					t.Error("the slot is released")
				}
			})
		})
	}
}

// A write that takes runs out of the queue releases their slots, and no other's.
func TestRunsThatLeaveTheQueueReleaseTheirSlots(t *testing.T) {
	w := limited(t)
	first, second, third := w.submit(t, input("one", "")), w.submit(t, input("two", "")), w.submit(t, input("three", ""))
	w.claim(t)
	names := map[core.ID]string{first.RunID: "first", second.RunID: "second", third.RunID: "third"}
	tests := []struct {
		name string
		do   func()
		want []string
	}{
		{"one is open, and two are queued", func() {}, []string{"first", "second", "third"}},
		{"one is cancelled", func() { w.commit(t, thread.Cancel{Run: second.RunID}) }, []string{"first", "third"}},
		{"an interrupt ends the other", func() { w.interrupt(t, "") }, []string{"first"}},
	}
	for _, tt := range tests {
		tt.do()
		var got []string
		used := w.used(t)
		for run := range used.Slots {
			got = append(got, names[run])
		}
		slices.Sort(got)
		if diff := cmp.Diff(tt.want, got); diff != "" || used.Runs != 3 {
			t.Errorf("%s: %d runs today, slots (-want +got):\n%s", tt.name, used.Runs, diff)
		}
	}
}

// What cannot be given back is a line in the log: the sweep finds it.
func TestSlotsThatCannotBeReleasedAreALineInTheLog(t *testing.T) {
	for name, down := range map[string]error{"they can": nil, "they cannot": errors.New("no connection")} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			w := limitedLogging(t, &log)
			w.submit(t, input("one", ""))
			second := w.submit(t, input("two", ""))
			w.store.OnRelease = func(ctx context.Context, tenant string, r store.Use) (bool, error) {
				if down != nil {
					return false, down
				}
				return w.store.Backend.Release(ctx, tenant, r)
			}
			if _, err := w.Cancel(t.Context(), key, second.RunID); err != nil {
				t.Fatal(err)
			}
			if failed, want := strings.Contains(log.String(), "slots not released"), down != nil; failed != want || strings.Count(log.String(), "\n") > 1 {
				t.Errorf("the log says %q", &log)
			}
		})
	}
}

// An attempt that died after it was admitted has left a slot: the next one with the same key
// continues with its run, and the day counts one. After half of the time that the sweep
// waits, the slot is left to the sweep.
func TestTheSlotOfAnAttemptThatDiedIsFoundByItsKey(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after time.Duration
		runs  int64
		slots int
	}{{"at once", 0, 1, 1}, {"in time", 44999 * time.Millisecond, 1, 1}, {"too late", 45 * time.Second, 2, 2}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := limited(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				w.store.OnCommit = func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
					cancel()
					return store.Outcome{}, errors.New("the process ends here")
				}
				if r, err := w.Submit(ctx, keyed("one", "")); err == nil {
					t.Fatalf("the first attempt returned %+v", r)
				}
				w.store.OnCommit = nil
				left := w.used(t)
				for _, slot := range left.Slots {
					time.Sleep(time.Until(time.UnixMilli(slot.Since).Add(tt.after)))
				}
				r := w.submit(t, keyed("one", ""))
				used := w.used(t)
				if _, same := left.Slots[r.RunID]; same != (tt.runs == 1) || used.Runs != tt.runs || len(used.Slots) != tt.slots {
					t.Errorf("run %s of %v: %d runs today with %d slots; want %d and %d", r.RunID, left.Slots, used.Runs, len(used.Slots), tt.runs, tt.slots)
				}
			})
		})
	}
}
