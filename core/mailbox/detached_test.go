package mailbox_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// detached is a world whose run of ann has a detached child in the background, which is over.
// The run's record says that it is of the agent "lead", and that its input is the log's
// second record.
func detached(t *testing.T) (child, thread.Head, *bytes.Buffer) {
	t.Helper()
	log := new(bytes.Buffer)
	w := telling(t, nil, log)
	w.last = w.submit(t, input("one", ""))
	head := w.claim(t)
	w.ranAs(t, thread.RunRecord{Run: core.Run{ID: head.Run.ID, AgentID: "lead", FirstSeq: 2, Dispatch: head.Run.Dispatch}})
	s := input("two", "")
	s.Thread, s.Opening.Parent = childKey, &mailbox.Parent{Thread: key.Thread, Run: head.Run.ID, Call: thread.NoCall, Listed: true, Detached: true}
	c := child{world: w, receipt: w.submit(t, s)}
	c.ends(t, "done")
	return c, head, log
}

// closes ends the parent's run by itself.
func (c child) closes(t *testing.T, head thread.Head) thread.Head {
	t.Helper()
	return c.commit(t, thread.CommitStep{Fence: head.Claim.Fence, From: head.Seq, Outcome: thread.Done, Seq: head.Seq + 1})
}

// The end of a detached child goes to the run that has started it, while that is open. Once it
// is over, it is the input of another run of the same agent, also next to the run of somebody
// else, and also where the run ends between the look at it and the write.
func TestWhoReadsOfTheEndOfADetachedChild(t *testing.T) {
	tests := []struct {
		name   string
		before func(t *testing.T, c child, head thread.Head)
		meets  func(t *testing.T, c child, head thread.Head)
		inbox  int
		queued int // runs, the last one with the child's end
	}{
		{"the open run", nil, nil, 1, 0},
		{"another run, after its end", func(t *testing.T, c child, head thread.Head) { c.closes(t, head) }, nil, 0, 1},
		{"another run, while it is ending", func(t *testing.T, c child, _ thread.Head) { c.commit(t, thread.Cancel{}) }, nil, 0, 1},
		{"another run, next to one of a person", func(t *testing.T, c child, head thread.Head) {
			c.closes(t, head)
			c.submit(t, input("three", ""))
			c.claim(t)
		}, nil, 0, 1},
		{"another run, as it ends meanwhile", nil, func(t *testing.T, c child, head thread.Head) { c.closes(t, head) }, 0, 1},
		{"nobody, where its thread is deleted", func(t *testing.T, c child, _ thread.Head) { c.commit(t, thread.Delete{Owner: "ann"}) }, nil, 0, 0},
		{"nobody, where its thread is deleted meanwhile", func(t *testing.T, c child, head thread.Head) { c.closes(t, head) },
			func(t *testing.T, c child, _ thread.Head) { c.commit(t, thread.Delete{Owner: "ann"}) }, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, head, _ := detached(t)
				if tt.before != nil {
					tt.before(t, c, head)
				}
				if tt.meets != nil {
					c.before(func() { tt.meets(t, c, head) })
				}
				parent, _ := c.tells(t)
				if len(c.owed(t)) != 0 || len(parent.Inbox) != tt.inbox || len(parent.Pending) != tt.queued {
					t.Fatalf("the inbox is %+v, queued are %+v, and %+v is owed", parent.Inbox, parent.Pending, c.owed(t))
				}
				if tt.queued == 0 {
					return
				}
				d := parent.Pending[len(parent.Pending)-1]
				run, ok, err := c.Run(t.Context(), key, parent, d.Run, d.ID)
				if err != nil || !ok || run.AgentID != "lead" || run.Origin != core.OriginInternal || !strings.HasPrefix(run.Asked, `A run that you started is over: {"run_id":"`+c.receipt.RunID.String()) {
					t.Errorf("it starts %+v, %v, %v", run, ok, err)
				}
			})
		})
	}
}

// What its run has read, before it was over, no other run reads again; nor is the end told
// twice where a note of it is lost.
func TestTheEndOfADetachedChildIsToldOnce(t *testing.T) {
	for name, over := range map[string]bool{"to its run": false, "to another": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, head, _ := detached(t)
				if over {
					c.closes(t, head)
				}
				c.store.OnCommit = func(ctx context.Context, k core.ThreadKey, commit store.Commit) (store.Outcome, error) {
					if k == childKey {
						return store.Outcome{}, core.Errorf(core.CodeInvalid, "the process ends here")
					}
					return c.store.Backend.Commit(ctx, k, commit)
				}
				if err := c.Deliver(t.Context(), childKey, c.at(t, "c1"), thread.Head{}); err == nil {
					t.Fatal("the note is written")
				}
				c.store.OnCommit = nil
				if !over {
					c.reads(t, head, c.head(t).Inbox[0].ID)
					c.closes(t, c.head(t))
				} else {
					now := c.claim(t)
					c.ranAs(t, thread.RunRecord{Run: core.Run{ID: now.Run.ID, AgentID: "lead", FirstSeq: 2, Dispatch: now.Run.Dispatch}})
					c.closes(t, now)
				}
				before := c.head(t)
				if parent, _ := c.tells(t); parent.Version != before.Version || len(c.owed(t)) != 0 {
					t.Errorf("the parent's head went from version %d to %d: %+v; %+v is owed", before.Version, parent.Version, parent.Pending, c.owed(t))
				}
			})
		})
	}
}

// A thread that has withdrawn the run from its log is told nothing of its children; one that
// has withdrawn another is.
func TestAWithdrawnRunIsToldNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		from, to uint64
		told     int
	}{"its input": {1, 4, 0}, "what came before": {1, 1, 1}, "its input alone": {2, 2, 0}, "what came after": {3, 4, 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, head, _ := detached(t)
				at := tt.to + 1
				c.commit(t, thread.CommitStep{Fence: head.Claim.Fence, From: 0, Outcome: thread.Done, Seq: tt.to})
				c.submit(t, input("three", ""))
				next := c.claim(t)
				c.put(t, store.Record{Name: store.LogName(at), Fence: next.Claim.Fence, Payload: encoded(t, thread.Entry{Run: next.Run.ID, Superseded: &thread.Range{From: tt.from, To: tt.to}})})
				c.commit(t, thread.CommitStep{Fence: next.Claim.Fence, From: next.Seq, Outcome: thread.Done, Seq: at, Cut: tt.from})
				if parent, _ := c.tells(t); len(parent.Pending) != tt.told || len(c.owed(t)) != 0 {
					t.Errorf("queued are %+v, and %+v is owed; want %d", parent.Pending, c.owed(t), tt.told)
				}
			})
		})
	}
}

// Without the record of the run that has started it, nobody can say whose agent reads of it.
func TestADetachedChildOfALostRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, head, log := detached(t)
		c.closes(t, head)
		c.loses(recordname.Run(head.Run.ID))
		if parent, _ := c.tells(t); len(parent.Pending) != 0 || len(c.owed(t)) != 0 || !strings.Contains(log.String(), "run that has started a child is unknown") {
			t.Errorf("queued are %+v, %+v is owed, the log says %s", parent.Pending, c.owed(t), log)
		}
	})
}

// Nor can anybody if the record is damaged, at any later try.
func TestADetachedChildOfADamagedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, head, log := detached(t)
		c.closes(t, head)
		c.store.OnRecord = func(_ storetest.Operation, found store.Record) store.Record {
			if found.Name == recordname.Run(head.Run.ID) {
				found.Payload = []byte("x")
			}
			return found
		}
		if parent, _ := c.tells(t); len(c.owed(t)) != 0 || len(parent.Pending) != 0 || !strings.Contains(log.String(), "run that has started a child is unknown") {
			t.Errorf("queued are %+v, %+v is owed, the log says %s", parent.Pending, c.owed(t), log)
		}
	})
}

// A full queue is tried again, for as long as it is full.
func TestTheEndOfADetachedChildWaitsForAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, head, _ := detached(t)
		c.closes(t, head)
		var last mailbox.Receipt
		for range 8 {
			last = c.submit(t, input("more", ""))
		}
		for range 8 {
			if c.tells(t); len(c.owed(t)) != 1 {
				t.Fatalf("%+v is owed", c.owed(t))
			}
			time.Sleep(time.Minute)
		}
		c.commit(t, thread.Cancel{Run: last.RunID})
		if parent, _ := c.tells(t); len(c.owed(t)) != 0 || len(parent.Pending) != 8 {
			t.Errorf("%+v is owed, queued are %d", c.owed(t), len(parent.Pending))
		}
	})
}

// The end of a child that is not detached starts no run.
func TestTheEndOfAChildThatIsNotDetachedStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, head := background(t, "ann")
		c.closes(t, head)
		if parent, _ := c.tells(t); len(parent.Pending) != 0 || len(c.owed(t)) != 0 {
			t.Errorf("queued are %+v, and %+v is owed", parent.Pending, c.owed(t))
		}
	})
}
