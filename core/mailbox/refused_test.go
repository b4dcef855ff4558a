package mailbox_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// The key was taken meanwhile, and what stands under it says that something else was sent, or
// cannot be read: the submission is refused, and not tried again.
func TestAKeyThatIsTakenMeanwhileForSomethingElse(t *testing.T) {
	for value, code := range map[string]core.Code{`{"thread":"t1","body":"other"}`: core.CodeConflict, "{": core.CodeCorrupt} {
		w := newWorld(t)
		writes := 0
		w.store.OnCommit = func(_ context.Context, _ core.ThreadKey, c store.Commit) (store.Outcome, error) {
			writes++
			return store.Outcome{Taken: []store.Pointer{{Name: c.Pointers[0].Name, Value: []byte(value)}}}, nil
		}
		if r, err := w.Submit(t.Context(), keyed("one", "")); core.CodeOf(err) != code || r != (mailbox.Receipt{}) || writes != 1 {
			t.Errorf("submit: %+v, %v after %d writes; want code %s after one", r, err, writes, code)
		}
	}
}

// The same, of two requests to take a run up that come at the same time.
func TestTwoTakeUpsAtTheSameTime(t *testing.T) {
	model := core.Termination{Type: core.TerminationError, Code: "model"}
	w, run := died(t, model)
	var first mailbox.Receipt
	w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		w.store.OnCommit = nil
		var err error
		if first, err = w.TakeUp(ctx, key, "ann", run); err != nil {
			t.Error(err)
		}
		return w.store.Backend.Commit(ctx, key, c)
	}
	second, err := w.TakeUp(t.Context(), key, "ann", run)
	if err != nil || second.RunID != first.RunID || !second.Duplicate || first.Duplicate || len(w.head(t).Pending) != 1 {
		t.Errorf("%+v, %v after %+v; want its duplicate", second, err, first)
	}
	for value, code := range map[string]core.Code{`{"thread":"t1","body":"other"}`: core.CodeConflict, "{": core.CodeCorrupt} {
		w, run := died(t, model)
		w.store.OnCommit = func(_ context.Context, _ core.ThreadKey, c store.Commit) (store.Outcome, error) {
			w.store.OnCommit = nil
			return store.Outcome{Taken: []store.Pointer{{Name: c.Pointers[0].Name, Value: []byte(value)}}}, nil
		}
		if r, err := w.TakeUp(t.Context(), key, "ann", run); core.CodeOf(err) != code || r != (mailbox.Receipt{}) {
			t.Errorf("%+v, %v; want code %s", r, err, code)
		}
	}
	w, run = died(t, model)
	w.store.OnCommit = func(_ context.Context, _ core.ThreadKey, c store.Commit) (store.Outcome, error) {
		w.store.OnHead = func(context.Context, core.ThreadKey) (thread.Head, error) {
			return thread.Head{}, core.Errorf(core.CodeCorrupt, "no head")
		}
		return store.Outcome{Taken: c.Pointers[:1]}, nil
	}
	if r, err := w.TakeUp(t.Context(), key, "ann", run); core.CodeOf(err) != core.CodeCorrupt || r != (mailbox.Receipt{}) {
		t.Errorf("a head that cannot be read: %+v, %v; want code corrupt", r, err)
	}
}

// Only a run that ended with an error, and after which nothing was written, is taken up.
func TestWhatIsNotTakenUp(t *testing.T) {
	model := core.Termination{Type: core.TerminationError, Code: "model"}
	tests := []struct {
		name    string
		arrange func(t *testing.T) (*world, core.ID)
		code    core.Code
		want    string
	}{
		{"a run that nobody knows", func(t *testing.T) (*world, core.ID) {
			w, _ := died(t, model)
			return w, core.ID{9}
		}, core.CodeNotFound, "not found"},
		{"a run that has written nothing, of a thread where nothing is written", func(t *testing.T) (*world, core.ID) {
			w := newWorld(t)
			r := w.submit(t, input("one", ""))
			w.end(t, w.claim(t))
			w.recordEnd(t, r, model, 9)
			return w, r.RunID
		}, core.CodeNotFound, "not found"},
		{"a run that is queued", func(t *testing.T) (*world, core.ID) {
			w := newWorld(t)
			return w, w.submit(t, input("one", "")).RunID
		}, core.CodeBusy, "it is not over: another run is open or queued"},
		{"a run that ended otherwise", func(t *testing.T) (*world, core.ID) { return died(t, core.Termination{Type: core.TerminationNatural}) },
			core.CodeConflict, `it ended with "natural_end": allowed is one that ended with "error"`},
		{"a run whose record does not say how", func(t *testing.T) (*world, core.ID) {
			w, run := died(t, model)
			w.put(t, store.Record{Name: recordname.Run(run), Fence: 9, Version: 9, Payload: encoded(t, thread.RunRecord{Run: core.Run{ID: run}})})
			return w, run
		}, core.CodeConflict, `it ended with "": allowed is one that ended with "error"`},
		{"a run after which others have written", func(t *testing.T) (*world, core.ID) {
			w, run := died(t, model)
			goesOn(t, w)
			return w, run
		}, core.CodeConflict, mailbox.ErrGoneOn.Error()},
		{"while another is queued", func(t *testing.T) (*world, core.ID) {
			w, run := died(t, model)
			w.submit(t, input("two", ""))
			return w, run
		}, core.CodeBusy, "thread t1: another run is open or queued"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, run := tt.arrange(t)
			before := len(w.head(t).Pending)
			r, err := w.TakeUp(t.Context(), key, "ann", run)
			if want := "take up run " + run.String() + ": " + tt.want; core.CodeOf(err) != tt.code || err.Error() != want || r != (mailbox.Receipt{}) || len(w.head(t).Pending) != before {
				t.Errorf("%+v, %v; want %s", r, err, want)
			}
		})
	}
}

// A continuation has what the earlier run had, names it, and opens before what comes until
// then; one that has written nothing can be continued in its turn.
func TestWhatAContinuationIs(t *testing.T) {
	model := core.Termination{Type: core.TerminationError, Code: "model"}
	w, run := died(t, model, func(r *thread.RunRecord) {
		r.Frontend = &core.Frontend{Tools: []core.FrontendTool{{Name: "bell"}}}
		r.Resolution = "pinned"
	})
	for _, of := range []core.ID{run, {}} {
		if of.IsZero() {
			of = w.last.RunID
		}
		r, err := w.TakeUp(t.Context(), key, "ann", of)
		if err != nil {
			t.Fatal(err)
		}
		in := w.input(t, r)
		if in.TakesUp != of || in.Run != r.RunID || in.Dispatch != r.DispatchID || in.AgentID != "other" || len(in.Messages) != 0 || w.head(t).Pending[0].Priority != 0 {
			t.Errorf("the input is %+v of priority %d", in, w.head(t).Pending[0].Priority)
		}
		if of == run && (string(in.Request) != `{"plan":"gold"}` || in.Frontend == nil || in.Resolution != "pinned") {
			t.Errorf("the input is %+v", in)
		}
		w.last = r
		w.end(t, w.claim(t))
		w.put(t, store.Record{Name: recordname.Run(r.RunID), Fence: 9, Version: 9, Payload: encoded(t, thread.RunRecord{
			Run: core.Run{ID: r.RunID, Dispatch: r.DispatchID, AgentID: "other", Status: core.RunDone, Termination: &model},
		})})
	}
	goesOn(t, w)
	if r, err := w.TakeUp(t.Context(), key, "ann", w.last.RunID); !errors.Is(err, mailbox.ErrGoneOn) {
		t.Errorf("behind another: %+v, %v; want %v", r, err, mailbox.ErrGoneOn)
	}
}

// The slot of a run that is not continued is given back.
func TestTheSlotOfARunThatIsNotTakenUp(t *testing.T) {
	over, run := died(t, core.Termination{Type: core.TerminationError, Code: "model"})
	w := limited(t)
	w.store.Backend = over.store.Backend
	w.before(func() { w.submit(t, input("two", "")) })
	if r, err := w.TakeUp(t.Context(), key, "ann", run); core.CodeOf(err) != core.CodeBusy || len(w.slots(t)) != 1 {
		t.Errorf("%+v, %v with the slots %v; want that of the other run", r, err, w.slots(t))
	}
}

// A thread that exists is not created, for whoever has no key that made it, and nothing is
// read for that.
func TestWhatIsNotCreated(t *testing.T) {
	w := newWorld(t)
	for want, c := range map[string]mailbox.Creating{
		"thread id is empty": {Thread: core.ThreadKey{Tenant: "t"}},
		`user "a b" has the character ' ', allowed are A-Z a-z 0-9 . _ : -`: {Thread: key, User: "a b"},
	} {
		if _, err := w.Create(t.Context(), c); core.CodeOf(err) != core.CodeInvalid || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	w.submit(t, input("hi", ""))
	w.store.OnPointer = func(context.Context, string, string) ([]byte, bool, error) {
		return nil, false, errors.New("no connection")
	}
	for user, want := range map[string]error{"ann": thread.ErrExists, "bob": thread.ErrForbidden} {
		if _, err := w.Create(t.Context(), mailbox.Creating{Thread: key, User: user}); !errors.Is(err, want) {
			t.Errorf("by %s: %v, want %v", user, err, want)
		}
	}
	w.store.OnPointer = nil
	if _, err := w.Create(t.Context(), mailbox.Creating{Thread: key, User: "ann", Key: "k"}); !errors.Is(err, thread.ErrExists) {
		t.Errorf("under a key that has made nothing: %v, want %v", err, thread.ErrExists)
	}
}

// A title or metadata alone are stored, too; a thread that its owner has called nothing has
// neither. What a newer program stored beside them stays.
func TestWhatAThreadIsCreatedWith(t *testing.T) {
	for _, about := range []thread.About{{}, {Title: "Rome"}, {Metadata: []byte(`{"a":1}`)}} {
		w := newWorld(t)
		head, err := w.Create(t.Context(), mailbox.Creating{Thread: key, User: "ann", About: about})
		if err != nil || head.Version != w.head(t).Version {
			t.Fatal(head, err)
		}
		got, err := w.About(t.Context(), key)
		if diff := cmp.Diff(about, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	w := newWorld(t)
	w.submit(t, input("hi", ""))
	w.claim(t)
	w.put(t, store.Record{Name: recordname.About, Version: 1, Payload: []byte(`{"schema":1,"title":"Oslo","mood":"calm"}`)})
	if _, _, err := w.Describe(t.Context(), key, "ann", titled(strings.Repeat("x", 201))); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("a title that is too long: %v", err)
	}
	broken := errors.New("no")
	if _, _, err := w.Describe(t.Context(), key, "ann", func(thread.About) (thread.About, error) { return thread.About{}, broken }); !errors.Is(err, broken) {
		t.Errorf("an edit that fails: %v", err)
	}
	if about, head, err := w.Describe(t.Context(), key, "ann", titled("Rome")); err != nil || about.Title != "Rome" || head.Version != 3 {
		t.Errorf("%+v at version %d, %v", about, head.Version, err)
	}
	if r, _, _ := w.store.Get(t.Context(), key, recordname.About); !bytes.Contains(r.Payload, []byte(`"mood":"calm"`)) || r.Fence != 1 || r.Version != 3 {
		t.Errorf("stored is %s under fence %d, version %d", r.Payload, r.Fence, r.Version)
	}
	w.put(t, store.Record{Name: recordname.About, Fence: 9, Version: 9, Payload: []byte("{")})
	if _, err := w.About(t.Context(), key); core.CodeOf(err) != core.CodeCorrupt || !strings.HasPrefix(err.Error(), "thread t1: ") {
		t.Errorf("a damaged title: %v", err)
	}
}

// A request for a summary is sent at once, and it is no error if it is lost: the log says so.
func TestARequestForASummary(t *testing.T) {
	var log bytes.Buffer
	w := newWorld(t)
	box, err := mailbox.New(mailbox.Options{Env: env.System(), Store: w.store, Waker: w.queue, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	box.WakeToCompact(t.Context(), key)
	if err := box.Wake(t.Context(), hint, 7); err != nil {
		t.Error(err)
	}
	sent := w.queue.Messages()
	want := core.WakeUp{Tenant: "t", Thread: "t1", Kind: core.WakeCompact}
	if len(sent) != 2 || sent[0].Hint != want || sent[0].Delay != 0 || sent[1].Hint != hint || sent[1].Delay != 7 || log.Len() != 0 {
		t.Errorf("hints %+v, the log says %s", sent, &log)
	}
	w.queue.OnWake = refuse
	box.WakeToCompact(t.Context(), key)
	if err := box.Wake(t.Context(), hint, 0); !errors.Is(err, errNoQueue) || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("%v, the log says %s", err, &log)
	}
}
