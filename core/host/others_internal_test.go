package host

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
	"github.com/reveille-run/reveille/core/tool"
)

// family is a program in which a call of ann's thread t has started a run.
type family struct {
	*Host
	t     *testing.T
	queue *mailboxtest.Queue
	call  tool.Call
	child core.ID
	to    others
}

func newFamily(t *testing.T, turns ...scripted.Turn) family {
	t.Helper()
	r, queue := program(t, func(c *Options) {
		c.Agents.Tools = []tool.Tool{asksFirst()}
		if turns != nil {
			c.Agents.Models["m"] = agent.ModelBinding{Model: scripted.Turns(turns...)}
		}
	})
	s := hello("t")
	s.User = "ann"
	receipt, err := r.Submit(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	f := family{Host: r, t: t, queue: queue, to: others{mailbox: r.mailbox, store: r.reads.store, records: r.reads.records}}
	head, claimed, err := r.mailbox.Claim(t.Context(), core.WakeUp{Tenant: "acme", Thread: "t"}, false)
	if err != nil || !claimed {
		t.Fatalf("claim: %v, %v", claimed, err)
	}
	f.call = tool.Call{Idempotency: head.Run.ID.String() + "/2/0", Thread: s.Thread, Run: receipt.RunID, User: "ann"}
	f.child = f.starts("ann", "t", "c")
	return f
}

// starts submits a run of a user on a thread, which a call of another thread has started.
func (f family) starts(user, parent, on string) core.ID {
	f.t.Helper()
	if parent == "" {
		return f.startsAs(user, nil, on)
	}
	return f.startsAs(user, &mailbox.Parent{Thread: parent, Run: f.call.Run, Call: thread.NoCall}, on)
}

func (f family) startsAs(user string, parent *mailbox.Parent, on string) core.ID {
	f.t.Helper()
	s := hello(on)
	s.User, s.Origin, s.Opening.Parent = user, core.OriginInternal, parent
	receipt, err := f.Submit(f.t.Context(), s)
	if err != nil {
		f.t.Fatal(err)
	}
	return receipt.RunID
}

// A tool reads and cancels the runs that calls of its own thread have started, and no others.
func TestAToolReachesItsThreadsRunsAlone(t *testing.T) {
	f := newFamily(t)
	gone := f.starts("ann", "t", "gone")
	if err := f.WorkLocal(t.Context(), core.WakeUp{Tenant: "acme", Thread: "gone"}); err != nil {
		t.Fatal(err)
	}
	if err := f.mailbox.Delete(t.Context(), core.ThreadKey{Tenant: "acme", Thread: "gone"}, "ann"); err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]core.ID{
		"no run": {15: 1}, "of a deleted thread": gone, "of nobody": f.starts("ann", "", "free"), "of another thread's call": f.starts("ann", "t9", "other"), "another user's": f.starts("ben", "t", "ben"),
	} {
		want := "no call of the thread has started the run " + run.String()
		if _, err := f.to.ChildRun(t.Context(), f.call, run); core.CodeOf(err) != core.CodeNotFound || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
		if _, err := f.to.CancelRun(t.Context(), f.call, run); core.CodeOf(err) != core.CodeNotFound {
			t.Errorf("%s is cancelled: %v", name, err)
		}
		_, err := f.to.SendMessage(t.Context(), f.call, tool.Message{Text: "hi", Child: run})
		if refused, ok := errors.AsType[*tool.MessageError](err); !ok || refused.Code != "recipient_not_found" {
			t.Errorf("%s gets a message: %v", name, err)
		}
	}
	run, err := f.to.ChildRun(t.Context(), f.call, f.child)
	if err != nil || run.ID != f.child || run.Status != core.RunCreated || run.Response != "" {
		t.Errorf("its child is %+v, %v", run, err)
	}
	if n, err := f.to.CancelRun(t.Context(), f.call, f.child); n != 1 || err != nil {
		t.Errorf("%d runs are cancelled, %v", n, err)
	}
	if n, err := f.to.CancelRun(t.Context(), f.call, f.child); n != 0 || core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("%d runs are cancelled again, %v", n, err)
	}
}

// A run that is not over has its last words for its output.
func TestTheOutputOfARunSoFar(t *testing.T) {
	danger := []core.ToolCall{scripted.Call("danger", nil)}
	for name, tt := range map[string]struct {
		turns []scripted.Turn
		want  string
	}{
		"its last turn":               {[]scripted.Turn{{Text: "first this", Calls: danger}}, "first this"},
		"nothing":                     {[]scripted.Turn{{Calls: danger}}, ""},
		"its answer, once it is over": {[]scripted.Turn{{Text: "so it is"}}, "so it is"},
	} {
		f := newFamily(t, tt.turns...)
		if err := f.WorkLocal(t.Context(), core.WakeUp{Tenant: "acme", Thread: "c"}); err != nil {
			t.Fatal(err)
		}
		run, err := f.to.ChildRun(t.Context(), f.call, f.child)
		if err != nil || run.Response != tt.want || run.Steps != 1 {
			t.Errorf("%s: %+v, %v; want %q", name, run, err, tt.want)
		}
	}
}

// The output so far is that of the run itself, not of one before it on the thread.
func TestTheOutputOfARunIsItsOwn(t *testing.T) {
	f := newFamily(t, scripted.Turn{Text: "so it is"})
	if err := f.WorkLocal(t.Context(), core.WakeUp{Tenant: "acme", Thread: "c"}); err != nil {
		t.Fatal(err)
	}
	next := f.starts("ann", "t", "c")
	key := core.ThreadKey{Tenant: "acme", Thread: "c"}
	head, claimed, err := f.mailbox.Claim(t.Context(), core.WakeUp{Tenant: "acme", Thread: "c"}, false)
	if err != nil || !claimed {
		t.Fatal(claimed, err)
	}
	for _, first := range []uint64{0, head.Seq + 1, 1} { // no record; of a step that has not committed; of one that continues the log
		got, err := f.to.said(t.Context(), key, head, core.Run{ID: next, FirstSeq: first})
		if got != "" || err != nil {
			t.Errorf("from %d on it has said %q, %v", first, got, err)
		}
	}
}

// A run ends with all that it has started, as far as that is listed.
func TestHowManyRunsEndWithARun(t *testing.T) {
	f := newFamily(t)
	list := func(of string, child core.ID) {
		t.Helper()
		key := core.ThreadKey{Tenant: "acme", Thread: of}
		head, err := f.mailbox.Head(t.Context(), key)
		if err == nil && head.Claim.Fence == 0 {
			head, _, err = f.mailbox.Claim(t.Context(), core.WakeUp{Tenant: "acme", Thread: of}, false)
		}
		if err == nil {
			_, _, err = f.mailbox.Commit(t.Context(), key, head, thread.AddChild{Fence: head.Claim.Fence, Child: child}, nil)
		}
		if err != nil {
			t.Fatal(of, err)
		}
	}
	list("t", f.child)
	list("t", core.ID{3}) // which nobody has submitted yet
	below := f.starts("ann", "c", "d")
	list("c", below)
	list("c", f.starts("ann", "c", "e"))
	if n, err := f.to.CancelRun(t.Context(), f.call, f.starts("ann", "t", "c")); n != 1 || err != nil { // it is queued
		t.Errorf("%d runs end with a queued one, %v; want 1", n, err)
	}
	list("t", f.startsAs("ann", &mailbox.Parent{Thread: "t", Run: f.call.Run, Call: thread.NoCall, Detached: true}, "free")) // which continues
	if n, err := f.to.CancelRun(t.Context(), f.call, f.call.Run); n != 4 || err != nil {
		t.Errorf("%d runs end with it, %v; want 4", n, err)
	}
}

// Whom a call writes to, and under which id: the same when it runs again.
func TestMessagesOfACall(t *testing.T) {
	f := newFamily(t)
	f.starts("ann", "", "t2")
	send := func(call tool.Call, m tool.Message) (core.ID, thread.OutboxRecord, error) {
		t.Helper()
		m.Text = "hi"
		id, err := f.to.SendMessage(t.Context(), call, m)
		if err != nil {
			return id, thread.OutboxRecord{}, err
		}
		stored, ok, failed := f.reads.store.Get(t.Context(), call.Thread, recordname.Outbox(id))
		if failed != nil || !ok {
			t.Fatal(ok, failed)
		}
		record, failed := f.reads.records.DecodeOutbox(stored.Payload)
		if failed != nil {
			t.Fatal(failed)
		}
		return id, record, nil
	}
	first, record, err := send(f.call, tool.Message{Thread: "t2", AgentID: "demo"})
	want := thread.OutboxTarget{Kind: "thread", Thread: "t2", AgentID: "demo"}
	if diff := cmp.Diff([]thread.OutboxTarget{want}, record.To); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if again, _, err := send(f.call, tool.Message{Thread: "t2", AgentID: "demo"}); again != first || err != nil || [6]byte(first[:6]) != [6]byte(f.call.Run[:6]) {
		t.Errorf("again it is %s, %v; first %s, of the run %s", again, err, first, f.call.Run)
	}
	if named, _, err := send(f.call, tool.Message{Thread: "t2", Name: "second"}); named == first || err != nil {
		t.Errorf("a second message is %s, %v", named, err)
	}
	other := f.call
	other.Idempotency = f.call.Run.String() + "/2/1"
	if id, record, err := send(other, tool.Message{Child: f.child}); id == first || err != nil || record.To[0] != (thread.OutboxTarget{Kind: "run", Thread: "c", Run: f.child}) {
		t.Errorf("%s, %v, to %+v", id, err, record.To)
	}
	_, _, err = send(other, tool.Message{Parent: true})
	if refused, ok := errors.AsType[*tool.MessageError](err); !ok || refused.Code != "recipient_not_found" || refused.Error() != "no other run has started this one" {
		t.Errorf("a run without a parent: %v", err)
	}
	head, _, err := f.mailbox.Claim(t.Context(), core.WakeUp{Tenant: "acme", Thread: "c"}, false)
	if err != nil {
		t.Fatal(err)
	}
	child := tool.Call{Idempotency: f.child.String() + "/2/0", Thread: core.ThreadKey{Tenant: "acme", Thread: "c"}, Run: head.Run.ID, User: "ann"}
	if _, record, err := send(child, tool.Message{Parent: true}); err != nil || record.To[0] != (thread.OutboxTarget{Kind: "thread", Thread: "t"}) || string(record.Payload) != `{"messages":[{"id":"","role":"user","content":[{"type":"text","text":"Message from the agent demo of thread c:\nhi"}]}]}` {
		t.Errorf("%v, %s to %+v", err, record.Payload, record.To)
	}
	for n := range 6 { // with the three before
		other.Idempotency = f.call.Run.String() + "/3/" + string(rune('0'+n))
		_, _, err = send(other, tool.Message{Thread: "t2"})
	}
	if refused, ok := errors.AsType[*tool.MessageError](err); !ok || refused.Code != "outbox_full" || !errors.Is(err, thread.ErrTooManyMessages) {
		t.Errorf("a ninth message: %v", err)
	}
	if _, err := f.mailbox.Cancel(t.Context(), f.call.Thread, f.call.Run); err != nil {
		t.Fatal(err)
	}
	if _, _, err = send(f.call, tool.Message{Thread: "t2", Name: "late"}); core.CodeOf(err) != core.CodeClosing {
		t.Errorf("a run that ends: %v", err)
	}
}

// Failed messages are recovered for the call's thread.
func TestACallRecoversMessages(t *testing.T) {
	f := newFamily(t)
	f.starts("ann", "", "t2")
	to := core.ThreadKey{Tenant: "acme", Thread: "t2"}
	id, err := f.to.SendMessage(t.Context(), f.call, tool.Message{Text: "hi", Thread: "t2"})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.mailbox.Delete(t.Context(), to, "ann"); err != nil {
		t.Fatal(err)
	}
	fails := func() {
		t.Helper()
		head, err := f.mailbox.Head(t.Context(), f.call.Thread)
		if err == nil {
			err = f.mailbox.Deliver(t.Context(), f.call.Thread, head, thread.Head{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	fails()
	failed, err := f.to.FailedMessages(t.Context(), f.call)
	if err != nil || len(failed) != 1 || failed[0].At == 0 {
		t.Fatalf("failed are %+v, %v", failed, err)
	}
	failed[0].At = 0
	if diff := cmp.Diff([]tool.FailedMessage{{ID: id, Thread: "t2", Code: "recipient_unavailable", Tries: 1}}, failed); diff != "" {
		t.Errorf("failed (-want +got):\n%s", diff)
	}
	if n, err := f.to.RecoverMessages(t.Context(), f.call, true); n != 1 || err != nil {
		t.Errorf("%d are sent again, %v", n, err)
	}
	fails()
	if n, err := f.to.RecoverMessages(t.Context(), f.call, false); n != 1 || err != nil {
		t.Errorf("%d are cleared, %v", n, err)
	}
	if failed, err := f.to.FailedMessages(t.Context(), f.call); failed != nil || err != nil {
		t.Errorf("failed are %+v, %v", failed, err)
	}
}

// A run that cannot be looked up may be there: the call is tried again.
func TestARunThatCannotBeLookedUpIsNotMissing(t *testing.T) {
	no, over := errors.New("no answer"), &storetest.Faulty{Backend: memory.New()}
	over.OnPointer = func(context.Context, string, string) ([]byte, bool, error) { return nil, false, no }
	r, _ := program(t, func(c *Options) { c.Store = over })
	to := others{mailbox: r.mailbox, store: r.reads.store, records: r.reads.records}
	call := tool.Call{Thread: core.ThreadKey{Tenant: "acme", Thread: "t"}, Run: core.ID{5}, User: "ann"}
	if _, err := to.ChildRun(t.Context(), call, core.ID{7}); !errors.Is(err, no) || core.CodeOf(err) != core.CodeInternal {
		t.Errorf("%s: %v", core.CodeOf(err), err)
	}
}
