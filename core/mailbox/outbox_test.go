package mailbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
	"github.com/reveille-run/reveille/core/thread"
	"github.com/reveille-run/reveille/core/tool"
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
		Env: env.System(), Store: w.store, Waker: w.queue, Logger: slog.New(slog.NewTextHandler(log, nil)), Fits: tool.CheckDecision,
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
		Termination: &core.Termination{Type: core.TerminationNatural},
	}}
	input, _, err := w.store.Get(t.Context(), key, store.InputName(head.Run.Dispatch, 0))
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
			return []store.Record{{Name: store.RunName(run), Fence: next.Fence, Version: next.Version, Payload: payload}}, nil
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

func TestParentIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := awaiting(t, telling(t, publish(func(mailbox.Announcement) error { return nil }), &log))
		c.ends(t, "done")
		parent, told := c.tells(t)
		if parent.Run.Status != thread.Running || parent.Run.Calls[0] != thread.CallResuming {
			t.Errorf("the parent is %s, its call %s", parent.Run.Status, parent.Run.Calls[0])
		}
		var end core.ChildEnd
		if err := json.Unmarshal(c.decision(t, parent).Payload, &end); err != nil {
			t.Fatal(err)
		}
		want := core.ChildEnd{RunID: c.receipt.RunID, ThreadID: "c1", AgentID: "demo", Termination: &core.Termination{Type: core.TerminationNatural}, Response: "done", Steps: 1}
		if diff := cmp.Diff(want, end); diff != "" {
			t.Errorf("end (-want +got):\n%s", diff)
		}
		if o := told.Outbox; len(o) != 1 || o[0].Kind != thread.OutboxEnded { // which is its writer's for two seconds
			t.Errorf("the child's thread still owes %+v", o)
		}
		again, _ := c.tells(t) // by whoever had read the head before
		if again.Version != parent.Version {
			t.Errorf("told again, the parent has version %d after %d", again.Version, parent.Version)
		}
	})
}

// A response that is larger than can be passed on is cut between two characters.
func TestLongResponseOfAChildIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, text := range []string{"é", "\x01", "<"} {
			var log bytes.Buffer
			c := awaiting(t, telling(t, nil, &log))
			c.ends(t, strings.Repeat(text, 200_000))
			parent, _ := c.tells(t)
			said := c.decision(t, parent)
			var end core.ChildEnd
			if err := json.Unmarshal(said.Payload, &end); err != nil {
				t.Fatal(err)
			}
			if !end.Cut || len(said.Payload) > tool.MaxArguments || len(said.Payload) < 200_000 || strings.Trim(end.Response, text) != "" {
				t.Errorf("%q: a payload of %d bytes, cut %v, %.20q", text, len(said.Payload), end.Cut, strings.Trim(end.Response, text))
			}
		}
	})
}

// A ticket that asks for something else is no reason to wait for ever.
func TestEndThatIsNotAskedForCancelsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := awaiting(t, telling(t, nil, &log), func(k *core.Ticket) { k.Suspension.ResponseSchema = json.RawMessage(`{"type":"string"}`) })
		c.ends(t, "done")
		parent, _ := c.tells(t)
		if said := c.decision(t, parent); said.Action != core.DecisionCancel || parent.Run.Calls[0] != thread.CallCancelling {
			t.Errorf("decision %+v, the call is %s", said, parent.Run.Calls[0])
		}
	})
}

// Where nobody waits any more there is nothing to tell; where the call does not wait
// yet, it is told later.
func TestWhenThereIsNobodyToTell(t *testing.T) {
	tests := []struct {
		name    string
		arrange func(t *testing.T, c child)
		told    bool // the outbox entry is gone
	}{
		{"the parent's thread is deleted", func(t *testing.T, c child) { c.commit(t, thread.Delete{Owner: "ann"}) }, true},
		{"the parent is cancelled", func(t *testing.T, c child) { c.commit(t, thread.Cancel{}) }, true},
		{"another has told it", func(t *testing.T, c child) {
			c.commit(t, thread.Decide{Run: c.last.RunID, Decision: 5, Resume: true, Child: true})
		}, true},
		{"the call is done", func(t *testing.T, c child) {
			c.commit(t, thread.Decide{Run: c.last.RunID, Decision: 5, Resume: true, Child: true})
			c.goesOn(t)
		}, true},
		{"the parent cannot be read", func(_ *testing.T, c child) {
			c.store.OnHead = func(ctx context.Context, k core.ThreadKey) (thread.Head, error) {
				if k == key {
					return thread.Head{}, store.ErrThrottled
				}
				return c.store.Backend.Head(ctx, k)
			}
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				c := awaiting(t, telling(t, nil, &log))
				head := c.ends(t, "done")
				tt.arrange(t, c)
				if err := c.Deliver(t.Context(), childKey, head, thread.Head{}); err != nil {
					t.Fatal(err)
				}
				c.store.OnHead = nil
				told, err := c.Head(t.Context(), childKey)
				if err != nil {
					t.Fatal(err)
				}
				left := 0
				for _, e := range told.Outbox {
					if e.Kind == thread.OutboxChildEnded {
						left++
						if wait := e.Next - time.Now().UnixMilli(); wait < 250 || wait > 501 || e.Tries != 1 {
							t.Errorf("it is tried again after %d ms, and %d tries have failed", wait, e.Tries)
						}
					}
				}
				if (left == 0) != tt.told {
					t.Errorf("%d parents are still to be told: %s", left, log.String())
				}
			})
		})
	}
}

// A child that is over before its parent's call waits is told when it does.
func TestChildThatIsQuickerThanItsParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := telling(t, nil, &log)
		w.last = w.submit(t, input("one", ""))
		head := w.claim(t)
		s := input("two", "")
		s.Thread, s.Opening.Parent = childKey, &mailbox.Parent{Thread: key.Thread, Run: head.Run.ID}
		c := child{world: w, receipt: w.submit(t, s)}
		c.ticket = asks(0, func(k *core.Ticket) { k.Suspension.ID, k.Kind = c.receipt.RunID.String(), core.TicketChild })
		seq := head.Seq + 1
		turn := thread.Entry{Run: head.Run.ID, Step: 1, Message: &core.Message{ID: "m", Role: core.RoleAssistant, ToolCalls: []core.ToolCall{callOf(c.ticket)}}}
		head, _, err := w.Commit(t.Context(), key, head, thread.CommitTurn{Fence: head.Claim.Fence, From: head.Seq, Seq: seq, Calls: 1, TurnFence: head.Claim.Fence},
			func(thread.Head, thread.Result) ([]store.Record, error) {
				return []store.Record{{Name: store.LogName(seq), Fence: head.Claim.Fence, Payload: encoded(t, turn)}}, nil
			})
		if err != nil {
			t.Fatal(err)
		}
		c.ends(t, "done")
		if parent, told := c.tells(t); parent.Version != head.Version || len(told.Outbox) == 0 || told.Outbox[0].Tries != 0 || strings.Contains(log.String(), "could not be told") {
			t.Fatalf("the parent moved, or the child forgot it, or it was an error: %+v, %+v, %s", parent, told, log.String())
		}
		w.suspend(t, head, thread.Wait, c.ticket)
		time.Sleep(time.Second)
		if parent, _ := c.tells(t); parent.Run.Calls[0] != thread.CallResuming {
			t.Errorf("the call is %s", parent.Run.Calls[0])
		}
	})
}

// What cannot be published waits about as long again each time, up to an hour; a
// publisher that panics has failed.
func TestTriesOfAnAnnouncement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		tries := 0
		w := telling(t, publish(func(mailbox.Announcement) error {
			if tries++; tries%2 == 0 {
				panic("no receiver")
			}
			return errors.New("no receiver")
		}), &log)
		w.submit(t, input("one", ""))
		head, err := w.over(t, key, w.claim(t), "done"), error(nil)
		began := time.Now()
		claimed := atFirst
		var waits []time.Duration
		for i := range 24 {
			if err := w.Deliver(t.Context(), key, head, claimed); err != nil {
				t.Fatal(err)
			}
			if head, err = w.Head(t.Context(), key); err != nil || len(head.Outbox) != 1 || int(head.Outbox[0].Tries) != i+1 {
				t.Fatalf("head %+v, %v", head, err)
			}
			wait := time.Until(time.UnixMilli(head.Outbox[0].Next))
			waits = append(waits, wait)
			claimed = thread.Head{}
			time.Sleep(wait)
		}
		if tries != 24 {
			t.Errorf("%d tries, want 24", tries)
		}
		for i, wait := range waits {
			if wait < 250*time.Millisecond || wait > time.Hour+time.Millisecond {
				t.Errorf("the wait behind try %d is %s", i+1, wait)
			}
		}
		if waits[0] > 501*time.Millisecond || waits[23] < 30*time.Minute || time.Since(began) < 4*time.Hour {
			t.Errorf("waits %v", waits)
		}
	})
}

// An announcement that nobody is there for waits a day for a publisher.
func TestAnnouncementWithoutAPublisher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := telling(t, nil, &log)
		w.submit(t, input("one", ""))
		w.over(t, key, w.claim(t), "done")
		for began := time.Now(); ; {
			head, err := w.Head(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			if len(head.Outbox) == 0 {
				if took := time.Since(began); took < 24*time.Hour || took > 26*time.Hour {
					t.Errorf("it was dropped after %s", took)
				}
				break
			}
			time.Sleep(time.Until(time.UnixMilli(head.Outbox[0].Next)))
			if err := w.Deliver(t.Context(), key, head, thread.Head{}); err != nil {
				t.Fatal(err)
			}
		}
		if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "no publisher is configured") {
			t.Errorf("the log says %s", log.String())
		}
	})
}

// Where the run's record is lost the tries tell how long it was owed.
func TestAnnouncementOfALostRunWithoutAPublisher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := telling(t, nil, &log)
		w.submit(t, input("one", ""))
		w.end(t, w.claim(t))
		began := time.Now()
		for tries := 0; ; tries++ {
			head := w.head(t)
			if len(head.Outbox) == 0 {
				if took := time.Since(began); took < 4*time.Hour || took > 26*time.Hour || tries > 30 {
					t.Errorf("it was dropped after %s and %d tries", took, tries)
				}
				break
			}
			time.Sleep(time.Until(time.UnixMilli(head.Outbox[0].Next)))
			if err := w.Deliver(t.Context(), key, head, thread.Head{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A child that no step has opened is over all the same, and so is one whose thread is
// deleted, whose records say whose child it was: they are erased when that was told.
func TestParentIsToldOfAChildThatHasNoRecord(t *testing.T) {
	tests := []struct {
		name string
		ends func(t *testing.T, c child)
		want core.Termination
	}{
		{"cancelled in the queue", func(t *testing.T, c child) {
			if _, err := c.Cancel(t.Context(), childKey, c.receipt.RunID); err != nil {
				t.Fatal(err)
			}
		}, core.Termination{Type: core.TerminationCancelled}},
		{"deleted with its thread", func(t *testing.T, c child) {
			if err := c.Delete(t.Context(), childKey, "ann"); err != nil {
				t.Fatal(err)
			}
		}, core.Termination{Type: core.TerminationCancelled, Code: "deleted"}},
		{"deleted while it runs", func(t *testing.T, c child) {
			if _, claimed, err := c.Claim(t.Context(), core.WakeUp{Tenant: "t", Thread: "c1"}, false); err != nil || !claimed {
				t.Fatalf("claim: %v, %v", claimed, err)
			}
			if err := c.Delete(t.Context(), childKey, "ann"); err != nil {
				t.Fatal(err)
			}
		}, core.Termination{Type: core.TerminationCancelled, Code: "deleted"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				c := awaiting(t, telling(t, nil, &log))
				tt.ends(t, c)
				records := func() int {
					list, err := c.store.Records(t.Context(), childKey, "", "", 100)
					if err != nil {
						t.Fatal(err)
					}
					return len(list)
				}
				swept := func() {
					if _, claimed, err := c.Claim(t.Context(), core.WakeUp{Tenant: "t", Thread: "c1", Sweep: true}, false); err != nil && !errors.Is(err, thread.ErrDeleted) || claimed {
						t.Fatalf("swept: %v, %v", claimed, err)
					}
				}
				if swept(); records() == 0 {
					t.Error("its records are erased before its parent was told")
				}
				parent, _ := c.tells(t)
				var end core.ChildEnd
				if err := json.Unmarshal(c.decision(t, parent).Payload, &end); err != nil {
					t.Fatal(err)
				}
				want := core.ChildEnd{RunID: c.receipt.RunID, ThreadID: "c1", Termination: &tt.want}
				if tt.want.Code == "" {
					want.AgentID = "demo"
				}
				if diff := cmp.Diff(want, end); diff != "" {
					t.Errorf("end (-want +got):\n%s", diff)
				}
				if swept(); tt.want.Code == "deleted" && records() > 0 {
					t.Error("its records are left after its parent was told")
				}
			})
		})
	}
}

// Whom nobody can find any more is told nothing, and the log says so.
func TestChildOfALostParentLeavesTheHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := awaiting(t, telling(t, nil, &log))
		if _, err := c.Cancel(t.Context(), childKey, c.receipt.RunID); err != nil {
			t.Fatal(err)
		}
		if _, err := c.store.Erase(t.Context(), childKey, 100); err != nil {
			t.Fatal(err)
		}
		before := c.head(t)
		parent, told := c.tells(t)
		if parent.Version != before.Version || slices.ContainsFunc(told.Outbox, func(e thread.OutboxEntry) bool { return e.Kind == thread.OutboxChildEnded }) {
			t.Errorf("the parent went from version %d to %d, and the child's thread owes %+v", before.Version, parent.Version, told.Outbox)
		}
		if !strings.Contains(log.String(), "no record says whose it was") {
			t.Errorf("the log says %s", &log)
		}
	})
}

func TestParentOfASubmission(t *testing.T) {
	run := core.ID{1}
	tests := []struct {
		name   string
		parent mailbox.Parent
		mode   mailbox.Mode
		want   string
	}{
		{"complete", mailbox.Parent{Thread: "p", Run: run, Call: 31}, "", ""},
		{"in the background", mailbox.Parent{Thread: "p", Run: run, Call: thread.NoCall}, mailbox.ModeQueue, ""},
		{"no thread", mailbox.Parent{Run: run}, "", "parent thread id is empty"},
		{"a long thread", mailbox.Parent{Thread: strings.Repeat("n", 129), Run: run}, "", "parent thread id is 129 bytes long, at most 128 are allowed"},
		{"no run", mailbox.Parent{Thread: "p"}, "", "parent: the run has no id"},
		{"a call too many", mailbox.Parent{Thread: "p", Run: run, Call: 32}, "", "parent: call 32, allowed are 0 to 31 and 255"},
		{"another mode", mailbox.Parent{Thread: "p", Run: run}, mailbox.ModeSteer, `parent: mode "steer", a child run can only be queued`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := input("one", tt.mode)
			s.Opening.Parent = &tt.parent
			err := s.Check()
			if tt.want == "" && err != nil || tt.want != "" && (core.CodeOf(err) != core.CodeInvalid || err.Error() != tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

// A child waits for its turn, also behind a run that waits for a person, whose reply it
// is not.
func TestChildIsQueuedBehindARunThatWaits(t *testing.T) {
	w, _ := waiting(t, asks(0))
	s := input("two", "")
	s.Opening.Parent = &mailbox.Parent{Thread: "p", Run: core.ID{1}}
	receipt := w.submit(t, s)
	head, err := w.Head(t.Context(), key)
	if err != nil || len(head.Pending) != 1 || head.Pending[0].Run != receipt.RunID || head.Run.Status != thread.Waiting {
		t.Errorf("head %+v, %v", head, err)
	}
}
