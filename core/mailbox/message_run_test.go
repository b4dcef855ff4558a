package mailbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
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

// refuses lets t2 be full when the next write to it arrives, whose records are stored and whose
// head is refused, as in a store that puts records first. The returned function makes place.
func (s sender) refuses(t *testing.T) (makesPlace func()) {
	t.Helper()
	s.store.OnCommit = func(ctx context.Context, k core.ThreadKey, c store.Commit) (store.Outcome, error) {
		if k != otherKey {
			return s.store.Backend.Commit(ctx, k, c)
		}
		s.store.OnCommit = nil
		for _, r := range c.Records {
			if err := s.store.Put(ctx, k, r); err != nil {
				t.Error(err)
			}
		}
		head := s.opens(t)
		for i := range byte(8) {
			head = s.commitOn(t, otherKey, thread.Input{ID: core.ID{9, i}, Kind: thread.InboxInternal, Owner: "ann"})
		}
		return store.Outcome{Head: head}, nil
	}
	return func() {
		for i := range byte(8) {
			s.commitOn(t, otherKey, thread.Retract{ID: core.ID{9, i}})
		}
	}
}

// leaves makes a newer program, or this one, try to deliver a message to t2, which leaves its
// input there. Then the run of t2 is over, and the message is due again.
func (s sender) leaves(t *testing.T, schema uint16) {
	t.Helper()
	s.sends(t, 1)
	makesPlace := s.refuses(t)
	this := s.Service
	s.Service = s.withSchemas(t, 2, schema)
	if owed := s.passes(t); len(owed) != 1 || owed[0].Tries != 1 {
		t.Fatalf("owed is %+v, want a message that was tried once", owed)
	}
	s.Service = this
	makesPlace()
	s.over(t, otherKey, s.at(t, "t2"), "done")
	time.Sleep(time.Minute)
}

// A try whose write is refused may leave the input, with the agent of that time. A later try that
// finds another agent, or is of a program that writes another schema, delivers what is stored.
func TestAMessageWhoseInputAnEarlierTryHasLeft(t *testing.T) {
	tests := []struct {
		name   string
		happen func(t *testing.T, s sender) // between the tries
		inbox  bool                         // the open run reads it
		schema uint16                       // of the program of the first try, and of the head in the end
	}{
		{"the same agent", func(*testing.T, sender) {}, false, 1},
		{"a run of another agent is over", func(t *testing.T, s sender) {
			listing, err := thread.Records{}.EncodeListing(&thread.Listing{List: "threads:ann", At: 9, AgentID: "poet"})
			if err == nil {
				err = s.store.Put(t.Context(), otherKey, store.Record{Name: "L#", Fence: 9, Version: 99, Payload: listing})
			}
			if err != nil {
				t.Fatal(err)
			}
		}, false, 1},
		{"a run of another agent is open", func(t *testing.T, s sender) {
			next := input("three", "")
			next.Thread, next.Opening.AgentID = otherKey, "poet"
			s.submit(t, next)
			s.opens(t)
		}, true, 1},
		{"the first try was a newer program's", func(t *testing.T, s sender) {
			// An older one cannot read the input. That is no try.
			if err := s.withSchemas(t, 1, 1).Deliver(t.Context(), key, s.head(t), thread.Head{}); err != nil {
				t.Fatal(err)
			}
			if owed := s.head(t).Outbox; len(owed) != 1 || owed[0].Tries != 1 || owed[0].Next != time.Now().Add(time.Minute).UnixMilli() {
				t.Fatalf("owed is %+v", owed)
			}
			time.Sleep(time.Minute)
		}, false, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := sending(t)
				s.leaves(t, tt.schema)
				tt.happen(t, s)
				if owed := s.passes(t); len(owed) != 0 || s.failed(t) != nil {
					t.Fatalf("owed is %+v, failed are %v, the log says %s", owed, s.failed(t), s.log)
				}
				now := s.at(t, "t2")
				if len(now.Inbox) == 1 != tt.inbox || len(now.Pending) == 0 != tt.inbox || now.Schema != tt.schema {
					t.Fatalf("the inbox is %+v, queued are %+v, the schema is %d", now.Inbox, now.Pending, now.Schema)
				}
				if !tt.inbox {
					s.opensRun(t, now, "writer")
				}
			})
		})
	}
}

// opensRun checks the run that the first message to t2 is to open, and its listing.
func (s sender) opensRun(t *testing.T, head thread.Head, agent string) {
	t.Helper()
	run, ok, err := s.Run(t.Context(), otherKey, head, head.Pending[0].Run, head.Pending[0].ID)
	if err != nil || !ok || run.AgentID != agent || run.Asked != "message 1" {
		t.Errorf("it starts %+v, %v, %v", run, ok, err)
	}
	record, _, err := s.store.Get(t.Context(), otherKey, recordname.Listing(run.ID))
	if err != nil {
		t.Fatal(err)
	}
	if l, err := (thread.Records{}).DecodeListing(record.Payload); err != nil || l.AgentID != agent || l.Asked != "message 1" {
		t.Errorf("it is listed as %+v, %v", l, err)
	}
}

// What an earlier try has left may be damaged. No later one can replace it.
func TestAMessageWhoseLeftInputIsDamaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sending(t)
		s.leaves(t, 2)
		s.store.OnRecord = func(op storetest.Operation, found store.Record) store.Record {
			if op.Key == otherKey && strings.HasPrefix(found.Name, "Q#") {
				found.Payload = []byte(`{"schema":1,"messages":7}`)
			}
			return found
		}
		if owed := s.passes(t); len(owed) != 0 {
			t.Errorf("owed is %+v", owed)
		}
		if diff := cmp.Diff([]string{"1 to t2: message_lost after 2"}, s.failed(t)); diff != "" {
			t.Errorf("failed (-want +got):\n%s", diff)
		}
	})
}
