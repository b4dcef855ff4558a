package mailbox_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// meets lets something happen between the look at t2 and the next write to it.
func (s sender) meets(happens func()) {
	s.store.OnCommit = func(ctx context.Context, k core.ThreadKey, c store.Commit) (store.Outcome, error) {
		if k == otherKey {
			s.store.OnCommit = nil
			happens()
		}
		return s.store.Backend.Commit(ctx, k, c)
	}
}

// A message to one run is read by that run or by none, also where it ends, or its thread is
// deleted, between the look at it and the write.
func TestAMessageToOneRun(t *testing.T) {
	tests := []struct {
		name string
		meet func(t *testing.T, s sender, head thread.Head)
		want []string // what is given up
	}{
		{"it goes on", func(*testing.T, sender, thread.Head) {}, nil},
		{"it ends", func(t *testing.T, s sender, head thread.Head) { s.over(t, otherKey, head, "done") }, []string{"1 to t2: recipient_unavailable after 1"}},
		{"another begins", func(t *testing.T, s sender, head thread.Head) {
			s.over(t, otherKey, head, "done")
			next := input("three", "")
			next.Thread = otherKey
			s.submit(t, next)
			s.opens(t)
		}, []string{"1 to t2: recipient_unavailable after 1"}},
		{"its thread is deleted", func(t *testing.T, s sender, _ thread.Head) { s.commitOn(t, otherKey, thread.Delete{Owner: "ann"}) }, []string{"1 to t2: recipient_unavailable after 1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := sending(t)
				head := s.opens(t)
				if err := s.Send(t.Context(), key, thread.Head{}, s.message(1, mailbox.Recipient{Thread: "t2", Run: s.sub.RunID})); err != nil {
					t.Fatal(err)
				}
				s.meets(func() { tt.meet(t, s, head) })
				if owed := s.passes(t); len(owed) != 0 {
					t.Errorf("owed is %+v", owed)
				}
				now := s.at(t, "t2")
				if len(now.Pending) != 0 || (len(now.Inbox) == 1) != (tt.want == nil) {
					t.Errorf("the inbox is %+v, queued are %+v", now.Inbox, now.Pending)
				}
				if diff := cmp.Diff(tt.want, s.failed(t)); diff != "" {
					t.Errorf("failed (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A run that has read a message, and is over, has read it: the message has not failed.
func TestAMessageThatWasReadByARunThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sending(t)
		head := s.opens(t)
		if err := s.Send(t.Context(), key, thread.Head{}, s.message(1, mailbox.Recipient{Thread: "t2", Run: s.sub.RunID})); err != nil {
			t.Fatal(err)
		}
		s.store.OnCommit = func(ctx context.Context, k core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if k == key {
				return store.Outcome{}, core.Errorf(core.CodeInvalid, "the process ends here")
			}
			return s.store.Backend.Commit(ctx, k, c)
		}
		if err := s.Deliver(t.Context(), key, s.head(t), thread.Head{}); err == nil {
			t.Fatal("the note of the delivery is written")
		}
		s.store.OnCommit = nil
		s.over(t, otherKey, s.readsOn(t, otherKey, head, s.at(t, "t2").Inbox[0].ID), "done")
		if owed, failed := s.passes(t), s.failed(t); len(owed) != 0 || failed != nil {
			t.Errorf("owed is %+v, failed are %v", owed, failed)
		}
	})
}

// Where the open run ends before the message is in its inbox, the message starts a run of that
// run's agent, which is not the one that made the thread.
func TestTheAgentOfTheOpenRunReadsAMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sending(t)
		s.over(t, otherKey, s.opens(t), "done")
		next := input("three", "")
		next.Thread, next.Opening.AgentID = otherKey, "poet"
		s.submit(t, next)
		head := s.opens(t)
		s.sends(t, 1)
		s.meets(func() { s.over(t, otherKey, head, "done") })
		if owed := s.passes(t); len(owed) != 0 {
			t.Fatalf("owed is %+v", owed)
		}
		now := s.at(t, "t2")
		run, ok, err := s.Run(t.Context(), otherKey, now, now.Pending[0].Run, now.Pending[0].ID)
		if err != nil || !ok || run.AgentID != "poet" {
			t.Errorf("it starts %+v, %v, %v", run, ok, err)
		}
	})
}

// A thread whose agent is not known reads a message only of who names one.
func TestAMessageToAThreadWithoutAnAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sending(t)
		s.loses("L#")
		s.over(t, otherKey, s.opens(t), "done")
		s.sends(t, 1)
		if owed := s.passes(t); len(owed) != 0 {
			t.Errorf("owed is %+v", owed)
		}
		if diff := cmp.Diff([]string{"1 to t2: recipient_unavailable after 1"}, s.failed(t)); diff != "" {
			t.Errorf("failed (-want +got):\n%s", diff)
		}
		if err := s.Send(t.Context(), key, thread.Head{}, s.message(2, mailbox.Recipient{Thread: "t2", AgentID: "poet"})); err != nil {
			t.Fatal(err)
		}
		if owed := s.passes(t); len(owed) != 0 || len(s.at(t, "t2").Pending) != 1 {
			t.Errorf("owed is %+v", owed)
		}
	})
}

// An earlier message that was delivered, and could not be cleared, holds up a later one for
// half a second.
func TestAMessageBehindOneThatCouldNotBeCleared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sending(t)
		s.opens(t)
		s.sends(t, 1)
		s.sends(t, 2)
		failures := 1
		s.store.OnCommit = func(ctx context.Context, k core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if failures--; k == key && failures == -1 {
				return store.Outcome{}, core.Errorf(core.CodeInvalid, "not now")
			}
			return s.store.Backend.Commit(ctx, k, c)
		}
		if err := s.Deliver(t.Context(), key, s.head(t), thread.Head{}); core.CodeOf(err) != core.CodeInvalid {
			t.Fatal(err)
		}
		owed := s.head(t).Outbox
		if len(owed) != 2 || owed[1].Next-time.Now().UnixMilli() != 500 || owed[1].Tries != 0 {
			t.Fatalf("owed is %+v", owed)
		}
		time.Sleep(time.Second)
		if owed := s.passes(t); len(owed) != 0 {
			t.Errorf("owed is %+v", owed)
		}
		if diff := cmp.Diff([]string{"message 1", "message 2"}, s.texts(t, otherKey, s.at(t, "t2").Inbox)); diff != "" {
			t.Errorf("t2 reads (-want +got):\n%s", diff)
		}
	})
}

// Each error of a message has a code.
func TestCodesOfMessages(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
		is   bool // a refusal of Send
	}{
		{mailbox.ErrRecipientNotFound, "recipient_not_found", true},
		{mailbox.ErrRecipientUnavailable, "recipient_unavailable", true},
		{thread.ErrTooManyMessages, "outbox_full", true},
		{thread.ErrFull, "recipient_full", false},
		{core.Errorf(core.CodeTenantLimit, "x"), "recipient_full", false},
		{core.Errorf(core.CodeTenantSpend, "x"), "recipient_full", false},
		{store.ErrCorrupt, "message_lost", false},
		{store.ErrThrottled, "delivery_failed", false},
		{errors.New("x"), "delivery_failed", false},
		{nil, "delivery_failed", false},
	} {
		if got, is := mailbox.MessageCode(tt.err); got != tt.want || is != tt.is {
			t.Errorf("%v is %s, a refusal %t, want %s, %t", tt.err, got, is, tt.want, tt.is)
		}
	}
}

func codeOf(err error) string {
	code, _ := mailbox.MessageCode(err)
	return code
}
