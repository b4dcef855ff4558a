package mailbox_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
)

// Whoever else decides is refused by name, whatever they say and however they name the
// call, and leaves nothing behind that the child's end could take for itself.
func TestATicketOfAChildIsDecidedByItsEndAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := awaiting(t, telling(t, nil, &log))
		child := c.receipt.RunID.String()
		before := c.head(t)
		for name, d := range map[string]mailbox.Deciding{
			"by the call's id":            deciding("c0", "d1"),
			"by the suspension's id":      deciding(child, "d2"),
			"of the named run":            deciding(child, "d3", func(d *mailbox.Deciding) { d.Run = c.last.RunID }),
			"a cancellation":              deciding("c0", "d4", cancels),
			"without an id":               deciding("c0", "", says(`{"run_id":"x"}`)),
			"under the end's own id":      deciding(child, child, says(`{"run_id":"`+child+`"}`)),
			"with more than a tool takes": deciding("c0", "d5", says(`"`+strings.Repeat("x", 300_000)+`"`)),
		} {
			if decided, err := c.Decide(t.Context(), key, d); core.CodeOf(err) != core.CodeChild || !strings.HasPrefix(err.Error(), "tool call c0: ") {
				t.Errorf("%s: %+v, %v; want code child", name, decided, err)
			}
			if _, _, err := c.DecideInline(t.Context(), key, d); core.CodeOf(err) != core.CodeChild {
				t.Errorf("%s, inline: %v, want code child", name, err)
			}
		}
		if after := c.head(t); after.Version != before.Version {
			t.Errorf("the head went from version %d to %d", before.Version, after.Version)
		}
		c.ends(t, "done")
		if parent, _ := c.tells(t); parent.Run.Calls[0] != thread.CallResuming || parent.Tickets[0].Decision != thread.DecisionKey(c.last.RunID, child, child) {
			t.Errorf("after the child's end the call is %s, by %+v", parent.Run.Calls[0], parent.Tickets)
		}
		if _, err := c.Decide(t.Context(), key, deciding("c0", "d6", cancels)); core.CodeOf(err) != core.CodeChild {
			t.Errorf("behind the child's end: %v, want code child", err)
		}
	})
}

// It is read when the round is over; the child goes on, and nobody is woken.
func TestWhatIsSaidBesideAChildStaysInTheInbox(t *testing.T) {
	for name, mode := range map[string]mailbox.Mode{"queue": mailbox.ModeQueue, "steer": mailbox.ModeSteer} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				c := awaiting(t, telling(t, nil, &log))
				s := input("how is it going", "")
				s.Mode = mode
				receipt := c.submit(t, s)
				head := c.head(t)
				if head.Run.Status != thread.Waiting || len(head.Tickets) != 1 || head.Run.Calls[0] != thread.CallSuspended || len(head.Inbox) != 1 || receipt.RunID != head.Run.ID {
					t.Errorf("the run is %s with the calls %v, tickets %v, inbox %v; receipt %+v", head.Run.Status, head.Run.Calls, head.Tickets, head.Inbox, receipt)
				}
				if hints := c.queue.Lines(); len(hints) != 0 {
					t.Errorf("hints %q are sent, and there is nothing to do", hints)
				}
				c.ends(t, "done")
				if parent, _ := c.tells(t); parent.Run.Calls[0] != thread.CallResuming || len(parent.Inbox) != 1 {
					t.Errorf("after the child's end the call is %s, the inbox %v", parent.Run.Calls[0], parent.Inbox)
				}
			})
		})
	}
}

func TestWhatIsSaidInAMixedWaitSupersedesWhatPeopleWereAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := telling(t, nil, &log)
		w.last = w.submit(t, input("one", ""))
		head := w.claim(t)
		child := asks(0, func(k *core.Ticket) { k.Suspension.ID, k.Kind = core.ID{7}.String(), core.TicketChild })
		w.waits(t, head, child, asks(1))
		w.submit(t, input("rather not", ""))
		head = w.head(t)
		if head.Run.Status != thread.Running || head.Run.Calls[0] != thread.CallSuspended || head.Run.Calls[1] != thread.CallCancelling {
			t.Errorf("the run is %s with the calls %v", head.Run.Status, head.Run.Calls)
		}
		claimed := w.claim(t)
		w.commit(t, thread.CommitStep{Fence: claimed.Claim.Fence, From: claimed.Seq, Seq: claimed.Seq, Outcome: thread.Wait, Calls: []thread.CallStatus{thread.CallSuspended, thread.CallDone}})
		if head = w.head(t); head.Run.Status != thread.Waiting || len(head.Tickets) != 1 || len(head.Inbox) != 1 {
			t.Errorf("then the run is %s with the tickets %v and the inbox %v", head.Run.Status, head.Tickets, head.Inbox)
		}
	})
}
