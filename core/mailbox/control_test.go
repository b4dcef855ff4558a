package mailbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// text is what stands in the stored input at a revision.
func (w *world) text(t *testing.T, id core.ID, revision uint32) string {
	t.Helper()
	r, ok, err := w.store.Get(t.Context(), key, recordname.Input(id, revision))
	if err != nil || !ok {
		t.Fatalf("input at revision %d: %v, found %v", revision, err, ok)
	}
	in, err := thread.Records{}.DecodeQueued(r.Payload)
	if err != nil {
		t.Fatal(err)
	}
	return in.Messages[0].Text()
}

func TestEdit(t *testing.T) {
	say := func(text string) []core.Message { return []core.Message{core.UserMessage(text)} }
	tests := []struct {
		name     string
		submit   func(t *testing.T, w *world) core.ID
		revision uint32
	}{
		{"a queued run", func(t *testing.T, w *world) core.ID { return w.submit(t, input("old", "")).DispatchID }, 1},
		{"an inbox entry", func(t *testing.T, w *world) core.ID {
			w.submit(t, input("one", ""))
			w.claim(t)
			return w.submit(t, input("old", mailbox.ModeSteer)).DispatchID
		}, 1},
		{"over what a refused edit left behind", func(t *testing.T, w *world) core.ID {
			id := w.submit(t, input("old", "")).DispatchID
			for revision := uint32(1); revision <= 3; revision++ {
				orphan := store.Record{Name: recordname.Input(id, revision), Payload: []byte(`{"schema":1}`)}
				if err := w.store.Backend.Put(t.Context(), key, orphan); err != nil {
					t.Fatal(err)
				}
			}
			return id
		}, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			id := tt.submit(t, w)
			if err := w.Edit(t.Context(), key, id, say("new")); err != nil {
				t.Fatal(err)
			}
			head, err := w.Head(t.Context(), key)
			if revision, ok := head.Queues(id); err != nil || !ok || revision != tt.revision {
				t.Errorf("the head queues revision %d, found %v, %v; want %d", revision, ok, err, tt.revision)
			}
			if got := w.text(t, id, tt.revision); got != "new" {
				t.Errorf("the input says %q", got)
			}
		})
	}
	w := newWorld(t)
	if err := w.Edit(t.Context(), key, core.ID{1}, say("new")); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("what was never submitted: %v, want code not_found", err)
	}
	if err := w.Edit(t.Context(), key, core.ID{1}, nil); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("no messages: %v, want code invalid", err)
	}
}

// Each is tried at the revision behind the last.
func TestAnEditTakesOneCommit(t *testing.T) {
	w := newWorld(t)
	r, commits := w.submit(t, input("one", "")), 0
	w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		commits++
		return w.store.Backend.Commit(ctx, key, c)
	}
	for _, text := range []string{"two", "three", "four"} {
		if err := w.Edit(t.Context(), key, r.DispatchID, []core.Message{core.UserMessage(text)}); err != nil {
			t.Fatal(err)
		}
	}
	if commits != 3 || w.text(t, r.DispatchID, 3) != "four" {
		t.Errorf("three edits take %d commits", commits)
	}
}

func TestRetract(t *testing.T) {
	w := newWorld(t)
	first := w.submit(t, input("one", ""))
	w.claim(t)
	steered := w.submit(t, input("two", mailbox.ModeSteer))
	if err := w.Retract(t.Context(), key, steered.DispatchID); err != nil {
		t.Fatal(err)
	}
	head, err := w.Head(t.Context(), key)
	if err != nil || len(head.Inbox) != 0 || w.status(t, first) != "running" {
		t.Errorf("inbox %v, %v, and the run is %q", head.Inbox, err, w.status(t, first))
	}
	if err := w.Retract(t.Context(), key, steered.DispatchID); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("again: %v, want code not_found", err)
	}
}

// Only what the log confirms was read, and only what the head has passed has
// ended: records of refused writes say both otherwise.
func TestOrphanAuditsAreNotBelieved(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("one", ""))
	head := w.claim(t)
	s := input("two", mailbox.ModeSteer)
	s.Key.Value = "k"
	steered := w.submit(t, s)
	audit := func(name string, version uint64, a thread.AuditRecord) {
		payload, err := thread.Records{}.EncodeAudit(a)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.store.Backend.Put(t.Context(), key, store.Record{Name: name, Fence: 1, Version: version, Payload: payload}); err != nil {
			t.Fatal(err)
		}
	}
	now, err := w.Head(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	audit(recordname.Read(steered.DispatchID), now.Version+1, thread.AuditRecord{Run: head.Run.ID, Read: 1, Status: core.DispatchAcked})
	audit(recordname.Ended(steered.DispatchID), now.Version+1, thread.AuditRecord{Run: head.Run.ID, Status: core.DispatchCancelled})
	payload, err := thread.Records{}.EncodeEntry(&thread.Entry{Run: core.ID{9}, Message: &core.Message{Role: core.RoleUser}, Input: steered.DispatchID})
	if err == nil { // behind the head, of the same refused write
		err = w.store.Backend.Put(t.Context(), key, store.Record{Name: store.LogName(1), Fence: 1, Payload: payload})
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Retract(t.Context(), key, steered.DispatchID); err != nil { // it ends for real
		t.Fatal(err)
	}
	retry := w.submit(t, s)
	if !retry.Duplicate || retry.DispatchID != steered.DispatchID || retry.RunID != head.Run.ID {
		t.Errorf("the retry's receipt is %+v, want a duplicate of run %s", retry, head.Run.ID)
	}
	if now, err = w.Head(t.Context(), key); err != nil || len(now.Inbox) != 0 {
		t.Errorf("inbox %v, %v; want it empty", now.Inbox, err)
	}
}

// An edit whose revision another took meanwhile takes the next, and gives up
// after sixteen.
// A newer program of the same schema may have stored more than this one knows of: its
// run is to read it, whoever edits the text.
func TestEditKeepsWhatANewerProgramHasStored(t *testing.T) {
	w := newWorld(t)
	s := input("old", "")
	s.Opening.Request = []byte(`{"plan":"gold"}`)
	id := w.submit(t, s).DispatchID
	w.store.OnGet = func(ctx context.Context, key core.ThreadKey, name string) (store.Record, bool, error) {
		r, ok, err := w.store.Backend.Get(ctx, key, name)
		if name == recordname.Input(id, 0) {
			r.Payload = append(slices.Clone(r.Payload[:len(r.Payload)-1]), `,"mood":"calm"}`...)
		}
		return r, ok, err
	}
	if err := w.Edit(t.Context(), key, id, []core.Message{core.UserMessage("new").WithID("m1")}); err != nil {
		t.Fatal(err)
	}
	r, ok, err := w.store.Get(t.Context(), key, recordname.Input(id, 1))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	var got struct {
		Mood     string
		Request  struct{ Plan string }
		Messages []struct{ ID string }
	}
	if err := json.Unmarshal(r.Payload, &got); err != nil || got.Mood != "calm" || got.Request.Plan != "gold" || len(got.Messages) != 1 || got.Messages[0].ID != "m1" {
		t.Errorf("the edit is stored as %s, %v", r.Payload, err)
	}
}

func TestEditTakesTheNextFreeRevision(t *testing.T) {
	say := func(text string) []core.Message { return []core.Message{core.UserMessage(text)} }
	occupy := func(t *testing.T, w *world, id core.ID, revisions uint32) {
		for revision := uint32(1); revision <= revisions; revision++ {
			w.put(t, store.Record{Name: recordname.Input(id, revision), Payload: []byte(`{"schema":1}`)})
		}
	}
	tests := []struct {
		name     string
		arrange  func(t *testing.T, w *world, id core.ID)
		revision uint32
		code     core.Code
	}{
		{"another edit comes first", func(t *testing.T, w *world, id core.ID) {
			w.before(func() {
				if err := w.Edit(t.Context(), key, id, say("other")); err != nil {
					t.Error(err)
				}
			})
		}, 2, ""},
		{"fifteen are taken", func(t *testing.T, w *world, id core.ID) { occupy(t, w, id, 15) }, 16, ""},
		{"it was edited sixteen times", func(t *testing.T, w *world, id core.ID) {
			for range 16 {
				if err := w.Edit(t.Context(), key, id, say("other")); err != nil {
					t.Fatal(err)
				}
			}
		}, 17, ""},
		{"sixteen are taken", func(t *testing.T, w *world, id core.ID) { occupy(t, w, id, 16) }, 0, core.CodeConflict},
		{"the input is gone", func(_ *testing.T, w *world, id core.ID) {
			w.loses(recordname.Input(id, 0))
		}, 0, core.CodeNotFound},
		{"it was read meanwhile", func(t *testing.T, w *world, _ core.ID) { w.before(func() { w.claim(t) }) }, 0, core.CodeNotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			id := w.submit(t, input("old", "")).DispatchID
			tt.arrange(t, w, id)
			if err := w.Edit(t.Context(), key, id, say("new")); core.CodeOf(err) != tt.code {
				t.Fatalf("edit: %v, want code %q", err, tt.code)
			}
			head, err := w.Head(t.Context(), key)
			if revision, _ := head.Queues(id); err != nil || revision != tt.revision {
				t.Errorf("revision %d, %v; want %d", revision, err, tt.revision)
			}
		})
	}
}

// Without a run's id the first of the queue is cancelled, not the last.
func TestCancelOfWhateverIsFirst(t *testing.T) {
	w := newWorld(t)
	first := w.submit(t, input("one", ""))
	w.submit(t, input("two", ""))
	if id, err := w.Cancel(t.Context(), key, core.ID{}); err != nil || id != first.RunID {
		t.Errorf("cancelled %s, %v; want %s", id, err, first.RunID)
	}
}

// An audit of a refused step says that an input was read where the log has
// nothing, or another's: the input ended without having been read.
func TestReadThatTheLogDoesNotConfirmIsNotBelieved(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprint("the record is lost: ", lost), func(t *testing.T) {
			w := newWorld(t)
			w.submit(t, input("one", ""))
			head := w.claim(t)
			other := w.submit(t, input("two", mailbox.ModeSteer))
			steered := w.submit(t, keyed("three", mailbox.ModeSteer))
			w.reads(t, head, other.DispatchID)
			w.audit(t, recordname.Read(steered.DispatchID), 1, thread.AuditRecord{Run: head.Run.ID, Read: 1, Status: core.DispatchAcked})
			if lost {
				w.loses(store.LogName(1))
			}
			if err := w.Retract(t.Context(), key, steered.DispatchID); err != nil {
				t.Fatal(err)
			}
			if r := w.submit(t, keyed("three", mailbox.ModeSteer)); !r.Duplicate || r.RunID != head.Run.ID {
				t.Errorf("again: %+v, want a duplicate of run %s", r, head.Run.ID)
			}
			now, err := w.Head(t.Context(), key)
			if err != nil || len(now.Inbox) != 0 {
				t.Errorf("inbox %v, %v; want it empty", now.Inbox, err)
			}
		})
	}
}

// Steered input whose run ended becomes a run of its own. Its retry names that
// run also between its claim and its first commit, when nothing but the head
// tells of it.
func TestRetryOfSteeredInputNamesTheRunThatItBecame(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("one", ""))
	head := w.claim(t)
	s := input("two", mailbox.ModeSteer)
	s.Key.Value = "k"
	steered := w.submit(t, s)
	w.commit(t, thread.CommitStep{Fence: head.Claim.Fence, From: head.Seq, Outcome: thread.Done, Seq: head.Seq})
	if head = w.claim(t); head.Run.ID != steered.DispatchID {
		t.Fatalf("run %s is open, want %s", head.Run.ID, steered.DispatchID)
	}
	if retry := w.submit(t, s); !retry.Duplicate || retry.RunID != steered.DispatchID {
		t.Errorf("the retry's receipt is %+v, want a duplicate of run %s", retry, steered.DispatchID)
	}
}

// What a store refuses for now says nothing about the input.
func TestEditOfWhatCannotBeReadNowIsNotNotFound(t *testing.T) {
	w := newWorld(t)
	id := w.submit(t, input("old", "")).DispatchID
	w.failing(recordname.Input(id, 0), store.ErrThrottled)
	err := w.Edit(t.Context(), key, id, []core.Message{core.UserMessage("new")})
	if !errors.Is(err, store.ErrThrottled) || errors.Is(err, thread.ErrNotFound) {
		t.Errorf("edit: %v, want throttled and not not_found", err)
	}
}

// Input that is damaged is not edited.
func TestEditOfDamagedInput(t *testing.T) {
	w := newWorld(t)
	id := w.submit(t, input("old", "")).DispatchID
	w.store.OnRecord = func(_ storetest.Operation, found store.Record) store.Record {
		found.Payload = []byte("{")
		return found
	}
	if err := w.edits(t, id); core.CodeOf(err) != core.CodeCorrupt {
		t.Errorf("edit: %v, want code corrupt", err)
	}
}
