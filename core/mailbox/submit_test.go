package mailbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// reading asks read before each read of the store, one at a time: a submission
// reads two things at once.
func (w *world) reading(read func() error) {
	var mu sync.Mutex
	w.store.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
		if !op.Writes() {
			mu.Lock()
			err := read()
			mu.Unlock()
			if err != nil {
				return err
			}
		}
		return do(ctx)
	}
}

// loses makes some records unfindable, and only those.
func (w *world) loses(names ...string) {
	w.store.OnGet = func(ctx context.Context, key core.ThreadKey, name string) (store.Record, bool, error) {
		if slices.Contains(names, name) {
			return store.Record{}, false, nil
		}
		return w.store.Backend.Get(ctx, key, name)
	}
}

// failing makes reading one record fail.
func (w *world) failing(name string, failure error) {
	w.store.OnGet = func(ctx context.Context, key core.ThreadKey, asked string) (store.Record, bool, error) {
		if asked == name {
			return store.Record{}, false, failure
		}
		return w.store.Backend.Get(ctx, key, asked)
	}
}

// points makes pointers findable as if they were stored.
func (w *world) points(pointers ...store.Pointer) {
	w.store.OnPointer = func(ctx context.Context, tenant, name string) ([]byte, bool, error) {
		for _, p := range pointers {
			if p.Name == name {
				return p.Value, true, nil
			}
		}
		return w.store.Backend.Pointer(ctx, tenant, name)
	}
}

// lose makes the next commit lose its response: it is applied, then happens comes,
// and the caller reads an error.
func (w *world) lose(t *testing.T, happens func(next thread.Head)) {
	t.Helper()
	w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		w.store.OnCommit = nil
		if outcome, err := w.store.Backend.Commit(ctx, key, c); err != nil || !outcome.Written {
			t.Errorf("write: %+v, %v", outcome, err)
		}
		happens(c.Head)
		return store.Outcome{}, errors.New("connection reset by peer")
	}
}

// before lets something happen between the next commit's look at the head and
// its write.
func (w *world) before(happens func()) {
	w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		w.store.OnCommit = nil
		happens()
		return w.store.Backend.Commit(ctx, key, c)
	}
}

type world struct {
	*mailbox.Service
	store *storetest.Faulty
	queue *mailboxtest.Queue
	last  mailbox.Receipt
}

var errNoQueue = errors.New("no queue")

// refuse is a queue that takes no hint.
func refuse(core.WakeUp, time.Duration) error { return errNoQueue }

var key = core.ThreadKey{Tenant: "t", Thread: "t1"}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{store: &storetest.Faulty{Backend: memory.New()}, queue: &mailboxtest.Queue{}}
	var err error
	w.Service, err = mailbox.New(mailbox.Options{
		Env: env.System(), Store: w.store, Waker: w.queue, Logger: slog.New(slog.DiscardHandler), Fits: toolcall.CheckDecision,
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func input(text string, mode mailbox.Mode) mailbox.Submission {
	return mailbox.Submission{Thread: key, User: "ann", Opening: mailbox.Opening{AgentID: "demo"}, Messages: []core.Message{core.UserMessage(text)}, Mode: mode}
}

func (w *world) submit(t *testing.T, s mailbox.Submission) mailbox.Receipt {
	t.Helper()
	receipt, err := w.Submit(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

var hint = core.WakeUp{Tenant: "t", Thread: "t1"}

// claim takes the thread and returns its head.
func (w *world) claim(t *testing.T) thread.Head {
	t.Helper()
	head, claimed, err := w.Claim(t.Context(), hint, false)
	if err != nil || !claimed {
		t.Fatalf("claim: %v, %v", claimed, err)
	}
	return head
}

func (w *world) commit(t *testing.T, change thread.Change) thread.Head {
	t.Helper()
	head, _, err := w.Commit(t.Context(), key, thread.Head{}, change, nil)
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// end ends the claimed run by itself.
func (w *world) end(t *testing.T, head thread.Head) {
	t.Helper()
	w.commit(t, thread.CommitStep{Fence: head.Claim.Fence, From: head.Seq, Outcome: thread.Done, Seq: head.Seq})
}

// reads lets the claimed run read an inbox entry at its next sequence, and go on.
func (w *world) reads(t *testing.T, head thread.Head, id core.ID) {
	t.Helper()
	entry := thread.Entry{Run: head.Run.ID, Step: 1, Message: &core.Message{Role: core.RoleUser}, Input: id}
	payload, err := thread.Records{}.EncodeEntry(&entry)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = w.Commit(t.Context(), key, thread.Head{}, thread.CommitStep{
		Fence: head.Claim.Fence, From: head.Seq, Outcome: thread.Yield, Keep: true, Lease: 30_000, Seq: head.Seq + 1,
		Consumed: []thread.InboxRef{{ID: id, Seq: head.Seq + 1}},
	}, func(thread.Head, thread.Result) ([]store.Record, error) {
		return []store.Record{{Name: store.LogName(head.Seq + 1), Fence: head.Claim.Fence, Payload: payload}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) status(t *testing.T, r mailbox.Receipt) string {
	t.Helper()
	head, err := w.Head(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	run, ok, err := w.Run(t.Context(), key, head, r.RunID, r.DispatchID)
	switch {
	case err != nil:
		t.Fatal(err)
	case !ok:
		return "unknown"
	case run.Termination != nil:
		return string(run.Status) + " " + string(run.Termination.Type)
	}
	return string(run.Status)
}

// The run that was to read the input ends between the look at the head and the
// write: the input is queued.
func TestSteeringARunThatJustEndedQueues(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("one", ""))
	head := w.claim(t)
	w.before(func() { w.end(t, head) })
	r := w.submit(t, input("two", mailbox.ModeSteer))
	if got := w.status(t, r); got != "created" || r.RunID == head.Run.ID {
		t.Errorf("the input's run %s is %q", r.RunID, got)
	}
}

// A steered input comes again under its key: before a step read it, after, and
// when its run is over.
func TestSteeredInputIsReadOnce(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("one", ""))
	head := w.claim(t)
	s := input("two", mailbox.ModeSteer)
	s.Key.Value = "k"
	first := w.submit(t, s)
	again := func(when string, sent int) {
		t.Helper()
		w.queue.Clear()
		r, err := w.Submit(t.Context(), s)
		if len(w.queue.Messages()) != sent {
			t.Errorf("%s: hints %q, want %d", when, w.queue.Lines(), sent)
		}
		if err != nil || !r.Duplicate || r.RunID != head.Run.ID {
			t.Errorf("%s: %+v, %v; want a duplicate of run %s", when, r, err, head.Run.ID)
		}
		now, err := w.Head(t.Context(), key)
		if err != nil || len(now.Inbox)+len(now.Pending) > 1 {
			t.Errorf("%s: head %+v, %v", when, now, err)
		}
	}
	again("waiting", 1)
	w.reads(t, head, first.DispatchID)
	again("read", 0)
	now, err := w.Head(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	w.end(t, now)
	again("over", 0)
	if now, err = w.Head(t.Context(), key); err != nil || now.Busy(0) {
		t.Errorf("head %+v, %v; want nothing queued", now, err)
	}
}

// The write of an input has no response, and a step reads the input before the
// next look: it must not be written again.
func TestInputWithLostResponseIsReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.submit(t, input("one", ""))
		head := w.claim(t)
		w.lose(t, func(next thread.Head) { w.reads(t, head, next.Inbox[0].ID) })
		r := w.submit(t, input("two", mailbox.ModeSteer))
		now, err := w.Head(t.Context(), key)
		if err != nil || len(now.Inbox) != 0 || r.RunID != head.Run.ID {
			t.Errorf("receipt %+v, head %+v, %v; want an empty inbox", r, now, err)
		}
	})
}

// An enqueue has no response, and a worker claims the run before the next look.
func TestEnqueueWithLostResponseIsQueuedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.lose(t, func(thread.Head) { w.claim(t) })
		r := w.submit(t, input("one", ""))
		now, err := w.Head(t.Context(), key)
		if err != nil || len(now.Pending) != 0 || now.Run.ID != r.RunID {
			t.Errorf("head %+v, %v; want run %s open and nothing queued", now, err, r.RunID)
		}
	})
}

func TestReceiptOfARetry(t *testing.T) {
	w := newWorld(t)
	s := input("one", mailbox.ModeReject)
	s.Key.Value = "k"
	w.submit(t, input("zero", ""))
	head := w.claim(t)
	if _, err := w.Submit(t.Context(), s); core.CodeOf(err) != core.CodeBusy || err.Error() != "thread t1: another run is open or queued" {
		t.Fatalf("submit: %v, want code busy and the thread without its tenant", err)
	}
	w.end(t, head)
	first, err := w.Submit(t.Context(), s)
	if err != nil || first.Duplicate {
		t.Errorf("after a refusal: %+v, %v; want it to be the first", first, err)
	}
	second, err := w.Submit(t.Context(), s)
	if err != nil || !second.Duplicate || second.RunID != first.RunID {
		t.Errorf("again: %+v, %v; want a duplicate of %+v", second, err, first)
	}
	s.User = "bob"
	if r, err := w.Submit(t.Context(), s); core.CodeOf(err) != core.CodeForbidden {
		t.Errorf("by another user: %+v, %v; want code forbidden", r, err)
	}
}

// The head is written, the process dies before the hint: the retry sends it.
func TestRetryHintsAgain(t *testing.T) {
	w := newWorld(t)
	s := input("one", "")
	s.Key.Value = "k"
	w.submit(t, input("zero", ""))
	w.interrupt(t, "")
	w.submit(t, s)
	w.queue.Clear()
	r := w.submit(t, s)
	if diff := cmp.Diff([]string{"t1 0s"}, w.queue.Lines()); diff != "" {
		t.Error(diff)
	}
	if got, want := w.queue.Messages()[0].Hint, (core.WakeUp{Tenant: "t", Thread: "t1", Dispatch: r.DispatchID, Epoch: 1}); got != want {
		t.Errorf("the hint is %+v, want %+v", got, want)
	}
}

// What has been read, or has ended, needs no hint.
func TestRetryOfWhatIsOverDoesNotHint(t *testing.T) {
	ends := map[string]func(t *testing.T, w *world, r mailbox.Receipt){
		"its run is over": func(t *testing.T, w *world, r mailbox.Receipt) {
			w.end(t, w.claim(t))
			w.recordEnd(t, r, core.Termination{Type: core.TerminationNatural}, 9)
		},
		"it was cancelled": func(t *testing.T, w *world, r mailbox.Receipt) { w.commit(t, thread.Cancel{Run: r.RunID}) },
	}
	for name, end := range ends {
		w := newWorld(t)
		first := w.submit(t, keyed("one", ""))
		end(t, w, first)
		w.queue.Clear()
		if r := w.submit(t, keyed("one", "")); !r.Duplicate || r.RunID != first.RunID || len(w.queue.Lines()) != 0 {
			t.Errorf("%s: %+v, hints %q; want a duplicate of %s and no hint", name, r, w.queue.Lines(), first.RunID)
		}
	}
}

func TestClaimOfNothing(t *testing.T) {
	w := newWorld(t)
	if _, claimed, err := w.Claim(t.Context(), hint, false); claimed || err != nil {
		t.Errorf("a thread that does not exist: %v, %v", claimed, err)
	}
	w.submit(t, input("one", ""))
	w.commit(t, thread.Delete{Owner: "ann"})
	w.queue.Clear()
	if _, claimed, err := w.Claim(t.Context(), hint, false); claimed || err != nil {
		t.Errorf("a deleted thread: %v, %v", claimed, err)
	}
	if _, claimed, err := w.Claim(t.Context(), core.WakeUp{Tenant: "t", Thread: "t9"}, false); claimed || err != nil || len(w.queue.Messages()) != 0 {
		t.Errorf("another that does not exist: %v, %v; %q was sent for what nobody can claim", claimed, err, w.queue.Lines())
	}
	if _, err := w.Submit(t.Context(), input("two", "")); core.CodeOf(err) != core.CodeDeleted {
		t.Errorf("submit: %v, want code deleted", err)
	}
}

// What was accepted before the thread was deleted is not confirmed any more.
func TestRetryOnADeletedThreadIsRefused(t *testing.T) {
	w := newWorld(t)
	first := w.submit(t, keyed("one", ""))
	if _, err := w.Cancel(t.Context(), key, first.RunID); err != nil {
		t.Fatal(err)
	}
	w.commit(t, thread.Delete{Owner: "ann"})
	if r, err := w.Submit(t.Context(), keyed("one", "")); core.CodeOf(err) != core.CodeDeleted || r != (mailbox.Receipt{}) {
		t.Errorf("submit: %+v, %v; want code deleted", r, err)
	}
}

func TestCancel(t *testing.T) {
	w := newWorld(t)
	if _, err := w.Cancel(t.Context(), key, core.ID{}); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("nothing there: %v, want code not_found", err)
	}
	first, second := w.submit(t, input("one", "")), w.submit(t, input("two", ""))
	if id, err := w.Cancel(t.Context(), key, second.RunID); err != nil || id != second.RunID || w.status(t, second) != "done cancelled" {
		t.Errorf("queued: %s is %s, %v", id, w.status(t, second), err)
	}
	w.claim(t)
	if id, err := w.Cancel(t.Context(), key, core.ID{}); err != nil || id != first.RunID || w.status(t, first) != "done cancelled" {
		t.Errorf("open: %s is %s, %v", id, w.status(t, first), err)
	}
	w.queue.Clear()
	woken, err := w.Rewake(t.Context(), core.WakeUp{Tenant: "t", Thread: "t1"})
	if diff := cmp.Diff([]string{"t1 1m0s"}, w.queue.Lines()); !woken || err != nil || diff != "" {
		t.Errorf("a closing run is woken: %v, %v, %s", woken, err, diff)
	}
}

func TestSubmissionIsChecked(t *testing.T) {
	change := func(f func(*mailbox.Submission)) mailbox.Submission {
		s := input("one", "")
		f(&s)
		return s
	}
	tests := []struct {
		want string
		s    mailbox.Submission
	}{
		{"tenant is empty", change(func(s *mailbox.Submission) { s.Thread.Tenant = "" })},
		{`thread id "a#b" has the character '#', allowed are A-Z a-z 0-9 . _ : -`, change(func(s *mailbox.Submission) { s.Thread.Thread = "a#b" })},
		{`user "a b" has the character ' ', allowed are A-Z a-z 0-9 . _ : -`, change(func(s *mailbox.Submission) { s.User = "a b" })},
		{"agent id is empty", change(func(s *mailbox.Submission) { s.Opening.AgentID = "" })},
		{"messages are empty, at least one is required", change(func(s *mailbox.Submission) { s.Messages = nil })},
		{`messages[0]: role "tool", only user messages can be submitted`, change(func(s *mailbox.Submission) { s.Messages[0].Role = core.RoleTool })},
		{`messages[1]: id "a b" has the character ' ', allowed are A-Z a-z 0-9 . _ : -`, change(func(s *mailbox.Submission) {
			s.Messages = append(s.Messages, core.UserMessage("two").WithID("a b"))
		})},
		{"messages[0].content has no text and no file", change(func(s *mailbox.Submission) { s.Messages[0].Content = nil })},
		{"request is not JSON", change(func(s *mailbox.Submission) { s.Opening.Request = json.RawMessage(`{"a"`) })},
		{"request is not JSON", change(func(s *mailbox.Submission) { s.Opening.Request = json.RawMessage{} })},
		{"request is not JSON", change(func(s *mailbox.Submission) { s.Opening.Request = json.RawMessage("\"\xff\"") })},
		{`mode "x" is unknown, allowed are queue, interrupt, steer, reject`, change(func(s *mailbox.Submission) { s.Mode = "x" })},
	}
	for _, tt := range tests {
		if err := tt.s.Check(); err == nil || err.Error() != tt.want || core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("Check returns %v, want %s", err, tt.want)
		}
	}
	if err := input("one", "").Check(); err != nil {
		t.Error(err)
	}
	text := func(size int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", size-2) + `"`) }
	if err := change(func(s *mailbox.Submission) { s.Opening.Request = text(16384) }).Check(); err != nil {
		t.Errorf("a request of 16384 bytes: %v", err)
	}
	err := change(func(s *mailbox.Submission) { s.Opening.Request = text(16385) }).Check()
	if !errors.Is(err, mailbox.ErrRequestTooLarge) || core.CodeOf(err) != core.CodeTooLarge || err.Error() != "request is larger than 16384 bytes: it has 16385" {
		t.Errorf("a request of 16385 bytes: %v", err)
	}
	if err := change(func(s *mailbox.Submission) { s.User, s.Messages[0].ID = "", "m1" }).Check(); err != nil {
		t.Errorf("nobody's message with an id: %v", err)
	}
}
