package mailbox_test

import (
	"bytes"
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

// background is a world whose run of a user has a child for which no call waits, and which is
// over; the run's record says that it is of the agent "demo".
func background(t *testing.T, user string) (child, thread.Head) {
	t.Helper()
	w := telling(t, nil, new(bytes.Buffer))
	s := input("one", "")
	s.User = user
	w.last = w.submit(t, s)
	head := w.claim(t)
	w.ranAs(t, thread.RunRecord{Run: core.Run{ID: head.Run.ID, AgentID: "demo"}})
	s = input("two", "")
	s.User, s.Thread, s.Opening.Parent = user, childKey, &mailbox.Parent{Thread: key.Thread, Run: head.Run.ID, Call: thread.NoCall}
	c := child{world: w, receipt: w.submit(t, s)}
	c.ends(t, "done")
	return c, head
}

// owed is what the child's thread still owes its parent.
func (c child) owed(t *testing.T) (owed []thread.OutboxEntry) {
	t.Helper()
	for _, e := range c.at(t, childKey.Thread).Outbox {
		if e.Kind == thread.OutboxChildEnded {
			owed = append(owed, e)
		}
	}
	return owed
}

// The run reads of it in words, as what the deployment itself says, and is not resumed by it
// when it waits for a person.
func TestWhatARunReadsOfABackgroundChild(t *testing.T) {
	for name, waits := range map[string]bool{"it runs": false, "it waits": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, head := background(t, "ann")
				if waits {
					c.waits(t, head, asks(0))
				}
				parent, _ := c.tells(t)
				if len(parent.Inbox) != 1 || len(parent.Tickets) != map[bool]int{true: 1}[waits] || (parent.Run.Status == thread.Waiting) != waits || len(c.owed(t)) != 0 {
					t.Fatalf("the parent is %s with the inbox %+v and tickets %+v", parent.Run.Status, parent.Inbox, parent.Tickets)
				}
				if parent.Inbox[0].Kind != thread.InboxInternal {
					t.Errorf("the input is of kind %d", parent.Inbox[0].Kind)
				}
				id := parent.Inbox[0].ID
				in := c.input(t, mailbox.Receipt{DispatchID: id})
				run := c.receipt.RunID.String()
				want := thread.Queued{
					Run: id, Dispatch: id, AgentID: "demo", Origin: core.OriginInternal, CreatedAt: 946684800000,
					Messages: []core.Message{core.UserMessage(`A run that you started is over: {"run_id":"` + run + `","thread_id":"c1","agent_id":"demo",` +
						`"termination":{"type":"natural_end"},"response":"done","steps":1,"usage":{"input":7}}`).WithID(id.String() + ".0")},
				}
				want.Messages[0].CreatedAt = 946684800000
				if diff := cmp.Diff(want, in); diff != "" {
					t.Errorf("input (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Who was told, and has read it, is not told again for as long as the head remembers, also
// where the record of that it was read is lost.
func TestABackgroundEndIsRememberedByTheHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, head := background(t, "ann")
		c.store.OnCommit = func(ctx context.Context, k core.ThreadKey, commit store.Commit) (store.Outcome, error) {
			if k == childKey { // it dies before it could note that it has told
				return store.Outcome{}, core.Errorf(core.CodeInvalid, "the process ends here")
			}
			return c.store.Backend.Commit(ctx, k, commit)
		}
		if err := c.Deliver(t.Context(), childKey, c.at(t, "c1"), thread.Head{}); core.CodeOf(err) != core.CodeInvalid {
			t.Fatal(err)
		}
		c.store.OnCommit = nil
		id := c.head(t).Inbox[0].ID
		c.reads(t, head, id)
		c.loses(recordname.Read(id))
		if parent, _ := c.tells(t); len(parent.Inbox) != 0 || len(c.owed(t)) != 0 {
			t.Errorf("the parent is to read %+v again, %+v is owed", parent.Inbox, c.owed(t))
		}
	})
}

// The parent's run ends, or another one begins, between the look at it and the write: nobody
// else reads of the child.
func TestABackgroundEndReachesItsRunAlone(t *testing.T) {
	closes := func(t *testing.T, c child) {
		c.commit(t, thread.Cancel{})
		head := c.head(t)
		c.commit(t, thread.CommitClose{Fence: head.Claim.Fence, From: head.Seq, Seq: head.Seq + 1})
	}
	tests := []struct {
		name string
		meet func(t *testing.T, c child)
	}{
		{"it is closing", func(t *testing.T, c child) { c.commit(t, thread.Cancel{}) }},
		{"its thread is deleted", func(t *testing.T, c child) { c.commit(t, thread.Delete{}) }},
		{"another is open", func(t *testing.T, c child) {
			closes(t, c)
			s := input("three", "")
			s.User = ""
			c.submit(t, s)
			c.claim(t)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := background(t, "")
				c.before(func() { tt.meet(t, c) })
				if parent, _ := c.tells(t); len(parent.Inbox) != 0 || len(c.owed(t)) != 0 {
					t.Errorf("the inbox is %+v, and %+v is owed", parent.Inbox, c.owed(t))
				}
			})
		})
	}
}

// A child that is over is no longer listed by the run that has started it, whatever became of the
// call that waited for it: the end of that run owes it nothing.
func TestAChildThatIsOverIsNotListed(t *testing.T) {
	for name, meet := range map[string]func(t *testing.T, c child){
		"the call waits": func(*testing.T, child) {},
		"it was decided before": func(t *testing.T, c child) {
			c.commit(t, thread.Decide{Run: c.last.RunID, Decision: 5, Resume: true, Child: core.ID{7}})
		},
		"the run closes": func(t *testing.T, c child) { c.commit(t, thread.Cancel{}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := awaiting(t, newWorld(t))
				c.ends(t, "done")
				meet(t, c)
				if parent, _ := c.tells(t); len(parent.Run.Children) != 0 || len(c.owed(t)) != 0 {
					t.Errorf("children %v are listed, %+v is owed", parent.Run.Children, c.owed(t))
				}
			})
		})
	}
}

// A try whose write is refused may leave the input, as a newer program writes it. A later try makes
// that visible, if its program can read it.
func TestABackgroundEndThatAnEarlierTryHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := background(t, "ann")
		c.store.OnCommit = func(ctx context.Context, k core.ThreadKey, commit store.Commit) (store.Outcome, error) {
			if k != key {
				return c.store.Backend.Commit(ctx, k, commit)
			}
			c.store.OnCommit = nil
			c.put(t, commit.Records[0])
			return store.Outcome{}, store.ErrCorrupt
		}
		before := c.head(t).Version
		for tries, program := range []uint16{2, 1} {
			if err := c.withSchemas(t, program, program).Deliver(t.Context(), childKey, c.at(t, "c1"), thread.Head{}); err != nil {
				t.Fatal(err)
			}
			if owed := c.owed(t); len(owed) != 1 || int(owed[0].Tries) != tries+1 || c.head(t).Version != before {
				t.Fatalf("a program of schema %d: %+v is owed", program, owed)
			}
			time.Sleep(time.Minute)
		}
		parent, _ := c.tells(t)
		if len(parent.Inbox) != 1 || parent.Version != before+1 || parent.Schema != 2 || len(c.owed(t)) != 0 {
			t.Errorf("the inbox of the parent, of schema %d, is %+v, and %+v is owed", parent.Schema, parent.Inbox, c.owed(t))
		}
	})
}

// The ticket, or the thread, may go between the look at it and the decision.
func TestAnEndThatIsOvertaken(t *testing.T) {
	tests := []struct {
		name string
		meet func(t *testing.T, c child)
		owed int
	}{
		{"by another decision", func(t *testing.T, c child) {
			c.commit(t, thread.Decide{Run: c.last.RunID, Decision: 5, Resume: true, Child: core.ID{7}})
		}, 1},
		{"by the end of the thread", func(t *testing.T, c child) { c.commit(t, thread.Delete{Owner: "ann"}) }, 0},
		{"by the end of the run", func(t *testing.T, c child) { c.commit(t, thread.Cancel{}) }, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				c := awaiting(t, telling(t, nil, &log))
				c.ends(t, "done")
				c.before(func() { tt.meet(t, c) })
				c.tells(t)
				if owed := c.owed(t); len(owed) != tt.owed || tt.owed == 1 && owed[0].Tries != 0 || strings.Contains(log.String(), "could not be told") {
					t.Fatalf("%+v is owed, and the log says %s", owed, &log)
				}
				time.Sleep(time.Second)
				if c.tells(t); len(c.owed(t)) != 0 {
					t.Errorf("then %+v is owed", c.owed(t))
				}
			})
		})
	}
}

// Whichever read fails, nothing is told, and it is told later; so it is when the parent's head
// cannot be written.
func TestAnEndThatCannotBeToldNowIsToldLater(t *testing.T) {
	down := errors.New("no connection")
	for name, begin := range map[string]struct {
		world func(t *testing.T) child
		reads int
	}{
		"to a call": {func(t *testing.T) child {
			c := awaiting(t, telling(t, nil, new(bytes.Buffer)))
			c.ends(t, "done")
			return c
		}, 5},
		"in the background": {func(t *testing.T) child { c, _ := background(t, "ann"); return c }, 5},
	} {
		t.Run(name, func(t *testing.T) {
			for n := range begin.reads + 1 {
				synctest.Test(t, func(t *testing.T) {
					c := begin.world(t)
					before, left := c.head(t).Version, n
					c.store.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
						if op.Method == "Commit" && op.Key == key {
							if left--; left == -1 {
								return store.ErrCorrupt
							}
						}
						if !op.Writes() {
							if left--; left == -1 {
								return down
							}
						}
						return do(ctx)
					}
					if err := c.Deliver(t.Context(), childKey, c.at(t, "c1"), thread.Head{}); err != nil {
						t.Fatal(err)
					}
					if c.store.Around = nil; left >= 0 {
						t.Fatalf("there is no read %d", n)
					}
					if owed := c.owed(t); len(owed) != 1 || owed[0].Tries != 1 || c.head(t).Version != before {
						t.Errorf("call %d fails: %+v is owed, the parent went from version %d to %d", n, owed, before, c.head(t).Version)
					}
					time.Sleep(time.Minute)
					if parent, _ := c.tells(t); len(c.owed(t)) != 0 || parent.Version != before+1 {
						t.Errorf("call %d has failed: then %+v is owed, the parent went from version %d to %d", n, c.owed(t), before, parent.Version)
					}
				})
			}
		})
	}
}
