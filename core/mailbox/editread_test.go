package mailbox_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// An edit whose response is lost, and whose input is read meanwhile, counts if the log has all
// of its messages in their order, and nothing else in their place.
func TestAnEditIsReadWithAllOfItsMessages(t *testing.T) {
	withdrawn := func(run, _ core.ID) thread.Entry {
		return thread.Entry{Run: run, Superseded: &thread.Range{From: 1, To: 1}}
	}
	says := func(text string) func(run, id core.ID) thread.Entry {
		return func(run, id core.ID) thread.Entry {
			m := core.UserMessage(text).WithID("m")
			return thread.Entry{Run: run, Input: id, Message: &m}
		}
	}
	other := func(text string) func(run, id core.ID) thread.Entry {
		return func(run, _ core.ID) thread.Entry { return says(text)(run, core.ID{9}) }
	}
	mute := func(run, id core.ID) thread.Entry { return thread.Entry{Run: run, Input: id} }
	whole := func(r *thread.RunRecord) {}
	tests := []struct {
		name   string
		log    []func(run, id core.ID) thread.Entry
		record func(*thread.RunRecord)
		done   bool
	}{
		{"all of them", []func(run, id core.ID) thread.Entry{says("new"), says("too")}, whole, true},
		{"behind what they withdraw", []func(run, id core.ID) thread.Entry{withdrawn, says("new"), says("too")}, whole, true},
		{"behind what they withdraw, and before an answer", []func(run, id core.ID) thread.Entry{withdrawn, says("new"), says("too"), other("x")}, whole, true},
		{"the first alone", []func(run, id core.ID) thread.Entry{withdrawn, says("new")}, whole, false},
		{"another text", []func(run, id core.ID) thread.Entry{says("new"), says("other")}, whole, false},
		{"another's text", []func(run, id core.ID) thread.Entry{says("new"), other("too")}, whole, false},
		{"no text", []func(run, id core.ID) thread.Entry{says("new"), mute}, whole, false},
		{"another's alone", []func(run, id core.ID) thread.Entry{other("new"), other("too")}, whole, false},
		{"the record of a run that never became visible", []func(run, id core.ID) thread.Entry{says("new"), says("too")}, func(r *thread.RunRecord) { r.FirstSeq = 3 }, false},
		{"the record of a run of another dispatch", []func(run, id core.ID) thread.Entry{says("new"), says("too")}, func(r *thread.RunRecord) { r.Dispatch = core.ID{9} }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			r := w.submit(t, input("old", ""))
			w.lose(t, func(thread.Head) {
				head := w.claim(t)
				var entries []thread.Entry
				for _, e := range tt.log {
					entries = append(entries, e(r.RunID, r.DispatchID))
				}
				w.writes(t, head, over, entries...)
				record := thread.RunRecord{Run: core.Run{ID: r.RunID, Dispatch: r.DispatchID, Status: core.RunDone, FirstSeq: 1}}
				tt.record(&record)
				w.put(t, store.Record{Name: recordname.Run(r.RunID), Fence: 9, Version: 9, Payload: encoded(t, record)})
			})
			err := w.Edit(t.Context(), key, r.DispatchID, []core.Message{core.UserMessage("new"), core.UserMessage("too")})
			if (err == nil) != tt.done || err != nil && !errors.Is(err, thread.ErrNotFound) {
				t.Errorf("edit: %v, want it done: %v", err, tt.done)
			}
		})
	}
}

// A log of one record may be all that the run has written.
func TestAnEditIsReadInTheOnlyRecord(t *testing.T) {
	w := newWorld(t)
	r := w.submit(t, input("old", ""))
	w.lose(t, func(thread.Head) {
		m := core.UserMessage("new").WithID("m")
		w.writes(t, w.claim(t), over, thread.Entry{Run: r.RunID, Input: r.DispatchID, Message: &m})
		w.ranAs(t, thread.RunRecord{Run: core.Run{ID: r.RunID, Dispatch: r.DispatchID, FirstSeq: 1}})
	})
	if err := w.edits(t, r.DispatchID); err != nil {
		t.Errorf("edit: %v", err)
	}
}

// Whatever has to be read to know what became of a target, the operation fails when it
// cannot.
func TestFailureOfEveryReadOfWhatBecameOfATarget(t *testing.T) {
	behind := func(t *testing.T, w *world) *world { // what others do, past the failures
		b := *w
		var err error
		b.Service, err = mailbox.New(mailbox.Options{Env: env.System(), Store: w.store.Backend, Waker: w.queue, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return &b
	}
	loses := func(w *world, happens func()) {
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			w.store.OnCommit = nil
			if _, err := w.store.Backend.Commit(ctx, key, c); err != nil {
				return store.Outcome{}, err
			}
			happens()
			w.queue.Clear()
			return store.Outcome{}, errors.New("connection reset by peer")
		}
	}
	queued := func(t *testing.T, w *world) { w.last = w.submit(t, input("old", "")) }
	tests := []struct {
		name      string
		arrange   func(t *testing.T, w *world)
		operation func(t *testing.T, w *world) (claims bool, err error)
		reads     int
	}{
		{"cancel a queued run", queued, func(t *testing.T, w *world) (bool, error) {
			b := behind(t, w)
			loses(w, func() { b.hide(t) })
			_, err := w.Cancel(t.Context(), key, w.last.RunID)
			return false, err
		}, 6},
		{"retract a queued run", queued, func(t *testing.T, w *world) (bool, error) {
			b := behind(t, w)
			loses(w, func() { b.hide(t) })
			return false, w.Retract(t.Context(), key, w.last.DispatchID)
		}, 6},
		{"edit what is read", queued, func(t *testing.T, w *world) (bool, error) {
			b := behind(t, w)
			loses(w, func() { b.readText(t, b.claim(t), w.last, "new") })
			return false, w.edits(t, w.last.DispatchID)
		}, 6},
		{"edit what a step reads", func(t *testing.T, w *world) {
			w.submit(t, input("zero", ""))
			w.claim(t)
			w.last = w.submit(t, input("old", mailbox.ModeSteer))
		}, func(t *testing.T, w *world) (bool, error) {
			b := behind(t, w)
			loses(w, func() {
				m := core.UserMessage("new").WithID("m")
				step := goOn
				step.Consumed = []thread.InboxRef{{ID: w.last.DispatchID, Revision: 1, Seq: 1}}
				b.writes(t, b.head(t), step, thread.Entry{Run: b.head(t).Run.ID, Input: w.last.DispatchID, Message: &m})
			})
			return false, w.edits(t, w.last.DispatchID)
		}, 7},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { eachReadFails(t, tt.reads, tt.arrange, tt.operation) })
	}
}

// Whose edits others always overtake gives up after sixteen; what the store refuses for good
// is not tried again.
func TestHowOftenAnEditIsTried(t *testing.T) {
	say := func(text string) []core.Message { return []core.Message{core.UserMessage(text)} }
	for _, tt := range []struct {
		name   string
		others int // edits before each of its writes
		fails  error
		writes int
		want   error
		text   string
	}{
		{"two others come first, once", -2, nil, 2, nil, "new"},
		{"another comes first, always", 1, nil, 16, thread.ErrStale, "other"},
		{"the store refuses it", 0, store.ErrTooLarge, 1, store.ErrTooLarge, "old"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			r := w.submit(t, input("old", ""))
			writes, others := 0, max(tt.others, -tt.others)
			var on func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error)
			on = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
				if writes++; tt.fails != nil {
					return store.Outcome{}, tt.fails
				}
				w.store.OnCommit = nil
				for range others {
					if err := w.Edit(ctx, key, r.DispatchID, say("other")); err != nil {
						t.Error(err)
					}
				}
				if tt.others < 0 {
					others = 0
				}
				w.store.OnCommit = on
				return w.store.Backend.Commit(ctx, key, c)
			}
			w.store.OnCommit = on
			err := w.Edit(t.Context(), key, r.DispatchID, say("new"))
			w.store.OnCommit = nil
			if !errors.Is(err, tt.want) || writes != tt.writes {
				t.Errorf("edit: %v after %d writes; want %v after %d", err, writes, tt.want, tt.writes)
			}
			head := w.head(t)
			if revision, _ := head.Queues(r.DispatchID); w.text(t, r.DispatchID, revision) != tt.text {
				t.Errorf("it says %q at revision %d, want %q", w.text(t, r.DispatchID, revision), revision, tt.text)
			}
		})
	}
}
