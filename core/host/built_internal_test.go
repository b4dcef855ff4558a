package host

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/pins"
	"github.com/reveille-run/reveille/core/internal/run/compaction"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/catalog"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/tool"
)

// notes are what happened, in order.
type notes struct {
	mu  sync.Mutex
	all []string
}

func (n *notes) add(what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, what)
}

func (n *notes) diff(want ...string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return cmp.Diff(want, n.all)
}

// observing notes the outcomes of steps.
type observing struct{ *notes }

func (o observing) Inferred(agent string, turn *core.Message, _ time.Duration, retries int) {
	o.add(fmt.Sprintf("%s says %q after %d failures", agent, turn.Text(), retries))
}
func (o observing) InferenceFailed(agent, kind string) { o.add(agent + " fails: " + kind) }
func (o observing) ToolCalled(agent string, r *core.ToolResult, _ time.Duration) {
	o.add(agent + " calls " + r.Name + ": " + string(r.Status))
}
func (o observing) Stepped(agent string, _ time.Duration) { o.add(agent + " has stepped") }
func (o observing) Ended(run core.Run)                    { o.add(run.AgentID + " is " + string(run.Status)) }

// publishing notes what is announced.
type publishing struct{ *notes }

func (p publishing) Publish(_ context.Context, a mailbox.Announcement) error {
	p.add(string(a.Type) + " of " + a.ThreadID)
	return nil
}

// noting is a model that tells before it speaks.
type noting struct {
	model.Model
	before func(model.Request)
}

func (m noting) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	m.before(r)
	return m.Model.Stream(ctx, r)
}

// workAll works off the hints of a queue.
func workAll(t *testing.T, r *Host, queue *mailboxtest.Queue) (kinds []string) {
	t.Helper()
	for hint, ok := queue.Receive(); ok; hint, ok = queue.Receive() {
		kinds = append(kinds, hint.Kind)
		if err := r.WorkLocal(t.Context(), hint); err != nil {
			t.Fatal(err)
		}
	}
	return kinds
}

// The observer of a configuration is told of each step.
func TestStepsAreObserved(t *testing.T) {
	got := &notes{}
	r, queue := program(t, func(c *Options) { c.Observer = observing{got} })
	if _, err := r.Submit(t.Context(), hello("t")); err != nil {
		t.Fatal(err)
	}
	workAll(t, r, queue)
	if diff := got.diff(`demo says "You said: hello" after 0 failures`, "demo has stepped", "demo is done"); diff != "" {
		t.Errorf("observed (-want +got):\n%s", diff)
	}
}

// A report reads records of the schema that the configuration writes, and has its prices.
func TestAReportHasThePricesOfTheConfiguration(t *testing.T) {
	models, err := (&catalog.Catalog{}).With([]byte(`{"models":[{"provider":"p","names":["x"],"prices":[{"from":"2020-01-01","input":1,"output":10,"source":"a test"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r, queue := program(t, func(c *Options) {
		c.Records = thread.Records{Schemas: thread.Schemas{Reads: 3, Writes: 3}}
		c.Agents.Models = map[string]agent.ModelBinding{"m": {Model: scripted.New(c.Env), Provider: "p", Name: "x"}}
		c.Metering = &Metering{Models: models, Rates: func() (account.Rates, error) { return account.Rates{WriteUnits: 1}, nil }}
	})
	if _, err := r.Submit(t.Context(), hello("t")); err != nil {
		t.Fatal(err)
	}
	workAll(t, r, queue)
	today := time.Now()
	rows, err := r.Report(t.Context(), account.Query{Tenant: "acme", From: today.Add(-24 * time.Hour), To: today, By: account.By{Model: true}})
	if err != nil || len(rows) != 2 { // the run, and its model
		t.Fatalf("%+v, %v", rows, err)
	}
	if row := rows[1]; row.ModelCost == nil || *row.ModelCost == 0 || len(row.Unpriced) > 0 {
		t.Errorf("the model costs %v, %q have no price", row.ModelCost, row.Unpriced)
	}
	page, err := r.Runs(t.Context(), core.Identity{Tenant: "acme"}, RunQuery{})
	if err != nil || len(page.Items) != 1 || page.Items[0].Cost == nil || !page.Items[0].Cost.Known || page.Items[0].Cost.USD != *rows[1].ModelCost {
		t.Errorf("the run costs %+v, %v, want what its model does", page.Items, err)
	}
	hours, err := r.ReportHours(t.Context(), account.HourQuery{Tenant: "acme", From: today.Add(-time.Hour).UnixMilli(), To: today.UnixMilli() + 1})
	if last := len(hours) - 1; err != nil || last != 1 || hours[0].Runs+hours[1].Runs != 1 || hours[0].Cost.USD+hours[1].Cost.USD != *rows[1].ModelCost {
		t.Errorf("by hours: %+v, %v", hours, err)
	}
	rows, err = r.Report(t.Context(), account.Query{Tenant: "acme", From: today.Add(-24 * time.Hour), To: today})
	if err != nil || len(rows) != 1 || rows[0].CloudCost == nil {
		t.Errorf("in the cloud: %+v, %v", rows, err)
	}
}

// A thread that grows long asks the queue for a summary; without a queue the step that needs
// it makes it.
func TestWhoMakesTheSummaryOfAThread(t *testing.T) {
	long := func(c *Options) {
		c.Agents.Specs[0].Context = &agent.ContextWindowPolicy{AutocompactThreshold: 3000, Compaction: compaction.Background}
	}
	say := func(i int) mailbox.Submission {
		s := hello("t")
		s.Messages[0] = core.UserMessage(fmt.Sprintf("question %d %s", i, strings.Repeat("x", 4400)))
		return s
	}
	r, queue := program(t, long)
	var kinds []string
	for i := range 4 {
		if _, err := r.Submit(t.Context(), say(i)); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, workAll(t, r, queue)...)
	}
	asked := 0
	for _, kind := range kinds {
		if kind == core.WakeCompact {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("hints %q, want one for a summary", kinds)
	}
	r, _ = program(t, func(c *Options) { withoutWorkers(c); long(c) })
	for i := range 4 {
		if _, err := r.Stream(t.Context(), say(i), ListenerFunc(discard)); err != nil {
			t.Fatal(err)
		}
	}
	if hint, due, _ := r.queue.pop(); due {
		t.Errorf("without a queue there is a hint: %+v", hint)
	}
}

// Two children of a call are told apart by their names, also on one thread; the same name of
// another call is another child.
func TestChildrenOfACallAreToldApart(t *testing.T) {
	r, _ := program(t, nil)
	starts, runs := children{r.submits, pins.New(r.submits.agents, memory.New())}, map[core.ID]string{}
	for _, call := range []string{"run/2/3", "run/2/4"} {
		for _, name := range []string{"", "a", "b"} {
			c := tool.Call{Idempotency: call, Index: 3, Thread: core.ThreadKey{Tenant: "acme", Thread: "t"}, Run: core.ID{5}}
			run, err := starts.StartChild(t.Context(), c, tool.Child{Agent: "demo", Name: name, Thread: "own", Messages: []core.Message{core.UserMessage("hello")}}, unlisted)
			if err != nil {
				t.Fatal(call, name, err)
			}
			if other, ok := runs[run]; ok {
				t.Errorf("child %q of %s is that of %s", name, call, other)
			}
			runs[run] = call + " " + name
		}
	}
}

// What no thread is called is refused before anything else of a request.
func TestANameThatIsNone(t *testing.T) {
	r, _ := program(t, nil)
	bad := core.ThreadKey{Tenant: "acme", Thread: "a#b"}
	want := bad.Check()
	if _, err := r.StreamDecisions(t.Context(), core.Identity{Tenant: "acme"}, "a#b", nil, ListenerFunc(discard)); want == nil || err == nil || err.Error() != want.Error() {
		t.Errorf("%v, want %v", err, want)
	}
}

// A stream claims its run from the time on that the run is available at.
func TestWhenAStreamClaimsItsRun(t *testing.T) {
	for wait, want := range map[time.Duration]bool{-time.Millisecond: true, 0: true, time.Millisecond: false} {
		synctest.Test(t, func(t *testing.T) {
			due := time.Now().Add(wait).UnixMilli()
			r := logged(t, thread.Head{DueAt: due, Run: thread.Run{ID: theRun, Cursor: thread.CursorInfer, Dispatch: core.ID{2}, AvailableAt: due}}, nil, thread.Entry{Run: theRun})
			head, err := r.mailbox.Head(t.Context(), roundKey)
			if err != nil {
				t.Fatal(err)
			}
			claimed, permit := r.worker.claimInline(t.Context(), roundKey, head, theRun)
			if (permit != nil) != want || (claimed.Claim.Fence != 0) != want {
				t.Errorf("available in %s: permit %t, %+v", wait, permit != nil, claimed.Claim)
			}
			if permit != nil {
				permit.release()
			}
		})
	}
}

// While a suspect runs, a stream leaves its run to the queue, at once.
func TestAStreamComesAfterASuspect(t *testing.T) {
	r := logged(t, thread.Head{Run: thread.Run{ID: theRun, Cursor: thread.CursorInfer, Dispatch: core.ID{2}}}, nil, thread.Entry{Run: theRun})
	head, err := r.mailbox.Head(t.Context(), roundKey)
	if err != nil {
		t.Fatal(err)
	}
	suspect := r.worker.permits.newPermit()
	if !r.worker.permits.tryAcquire(suspect, true, false) {
		t.Fatal("the suspect does not run")
	}
	if _, permit := r.worker.claimInline(t.Context(), roundKey, head, theRun); permit != nil || r.Stats().Working != 1 {
		t.Errorf("permit %t, %d at work", permit != nil, r.Stats().Working)
	}
	if now, err := r.mailbox.Head(t.Context(), roundKey); err != nil || now.Version != head.Version {
		t.Errorf("the thread was written: %+v, %v", now, err)
	}
	suspect.release()
	_, permit := r.worker.claimInline(t.Context(), roundKey, head, theRun)
	if permit == nil {
		t.Fatal("then it does not claim")
	}
	permit.release()
}

// In a process without workers, what a call tells of its claim lets other calls run beside
// it, unless the run is a suspect.
func TestACallRunsBesideOthersUnlessItIsASuspect(t *testing.T) {
	for lost, want := range []bool{false, false, true} {
		synctest.Test(t, func(t *testing.T) {
			var r *Host
			var alone []bool
			r, _ = program(t, func(c *Options) {
				withoutWorkers(c)
				c.Agents.Models["m"] = agent.ModelBinding{Model: noting{scripted.New(c.Env), func(model.Request) {
					r.worker.permits.mu.Lock()
					defer r.worker.permits.mu.Unlock()
					alone = append(alone, r.worker.permits.suspect != nil)
				}}}
			})
			s := hello("t")
			receipt, err := r.Submit(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			for range lost {
				if _, ok, err := r.mailbox.Claim(t.Context(), core.WakeUp{Tenant: "acme", Thread: "t"}, true); !ok || err != nil {
					t.Fatal(ok, err)
				}
				time.Sleep(10 * time.Minute)
			}
			if err := r.Follow(t.Context(), core.Identity{Tenant: "acme"}, receipt.RunID, ListenerFunc(discard)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]bool{want}, alone); diff != "" {
				t.Errorf("after %d claims it runs alone (-want +got):\n%s", lost, diff)
			}
		})
	}
}

// A call that steps the run before its own tells of that run's end before its own begins.
func TestTheRunBeforeIsToldOfFirst(t *testing.T) {
	got := &notes{}
	r, _ := program(t, func(c *Options) {
		c.Waker, c.alone, c.Publisher = NewQueue(c.Env), true, publishing{got}
		c.Agents.Models["m"] = agent.ModelBinding{Model: noting{scripted.New(c.Env), func(r model.Request) { got.add("asked " + r.Messages[len(r.Messages)-1].Text()) }}}
	})
	if _, err := r.Submit(t.Context(), hello("t")); err != nil {
		t.Fatal(err)
	}
	behind := hello("t")
	behind.Messages[0], behind.Origin, behind.Mode = core.UserMessage("behind"), core.OriginInternal, mailbox.ModeQueue
	if _, err := r.Play(t.Context(), behind, nil, nil); err != nil {
		t.Fatal(err)
	}
	if diff := got.diff("asked hello", "run.ended of t", "asked behind"); diff != "" || r.Stats().Working != 0 {
		t.Errorf("%d at work, in order (-want +got):\n%s", r.Stats().Working, diff)
	}
}

// What a process that is gone has not told is told by the call that finds the thread due.
func TestACallTellsWhatWasNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend, got := memory.New(), &notes{}
		gone, _ := program(t, func(c *Options) { c.Store, c.Announce = backend, true }) // it announces, and tells nobody
		if _, err := gone.Stream(t.Context(), hello("t"), ListenerFunc(discard)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		r, _ := program(t, func(c *Options) {
			c.Waker, c.alone, c.Store, c.Publisher = NewQueue(c.Env), true, backend, publishing{got}
		})
		key := hello("t").Thread
		head, err := r.mailbox.Head(t.Context(), key)
		if err != nil || head.DueAt == 0 {
			t.Fatalf("due at %d, %v", head.DueAt, err)
		}
		w := stepping{worker: r.worker, queue: r.queue, follower: r.streams.follower(key, core.ID{}, newStream(r.env, theRun, ListenerFunc(discard)))}
		if err := w.stepThread(t.Context(), head); err != nil {
			t.Fatal(err)
		}
		if diff := got.diff("run.ended of t"); diff != "" || r.Stats().Working != 0 {
			t.Errorf("%d at work, told (-want +got):\n%s", r.Stats().Working, diff)
		}
	})
}
