package host_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
	"github.com/reveille-run/reveille/core/tool"
)

// grandchild is the thread of the only child of a thread's open run.
func (r *rig) grandchild(of core.ThreadKey) core.ThreadKey {
	head := r.head(of)
	return core.ThreadKey{Tenant: "local", Thread: fmt.Sprintf("child.%s.%d.0", head.Run.ID, head.Run.Base-1)}
}

// However a run ends, the runs below it end with it, to any depth: its child waits for a run
// that waits for a person.
func TestTheEndOfARunEndsTheRunsBelowIt(t *testing.T) {
	ends := map[string]func(t *testing.T, process *host.Host, parent core.ThreadKey){
		"cancelled": func(t *testing.T, process *host.Host, parent core.ThreadKey) {
			if _, err := process.CancelThread(t.Context(), local, parent.Thread); err != nil {
				t.Fatal(err)
			}
		},
		"superseded": func(t *testing.T, process *host.Host, parent core.ThreadKey) {
			s := submission(parent.Thread, "echo: instead")
			s.Mode = mailbox.ModeInterrupt
			if _, err := process.Submit(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		},
		"deleted": func(t *testing.T, process *host.Host, parent core.ThreadKey) {
			if err := process.DeleteThread(t.Context(), local, parent.Thread, mailbox.ChildrenDetach); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				process := r.process("w", r.store, withHelper)
				s := submission("t1", `call: delegate {"prompt":"call: delegate {\"prompt\":\"call: ask\"}"}`)
				_, child := r.delegates(process, s)
				r.settle(process, s.Thread, child)
				below := r.grandchild(child)
				r.settle(process, s.Thread, child, below)
				heads := []thread.Head{r.head(s.Thread), r.head(child), r.head(below)}
				if len(heads[0].Run.Children) != 1 || heads[0].Run.Children[0] != heads[1].Run.ID ||
					len(heads[1].Run.Children) != 1 || heads[1].Run.Children[0] != heads[2].Run.ID || heads[2].Run.Status != thread.Waiting {
					t.Fatalf("the three runs are %+v", heads)
				}
				end(t, process, s.Thread)
				r.settle(process, child, below)
				for i, key := range []core.ThreadKey{child, below} {
					run, err := process.ReadRun(t.Context(), local, heads[i+1].Run.ID)
					if head := r.head(key); err != nil || run.Status != core.RunDone || run.Termination.Type != core.TerminationCancelled || head.Open() || len(head.Outbox) != 0 {
						t.Errorf("run %d below: %+v, %v, the head %+v", i+1, run, err, head)
					}
				}
				if head := r.head(s.Thread); len(head.Outbox) != 0 {
					t.Errorf("the thread still owes %v", head.Outbox)
				}
			})
		})
	}
}

// A run that ends while its child runs in the background ends it, too.
func TestTheEndOfARunEndsItsBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store, withHelper)
		s := submission("t1", `call: delegate {"prompt":"call: ask","background":true,"thread":"aside"}`)
		receipt, err := process.Submit(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		aside := core.ThreadKey{Tenant: "local", Thread: "aside"}
		r.settle(process, s.Thread, aside)
		parent, err := process.ReadRun(t.Context(), local, receipt.RunID)
		if err != nil || parent.Status != core.RunDone {
			t.Fatalf("%+v, %v", parent, err)
		}
		if head := r.head(aside); head.Open() || !head.Exists() {
			t.Errorf("the child %+v", head)
		}
	})
}

// A child that no worker has claimed when its parent ends never calls its model: here it is
// enqueued when its parent is over, by a worker that was late.
func TestAChildThatStartsAfterItsParentsEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		parent mailbox.Parent
		want   core.TerminationType
	}{
		"listed":              {mailbox.Parent{Listed: true}, core.TerminationCancelled},
		"in the background":   {mailbox.Parent{Listed: true, Call: thread.NoCall}, core.TerminationCancelled},
		"detached":            {mailbox.Parent{Listed: true, Detached: true}, core.TerminationNatural},
		"of an older program": {mailbox.Parent{}, core.TerminationNatural},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				process := r.process("w", r.store, withHelper)
				parent := r.submits(process, "t1", "hello")
				r.settle(process, core.ThreadKey{Tenant: "local", Thread: "t1"})
				s := submission("aside", "hello")
				s.Origin = core.OriginInternal
				tt.parent.Thread, tt.parent.Run = "t1", parent.RunID
				s.Opening.Parent = &tt.parent
				child, err := process.Submit(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				before := r.inferences
				r.settle(process, s.Thread)
				read, err := process.ReadRun(t.Context(), local, child.RunID)
				if err != nil || read.Status != core.RunDone || read.Termination.Type != tt.want {
					t.Errorf("%+v, %v", read, err)
				}
				if called := r.inferences > before; called != (tt.want == core.TerminationNatural) {
					t.Errorf("the model was called: %t", called)
				}
			})
		})
	}
}

// A parent that cannot be read may still wait: its child runs, whose own thread is sound.
func TestAChildWhoseParentCannotBeRead(t *testing.T) {
	for name, damage := range map[string]error{"damaged": store.ErrCorrupt, "of a newer program": thread.ErrSchema} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				over := &storetest.Faulty{Backend: r.store}
				process := r.process("w", over, withHelper)
				parent := r.submits(process, "t1", "hello")
				over.OnHead = func(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
					if key.Thread == "t1" {
						return thread.Head{}, damage
					}
					return r.store.Head(ctx, key)
				}
				s := submission("aside", "hello")
				s.Origin, s.Opening.Parent = core.OriginInternal, &mailbox.Parent{Listed: true, Thread: "t1", Run: parent.RunID}
				child, err := process.Submit(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				for hint, ok := r.queue.Receive(); ok; hint, ok = r.queue.Receive() {
					if hint.Thread == "aside" {
						if err := process.WorkLocal(t.Context(), hint); err != nil {
							t.Fatal(err)
						}
					}
				}
				read, err := process.ReadRun(t.Context(), local, child.RunID)
				if err != nil || read.Status != core.RunDone || read.Termination.Type != core.TerminationNatural {
					t.Errorf("%+v, %v", read, err)
				}
			})
		})
	}
}

// A run has sixteen open children; the seventeenth is an error of its call.
func TestASeventeenthOpenChildIsRefused(t *testing.T) {
	for children, want := range map[int]string{16: "<nil>", 17: "thread t1: a run has at most 16 open children"} {
		synctest.Test(t, func(t *testing.T) {
			r, got := newRig(t), "not called"
			process := r.process("w", r.store, withHelper, func(c *host.Options) {
				many := tool.New(tool.Spec{Name: "many"}, func(ctx context.Context, c tool.Call, _ struct{}) (tool.Result, error) {
					var err error
					for i := 0; i < children && err == nil; i++ {
						_, err = c.Start(ctx, tool.Child{Agent: "helper", Name: fmt.Sprint("n", i), Background: true, Messages: []core.Message{core.UserMessage("hello")}})
					}
					got = fmt.Sprint(err)
					return tool.NewResult("started"), err
				})
				c.Agents.Tools = append(c.Agents.Tools, many)
			})
			r.submits(process, "t1", "call: many")
			hint, _ := r.queue.Receive()
			if err := process.WorkLocal(t.Context(), hint); err != nil {
				t.Fatal(err)
			}
			if head := r.head(core.ThreadKey{Tenant: "local", Thread: "t1"}); got != want || len(head.Run.Children) != 16 {
				t.Errorf("%d children: %s, listed are %d", children, got, len(head.Run.Children))
			}
		})
	}
}

// A tool may wait for whatever run its model names. Of another user's run the timeline has nothing
// but that id.
func TestTheTimelineNamesNoThreadOfAnotherUser(t *testing.T) {
	for user, want := range map[string]host.CallChild{"": {ThreadID: "t2", AgentID: "demo"}, "ben": {}} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			process := r.process("w", r.store, func(c *host.Options) {
				c.Agents.Tools = append(c.Agents.Tools, tool.New(tool.Spec{Name: "awaits"}, func(_ context.Context, _ tool.Call, a struct {
					Run string `json:"run"`
				}) (tool.Result, error) {
					run, err := core.ParseID(a.Run)
					return tool.AwaitChild(run, core.ResumeReplay), err
				}))
			})
			other := submission("t2", "hello")
			other.User = user
			awaited, err := process.Submit(t.Context(), other)
			if err != nil {
				t.Fatal(err)
			}
			receipt := r.submits(process, "t1", `call: awaits {"run":"`+awaited.RunID.String()+`"}`)
			r.settle(process, core.ThreadKey{Tenant: "local", Thread: "t1"})
			want.RunID = awaited.RunID
			if got := stepCall(t, process, receipt.RunID); got.Child == nil || *got.Child != want {
				t.Errorf("%q: %+v, %+v, want %+v", user, got, got.Child, want)
			}
		})
	}
}
