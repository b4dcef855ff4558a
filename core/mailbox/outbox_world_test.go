package mailbox_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// publish is a publisher of one function.
type publish func(mailbox.Announcement) error

func (p publish) Publish(_ context.Context, a mailbox.Announcement) error { return p(a) }

// atFirst is a head of which a worker says that it has claimed it, so that whatever is
// announced is its own.
var atFirst = thread.Head{Version: 1}

// telling is a world that announces to a publisher, or to none.
func telling(t *testing.T, to mailbox.Publisher, log *bytes.Buffer) *world {
	t.Helper()
	w := &world{store: &storetest.Faulty{Backend: memory.New()}, queue: &mailboxtest.Queue{}}
	var err error
	w.Service, err = mailbox.New(mailbox.Options{
		Env: env.System(), Store: w.store, Waker: w.queue, Logger: slog.New(slog.NewTextHandler(log, nil)), Fits: toolcall.CheckDecision,
		Publisher: to, Announce: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

var childKey = core.ThreadKey{Tenant: "t", Thread: "c1"}

// child is what becomes of the child of a parent's only call.
type child struct {
	*world
	receipt mailbox.Receipt
	ticket  core.Ticket
}

// awaiting is a world whose parent waits for a child that has not begun.
func awaiting(t *testing.T, w *world, change ...func(*core.Ticket)) child {
	t.Helper()
	w.last = w.submit(t, input("one", ""))
	head := w.claim(t)
	s := input("two", "")
	s.Thread, s.Opening.Parent = childKey, &mailbox.Parent{Thread: key.Thread, Run: head.Run.ID}
	c := child{world: w, receipt: w.submit(t, s)}
	head = w.commit(t, thread.AddChild{Fence: head.Claim.Fence, Child: c.receipt.RunID})
	c.ticket = asks(0, append(change, func(k *core.Ticket) {
		k.Suspension.ID, k.Kind = c.receipt.RunID.String(), core.TicketChild
	})...)
	w.waits(t, head, c.ticket)
	w.queue.Clear()
	return c
}

// ends lets the child say something and end, and returns its head.
func (c child) ends(t *testing.T, response string) thread.Head {
	t.Helper()
	head, claimed, err := c.Claim(t.Context(), core.WakeUp{Tenant: "t", Thread: "c1"}, false)
	if err != nil || !claimed {
		t.Fatalf("claim: %v, %v", claimed, err)
	}
	return c.over(t, childKey, head, response)
}

// over ends the open run of a claimed head, as a step does, and returns the next head.
func (w *world) over(t *testing.T, key core.ThreadKey, head thread.Head, response string) thread.Head {
	t.Helper()
	run := head.Run.ID
	record := thread.RunRecord{Run: core.Run{
		ID: run, ThreadID: key.Thread, AgentID: "demo", Status: core.RunDone, Steps: 1, Response: response, FinishedAt: time.Now().UnixMilli(),
		Usage:       core.Usage{Input: 7},
		Termination: &core.Termination{Type: core.TerminationNatural},
	}}
	input, _, err := w.store.Get(t.Context(), key, recordname.Input(head.Run.Dispatch, 0))
	if err != nil {
		t.Fatal(err)
	}
	in, err := thread.Records{}.DecodeQueued(input.Payload)
	if err != nil || (in.Parent != nil) != head.Run.Child {
		t.Fatalf("the input has the parent %+v, %v; the head says %t", in.Parent, err, head.Run.Child)
	}
	record.Parent = in.Parent
	payload, err := thread.Records{}.EncodeRun(&record)
	if err != nil {
		t.Fatal(err)
	}
	head, _, err = w.Commit(t.Context(), key, head, thread.CommitStep{Fence: head.Claim.Fence, From: head.Seq, Outcome: thread.Done, Seq: head.Seq},
		func(next thread.Head, _ thread.Result) ([]store.Record, error) {
			return []store.Record{{Name: recordname.Run(run), Fence: next.Fence, Version: next.Version, Payload: payload}}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// tells lets the child's thread deliver what it owes, and returns the parent's head.
func (c child) tells(t *testing.T) (parent, told thread.Head) {
	t.Helper()
	for _, k := range []struct {
		key core.ThreadKey
		to  *thread.Head
	}{{childKey, &told}, {key, &parent}} {
		head, err := c.Head(t.Context(), k.key)
		if err == nil && k.to == &told {
			if err = c.Deliver(t.Context(), childKey, head, thread.Head{}); err == nil {
				head, err = c.Head(t.Context(), childKey)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		*k.to = head
	}
	return parent, told
}

// decision is the one on the parent's call.
func (c child) decision(t *testing.T, parent thread.Head) core.Decision {
	t.Helper()
	tickets, err := c.Tickets(t.Context(), key, parent)
	if err != nil || len(tickets) != 1 || tickets[0].Decision == nil {
		t.Fatalf("tickets %+v, %v; want one that is decided", tickets, err)
	}
	return *tickets[0].Decision
}
