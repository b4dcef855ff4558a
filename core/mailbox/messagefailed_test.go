package mailbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// A message is tried five times: at once, then 1, 5, 30 and 120 minutes later. Then it leaves
// the head for a list, from which it is sent again.
func TestAMessageIsGivenUpAfterFiveTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sending(t)
		s.opens(t)
		for i := range byte(8) {
			s.commitOn(t, otherKey, thread.Input{ID: core.ID{9, i}, Kind: thread.InboxInternal, Owner: "ann"})
		}
		s.sends(t, 1)
		began := time.Now()
		var waits []string
		for {
			owed := s.passes(t)
			if len(owed) == 0 {
				break
			}
			wait := time.Until(time.UnixMilli(owed[0].Next))
			waits = append(waits, fmt.Sprint(owed[0].Tries, " ", wait))
			if due := s.head(t).DueAt; due > owed[0].Next {
				t.Errorf("the thread is due at %d, and owes at %d", due, owed[0].Next)
			}
			time.Sleep(wait)
		}
		if diff := cmp.Diff([]string{"1 1m0s", "2 5m0s", "3 30m0s", "4 2h0m0s"}, waits); diff != "" || time.Since(began) != 156*time.Minute {
			t.Errorf("given up after %s, after tries (-want +got):\n%s", time.Since(began), diff)
		}
		if diff := cmp.Diff([]string{"1 to t2: recipient_full after 5"}, s.failed(t)); diff != "" {
			t.Errorf("failed (-want +got):\n%s", diff)
		}
		listed, err := s.store.Listed(t.Context(), "t", "failed:ann", nil, 10)
		if err != nil || len(listed) != 1 || listed[0].Thread != "t1" || listed[0].At != time.Now().UnixMilli() {
			t.Errorf("the tenant's list has %+v, %v", listed, err)
		}
		if n := strings.Count(s.log.String(), "message not delivered, will be retried"); n != 4 || strings.Count(s.log.String(), "message given up") != 1 {
			t.Errorf("the log says %s", s.log)
		}
		s.commitOn(t, otherKey, thread.Retract{ID: core.ID{9, 0}})
		if n, err := s.RecoverMessages(t.Context(), key, "ann", true); n != 1 || err != nil || s.failed(t) != nil {
			t.Errorf("%d are sent again, %v; failed are %v", n, err, s.failed(t))
		}
		if listed, err := s.store.Listed(t.Context(), "t", "failed:ann", nil, 10); err != nil || len(listed) != 0 {
			t.Errorf("the tenant's list has %+v, %v", listed, err)
		}
		if diff := cmp.Diff([]string{"t1 0s"}, s.queue.Lines()[len(s.queue.Lines())-1:]); diff != "" {
			t.Errorf("the hint of it (-want +got):\n%s", diff)
		}
		if owed := s.passes(t); len(owed) != 0 || len(s.at(t, "t2").Inbox) != 8 {
			t.Errorf("owed is %+v", owed)
		}
	})
}

// What no later try can change fails at once, when it is sent or when it is delivered.
func TestRecipientsThatCannotBeReached(t *testing.T) {
	tests := []struct {
		name    string
		to      mailbox.Recipient
		arrange func(t *testing.T, s sender)
		want    error
		code    string
		sent    bool // it can happen after the message was sent
	}{
		{"no such thread", mailbox.Recipient{Thread: "t9"}, nil, mailbox.ErrRecipientNotFound, "recipient_not_found", false},
		{"another user's", mailbox.Recipient{Thread: "t3"}, func(t *testing.T, s sender) {
			ben := input("one", "")
			ben.Thread.Thread, ben.User = "t3", "ben"
			s.submit(t, ben)
		}, mailbox.ErrRecipientNotFound, "recipient_not_found", false},
		{"a deleted thread", mailbox.Recipient{Thread: "t2"}, func(t *testing.T, s sender) { s.commitOn(t, otherKey, thread.Delete{Owner: "ann"}) }, mailbox.ErrRecipientUnavailable, "recipient_unavailable", true},
		{"a run that is over", mailbox.Recipient{Thread: "t2", Run: core.ID{1}}, func(t *testing.T, s sender) {
			s.over(t, otherKey, s.opens(t), "done")
		}, mailbox.ErrRecipientUnavailable, "recipient_unavailable", true},
		{"a run that is ending", mailbox.Recipient{Thread: "t2", Run: core.ID{1}}, func(t *testing.T, s sender) {
			s.opens(t)
			s.commitOn(t, otherKey, thread.Cancel{})
		}, mailbox.ErrRecipientUnavailable, "recipient_unavailable", true},
		{"a damaged thread", mailbox.Recipient{Thread: "t2"}, func(_ *testing.T, s sender) {
			s.store.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
				if op.Method == "Head" && op.Key.Thread == "t2" {
					return store.ErrCorrupt
				}
				return do(ctx)
			}
		}, mailbox.ErrRecipientUnavailable, "recipient_unavailable", true},
	}
	for _, tt := range tests {
		for _, after := range []bool{false, true} {
			if after && !tt.sent {
				continue
			}
			t.Run(fmt.Sprint(tt.name, ", sent before ", after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := sending(t)
					if !tt.to.Run.IsZero() {
						tt.to.Run = s.sub.RunID
					}
					if !after && tt.arrange != nil {
						tt.arrange(t, s)
					}
					err := s.Send(t.Context(), key, thread.Head{}, s.message(1, tt.to))
					if !after {
						if !errors.Is(err, tt.want) || codeOf(err) != tt.code || len(s.passes(t)) != 0 {
							t.Errorf("%v, want %v", err, tt.want)
						}
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					tt.arrange(t, s)
					if owed := s.passes(t); len(owed) != 0 {
						t.Errorf("owed is %+v", owed)
					}
					if diff := cmp.Diff([]string{"1 to t2: " + tt.code + " after 1"}, s.failed(t)); diff != "" {
						t.Errorf("failed (-want +got):\n%s", diff)
					}
					// Sent again it fails again, and is listed again.
					if n, err := s.RecoverMessages(t.Context(), key, "ann", true); n != 1 || err != nil {
						t.Errorf("%d are sent again: %v", n, err)
					}
					if s.passes(t); len(s.failed(t)) != 1 {
						t.Errorf("failed are %v", s.failed(t))
					}
					if n, err := s.RecoverMessages(t.Context(), key, "ann", false); n != 1 || err != nil || s.failed(t) != nil {
						t.Errorf("%d are cleared: %v; failed are %v", n, err, s.failed(t))
					}
				})
			})
		}
	}
}

// A message that fails again at once, before its old note is taken from the list, stays listed.
func TestAMessageThatFailsAgainMeanwhileStaysListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sending(t)
		s.sends(t, 1)
		s.commitOn(t, otherKey, thread.Delete{Owner: "ann"})
		s.passes(t)
		s.store.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
			if op.Method == "Put" {
				s.store.Around = nil
				s.passes(t)
			}
			return do(ctx)
		}
		if n, err := s.RecoverMessages(t.Context(), key, "ann", true); n != 1 || err != nil || s.store.Around != nil {
			t.Errorf("%d are sent again: %v", n, err)
		}
		if diff := cmp.Diff([]string{"1 to t2: recipient_unavailable after 1"}, s.failed(t)); diff != "" {
			t.Errorf("failed (-want +got):\n%s", diff)
		}
	})
}

// A run that is queued does not read yet, and a thread of a newer program is left alone:
// neither is a try.
func TestWhatIsNoTry(t *testing.T) {
	tests := []struct {
		name string
		to   func(s sender) core.ID
		meet func(s sender)
		goes func(t *testing.T, s sender)
	}{
		{"its run is queued", func(s sender) core.ID { return s.sub.RunID }, func(sender) {}, func(t *testing.T, s sender) { s.opens(t) }},
		{"a newer program's head", func(sender) core.ID { return core.ID{} }, func(s sender) {
			s.store.OnHead = func(ctx context.Context, k core.ThreadKey) (thread.Head, error) {
				if k == otherKey {
					return thread.Head{}, thread.ErrSchema
				}
				return s.store.Backend.Head(ctx, k)
			}
		}, func(_ *testing.T, s sender) { s.store.OnHead = nil }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := sending(t)
				if err := s.Send(t.Context(), key, thread.Head{}, s.message(1, mailbox.Recipient{Thread: "t2", Run: tt.to(s)})); err != nil {
					t.Fatal(err)
				}
				tt.meet(s)
				for range 6 {
					owed := s.passes(t)
					if len(owed) != 1 || owed[0].Tries != 0 || owed[0].Next != time.Now().Add(time.Minute).UnixMilli() {
						t.Fatalf("owed is %+v", owed)
					}
					time.Sleep(time.Minute)
				}
				tt.goes(t, s)
				if owed := s.passes(t); len(owed) != 0 || strings.Contains(s.log.String(), "message") {
					t.Errorf("owed is %+v, the log says %s", owed, s.log)
				}
			})
		})
	}
}

// A message of a deleted thread still arrives; its records are erased after that.
func TestADeletedThreadDeliversItsMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sending(t)
		s.opens(t)
		s.sends(t, 1)
		if err := s.Delete(t.Context(), key, "ann"); err != nil {
			t.Fatal(err)
		}
		s.sweeps(t)
		if !slices.Contains(s.records(t), recordname.Outbox(numbered(1))) {
			t.Error("its records are erased before it was delivered")
		}
		if owed := s.passes(t); len(owed) != 0 || len(s.at(t, "t2").Inbox) != 1 {
			t.Errorf("owed is %+v", owed)
		}
		if s.sweeps(t); len(s.records(t)) != 0 {
			t.Errorf("left are %v", s.records(t))
		}
	})
}

// The record of a message may be lost or say nothing that this program understands.
func TestAMessageThatCannotBeRead(t *testing.T) {
	for name, payload := range map[string]string{
		"lost": "", "no JSON": "x", "no receiver": `{"schema":1,"to":[],"payload":{}}`, "two receivers": `{"schema":1,"to":[{},{}],"payload":{}}`,
		"no content": `{"schema":1,"to":[{}],"payload":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := sending(t)
				s.opens(t)
				s.sends(t, 1)
				s.sends(t, 2)
				of := recordname.Outbox(numbered(1))
				if payload == "" {
					s.loses(of)
				} else {
					s.store.OnRecord = func(_ storetest.Operation, found store.Record) store.Record {
						if found.Name == of {
							found.Payload = []byte(payload)
						}
						return found
					}
				}
				if owed := s.passes(t); len(owed) != 0 || len(s.at(t, "t2").Inbox) != 1 {
					t.Errorf("owed is %+v", owed)
				}
				if diff := cmp.Diff([]string{"1 to : message_lost after 1"}, s.failed(t)); diff != "" {
					t.Errorf("failed (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// What cannot be sent is refused by name, and a ninth message too.
func TestMessagesThatAreRefused(t *testing.T) {
	s := sending(t)
	to := mailbox.Recipient{Thread: "t2"}
	empty, own, other := s.message(1, to), s.message(1, mailbox.Recipient{Thread: "t1"}), s.message(1, to)
	empty.Messages, other.Run = nil, core.ID{5}
	for _, tt := range []struct {
		m    mailbox.Message
		want string
	}{
		{empty, "messages are empty, at least one is required"},
		{own, "message to its own thread t1"},
		{other, "thread t1: open run 05000000-0000-0000-0000-000000000000: not found"},
	} {
		if err := s.Send(t.Context(), key, thread.Head{}, tt.m); err == nil || err.Error() != tt.want {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
	for n := range byte(8) {
		s.sends(t, n+1)
	}
	err := s.Send(t.Context(), key, thread.Head{}, s.message(9, to))
	if !errors.Is(err, thread.ErrTooManyMessages) || codeOf(err) != "outbox_full" {
		t.Errorf("a ninth message: %v", err)
	}
	again := s.message(1, to)
	again.Messages[0] = core.UserMessage("other words")
	if err := s.Send(t.Context(), key, thread.Head{}, again); err != nil { // it is in the outbox, with its first content
		t.Error(err)
	}
	s.passes(t)
	if err := s.Send(t.Context(), key, thread.Head{}, again); !errors.Is(err, store.ErrConflict) || codeOf(err) != "delivery_failed" {
		t.Errorf("the same id with other content: %v", err)
	}
}

// The failed messages of a thread are its owner's.
func TestFailedMessagesAreTheirOwners(t *testing.T) {
	s := sending(t)
	for user, want := range map[string]core.Code{"ann": "", "ben": core.CodeForbidden} {
		if _, err := s.FailedMessages(t.Context(), key, user); core.CodeOf(err) != want {
			t.Errorf("%s: %v", user, err)
		}
		if _, err := s.RecoverMessages(t.Context(), key, user, true); core.CodeOf(err) != want {
			t.Errorf("%s: %v", user, err)
		}
		if _, err := s.RecoverMessages(t.Context(), key, user, false); core.CodeOf(err) != want {
			t.Errorf("%s: %v", user, err)
		}
	}
	if _, err := s.FailedMessages(t.Context(), core.ThreadKey{Tenant: "t", Thread: "t9"}, "ann"); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("no thread: %v", err)
	}
}

// commitOn applies a change to a thread.
func (w *world) commitOn(t *testing.T, of core.ThreadKey, change thread.Change) thread.Head {
	t.Helper()
	head, _, err := w.Commit(t.Context(), of, thread.Head{}, change, nil)
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// readsOn lets the claimed run of a thread read an inbox entry, and go on.
func (w *world) readsOn(t *testing.T, of core.ThreadKey, head thread.Head, id core.ID) thread.Head {
	t.Helper()
	payload := encoded(t, thread.Entry{Run: head.Run.ID, Step: 1, Message: &core.Message{Role: core.RoleUser}, Input: id})
	next, _, err := w.Commit(t.Context(), of, thread.Head{}, thread.CommitStep{
		Fence: head.Claim.Fence, From: head.Seq, Outcome: thread.Yield, Keep: true, Lease: 30_000, Seq: head.Seq + 1,
		Consumed: []thread.InboxRef{{ID: id, Seq: head.Seq + 1}},
	}, func(thread.Head, thread.Result) ([]store.Record, error) {
		return []store.Record{{Name: store.LogName(head.Seq + 1), Fence: head.Claim.Fence, Payload: payload}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return next
}
