package mailbox_test

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
)

// A decision is stored with the user of the request, whatever the request says. The same decision
// of another user is a duplicate of the first.
func TestADecisionHasItsUser(t *testing.T) {
	w := newWorld(t)
	s := input("one", "")
	s.User = "" // a thread of all users
	w.last = w.submit(t, s)
	w.waits(t, w.claim(t), asks(0), asks(1))
	as := func(user string) func(*mailbox.Deciding) {
		return func(d *mailbox.Deciding) { d.User, d.Decision.User = user, "somebody else" }
	}
	for _, tt := range []struct {
		d         mailbox.Deciding
		duplicate bool
	}{
		{deciding("c0", "", as("ann")), false},
		{deciding("c0", "", as("bob")), true},
		{deciding("c1", "d", as("")), false},
		{deciding("c1", "d", as("bob")), true},
	} {
		if got := w.decide(t, tt.d); got.Duplicate != tt.duplicate {
			t.Errorf("of %q: duplicate %t, want %t", tt.d.User, got.Duplicate, tt.duplicate)
		}
	}
	tickets, err := w.Tickets(t.Context(), key, w.head(t))
	if err != nil {
		t.Fatal(err)
	}
	var got []core.Decider
	for _, k := range tickets {
		got = append(got, k.Decider(*k.Decision))
	}
	want := []core.Decider{{Kind: core.DeciderPerson, User: "ann"}, {Kind: core.DeciderPerson}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decided by (-want +got):\n%s", diff)
	}
}

// The end of a child is no decision of the thread's owner.
func TestTheEndOfAChildHasNoUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := awaiting(t, telling(t, nil, &log))
		c.ends(t, "done")
		parent, _ := c.tells(t)
		tickets, err := c.Tickets(t.Context(), key, parent)
		if err != nil || len(tickets) != 1 || tickets[0].Decision == nil {
			t.Fatalf("%+v, %v; want a ticket that is decided", tickets, err)
		}
		if got := tickets[0].Decider(*tickets[0].Decision); got != (core.Decider{Kind: core.DeciderChild}) || parent.Owner != "ann" {
			t.Errorf("decided by %+v on a thread of %q", got, parent.Owner)
		}
	})
}

// An inline decision leaves no hint for what its caller claims, but one for the time of a ticket
// that the run still waits for, if that has just come near.
func TestAnInlineDecisionHintsForATime(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after time.Duration
		want  []string
	}{
		{"as long as it is far", 4 * time.Minute, nil},
		{"when it is near", 5 * time.Minute, []string{"t1 15m0s"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.last = w.submit(t, input("one", ""))
				timer := asks(1, func(k *core.Ticket) { k.Kind, k.WakeAt = core.TicketTimer, time.Now().Add(20*time.Minute).UnixMilli() })
				w.suspend(t, w.calls(t, w.claim(t), true, asks(0), timer), thread.Wait, asks(0), timer)
				w.queue.Clear()
				time.Sleep(tt.after)
				if _, head, err := w.DecideInline(t.Context(), key, deciding("c0", "d")); err != nil || head.Run.Status != thread.Waiting {
					t.Fatalf("the run is %s, %v; want waiting", head.Run.Status, err)
				}
				if diff := cmp.Diff(tt.want, w.queue.Lines()); diff != "" {
					t.Errorf("hints (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A claim that comes before the time of a ticket sends the hint again that brought it, if that is
// the hint of the time.
func TestAClaimThatComesTooEarlyForATicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.last = w.submit(t, input("one", ""))
		at := time.Now().Add(time.Minute).UnixMilli()
		w.waits(t, w.claim(t), asks(0, func(k *core.Ticket) { k.Kind, k.WakeAt = core.TicketTimer, at }))
		sent := w.queue.Messages()
		if n := len(sent); n == 0 || sent[n-1].Hint.WakeAt != at {
			t.Fatalf("the hints are %+v, want the last one with the time %d", sent, at)
		}
		own := sent[len(sent)-1].Hint
		time.Sleep(59 * time.Second)
		for _, tt := range []struct {
			hint core.WakeUp
			want []string
		}{{own, []string{"t1 1s"}}, {hint, nil}} {
			w.queue.Clear()
			if _, claimed, err := w.Claim(t.Context(), tt.hint, false); claimed || err != nil {
				t.Errorf("claimed %t, %v", claimed, err)
			}
			if diff := cmp.Diff(tt.want, w.queue.Lines()); diff != "" {
				t.Errorf("with %+v (-want +got):\n%s", tt.hint, diff)
			}
		}
	})
}
