package thread_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
)

// TestRandomCommandsKeepTheInvariants sends random commands, most of them
// plausible, and checks every transition. Then the commands stop, and a worker
// that only looks when the thread is due must bring it to rest.
func TestRandomCommandsKeepTheInvariants(t *testing.T) {
	t.Parallel()
	worlds := 600
	if testing.Short() {
		worlds = 150
	}
	for seed := range uint64(worlds) {
		w := newWorld(rand.New(rand.NewPCG(seed, 1)))
		for range 20 + w.rand.IntN(100) {
			w.do(w.action())
			w.now += [...]int64{0, 0, 0, 5, 1_000, 40_000}[w.rand.IntN(6)]
		}
		w.drain()
		if len(w.broken) > 0 {
			t.Fatalf("seed %d: %s\nafter:\n%v", seed, strings.Join(w.broken, "\n"), w.history[max(0, len(w.history)-12):])
		}
	}
}

// world is a thread and what its callers were promised.
type world struct {
	rand    *rand.Rand
	head    thread.Head
	now     int64
	due     thread.DuePolicy
	serial  uint64
	history []event
	broken  []string

	accepted map[core.ID]bool // dispatches and inputs, until something became of them
	told     map[core.ID]bool // children whose parent is owed a notify
	decided  []uint64         // decisions that were taken
	fair     map[core.ID]bool // runs that the draining worker began to try
}

// event is a command and what came of it.
type event struct {
	action  thread.Action
	effects thread.Effects
	err     error
	now     int64
	head    thread.Head
}

func (e event) String() string {
	return fmt.Sprintf("%T %+v at %s: %+v %v\n%s", e.action, e.action, clock(e.now), e.effects, e.err, describeHead(e.head))
}

func newWorld(r *rand.Rand) *world {
	w := &world{rand: r, now: start, accepted: map[core.ID]bool{}, told: map[core.ID]bool{}, fair: map[core.ID]bool{}}
	if r.IntN(3) == 0 {
		w.due = thread.DuePolicy{Grace: 120_000, Round: 60_000}
	}
	return w
}

// do applies a command, checks it and keeps account of what it promised.
func (w *world) do(a thread.Action) (thread.Effects, error) {
	h := w.head
	c := thread.Command{Now: w.now, CommitID: w.fresh(), Due: w.due, Action: a}
	next, e, broken, err := transition(h, c)
	w.history = append(w.history, event{a, e, err, w.now, next})
	w.broken = append(w.broken, broken...)
	w.head = next
	whole := encode(next)
	spoil(a)
	if encode(next) != whole {
		w.broken = append(w.broken, "the head shares memory with the command")
	}
	if err != nil || e.Duplicate {
		return e, err
	}
	switch a := a.(type) {
	case thread.Enqueue:
		w.accept(a)
	case thread.EnqueueAndClaim:
		w.accept(a.Enqueue)
	case thread.Interrupt:
		if a.Enqueue != nil {
			w.accept(*a.Enqueue)
		}
	case thread.Input:
		w.accepted[a.ID] = true
	case thread.CommitTurn:
		w.consume(a.Consumed)
	case thread.CommitStep:
		w.consume(a.Consumed)
	case thread.Decide:
		if slices.Contains(w.decided, a.Decision) && slices.Contains(h.Recent, a.Decision) {
			w.broken = append(w.broken, "a decision was applied twice")
		}
		w.decided = append(w.decided, a.Decision)
	case thread.Notified:
		delete(w.told, a.Child)
	case thread.Delete:
		clear(w.accepted)
	}
	for _, audit := range e.Before {
		if audit.Status == core.DispatchDeadLetter && w.fair[audit.Run] {
			w.broken = append(w.broken, "a run was dead-lettered though its worker did all it could")
		}
		delete(w.accepted, audit.Dispatch)
	}
	if e.Outcome == thread.Done {
		delete(w.accepted, h.Run.Dispatch)
	}
	w.audit()
	return e, err
}

func (w *world) accept(e thread.Enqueue) {
	w.accepted[e.Dispatch] = true
	if e.Parent != nil {
		w.told[e.Run] = true
	}
}

func (w *world) consume(refs []thread.InboxRef) {
	for _, r := range refs {
		delete(w.accepted, r.ID)
	}
}

// audit checks that nothing that was acknowledged is lost: it is in the head, or
// somebody was told.
func (w *world) audit() {
	h := w.head
	in := map[core.ID]bool{h.Run.Dispatch: true}
	owed := map[core.ID]bool{}
	if h.Run.Parent != nil {
		owed[h.Run.ID] = true
	}
	for _, d := range h.Pending {
		in[d.ID] = true
		if d.Parent != nil {
			owed[d.Run] = true
		}
	}
	for _, e := range h.Inbox {
		in[e.ID] = true
	}
	if h.Notify != nil {
		owed[h.Notify.Child] = true
	}
	for _, n := range h.Later {
		owed[n.Child] = true
	}
	for v := range w.accepted {
		if !in[v] {
			w.broken = append(w.broken, fmt.Sprintf("%s was accepted and is lost", v))
		}
	}
	for v := range w.told {
		if !owed[v] {
			w.broken = append(w.broken, fmt.Sprintf("the parent of %s is never told", v))
		}
	}
}

// drain plays the sweep and one worker until nothing is due.
func (w *world) drain() {
	for range 600 {
		switch h := &w.head; {
		case len(w.broken) > 0:
			return
		case h.DueAt == 0:
			w.rest()
			return
		case h.DueAt > w.now:
			w.now = h.DueAt
		case h.Notify != nil:
			w.do(thread.Notified{Child: h.Notify.Child})
		case h.Deleted:
			w.do(thread.Delete{Erased: true})
		default:
			if e, _ := w.do(thread.Claim{Worker: "sweep", Lease: 30_000}); e.Claimed {
				w.fair[h.Run.ID] = w.fair[h.Run.ID] || h.Claim.Attempts == 1
				w.work()
			} else if e.Unchanged && h.Claim.Fence == 0 {
				w.broken = append(w.broken, "due, yet there is nothing to do")
			} else {
				w.now = max(w.now, h.Claim.Lease+1)
			}
		}
	}
	w.broken = append(w.broken, "the thread does not come to rest")
}

// work does what a correct worker does with its claim.
func (w *world) work() {
	h := &w.head
	fence, r := h.Claim.Fence, &h.Run
	end := h.Seq + uint64(len(r.Calls))
	switch {
	case r.Status == thread.Closing:
		w.do(thread.CommitClose{Fence: fence, Seq: end})
	case r.Cursor == thread.CursorTools:
		calls := slices.Clone(r.Calls)
		for i, s := range calls {
			if s != thread.CallSuspended {
				calls[i] = thread.CallDone
			}
		}
		if slices.Contains(calls, thread.CallSuspended) {
			w.do(thread.CommitStep{Fence: fence, Outcome: thread.Wait, Seq: h.Seq, Calls: calls})
		} else {
			w.do(thread.CommitStep{Fence: fence, Outcome: thread.Yield, Seq: end, Calls: calls})
		}
	default:
		w.do(thread.CommitStep{Fence: fence, Outcome: thread.Done, Seq: h.Seq + 1, Consumed: w.inbox()})
	}
}

// spoil writes over what a command refers to.
func spoil(a thread.Action) {
	switch a := a.(type) {
	case thread.CommitTurn:
		clear(a.Calls)
	case thread.CommitStep:
		clear(a.Calls)
		clear(a.Tickets)
	case thread.Enqueue:
		if a.Parent != nil {
			*a.Parent = thread.Parent{}
		}
	}
}

// rest checks what a thread looks like at which nobody will look again.
func (w *world) rest() {
	h := w.head
	waits := h.Run.Status == thread.Waiting && slices.ContainsFunc(h.Tickets, func(t thread.Ticket) bool { return t.Decision == 0 })
	if h.Claim.Fence != 0 || h.Notify != nil || h.Open() && !waits || !h.Open() && len(h.Pending) > 0 {
		w.broken = append(w.broken, "the thread rests unfinished")
	}
	for id := range w.accepted {
		if !waits {
			w.broken = append(w.broken, fmt.Sprintf("%s was accepted, and nothing became of it", id))
		}
	}
}

func (w *world) inbox() (refs []thread.InboxRef) {
	for _, e := range w.head.Inbox {
		refs = append(refs, thread.InboxRef{ID: e.ID, Revision: e.Revision})
	}
	return refs
}

func (w *world) fresh() core.ID {
	w.serial++
	return id(fmt.Sprintf("x%d", w.serial))
}
