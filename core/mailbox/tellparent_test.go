package mailbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	"github.com/reveille-run/reveille/core/tool"
)

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
		want := core.ChildEnd{RunID: c.receipt.RunID, ThreadID: "c1", AgentID: "demo", Termination: &core.Termination{Type: core.TerminationNatural}, Response: "done", Steps: 1, Usage: core.Usage{Input: 7}}
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
		for text, want := range map[string]int{"é": 260_898, "\x01": 43_429, "<": 43_429} {
			var log bytes.Buffer
			c := awaiting(t, telling(t, nil, &log))
			c.ends(t, strings.Repeat(text, 200_000))
			parent, _ := c.tells(t)
			said := c.decision(t, parent)
			var end core.ChildEnd
			if err := json.Unmarshal(said.Payload, &end); err != nil {
				t.Fatal(err)
			}
			if !end.Cut || len(said.Payload) > tool.MaxArguments || len(end.Response) != want || strings.Trim(end.Response, text) != "" {
				t.Errorf("%q: a payload of %d bytes, cut %v, with %d bytes of the response, %.20q", text, len(said.Payload), end.Cut, len(end.Response), strings.Trim(end.Response, text))
			}
		}
	})
}

// What is not larger than can be passed on is passed on as it is.
func TestResponseOfAChildAtItsLimit(t *testing.T) {
	for size, payload := range map[int]int{260_955: 261_120, 260_956: 261_068} {
		synctest.Test(t, func(t *testing.T) {
			c := awaiting(t, telling(t, nil, new(bytes.Buffer)))
			c.ends(t, strings.Repeat("x", size))
			parent, _ := c.tells(t)
			if said := c.decision(t, parent); len(said.Payload) != payload || bytes.Contains(said.Payload, []byte(`"cut"`)) != (payload < 261_120) {
				t.Errorf("a response of %d bytes comes to a payload of %d bytes, want %d", size, len(said.Payload), payload)
			}
		})
	}
}

// An end that is too large without its response is not passed on: the call is cancelled.
func TestEndOfAChildThatCannotBeCutCancelsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := awaiting(t, telling(t, nil, new(bytes.Buffer)))
		c.ends(t, "done")
		c.store.OnRecord = func(_ storetest.Operation, found store.Record) store.Record {
			if found.Name == recordname.Run(c.receipt.RunID) {
				found.Payload = bytes.Replace(found.Payload, []byte(`"natural_end"`), []byte(`"natural_end","detail":"`+strings.Repeat("x", 300_000)+`"`), 1)
			}
			return found
		}
		parent, _ := c.tells(t)
		if said := c.decision(t, parent); said.Action != core.DecisionCancel {
			t.Errorf("decision %.300v", said)
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
		want := core.Decision{ID: c.receipt.RunID.String(), Action: core.DecisionCancel, Reason: "what the child run came to is not what the call waits for"}
		if diff := cmp.Diff(want, c.decision(t, parent)); diff != "" || parent.Run.Calls[0] != thread.CallCancelling {
			t.Errorf("the call is %s; decision (-want +got):\n%s", parent.Run.Calls[0], diff)
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
		drops   bool // a second operation takes the child from the list
	}{
		{"the parent's thread is deleted", func(t *testing.T, c child) { c.commit(t, thread.Delete{Owner: "ann"}) }, true, false},
		{"the parent is cancelled", func(t *testing.T, c child) { c.commit(t, thread.Cancel{}) }, true, true},
		{"the parent is over, and another run's call waits", func(t *testing.T, c child) {
			c.commit(t, thread.Cancel{})
			head := c.claim(t)
			c.commit(t, thread.CommitClose{Fence: head.Claim.Fence, From: head.Seq, Seq: head.Seq + 1})
			c.submit(t, input("three", ""))
			c.calls(t, c.claim(t), false, asks(0))
		}, true, false},
		{"another has told it", func(t *testing.T, c child) {
			c.commit(t, thread.Decide{Run: c.last.RunID, Decision: 5, Resume: true, Child: core.ID{7}})
		}, true, true},
		{"the call is done", func(t *testing.T, c child) {
			c.commit(t, thread.Decide{Run: c.last.RunID, Decision: 5, Resume: true, Child: core.ID{7}})
			c.goesOn(t)
		}, true, true},
		{"it was told, and the call waits for a person since", func(t *testing.T, c child) {
			id := c.receipt.RunID.String()
			c.commit(t, thread.Decide{Run: c.last.RunID, Decision: thread.DecisionKey(c.last.RunID, id, id), Resume: true, Child: core.ID{7}})
			c.suspend(t, c.claim(t), thread.Wait, asks(0))
		}, true, false},
		{"the parent cannot be read", func(_ *testing.T, c child) {
			c.store.OnHead = func(ctx context.Context, k core.ThreadKey) (thread.Head, error) {
				if k == key {
					return thread.Head{}, store.ErrThrottled
				}
				return c.store.Backend.Head(ctx, k)
			}
		}, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				c := awaiting(t, telling(t, nil, &log))
				head := c.ends(t, "done")
				tt.arrange(t, c)
				reads := 0
				c.store.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
					if op.Key == key {
						reads++
					}
					return do(ctx)
				}
				if err := c.Deliver(t.Context(), childKey, head, thread.Head{}); err != nil {
					t.Fatal(err)
				}
				if want := map[bool]int{false: 1, true: 2}[tt.drops]; reads != want {
					t.Errorf("the parent's thread has %d operations, want %d", reads, want)
				}
				c.store.OnHead, c.store.Around = nil, nil
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
		heads := 0
		w.store.OnHead = func(ctx context.Context, k core.ThreadKey) (thread.Head, error) {
			if k == key {
				heads++
			}
			return w.store.Backend.Head(ctx, k)
		}
		parent, told := c.tells(t)
		if w.store.OnHead = nil; heads != 2 { // one of them is this test's
			t.Errorf("the parent's head is read %d times, want twice", heads)
		}
		if parent.Version != head.Version || len(told.Outbox) == 0 || told.Outbox[0].Tries != 0 || strings.Contains(log.String(), "could not be told") {
			t.Fatalf("the parent moved, or the child forgot it, or it was an error: %+v, %+v, %s", parent, told, log.String())
		}
		w.suspend(t, head, thread.Wait, c.ticket)
		time.Sleep(time.Second)
		if parent, _ := c.tells(t); parent.Run.Calls[0] != thread.CallResuming {
			t.Errorf("the call is %s", parent.Run.Calls[0])
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
		if !strings.Contains(log.String(), "parent of an ended child run unknown") {
			t.Errorf("the log says %s", &log)
		}
	})
}
