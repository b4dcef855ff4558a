package mailbox_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/calendar"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// admissions notes what is asked of the tenant's admissions from now on.
func (w *world) admissions() (calls *[]string, admitted *[]store.Admitting) {
	calls, admitted = new([]string), new([]store.Admitting)
	w.store.OnAdmission = func(ctx context.Context, tenant string, day int64) (store.Admission, error) {
		*calls = append(*calls, "look")
		return w.store.Backend.Admission(ctx, tenant, day)
	}
	w.store.OnAdmit = func(ctx context.Context, tenant string, a store.Admitting) (store.Admission, bool, error) {
		*calls, *admitted = append(*calls, "admit"), append(*admitted, a)
		return w.store.Backend.Admit(ctx, tenant, a)
	}
	w.store.OnRelease = func(ctx context.Context, tenant string, r store.Use) (bool, error) {
		*calls = append(*calls, "release")
		return w.store.Backend.Release(ctx, tenant, r)
	}
	return calls, admitted
}

// slots are the runs that have one.
func (w *world) slots(t *testing.T) (runs []core.ID) {
	t.Helper()
	for run := range w.used(t).Slots {
		runs = append(runs, run)
	}
	slices.SortFunc(runs, func(a, b core.ID) int { return slices.Compare(a[:], b[:]) })
	return runs
}

// A run is admitted by one call, which says whose slot it is and how many there may be: an
// interrupt may have those of the runs that it ends, a child waits for none.
func TestHowARunIsAdmitted(t *testing.T) {
	queue := func(t *testing.T, w *world, n int) {
		for range n {
			w.submit(t, input("before", ""))
		}
	}
	child := input("one", "")
	child.Opening.Parent = &mailbox.Parent{Thread: "p", Run: core.ID{1}}
	tests := []struct {
		name    string
		arrange func(t *testing.T, w *world)
		s       mailbox.Submission
		calls   []string
		key     string
		slots   int
	}{
		{"without a key", nil, input("one", ""), []string{"admit"}, "", 8},
		{"with a key", nil, keyed("one", ""), []string{"look", "admit"}, "c782045a37aeb0abe2943ad3023e7fdf", 8},
		{"a child", nil, child, []string{"admit"}, "", 128},
		{"an interrupt of a free thread", nil, input("one", mailbox.ModeInterrupt), []string{"admit"}, "", 8},
		{"an interrupt of two that are queued", func(t *testing.T, w *world) { queue(t, w, 2) }, input("one", mailbox.ModeInterrupt), []string{"admit", "look", "release", "release"}, "", 10},
		{"an interrupt of one that is open and one that is queued", func(t *testing.T, w *world) {
			queue(t, w, 2)
			w.claim(t)
		}, input("one", mailbox.ModeInterrupt), []string{"admit", "look", "release"}, "", 10},
		{"an interrupt of one that waits", func(t *testing.T, w *world) {
			queue(t, w, 1)
			w.waits(t, w.claim(t), asks(0))
		}, input("one", mailbox.ModeInterrupt), []string{"admit"}, "", 8},
		{"behind others", func(t *testing.T, w *world) { queue(t, w, 2) }, input("one", ""), []string{"admit"}, "", 8},
		{"input for the run that is open", func(t *testing.T, w *world) {
			queue(t, w, 1)
			w.claim(t)
		}, keyed("one", mailbox.ModeSteer), nil, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := limited(t)
				if tt.arrange != nil {
					tt.arrange(t, w)
				}
				calls, admitted := w.admissions()
				r := w.submit(t, tt.s)
				if diff := cmp.Diff(tt.calls, *calls); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
				var want []store.Admitting
				if tt.slots > 0 {
					want = []store.Admitting{{Day: 10957, Run: r.RunID, Slot: store.Slot{Thread: "t1", Since: 946684800000, Key: tt.key}, MaxSlots: tt.slots}}
				}
				if diff := cmp.Diff(want, *admitted); diff != "" {
					t.Errorf("admitted (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// The dispatch of a submission with a key is computed from the id of its run. An attempt that
// died may have left nothing but a slot, which names the run: the next attempt finds the
// dispatch by it.
func TestTheDispatchOfAnAttemptThatDiedIsFoundByItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := limited(t)
		other := keyed("other", "")
		other.Key.Value = "of another request"
		w.submit(t, other) // whose slot is older
		time.Sleep(time.Millisecond)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var input string
		w.store.OnCommit = func(_ context.Context, _ core.ThreadKey, c store.Commit) (store.Outcome, error) {
			input = c.Records[0].Name
			cancel()
			return store.Outcome{}, core.Errorf(core.CodeCorrupt, "the process ends here")
		}
		if r, err := w.Submit(ctx, keyed("one", "")); err == nil {
			t.Fatalf("the first attempt returned %+v", r)
		}
		w.store.OnCommit = nil
		calls, _ := w.admissions()
		r := w.submit(t, keyed("one", ""))
		if recordname.Input(r.DispatchID, 0) != input || [6]byte(r.DispatchID[:]) != [6]byte(r.RunID[:]) || r.DispatchID[6] == r.RunID[6] {
			t.Errorf("run %s has the dispatch %s, want the one of %s", r.RunID, r.DispatchID, input)
		}
		if diff := cmp.Diff([]string{"look"}, *calls); diff != "" || len(w.slots(t)) != 2 {
			t.Errorf("%d slots; calls (-want +got):\n%s", len(w.slots(t)), diff)
		}
	})
}

// Of several slots of the same key each attempt finds the oldest.
func TestTheOldestSlotOfAKeyIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := limited(t)
		slot := store.Slot{Thread: "t1", Since: time.Now().UnixMilli(), Key: "c782045a37aeb0abe2943ad3023e7fdf"}
		for _, run := range []core.ID{{1}, {2}} {
			if _, _, err := w.store.Backend.Admit(t.Context(), "t", store.Admitting{Day: calendar.Day(slot.Since), Run: run, Slot: slot}); err != nil {
				t.Fatal(err)
			}
		}
		if r := w.submit(t, keyed("one", "")); r.RunID != (core.ID{1}) {
			t.Errorf("its run is %s", r.RunID)
		}
	})
}

// The slot of another attempt is that one's also when this one is refused, and is looked for
// once.
func TestASlotThatWasFoundIsNotReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := limited(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var pointers []store.Pointer
		w.store.OnCommit = func(_ context.Context, _ core.ThreadKey, c store.Commit) (store.Outcome, error) {
			pointers = c.Pointers
			cancel()
			return store.Outcome{}, core.Errorf(core.CodeCorrupt, "the process ends here")
		}
		if r, err := w.Submit(ctx, keyed("one", "")); err == nil {
			t.Fatalf("the first attempt returned %+v", r)
		}
		calls, _ := w.admissions()
		w.store.OnCommit = func(_ context.Context, _ core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if len(pointers) > 0 { // the first attempt has stored its key by now
				taken := pointers[:1]
				pointers = nil
				return store.Outcome{Taken: taken}, nil
			}
			return store.Outcome{}, core.Errorf(core.CodeInvalid, "no")
		}
		if r, err := w.Submit(t.Context(), keyed("one", "")); core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("submit: %+v, %v", r, err)
		}
		if diff := cmp.Diff([]string{"look"}, *calls); diff != "" || len(w.slots(t)) != 1 {
			t.Errorf("%d slots; calls (-want +got):\n%s", len(w.slots(t)), diff)
		}
	})
}

// What the key was stored with counts before what its slot says: a program that knew of no
// limits stored it.
func TestAKeyThatIsStoredKeepsItsDispatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := limited(t)
		box := w.Service
		w.Service = newWorldOver(t, w)
		var stored store.Record
		w.store.OnCommit = func(_ context.Context, _ core.ThreadKey, c store.Commit) (store.Outcome, error) {
			w.store.OnCommit = nil
			w.points(c.Pointers...)
			stored = c.Records[0]
			return store.Outcome{}, core.Errorf(core.CodeInvalid, "the process died")
		}
		if r, err := w.Submit(t.Context(), keyed("one", "")); err == nil {
			t.Fatalf("the first attempt returned %+v", r)
		}
		w.Service = box
		calls, _ := w.admissions()
		r := w.submit(t, keyed("one", ""))
		if recordname.Input(r.DispatchID, 0) != stored.Name {
			t.Errorf("the dispatch is %s, want the one of %s", r.DispatchID, stored.Name)
		}
		if diff := cmp.Diff([]string{"admit"}, *calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

// Which run the input opens, or whether it opens one, may be another when the head is
// written than it was when the head was read.
func TestASlotFollowsTheRunThatTheWriteMakes(t *testing.T) {
	tests := []struct {
		name    string
		s       mailbox.Submission
		arrange func(t *testing.T, w *world)
		meet    func(t *testing.T, w *world) // before the write
		calls   []string
		own     bool // the run is the input's own
	}{
		{"the run that was to read it is over", input("one", mailbox.ModeSteer), func(t *testing.T, w *world) { w.claim(t) },
			func(t *testing.T, w *world) { w.end(t, w.head(t)) }, []string{"admit"}, true},
		{"another run is open and reads it", input("one", mailbox.ModeSteer), func(*testing.T, *world) {},
			func(t *testing.T, w *world) { w.claim(t) }, []string{"admit", "release"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := limited(t)
				before := w.submit(t, input("before", ""))
				tt.arrange(t, w)
				calls, _ := w.admissions()
				w.before(func() { tt.meet(t, w) })
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				r, err := w.Submit(ctx, tt.s)
				if err != nil || (r.RunID != before.RunID) != tt.own {
					t.Fatalf("submit: %+v, %v; the run before is %s", r, err, before.RunID)
				}
				if diff := cmp.Diff(tt.calls, *calls); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
				if _, has := w.used(t).Slots[r.RunID]; !has || len(w.slots(t)) != map[bool]int{true: 2, false: 1}[tt.own] {
					t.Errorf("slots %v, run %s", w.slots(t), r.RunID)
				}
			})
		})
	}
}

// A run that could not be admitted is not queued, whenever it turns out to be one.
func TestARunOverTheLimitIsNotQueued(t *testing.T) {
	for name, later := range map[string]bool{"at once": false, "when the head is written": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := limited(t)
				mode := mailbox.ModeQueue
				w.submit(t, input("before", ""))
				if head := w.claim(t); later {
					mode = mailbox.ModeSteer
					w.before(func() { w.end(t, head) })
				}
				w.store.OnAdmit = func(_ context.Context, _ string, a store.Admitting) (store.Admission, bool, error) {
					full := store.Admission{Slots: map[core.ID]store.Slot{}}
					for i := range 8 {
						full.Slots[core.ID{byte(i)}] = store.Slot{}
					}
					return full, false, nil
				}
				r, err := w.Submit(t.Context(), input("one", mode))
				if core.CodeOf(err) != core.CodeTenantLimit || r != (mailbox.Receipt{}) || len(w.head(t).Pending) != 0 {
					t.Errorf("submit: %+v, %v with the queue %v; want the limit and an empty queue", r, err, w.head(t).Pending)
				}
			})
		})
	}
}

// Two attempts with the same key each have a slot, and the first has stored the key. The second
// attempt releases its own slot and continues with the ids of the first.
func TestTheSlotOfAnAttemptThatWasOvertakenIsReleased(t *testing.T) {
	for name, accepted := range map[string]bool{"the first is queued": true, "the first has died": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := limited(t)
				run := core.ID{9}
				calls := new([]string)
				w.store.OnCommit = func(ctx context.Context, at core.ThreadKey, c store.Commit) (store.Outcome, error) {
					w.store.OnCommit = nil
					if accepted {
						over := *w
						over.Service = newWorldOver(t, w)
						run = over.submit(t, keyed("one", "")).RunID
					}
					calls, _ = w.admissions()
					if accepted {
						return w.store.Backend.Commit(ctx, at, c)
					}
					taken := c.Pointers[0]
					taken.Value = slices.Replace(slices.Clone(taken.Value), 22, 58, []byte(run.String())...)
					return store.Outcome{Taken: []store.Pointer{taken}}, nil
				}
				r := w.submit(t, keyed("one", ""))
				if r.RunID != run || r.Duplicate != accepted {
					t.Fatalf("submit: %+v, want run %s", r, run)
				}
				want, slots := []string{"release", "admit"}, []core.ID{run}
				if accepted { // the service that queued it knows of no limits
					want, slots = []string{"release"}, nil
				}
				if diff := cmp.Diff(want, *calls); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(slots, w.slots(t)); diff != "" || w.used(t).Runs != int64(len(slots)) {
					t.Errorf("%d runs today, slots (-want +got):\n%s", w.used(t).Runs, diff)
				}
			})
		})
	}
}

// A submission that was refused gives its slot back. One whose outcome is not known keeps it:
// its run may be queued.
func TestWhichFailuresReleaseTheSlot(t *testing.T) {
	const released, kept = 0, 1
	tests := map[core.Code]int{
		core.CodeInvalid: released, core.CodeForbidden: released, core.CodeNotFound: released, core.CodeBusy: released, core.CodeFull: released,
		core.CodeTooLarge: released, core.CodeConflict: released, core.CodeSuperseded: released, core.CodeSchema: released,
		core.CodeDeleted: kept, core.CodeCorrupt: kept, core.CodeUnavailable: kept, core.CodeThrottled: kept, core.CodeInternal: kept,
	}
	for code, want := range tests {
		t.Run(string(code), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := limited(t)
				w.store.OnCommit = func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
					return store.Outcome{}, core.Errorf(code, "no")
				}
				if r, err := w.Submit(t.Context(), input("one", "")); err == nil || r != (mailbox.Receipt{}) {
					t.Fatalf("submit: %+v, %v", r, err)
				}
				if used := w.used(t); len(used.Slots) != want || used.Runs != int64(want) {
					t.Errorf("%d slots and %d runs today, want %d of each", len(used.Slots), used.Runs, want)
				}
			})
		})
	}
}

// A submission is repeated while the write of the first attempt is on its way. That the
// second attempt is refused says nothing of that write: the run that it opens is counted.
func TestARefusedRepetitionLeavesTheSlotOfTheFirstAttempt(t *testing.T) {
	tests := []struct {
		name   string
		reads  uint16 // the newest schema that the second program knows
		refuse core.Code
		want   core.Code
	}{
		{"by an older program, which does not know the stored input", 1, "", core.CodeSchema},
		{"by the same program, which meets another head", 2, core.CodeFull, core.CodeFull},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				first, second := w.limitedWithSchemas(t, 2, 2), w.limitedWithSchemas(t, tt.reads, tt.reads)
				w.store.OnCommit = func(ctx context.Context, at core.ThreadKey, c store.Commit) (store.Outcome, error) {
					w.points(c.Pointers...) // as without transactions
					w.put(t, c.Records[0])
					w.store.OnCommit = nil
					if tt.refuse != "" {
						w.store.OnCommit = func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
							return store.Outcome{}, core.Errorf(tt.refuse, "no")
						}
					}
					if r, err := second.Submit(ctx, keyed("one", "")); core.CodeOf(err) != tt.want || r != (mailbox.Receipt{}) {
						t.Errorf("second attempt: %+v, %v; want code %s", r, err, tt.want)
					}
					return w.store.Backend.Commit(ctx, at, c)
				}
				r, err := first.Submit(t.Context(), keyed("one", ""))
				if err != nil || len(w.head(t).Pending) != 1 {
					t.Fatalf("first attempt: %+v, %v with the queue %v", r, err, w.head(t).Pending)
				}
				if used := w.used(t); used.Runs != 1 || !slices.Equal(w.slots(t), []core.ID{r.RunID}) {
					t.Errorf("%d runs today with the slots %v, want 1 with that of run %s", used.Runs, w.slots(t), r.RunID)
				}
			})
		})
	}
}

// The input of the first attempt is stored in another schema, so that the second one writes
// over it. The run that was to read it ends meanwhile, and the run that it opens is counted.
func TestInputThatIsWrittenOverIsAdmittedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		newer := w.limitedWithSchemas(t, 2, 2)
		w.Service = w.limitedWithSchemas(t, 2, 1)
		before := w.submit(t, input("before", ""))
		head := w.claim(t)
		w.store.OnCommit = func(_ context.Context, _ core.ThreadKey, c store.Commit) (store.Outcome, error) {
			w.store.OnCommit = nil
			w.points(c.Pointers...) // as without transactions
			w.put(t, c.Records[0])
			return store.Outcome{}, core.Errorf(core.CodeInvalid, "the process died")
		}
		if _, err := newer.Submit(t.Context(), keyed("one", mailbox.ModeSteer)); core.CodeOf(err) != core.CodeInvalid {
			t.Fatal(err)
		}
		w.store.OnGet = func(ctx context.Context, at core.ThreadKey, name string) (store.Record, bool, error) {
			if strings.HasPrefix(name, "Q#") {
				w.store.OnGet = nil
				w.end(t, head)
			}
			return w.store.Backend.Get(ctx, at, name)
		}
		r := w.submit(t, keyed("one", mailbox.ModeSteer))
		if r.RunID == before.RunID || len(w.head(t).Pending) != 1 {
			t.Fatalf("%+v with the queue %v, want a run of its own", r, w.head(t).Pending)
		}
		if used := w.used(t); used.Runs != 2 || !slices.Contains(w.slots(t), r.RunID) {
			t.Errorf("%d runs today with the slots %v, want 2 and that of run %s", used.Runs, w.slots(t), r.RunID)
		}
	})
}

// Why a caller has left says nothing of its write, whatever code that has.
func TestTheSlotOfACallerThatHasLeftStays(t *testing.T) {
	w := limited(t)
	ctx, leave := context.WithCancelCause(t.Context())
	w.store.OnCommit = func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
		leave(errors.New("the host stops"))
		return store.Outcome{}, core.Errorf(core.CodeInvalid, "no")
	}
	if r, err := w.Submit(ctx, input("one", "")); err == nil || len(w.slots(t)) != 1 {
		t.Errorf("submit: %+v, %v with the slots %v; want one", r, err, w.slots(t))
	}
}

// The slot of input that another run reads is given back also when the caller has left
// meanwhile; if that fails, it is the sweep's, and no error.
func TestASlotThatCannotBeReleasedIsNoError(t *testing.T) {
	for name, down := range map[string]error{"it can": nil, "it cannot": errors.New("no connection")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				w := limitedLogging(t, &log)
				w.submit(t, input("before", ""))
				ctx, leave := context.WithCancel(t.Context())
				w.store.OnRelease = func(ctx context.Context, tenant string, r store.Use) (bool, error) {
					if err := errors.Join(down, ctx.Err()); err != nil {
						return false, err
					}
					return w.store.Backend.Release(ctx, tenant, r)
				}
				w.before(func() { // the run that reads it opens
					w.claim(t)
					w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
						defer leave()
						return w.store.Backend.Commit(ctx, key, c)
					}
				})
				r, err := w.Submit(ctx, input("one", mailbox.ModeSteer))
				want := 1
				if down != nil {
					want = 2
				}
				if err != nil || r.RunID != w.head(t).Run.ID || len(w.slots(t)) != want {
					t.Errorf("submit: %+v, %v with the slots %v; want %d", r, err, w.slots(t), want)
				}
				if strings.Contains(log.String(), "slot not released") != (down != nil) {
					t.Errorf("the log says %q", &log)
				}
			})
		})
	}
}
