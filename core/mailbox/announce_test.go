package mailbox_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// listening is a telling world and what it was told, one line each.
func listening(t *testing.T) (w *world, lines *[]string) {
	t.Helper()
	lines = new([]string)
	w = telling(t, publish(func(a mailbox.Announcement) error {
		line := fmt.Sprint(a.Type, " ", a.AgentID)
		if a.Termination != nil {
			line += fmt.Sprint(" ", a.Termination.Type, " ", a.Termination.Code)
		}
		for _, k := range a.Tickets {
			line += fmt.Sprint(" ", k.SuspensionID, "/", k.CallID)
		}
		*lines = append(*lines, line)
		return nil
	}), new(bytes.Buffer))
	return w, lines
}

// tellAll tells what the thread has to tell, as the worker that has written it all.
func (w *world) tellAll(t *testing.T) thread.Head {
	t.Helper()
	head, err := w.Head(t.Context(), key)
	if err == nil {
		err = w.Deliver(t.Context(), key, head, atFirst)
	}
	if err == nil {
		head, err = w.Head(t.Context(), key)
	}
	if err != nil || len(head.Outbox) != 0 {
		t.Fatalf("head %+v, %v; want nothing left to deliver", head, err)
	}
	return head
}

// A run that is given up is announced twice: at once, and when it is over.
func TestDeadLetterIsAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, lines := listening(t)
		w.submit(t, input("one", ""))
		for range 6 {
			if _, claimed, err := w.Claim(t.Context(), hint, true); err != nil || !claimed {
				t.Fatalf("claim: %v, %v", claimed, err)
			}
			time.Sleep(31 * time.Second)
		}
		head := w.tellAll(t)
		want := []string{"run.dead_lettered demo error dead_letter"}
		if diff := cmp.Diff(want, *lines); diff != "" || head.Run.Status != thread.Closing {
			t.Errorf("the run is %s, announced (-want +got):\n%s", head.Run.Status, diff)
		}
		w.commit(t, thread.CommitClose{Fence: head.Claim.Fence, From: head.Seq, Seq: head.Seq})
		head, err := w.Head(t.Context(), key)
		if err != nil || len(head.Outbox) != 1 || head.Outbox[0].Kind != thread.OutboxEnded {
			t.Errorf("head %+v, %v; want its end to be announced", head, err)
		}
	})
}

// That a run waits is announced with what can be decided, and no more: a ticket that is
// decided, or a child's, is nobody's.
func TestWaitIsAnnouncedAsItStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		decide := func(t *testing.T, w *world, call string) {
			t.Helper()
			if _, err := w.Decide(t.Context(), key, mailbox.Deciding{Target: call, User: "ann", Decision: core.Decision{ID: call, Action: core.DecisionResume}}); err != nil {
				t.Fatal(err)
			}
		}
		w, lines := listening(t)
		w.submit(t, input("one", ""))
		w.waits(t, w.claim(t), asks(0), asks(1), asks(2, func(k *core.Ticket) { k.Kind = core.TicketChild }))
		w.tellAll(t)
		if diff := cmp.Diff([]string{"run.waiting demo s0/c0 s1/c1"}, *lines); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		*lines = nil
		w, lines = listening(t)
		w.submit(t, input("one", ""))
		w.waits(t, w.claim(t), asks(0), asks(1))
		decide(t, w, "c0") // it goes on before anybody was told
		w.tellAll(t)
		if len(*lines) != 0 {
			t.Errorf("announced %v, which is over", *lines)
		}
	})
}

// A run that waited for a person, went on before that was told, and waits for a child
// now, waits for nobody outside.
func TestWaitThatBecameAChildsIsNotAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, lines := listening(t)
		w.submit(t, input("one", ""))
		w.waits(t, w.claim(t), asks(0))
		w.decide(t, deciding("c0", "d0"))
		head := w.claim(t)
		next := asks(0, func(k *core.Ticket) { k.Suspension.ID, k.Kind = "child", core.TicketChild })
		id := thread.TicketKey(head.Run.ID, "child")
		_, _, err := w.Commit(t.Context(), key, head, thread.CommitStep{
			Fence: head.Claim.Fence, From: head.Seq, Seq: head.Seq, Outcome: thread.Wait, Tickets: []thread.Ticket{{ID: id, Kind: thread.TicketChild}},
		}, func(h thread.Head, _ thread.Result) ([]store.Record, error) {
			name := recordname.Suspension(head.Run.ID, head.Run.Base-1, 0, id)
			return []store.Record{{Name: name, Fence: head.Claim.Fence, Version: h.Version, Payload: encoded(t, thread.TicketRecord{Ticket: next})}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if head := w.tellAll(t); head.Run.Status != thread.Waiting || len(*lines) != 0 {
			t.Errorf("the run is %s, announced %v", head.Run.Status, *lines)
		}
	})
}

// With its thread a run ends, and nothing more is known of it.
func TestDeleteIsAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, lines := listening(t)
		w.submit(t, input("one", ""))
		w.claim(t)
		w.queue.Clear()
		w.commit(t, thread.Delete{Owner: "ann"})
		if diff := cmp.Diff([]string{"t1 0s"}, w.queue.Lines()); diff != "" {
			t.Errorf("hints (-want +got):\n%s", diff)
		}
		w.tellAll(t)
		if diff := cmp.Diff([]string{"run.ended  cancelled deleted"}, *lines); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Of two workers that look after an announcement at once, one publishes it.
func TestTwoWorkersPublishOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, lines := listening(t)
		w.submit(t, input("one", ""))
		w.end(t, w.claim(t))
		head, err := w.Head(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second) // its holder has had its time
		var wait sync.WaitGroup
		for range 2 {
			wait.Go(func() {
				if err := w.Deliver(t.Context(), key, head, thread.Head{}); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if len(*lines) != 1 {
			t.Errorf("published %v", *lines)
		}
	})
}

// untilWhen is a publisher that notes until when it may take.
type untilWhen struct{ at *time.Time }

func (u untilWhen) Publish(ctx context.Context, _ mailbox.Announcement) error {
	*u.at, _ = ctx.Deadline()
	return nil
}

func TestAPublisherHas15Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at time.Time
		w := telling(t, untilWhen{&at}, new(bytes.Buffer))
		w.submit(t, input("one", ""))
		w.waits(t, w.claim(t), asks(0))
		w.tellAll(t)
		if got := time.Until(at); got != 15*time.Second {
			t.Errorf("the publisher has %s, want 15 s", got)
		}
	})
}
