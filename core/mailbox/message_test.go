package mailbox_test

import (
	"bytes"
	"context"
	"fmt"
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

var otherKey = core.ThreadKey{Tenant: "t", Thread: "t2"}

// sender is a world with a run of ann's on t1, which is claimed, and her thread t2.
type sender struct {
	*world
	log *bytes.Buffer
	run core.ID
	sub mailbox.Receipt // of t2's run, which is queued
}

func sending(t *testing.T) sender {
	t.Helper()
	s := sender{log: new(bytes.Buffer)}
	s.world = telling(t, nil, s.log)
	s.submit(t, input("one", ""))
	s.run = s.claim(t).Run.ID
	other := input("two", "")
	other.Thread, other.Opening.AgentID = otherKey, "writer"
	s.sub = s.submit(t, other)
	s.queue.Clear()
	return s
}

// numbered is the id of the n-th message.
func numbered(n byte) core.ID { return core.ID{0: 1, 15: n} }

// message is the n-th message to a thread.
func (s sender) message(n byte, to mailbox.Recipient) mailbox.Message {
	return mailbox.Message{ID: numbered(n), Run: s.run, To: to, Messages: []core.Message{core.UserMessage(fmt.Sprint("message ", n))}}
}

// sends sends the n-th message to t2.
func (s sender) sends(t *testing.T, n byte) {
	t.Helper()
	if err := s.Send(t.Context(), key, thread.Head{}, s.message(n, mailbox.Recipient{Thread: "t2"})); err != nil {
		t.Fatal(err)
	}
}

// passes lets a worker deliver what t1 owes, and returns the messages that it still owes.
func (s sender) passes(t *testing.T) (owed []thread.OutboxEntry) {
	t.Helper()
	if err := s.Deliver(t.Context(), key, s.head(t), thread.Head{}); err != nil {
		t.Fatal(err)
	}
	for _, e := range s.head(t).Outbox {
		if e.Kind == thread.OutboxMessage {
			owed = append(owed, e)
		}
	}
	return owed
}

// opens claims t2 and returns its head.
func (s sender) opens(t *testing.T) thread.Head {
	t.Helper()
	head, claimed, err := s.Claim(t.Context(), core.WakeUp{Tenant: "t", Thread: "t2"}, false)
	if err != nil || !claimed {
		t.Fatalf("claim: %v, %v", claimed, err)
	}
	return head
}

// texts are those of the inbox of a thread, in order.
func (s sender) texts(t *testing.T, of core.ThreadKey, in thread.Inbox) (texts []string) {
	t.Helper()
	for _, e := range in {
		record, _, err := s.store.Get(t.Context(), of, recordname.Input(e.ID, 0))
		if err != nil {
			t.Fatal(err)
		}
		queued, err := thread.Records{}.DecodeQueued(record.Payload)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, queued.Messages[0].Text())
	}
	return texts
}

// failed are the codes of the messages of t1 that were given up, with their tries.
func (s sender) failed(t *testing.T) (codes []string) {
	t.Helper()
	list, err := s.FailedMessages(t.Context(), key, "ann")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		codes = append(codes, fmt.Sprintf("%d to %s: %s after %d", f.Message[15], f.To.Thread, f.Code, f.Tries))
	}
	return codes
}

// An open run reads a message at its next step, as internal input; a run that waits for a
// person goes on waiting. Without an open run the message starts one of the thread's agent.
func TestWhoReadsAMessage(t *testing.T) {
	tests := []struct {
		name    string
		arrange func(t *testing.T, s sender)
		to      mailbox.Recipient
		inbox   int
		agent   string // of the run that it starts; empty: none
	}{
		{"the open run", func(t *testing.T, s sender) { s.opens(t) }, mailbox.Recipient{}, 1, ""},
		{"the open run, whatever agent is named", func(t *testing.T, s sender) { s.opens(t) }, mailbox.Recipient{AgentID: "poet"}, 1, ""},
		{"a run of its own, after the queued one", func(*testing.T, sender) {}, mailbox.Recipient{}, 0, "writer"},
		{"a run of its own, after the last one", func(t *testing.T, s sender) { s.over(t, otherKey, s.opens(t), "done") }, mailbox.Recipient{}, 0, "writer"},
		{"a run of the named agent", func(t *testing.T, s sender) { s.over(t, otherKey, s.opens(t), "done") }, mailbox.Recipient{AgentID: "poet"}, 0, "poet"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := sending(t)
				tt.arrange(t, s)
				before := len(s.at(t, "t2").Pending)
				tt.to.Thread = "t2"
				if err := s.Send(t.Context(), key, thread.Head{}, s.message(1, tt.to)); err != nil {
					t.Fatal(err)
				}
				if head := s.at(t, "t2"); len(head.Inbox)+len(head.Pending) != before {
					t.Error("it has arrived before the step of its sender is over")
				}
				if owed := s.passes(t); len(owed) != 0 {
					t.Fatalf("owed is %+v", owed)
				}
				head := s.at(t, "t2")
				if len(head.Inbox) != tt.inbox || len(head.Pending)-before != 1-tt.inbox {
					t.Fatalf("the inbox is %+v, queued are %+v", head.Inbox, head.Pending)
				}
				if tt.inbox == 1 {
					if diff := cmp.Diff([]string{"message 1"}, s.texts(t, otherKey, head.Inbox)); diff != "" || head.Inbox[0].Kind != thread.InboxInternal {
						t.Errorf("kind %d (-want +got):\n%s", head.Inbox[0].Kind, diff)
					}
					return
				}
				d := head.Pending[before]
				run, ok, err := s.Run(t.Context(), otherKey, head, d.Run, d.ID)
				if err != nil || !ok || run.AgentID != tt.agent || run.Origin != core.OriginInternal || run.Asked != "message 1" {
					t.Errorf("it starts %+v, %v, %v", run, ok, err)
				}
				if at, _, ok, err := s.Locate(t.Context(), "t", d.Run); !ok || err != nil || at != otherKey {
					t.Errorf("the run is found in %v: %v, %v", at, ok, err)
				}
			})
		})
	}
}

// What is sent again is delivered once: while it is owed, after it has arrived, and after it
// was read and the head has forgotten it.
func TestAMessageArrivesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sending(t)
		s.over(t, otherKey, s.opens(t), "done")
		other := input("three", "")
		other.Thread = otherKey
		s.submit(t, other)
		head := s.opens(t)
		s.sends(t, 1)
		s.sends(t, 1)
		if owed := s.passes(t); len(owed) != 0 {
			t.Fatalf("owed is %+v", owed)
		}
		s.sends(t, 1)
		if owed, in := s.passes(t), s.at(t, "t2").Inbox; len(owed) != 0 || len(in) != 1 {
			t.Fatalf("sent again: owed is %+v, the inbox %+v", owed, in)
		}
		id := s.at(t, "t2").Inbox[0].ID
		head = s.readsOn(t, otherKey, head, id)
		for range 17 { // the head forgets
			s.commitOn(t, otherKey, thread.Input{ID: core.ID{7}, Kind: thread.InboxInternal, Owner: "ann", Dedupe: uint64(head.Version)})
			head = s.commitOn(t, otherKey, thread.Retract{ID: core.ID{7}})
		}
		s.sends(t, 1)
		if owed, now := s.passes(t), s.at(t, "t2"); len(owed) != 0 || now.Version != head.Version {
			t.Errorf("sent after it was read: owed is %+v, the head went from version %d to %d", owed, head.Version, now.Version)
		}
		// Its run ends: the message was read by it, and is not for the next.
		s.over(t, otherKey, head, "done")
		s.sends(t, 1)
		if owed, now := s.passes(t), s.at(t, "t2"); len(owed) != 0 || now.Open() || len(now.Pending) != 0 || s.failed(t) != nil {
			t.Errorf("sent after its run: owed is %+v, the head is %+v", owed, now)
		}
	})
}

// The worker dies between the delivery and the note of it, and the message is read meanwhile.
func TestALostNoteOfADeliveryDeliversNothingTwice(t *testing.T) {
	for _, lost := range []string{"the receiver's write", "the note"} {
		synctest.Test(t, func(t *testing.T) {
			s := sending(t)
			head := s.opens(t)
			s.sends(t, 1)
			s.store.OnCommit = func(ctx context.Context, k core.ThreadKey, c store.Commit) (store.Outcome, error) {
				if (k == key) != (lost == "the note") {
					return s.store.Backend.Commit(ctx, k, c)
				}
				if k == key {
					return store.Outcome{}, core.Errorf(core.CodeInvalid, "the process ends here")
				}
				s.store.OnCommit = nil
				if _, err := s.store.Backend.Commit(ctx, k, c); err != nil {
					return store.Outcome{}, err
				}
				s.readsOn(t, otherKey, head, c.Head.Inbox[0].ID)
				return store.Outcome{}, store.ErrThrottled // its answer is lost
			}
			err := s.Deliver(t.Context(), key, s.head(t), thread.Head{})
			if (err != nil) != (lost == "the note") {
				t.Fatalf("%s is lost: %v", lost, err)
			}
			s.store.OnCommit = nil
			if in := s.at(t, "t2").Inbox; len(in) == 1 {
				s.readsOn(t, otherKey, head, in[0].ID)
			}
			if owed, now := s.passes(t), s.at(t, "t2"); len(owed) != 0 || len(now.Inbox) != 0 || len(now.Pending) != 0 || now.Seq != head.Seq+1 {
				t.Errorf("%s is lost: owed is %+v, the inbox %+v", lost, owed, now.Inbox)
			}
		})
	}
}

// Two workers that have read the same head deliver once, although the first delivery is read
// before the second is written.
func TestTwoWorkersDeliverAMessageOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sending(t)
		head := s.opens(t)
		s.sends(t, 1)
		seen, raced := s.head(t), false
		s.store.OnCommit = func(ctx context.Context, k core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if k != otherKey || raced {
				return s.store.Backend.Commit(ctx, k, c)
			}
			raced = true
			if err := s.Deliver(ctx, key, seen, thread.Head{}); err != nil {
				t.Error(err)
			}
			now := s.readsOn(t, otherKey, head, s.at(t, "t2").Inbox[0].ID)
			for range 17 {
				s.commitOn(t, otherKey, thread.Input{ID: core.ID{7}, Kind: thread.InboxInternal, Owner: "ann", Dedupe: now.Version})
				now = s.commitOn(t, otherKey, thread.Retract{ID: core.ID{7}})
			}
			return s.store.Backend.Commit(ctx, k, c)
		}
		if err := s.Deliver(t.Context(), key, seen, thread.Head{}); err != nil {
			t.Fatal(err)
		}
		if in := s.at(t, "t2").Inbox; !raced || len(in) != 0 {
			t.Errorf("the inbox is %+v", in)
		}
	})
}

// A try that several workers make concurrently is one: each has read the head before the others
// noted their failures. So it is with the last one, after which the message may have been sent again.
func TestAConcurrentTryOfAMessageIsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sending(t)
		s.opens(t)
		for i := range byte(8) {
			s.commitOn(t, otherKey, thread.Input{ID: core.ID{9, i}, Kind: thread.InboxInternal, Owner: "ann"})
		}
		s.sends(t, 1)
		for tries, wait := range []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour} {
			seen := s.head(t)
			owed := s.passes(t)
			time.Sleep(time.Millisecond)
			if err := s.Deliver(t.Context(), key, seen, thread.Head{}); err != nil {
				t.Fatal(err)
			}
			if now := s.head(t).Outbox; len(now) != 1 || now[0] != owed[0] || int(now[0].Tries) != tries+1 {
				t.Fatalf("after two workers' try %d owed is %+v, it was %+v", tries+1, now, owed)
			}
			time.Sleep(wait)
		}
		seen := s.head(t)
		s.passes(t)
		if n, err := s.RecoverMessages(t.Context(), key, "ann", true); n != 1 || err != nil {
			t.Fatalf("%d are sent again, %v", n, err)
		}
		time.Sleep(time.Millisecond)
		if err := s.Deliver(t.Context(), key, seen, thread.Head{}); err != nil {
			t.Fatal(err)
		}
		if now := s.head(t).Outbox; len(now) != 1 || now[0].Tries != 0 || s.failed(t) != nil {
			t.Errorf("owed is %+v, failed are %v", now, s.failed(t))
		}
	})
}

// Messages to one thread arrive in order: a later one waits for an earlier one, also where
// that is tried again later. One to another thread does not.
func TestMessagesToOneThreadArriveInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sending(t)
		s.opens(t)
		third := input("three", "")
		third.Thread = core.ThreadKey{Tenant: "t", Thread: "t3"}
		s.submit(t, third)
		s.sends(t, 1)
		down := true
		s.store.OnHead = func(ctx context.Context, k core.ThreadKey) (thread.Head, error) {
			if k == otherKey && down {
				return thread.Head{}, store.ErrThrottled
			}
			return s.store.Backend.Head(ctx, k)
		}
		if owed := s.passes(t); len(owed) != 1 || owed[0].Tries != 1 {
			t.Fatalf("owed is %+v", owed)
		}
		down = false
		s.sends(t, 2)
		if err := s.Send(t.Context(), key, thread.Head{}, s.message(3, mailbox.Recipient{Thread: "t3"})); err != nil {
			t.Fatal(err)
		}
		owed := s.passes(t)
		if len(owed) != 2 || owed[1].Tries != 0 || owed[1].Next != owed[0].Next {
			t.Errorf("owed is %+v, want the two to t2, the later one at the time of the earlier one", owed)
		}
		if head := s.at(t, "t3"); len(head.Pending) != 2 {
			t.Errorf("t3 has %+v", head.Pending)
		}
		time.Sleep(time.Minute)
		if owed := s.passes(t); len(owed) != 0 {
			t.Errorf("owed is %+v", owed)
		}
		if diff := cmp.Diff([]string{"message 1", "message 2"}, s.texts(t, otherKey, s.at(t, "t2").Inbox)); diff != "" {
			t.Errorf("t2 reads (-want +got):\n%s", diff)
		}
	})
}
