package mailbox_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// put stores a record behind the service's back.
func (w *world) put(t *testing.T, r store.Record) {
	t.Helper()
	if err := w.store.Backend.Put(t.Context(), key, r); err != nil {
		t.Fatal(err)
	}
}

// audit stores an audit at a version.
func (w *world) audit(t *testing.T, name string, version uint64, a thread.AuditRecord) {
	t.Helper()
	payload, err := thread.Records{}.EncodeAudit(a)
	if err != nil {
		t.Fatal(err)
	}
	w.put(t, store.Record{Name: name, Fence: 9, Version: version, Payload: payload})
}

func keyed(text string, mode mailbox.Mode) mailbox.Submission {
	s := input(text, mode)
	s.Key.Value = "k"
	return s
}

// Whatever an operation has to read, it fails when it cannot, and claims nothing
// then: not even the zero of what it would have returned.
func TestFailureOfEveryReadIsTheOperations(t *testing.T) {
	submit := func(t *testing.T, w *world) (bool, error) {
		r, err := w.Submit(t.Context(), keyed("one", mailbox.ModeSteer))
		return r != (mailbox.Receipt{}), err
	}
	run := func(run, dispatch func(w *world) core.ID) func(t *testing.T, w *world) (bool, error) {
		return func(t *testing.T, w *world) (bool, error) {
			head, err := w.store.Backend.Head(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			_, ok, err := w.Run(t.Context(), key, head, run(w), dispatch(w))
			return ok, err
		}
	}
	last := func(w *world) core.ID { return w.last.RunID }
	dispatch := func(w *world) core.ID { return w.last.DispatchID }
	none := func(*testing.T, *world) {}
	queued := func(t *testing.T, w *world) { w.last = w.submit(t, keyed("one", mailbox.ModeSteer)) }
	cancelled := func(t *testing.T, w *world) {
		queued(t, w)
		if _, err := w.Cancel(t.Context(), key, w.last.RunID); err != nil {
			t.Fatal(err)
		}
	}
	steered := func(t *testing.T, w *world) {
		w.submit(t, input("zero", ""))
		w.claim(t)
		queued(t, w)
	}
	read := func(t *testing.T, w *world) {
		steered(t, w)
		head, err := w.Head(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		w.reads(t, head, w.last.DispatchID)
		w.audit(t, recordname.Read(w.last.DispatchID), 99, thread.AuditRecord{Run: head.Run.ID, Read: 1, Status: core.DispatchAcked})
	}
	suspended := func(t *testing.T, w *world) {
		queued(t, w)
		w.waits(t, w.claim(t), asks(0))
	}
	decided := func(t *testing.T, w *world) {
		suspended(t, w)
		w.decide(t, deciding("c0", "d"))
	}
	gone := func(t *testing.T, w *world) {
		decided(t, w)
		w.end(t, w.goesOn(t))
	}
	decide := func(target, id string) func(t *testing.T, w *world) (bool, error) {
		return func(t *testing.T, w *world) (bool, error) {
			got, err := w.Decide(t.Context(), key, deciding(target, id))
			return got != (mailbox.Decided{}), err
		}
	}
	tests := []struct {
		name      string
		arrange   func(t *testing.T, w *world)
		operation func(t *testing.T, w *world) (claims bool, err error)
		reads     int
	}{
		{"decide by the suspension", suspended, decide("s0", "d"), 2},
		{"decide by the call", suspended, decide("c0", "d"), 3},
		{"decide again", decided, decide("c0", "d"), 4},
		{"decide again what is over", gone, decide("c0", "d"), 4},
		{"decide over an orphan", func(t *testing.T, w *world) {
			suspended(t, w)
			head := w.head(t)
			w.put(t, store.Record{
				Name:    recordname.Decision(head.Run.ID, 1, 0, thread.DecisionKey(head.Run.ID, "s0", "d")),
				Payload: []byte(`{"schema":1,"decision_id":"d","action":"resume","suspension":"s0","more":1}`),
			})
		}, decide("s0", "d"), 5},
		{"tickets", suspended, func(t *testing.T, w *world) (bool, error) {
			tickets, err := w.Tickets(t.Context(), key, w.head(t))
			return tickets != nil, err
		}, 1},
		{"submit", none, submit, 2},
		{"submit what waits", queued, submit, 2},
		{"submit what was cancelled", cancelled, submit, 7},
		{"submit what was read", read, submit, 6},
		{"submit and claim", none, func(t *testing.T, w *world) (bool, error) {
			r, _, stored, err := w.SubmitAndClaim(t.Context(), input("one", ""))
			return stored != nil || r != (mailbox.Receipt{}), err
		}, 1},
		{"claim", queued, func(t *testing.T, w *world) (bool, error) {
			_, claimed, err := w.Claim(t.Context(), hint, false)
			return claimed, err
		}, 1},
		{"cancel", queued, func(t *testing.T, w *world) (bool, error) {
			id, err := w.Cancel(t.Context(), key, core.ID{})
			return !id.IsZero(), err
		}, 1},
		{"edit", queued, func(t *testing.T, w *world) (bool, error) {
			return false, w.Edit(t.Context(), key, w.last.DispatchID, []core.Message{core.UserMessage("new")})
		}, 2},
		{"retract", steered, func(t *testing.T, w *world) (bool, error) {
			return false, w.Retract(t.Context(), key, w.last.DispatchID)
		}, 1},
		{"rewake", queued, func(t *testing.T, w *world) (bool, error) { return w.Rewake(t.Context(), hint) }, 1},
		{"locate", queued, func(t *testing.T, w *world) (bool, error) {
			_, _, ok, err := w.Locate(t.Context(), "t", w.last.RunID)
			return ok, err
		}, 1},
		{"a queued run", queued, run(last, dispatch), 2},
		{"a cancelled run", cancelled, run(last, dispatch), 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { eachReadFails(t, tt.reads, tt.arrange, tt.operation) })
	}
}

// eachReadFails makes one read of an operation fail after the other, of which there are so
// many: the operation fails with that, claims nothing, and wakes nobody.
func eachReadFails(t *testing.T, reads int, arrange func(*testing.T, *world), operation func(*testing.T, *world) (claims bool, err error)) {
	for n := range reads + 1 {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			arrange(t, w)
			broken := core.Errorf(core.CodeCorrupt, "read %d", n) // is not tried again
			left := n
			w.reading(func() error {
				if left--; left == -1 {
					return broken
				}
				return nil
			})
			w.queue.Clear()
			claims, err := operation(t, w)
			if left >= 0 != (n == reads) {
				t.Fatalf("there is no read %d, or one more than %d", n, reads)
			}
			if n == reads {
				if err != nil {
					t.Errorf("without a failure: %v", err)
				}
				return
			}
			if !errors.Is(err, broken) || !strings.HasSuffix(err.Error(), broken.Error()) || errors.Is(err, thread.ErrNotFound) || claims || len(w.queue.Messages()) != 0 {
				t.Errorf("read %d fails: %v, %v, and %q was sent; want the failure and nothing else", n, claims, err, w.queue.Lines())
			}
		})
	}
}

// A record that cannot be decoded is an error of its own, not a missing one.
func TestWhatCannotBeDecodedIsCorrupt(t *testing.T) {
	garbage := []byte("no JSON")
	status := func(t *testing.T, w *world) (bool, error) {
		head, err := w.Head(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		_, ok, err := w.Run(t.Context(), key, head, w.last.RunID, w.last.DispatchID)
		return ok, err
	}
	tests := []struct {
		name      string
		ended     bool
		record    func(w *world) store.Record
		pointer   func(w *world) string
		operation func(t *testing.T, w *world) (bool, error)
		prefix    func(w *world) string
	}{
		{
			name:      "a run's record",
			record:    func(w *world) store.Record { return store.Record{Name: recordname.Run(w.last.RunID)} },
			operation: status,
			prefix:    func(w *world) string { return "run " + w.last.RunID.String() + ": " },
		},
		{
			name: "an audit", ended: true,
			record: func(w *world) store.Record {
				return store.Record{Name: recordname.Ended(w.last.DispatchID), Version: 9, Fence: 9}
			},
			operation: status,
			prefix:    func(w *world) string { return recordname.Ended(w.last.DispatchID) + ": " },
		},
		{
			name:    "a run's pointer",
			pointer: func(w *world) string { return "run:" + w.last.RunID.String() },
			operation: func(t *testing.T, w *world) (bool, error) {
				_, _, ok, err := w.Locate(t.Context(), "t", w.last.RunID)
				return ok, err
			},
			prefix: func(w *world) string { return "run " + w.last.RunID.String() + ": " },
		},
		{
			name:    "a key",
			pointer: func(*world) string { return "key:c782045a37aeb0abe2943ad3023e7fdf" },
			operation: func(t *testing.T, w *world) (bool, error) {
				r, err := w.Submit(t.Context(), keyed("one", ""))
				return r != (mailbox.Receipt{}), err
			},
			prefix: func(*world) string { return "idempotency key: " },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.last = w.submit(t, keyed("one", ""))
			if tt.ended {
				if _, err := w.Cancel(t.Context(), key, w.last.RunID); err != nil {
					t.Fatal(err)
				}
			}
			if tt.record != nil {
				r := tt.record(w)
				r.Payload = garbage
				w.put(t, r)
			} else {
				w.points(store.Pointer{Name: tt.pointer(w), Value: garbage})
			}
			claims, err := tt.operation(t, w)
			if core.CodeOf(err) != core.CodeCorrupt || claims || !strings.HasPrefix(err.Error(), tt.prefix(w)) {
				t.Errorf("%v, %v; want code corrupt of %q", claims, err, tt.prefix(w))
			}
		})
	}
}

// What a log record says counts only when all of it can be decoded.
func TestInputWhoseLogRecordIsDamagedIsNotConfirmed(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("one", ""))
	head := w.claim(t)
	steered := w.submit(t, keyed("two", mailbox.ModeSteer))
	w.reads(t, head, steered.DispatchID)
	w.audit(t, recordname.Read(steered.DispatchID), 99, thread.AuditRecord{Run: head.Run.ID, Read: 1, Status: core.DispatchAcked})
	w.put(t, store.Record{
		Name: store.LogName(1), Fence: 9,
		Payload: []byte(`{"schema":1,"run":"` + head.Run.ID.String() + `","input":"` + steered.DispatchID.String() + `","message":7}`),
	})
	if r, err := w.Submit(t.Context(), keyed("two", mailbox.ModeSteer)); core.CodeOf(err) != core.CodeCorrupt || r != (mailbox.Receipt{}) {
		t.Errorf("submit: %+v, %v; want code corrupt", r, err)
	}
}
