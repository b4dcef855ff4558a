package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/pins"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
	"github.com/reveille-run/reveille/core/tool"
)

var errNoAnswer = errors.New("no answer")

// tree is a program with runs that have started others. Each is claimed and has made no step; the
// run at the top is on the thread "t", its child runs on "t.0", "t.1" and so on.
type tree struct {
	*Host
	t     *testing.T
	store *storetest.Faulty
}

func newTree(t *testing.T) tree {
	t.Helper()
	over := &storetest.Faulty{Backend: memory.New()}
	r, _ := program(t, func(c *Options) { c.Store = over })
	return tree{r, t, over}
}

// grows starts a run on a thread with as many child runs as the first number says, each of which
// has as many as the next one says.
func (f tree) grows(name string, children ...int) (run core.ID) {
	f.t.Helper()
	s := hello(name)
	if above := strings.LastIndexByte(name, '.'); above >= 0 {
		s.Origin, s.Opening.Parent = core.OriginInternal, &mailbox.Parent{
			Thread: name[:above], Run: f.head(name[:above]).Run.ID, Call: thread.NoCall, ToolCall: "call_" + name,
		}
	}
	receipt, err := f.Submit(f.t.Context(), s)
	if err != nil {
		f.t.Fatal(err)
	}
	head, claimed, err := f.mailbox.Claim(f.t.Context(), core.WakeUp{Tenant: "acme", Thread: name}, false)
	if err != nil || !claimed {
		f.t.Fatalf("claim: %v, %v", claimed, err)
	}
	if len(children) == 0 {
		return receipt.RunID
	}
	for i := range children[0] {
		child := f.grows(fmt.Sprint(name, ".", i), children[1:]...)
		if _, _, err := f.mailbox.Commit(f.t.Context(), s.Thread, thread.Head{}, thread.AddChild{Fence: head.Claim.Fence, Child: child}, nil); err != nil {
			f.t.Fatal(err)
		}
	}
	return receipt.RunID
}

func (f tree) head(name string) thread.Head {
	f.t.Helper()
	head, err := f.mailbox.Head(context.WithoutCancel(f.t.Context()), core.ThreadKey{Tenant: "acme", Thread: name})
	if err != nil {
		f.t.Fatal(err)
	}
	return head
}

// below returns what follows the child runs of the run on the thread t, for a stream that h
// hears; nil: for a call that returns a Result.
func (f tree) below(h Listener) *descendants {
	f.t.Helper()
	quiet := h == nil
	if quiet {
		h = &hearer{}
	}
	key := core.ThreadKey{Tenant: "acme", Thread: "t"}
	top := f.streams.follower(key, core.ID{}, newStream(f.env, f.head("t").Run.ID, h))
	top.quiet = quiet
	on := f.streams.watches.join(key)
	d := f.streams.descend(top, on, f.head("t").Owner)
	f.t.Cleanup(func() {
		d.quit()
		on.quit()
	})
	return d
}

// levels are how many runs are followed on each level.
func (d *descendants) levels() (all []int) {
	if len(d.runs) == 0 {
		return nil
	}
	all = []int{len(d.runs)}
	for _, one := range d.runs {
		for i, n := range one.below.levels() {
			if len(all) == i+1 {
				all = append(all, 0)
			}
			all[i+1] += n
		}
	}
	return all
}

// A stream follows eight child runs of a run, five levels of them, and thirty-two runs in all. A
// call that returns a Result looks sixteen levels deep, at any number of runs.
func TestHowManyChildRunsAStreamFollows(t *testing.T) {
	for _, tt := range []struct {
		name      string
		children  []int
		want      []int
		shown     int // runs
		wantQuiet []int
	}{
		{"none", nil, nil, 0, nil},
		{"eight", []int{8}, []int{8}, 8, []int{8}},
		{"nine", []int{9}, []int{8}, 8, []int{8}},
		{"eight of a child", []int{1, 8}, []int{1, 8}, 9, []int{1, 8}},
		{"nine of a child", []int{1, 9}, []int{1, 8}, 9, []int{1, 8}},
		{"thirty-two", []int{4, 7}, []int{4, 28}, 32, []int{4, 28}},
		{"thirty-six", []int{4, 8}, []int{4, 28}, 32, []int{4, 32}},
		{"five levels", []int{1, 1, 1, 1, 1}, []int{1, 1, 1, 1, 1}, 5, []int{1, 1, 1, 1, 1}},
		{"six levels", []int{1, 1, 1, 1, 1, 1}, []int{1, 1, 1, 1, 1}, 5, []int{1, 1, 1, 1, 1, 1}},
		{"sixteen levels", []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, []int{1, 1, 1, 1, 1}, 5, []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
		{"seventeen levels", []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, []int{1, 1, 1, 1, 1}, 5, []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newTree(t)
				f.grows("t", tt.children...)
				heard := &hearer{}
				loud, quiet := f.below(heard), f.below(nil)
				for _, d := range []*descendants{loud, quiet} {
					if err := d.look(t.Context(), f.head("t")); err != nil {
						t.Fatal(err)
					}
				}
				if got := loud.levels(); fmt.Sprint(got) != fmt.Sprint(tt.want) || loud.shared.followed != tt.shown {
					t.Errorf("a stream follows %v, %d in all; want %v, %d", got, loud.shared.followed, tt.want, tt.shown)
				}
				shown := map[string]bool{}
				for _, e := range heard.events {
					shown[e.MessageID] = true
				}
				if len(shown) != tt.shown {
					t.Errorf("it shows %d runs, want %d", len(shown), tt.shown)
				}
				if got := quiet.levels(); fmt.Sprint(got) != fmt.Sprint(tt.wantQuiet) {
					t.Errorf("a call that returns a Result follows %v, want %v", got, tt.wantQuiet)
				}
				loud.quit()
				if loud.shared.followed != 0 {
					t.Errorf("%d runs are followed after the end", loud.shared.followed)
				}
			})
		})
	}
}

// A child run that leaves the list makes room for another one.
func TestAPlaceThatIsFreeIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTree(t)
		f.grows("t", 9)
		d := f.below(&hearer{})
		head := f.head("t")
		if err := d.look(t.Context(), head); err != nil {
			t.Fatal(err)
		}
		first, last := head.Run.Children[0], head.Run.Children[8]
		if _, _, err := f.mailbox.Commit(t.Context(), d.of.key, head, thread.DropChild{Run: head.Run.ID, Child: first}, nil); err != nil {
			t.Fatal(err)
		}
		for _, show := range []func(context.Context, thread.Head) error{d.showGone, d.look} {
			if err := show(t.Context(), f.head("t")); err != nil {
				t.Fatal(err)
			}
		}
		if d.find(first) != nil || d.find(last) == nil || d.shared.followed != 8 {
			t.Errorf("%d are followed, the first: %t, the last: %t", d.shared.followed, d.find(first) != nil, d.find(last) != nil)
		}
	})
}

// A read that fails ends no stream, and is tried again soon: no other news of the run may come.
func TestAFailedReadOfAChildRunIsTriedAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		fails    func(op storetest.Operation) bool
		followed int // after the look that fails
	}{
		"the pointer of a child run": {func(op storetest.Operation) bool { return op.Method == "Pointer" }, 0},
		"the head of a child run":    {func(op storetest.Operation) bool { return op.Method == "Head" && op.Key.Thread == "t.0" }, 1},
		"the record of a child run":  {func(op storetest.Operation) bool { return op.Method == "Get" && op.Key.Thread == "t.0" }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newTree(t)
				f.grows("t", 1)
				heard := &hearer{}
				var failing atomic.Bool // also read by the poll of a watch
				failing.Store(true)
				d := f.below(heard)
				f.store.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
					if failing.Load() && tt.fails(op) {
						return errNoAnswer
					}
					return do(ctx)
				}
				head := f.head("t")
				if err := d.look(t.Context(), head); err != nil || len(d.runs) != tt.followed || len(heard.events) != 0 {
					t.Fatalf("%v, %d are followed, shown is %v", err, len(d.runs), heard.lines())
				}
				now := time.Now()
				if next := d.shared.next; next.IsZero() || next.Sub(now) > 5*time.Second {
					t.Errorf("the next look is at %v, now is %v", next, now)
				}
				failing.Store(false)
				time.Sleep(5 * time.Second)
				if err := d.look(t.Context(), head); err != nil || len(d.runs) != 1 || len(heard.events) != 1 {
					t.Errorf("%v, %d are followed, shown is %v", err, len(d.runs), heard.lines())
				}
			})
		})
	}
}

// What cannot be read of the child runs does not count as their absence: they are still followed.
func TestAFailedListOfChildRunsEndsNoFollowing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTree(t)
		f.grows("t", 2)
		d := f.below(&hearer{})
		head := f.head("t")
		if err := d.look(t.Context(), head); err != nil || len(d.runs) != 2 {
			t.Fatal(err, len(d.runs))
		}
		// A ticket whose record has to be read, before the two of the list.
		head.Tickets = thread.Tickets{{ID: 1, Kind: thread.TicketChild}}
		d.of.source = &told{failed: errNoAnswer}
		for _, show := range []func(context.Context, thread.Head) error{d.showGone, d.look} {
			d.shared.next = time.Time{}
			if err := show(t.Context(), head); err != nil || len(d.runs) != 2 || d.shared.next.IsZero() {
				t.Errorf("%v, %d are followed, the next look is at %v", err, len(d.runs), d.shared.next)
			}
		}
		if d.rest(head) {
			t.Error("a child run that cannot be read counts as one that waits for a person")
		}
		d.of.source, d.shared.next = &told{failed: store.ErrCorrupt}, time.Time{}
		if err := d.showGone(t.Context(), head); err != nil || !d.shared.next.IsZero() {
			t.Errorf("%v, what nobody can read is read again at %v", err, d.shared.next)
		}
		// The stream's own end is an error, and so is that of the context.
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errNoAnswer)
		if err := d.showGone(ctx, head); !errors.Is(err, errNoAnswer) {
			t.Errorf("after the context: %v", err)
		}
	})
}

// A cancel counts at most sixty-four runs that end with the run, and as many levels as there may be.
func TestHowManyRunsACancelCounts(t *testing.T) {
	for _, tt := range []struct {
		children []int
		want     int
	}{
		{nil, 0}, {[]int{4, 15}, 64}, {[]int{13, 4}, 64}, {[]int{5, 12}, 64}, {[]int{1, 1, 1, 1, 1}, 5}, {[]int{1, 1, 1, 1, 1, 1}, 5},
	} {
		f := newTree(t)
		run := f.grows("t", tt.children...)
		if n := mailbox.CountBelow(t.Context(), f.mailbox, core.ThreadKey{Tenant: "acme", Thread: "t"}, run); n != tt.want {
			t.Errorf("%v: %d runs, want %d", tt.children, n, tt.want)
		}
	}
}

// A tool that waits for whatever run a model names shows no user the run of another user.
func TestTheRunOfAnotherUserIsNotShown(t *testing.T) {
	for user, shown := range map[string]int{"ann": 1, "ben": 0} {
		synctest.Test(t, func(t *testing.T) {
			f := newFamily(t, scripted.Turn{Text: "psst", Calls: []core.ToolCall{scripted.Call("danger", map[string]string{"text": "x"})}})
			run := f.starts(user, "", "hers")
			if err := f.WorkLocal(t.Context(), core.WakeUp{Tenant: "acme", Thread: "hers"}); err != nil {
				t.Fatal(err)
			}
			key := core.ThreadKey{Tenant: "acme", Thread: "t"}
			head, err := f.mailbox.Head(t.Context(), key)
			if err == nil {
				head, _, err = f.mailbox.Commit(t.Context(), key, head, thread.AddChild{Fence: head.Claim.Fence, Child: run}, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			read, err := f.ReadRun(t.Context(), core.Identity{Tenant: "acme", User: "ann"}, f.call.Run)
			if err != nil || len(read.ChildTickets()) != shown {
				t.Errorf("%s: %v, the run shows %+v", user, err, read.ChildTickets())
			}
			heard := &hearer{}
			d := tree{Host: f.Host, t: t}.below(heard)
			for _, show := range []func() error{func() error { return d.look(t.Context(), head) }, func() error { return d.end(t.Context()) }} {
				if err := show(); err != nil || len(heard.events) != 2*shown { // its progress and its question
					t.Errorf("%s: %v, the stream shows %q", user, err, heard.lines())
				}
			}
		})
	}
}

// A read of a run looks at as many runs below it as a stream follows. Those that are too deep take
// no places.
func TestHowManyChildRunsAReadLooksAt(t *testing.T) {
	for _, tt := range []struct {
		children []int
		want     int
	}{
		{nil, 0}, {[]int{8}, 8}, {[]int{9}, 8}, {[]int{4, 7}, 32}, {[]int{4, 8}, 32},
		{[]int{1, 1, 1, 1, 1}, 5}, {[]int{1, 1, 1, 1, 1, 1}, 5}, {[]int{1, 1, 1, 4, 7, 1}, 32},
	} {
		f := newTree(t)
		run, found := f.grows("t", tt.children...), -1 // the first is the run's own
		f.store.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
			if op.Method == "Pointer" {
				found++
			}
			return do(ctx)
		}
		if _, err := f.ReadRun(t.Context(), core.Identity{Tenant: "acme"}, run); err != nil || found != tt.want {
			t.Errorf("%v: %d runs, %v; want %d", tt.children, found, err, tt.want)
		}
	}
}

// A call that runs again when its child run is over takes the child from the list. Whatever read
// fails then is the call's error, so that it is tried again: nothing else would take it from there.
func TestAReadThatFailsLeavesNoChildListed(t *testing.T) {
	f := newTree(t)
	call := tool.Call{Idempotency: "run/2/0", Thread: core.ThreadKey{Tenant: "acme", Thread: "t"}, Run: f.grows("t")}
	child := tool.Child{Agent: "demo", Messages: []core.Message{core.UserMessage("hello")}, Background: true, Thread: "aside"}
	starts := children{f.submits, pins.New(f.submits.agents, memory.New())}
	list := func(ctx context.Context, run core.ID) error {
		head := f.head("t")
		_, _, err := f.mailbox.Commit(ctx, call.Thread, head, thread.AddChild{Fence: head.Claim.Fence, Child: run}, nil)
		return err
	}
	start := func() error {
		_, err := starts.StartChild(t.Context(), call, child, list)
		return err
	}
	if err := start(); err != nil || len(f.head("t").Run.Children) != 1 {
		t.Fatal(err)
	}
	if err := f.WorkLocal(t.Context(), core.WakeUp{Tenant: "acme", Thread: "aside"}); err != nil || len(f.head("t").Run.Children) != 0 {
		t.Fatal(err)
	}
	reads, fails := 0, 1
	f.store.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
		if !op.Writes() && op.Key.Thread == "aside" {
			if reads++; reads == fails {
				return errNoAnswer
			}
		}
		return do(ctx)
	}
	for ; ; fails++ {
		reads = 0
		if err := start(); err == nil && len(f.head("t").Run.Children) != 0 {
			t.Errorf("read %d fails: the list has %v", fails, f.head("t").Run.Children)
		}
		if reads < fails {
			break
		}
	}
	if fails < 2 {
		t.Error("no read of the child's thread")
	}
}
