package host

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// The earliest time is that of the next look.
func TestWhenTheNextLookIsDue(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	for _, tt := range []struct {
		due  []int64
		want int64
	}{
		{[]int64{5}, 5}, {[]int64{5, 7}, 5}, {[]int64{7, 5}, 5}, {[]int64{7, 5, 6}, 5},
	} {
		l := &lineage{}
		for _, s := range tt.due {
			l.due(at(s))
		}
		if !l.next.Equal(at(tt.want)) {
			t.Errorf("%v: %v, want %v", tt.due, l.next, at(tt.want))
		}
	}
}

// The child runs of a head are those of its undecided tickets, then those of its list. A head of
// an older program has tickets alone, whose records name the runs; each is read once.
func TestTheChildRunsOfAHead(t *testing.T) {
	one, two, three := core.ID{1}, core.ID{2}, core.ID{3}
	ticket := func(run core.ID, decision uint64) thread.Ticket {
		return thread.Ticket{ID: thread.TicketKey(theRun, run.String()), Kind: thread.TicketChild, Decision: decision}
	}
	person := thread.Ticket{ID: 9, Kind: thread.TicketPerson}
	for _, tt := range []struct {
		name    string
		run     core.ID
		tickets thread.Tickets
		list    []core.ID
		record  string // of the tickets that the list does not explain
		want    []core.ID
		reads   int // in two looks
	}{
		{"none", theRun, nil, nil, "", nil, 0},
		{"a person's ticket", theRun, thread.Tickets{person}, nil, "", nil, 0},
		{"a list", theRun, nil, []core.ID{one, two}, "", []core.ID{one, two}, 0},
		{"tickets first", theRun, thread.Tickets{person, ticket(three, 0), ticket(two, 0)}, []core.ID{one, two, three}, "", []core.ID{three, two, one}, 0},
		{"a decided ticket", theRun, thread.Tickets{ticket(two, 1)}, []core.ID{one}, "", []core.ID{one}, 0},
		{"a decided ticket alone", theRun, thread.Tickets{ticket(two, 1)}, nil, "", nil, 0},
		{"no list", theRun, thread.Tickets{ticket(two, 0)}, nil, two.String(), []core.ID{two}, 1},
		{"a ticket that names no run", theRun, thread.Tickets{ticket(two, 0)}, []core.ID{one}, "x", []core.ID{one}, 1},
		{"another run's", core.ID{8}, thread.Tickets{ticket(two, 0)}, []core.ID{one}, "", nil, 0},
	} {
		asked := asking(tt.record)
		source := &told{open: []openItem{{ticket: asked}}}
		d := &descendants{of: following(source, &hearer{})}
		d.of.source = source
		head := thread.Head{Run: thread.Run{ID: tt.run, Children: tt.list}, Tickets: tt.tickets}
		for range 2 {
			got, err := d.list(t.Context(), head)
			if err != nil || fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("%s: %v, %v; want %v", tt.name, got, err, tt.want)
			}
		}
		if len(source.reads) != tt.reads {
			t.Errorf("%s: %v, want %d reads", tt.name, source.reads, tt.reads)
		}
	}
}

// A child run below another is shown under the call of the stream's run, at any depth.
func TestTheCallOfAChildRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTree(t)
		f.grows("t", 2, 1, 1)
		h := &hearer{}
		if err := f.below(h).look(t.Context(), f.head("t")); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, e := range h.events {
			got[e.Child.ThreadID] = e.CallID + ", " + e.Child.ParentCall
		}
		want := map[string]string{
			"t.0": "call_t.0, call_t.0", "t.0.0": "call_t.0, call_t.0.0", "t.0.0.0": "call_t.0, call_t.0.0.0",
			"t.1": "call_t.1, call_t.1", "t.1.0": "call_t.1, call_t.1.0", "t.1.0.0": "call_t.1, call_t.1.0.0",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

// A child run below another is no longer followed once it has left the list of that one. For a
// call that returns a Result, heads alone are read.
func TestAChildRunBelowAnotherLeaves(t *testing.T) {
	for name, h := range map[string]Listener{"a stream": &hearer{}, "a call that returns a Result": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newTree(t)
				f.grows("t", 1, 2)
				records := 0
				f.store.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
					if op.Method == "Get" {
						records++
					}
					return do(ctx)
				}
				d := f.below(h)
				if err := d.look(t.Context(), f.head("t")); err != nil || fmt.Sprint(d.levels()) != "[1 2]" || (records == 0) != (h == nil) {
					t.Fatalf("%v, followed are %v, %d records were read", err, d.levels(), records)
				}
				child := f.head("t.0")
				key := core.ThreadKey{Tenant: "acme", Thread: "t.0"}
				if _, _, err := f.mailbox.Commit(t.Context(), key, child, thread.DropChild{Run: child.Run.ID, Child: child.Run.Children[0]}, nil); err != nil {
					t.Fatal(err)
				}
				if err := d.look(t.Context(), f.head("t")); err != nil || fmt.Sprint(d.levels()) != "[1 1]" || d.shared.followed != 2 {
					t.Errorf("%v, followed are %v, %d in all", err, d.levels(), d.shared.followed)
				}
				// The end of the child run is that of what it has started, too.
				if err := d.end(t.Context()); err != nil || d.levels() != nil || d.shared.followed != 0 {
					t.Errorf("%v, followed are %v, %d in all", err, d.levels(), d.shared.followed)
				}
			})
		})
	}
}

// A stream shows that a question of a child run is decided, however often it was looked at before.
func TestADecidedQuestionIsShownOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFamily(t, scripted.Turn{Calls: []core.ToolCall{scripted.Call("danger", map[string]string{"text": "x"})}})
		if err := f.WorkLocal(t.Context(), core.WakeUp{Tenant: "acme", Thread: "c"}); err != nil {
			t.Fatal(err)
		}
		head, err := f.mailbox.Head(t.Context(), f.call.Thread)
		if err == nil {
			head, _, err = f.mailbox.Commit(t.Context(), f.call.Thread, head, thread.AddChild{Fence: head.Claim.Fence, Child: f.child}, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		h := &hearer{}
		d := tree{Host: f.Host, t: t}.below(h)
		looks := func() {
			t.Helper()
			for range 2 {
				if err := d.look(t.Context(), head); err != nil {
					t.Fatal(err)
				}
			}
		}
		looks()
		asked := h.events[len(h.events)-1].Ticket
		if asked == nil {
			t.Fatalf("shown is %v", h.lines())
		}
		decision := mailbox.Deciding{Run: f.child, User: "ann", Target: asked.CallID, Decision: core.Decision{ID: "yes", Action: core.DecisionResume}}
		if _, err := f.mailbox.Decide(t.Context(), core.ThreadKey{Tenant: "acme", Thread: "c"}, decision); err != nil {
			t.Fatal(err)
		}
		looks()
		var got []core.EventType
		for _, e := range h.events {
			if e.Type != core.EventActivitySnapshot {
				got = append(got, e.Type)
			}
		}
		if diff := cmp.Diff([]core.EventType{core.EventToolCallSuspended, core.EventToolCallResumed}, got); diff != "" {
			t.Errorf("shown (-want +got):\n%s", diff)
		}
	})
}

// News of a child run wait for the next update, and the end of the following does not.
func TestWhenTheProgressOfAChildRunIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTree(t)
		f.grows("t", 1)
		h := &hearer{}
		d := f.below(h)
		if err := d.look(t.Context(), f.head("t")); err != nil || len(h.events) != 1 {
			t.Fatal(err, h.lines())
		}
		one := d.runs[0]
		updates := func(events int, due bool) {
			t.Helper()
			d.shared.next = time.Time{}
			if err := one.update(t.Context()); err != nil || len(h.events) != events || d.shared.next.IsZero() == due {
				t.Errorf("%v, %d updates, the next look is at %v", err, len(h.events), d.shared.next)
			}
		}
		updates(1, false)
		_ = one.progress.Emit(core.Event{Type: core.EventTextDelta, Step: 1, Delta: "a"})
		updates(1, true)
		time.Sleep(childEvery)
		updates(2, false)
		_ = one.progress.Emit(core.Event{Type: core.EventTextDelta, Step: 1, Delta: "b"})
		updates(2, true)
		if err := d.end(t.Context()); err != nil || len(h.events) != 3 {
			t.Errorf("%v, %d updates at the end", err, len(h.events))
		}
	})
}
