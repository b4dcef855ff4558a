package thread_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// TestRandomChangesKeepTheInvariants tries random changes, most of them
// plausible, and checks every transition. Then they stop, and a worker that only
// looks when the thread is due must bring it to rest.
func TestRandomChangesKeepTheInvariants(t *testing.T) {
	t.Parallel()
	worlds := 600
	if testing.Short() {
		worlds = 150
	}
	for seed := range uint64(worlds) {
		w := newWorld(rand.New(rand.NewPCG(seed, 1)))
		for range 20 + w.rand.IntN(100) {
			w.do(w.change())
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
	newer   bool // another program leaves in the head of each run what this one does not write
	serial  uint64
	history []event
	broken  []string

	accepted map[core.ID]bool // dispatches and inputs, until something became of them
	told     map[core.ID]bool // children whose parent is still to be told
	decided  []uint64         // decisions that were taken
	cut      map[core.ID]bool // what stood before an interrupt: it opens no run any more
	fair     map[core.ID]bool // runs that the draining worker began to try
	mixed    bool             // two builds share the store
	announce bool             // what happens to runs is told
	calm     bool             // only the draining worker is left, of the newer build
}

// event is a change and what came of it.
type event struct {
	change thread.Change
	result thread.Result
	err    error
	now    int64
	head   thread.Head
}

func (e event) String() string {
	return fmt.Sprintf("%T %+v at %s: %+v %v\n%s", e.change, e.change, clock(e.now), e.result, e.err, describeHead(e.head))
}

func newWorld(r *rand.Rand) *world {
	w := &world{rand: r, now: start, accepted: map[core.ID]bool{}, told: map[core.ID]bool{}, cut: map[core.ID]bool{}, fair: map[core.ID]bool{}}
	w.mixed, w.announce = r.IntN(3) == 0, r.IntN(2) == 0
	w.newer = r.IntN(3) == 0
	if r.IntN(3) == 0 {
		w.due = thread.DuePolicy{Grace: 120_000, Round: 60_000}
	}
	return w
}

// do applies a change, checks it and keeps account of what it promised.
func (w *world) do(c thread.Change) (thread.Result, error) {
	if w.newer && w.head.Open() && len(w.head.Extensions) == 0 {
		w.head.Extensions = []thread.Extension{{Run: w.head.Run.ID, Tag: 900, Value: []byte("newer")}}
		w.head.TailSum = 1 << 31
	}
	h := w.head
	t := thread.Transition{Now: w.now, CommitID: w.fresh(), Due: w.due, Schemas: w.program(), Announce: w.announce, Change: c}
	next, r, broken, err := transition(h, t)
	w.history = append(w.history, event{c, r, err, w.now, next})
	w.broken = append(w.broken, broken...)
	w.head = next
	whole := encode(next)
	spoil(c)
	if encode(next) != whole {
		w.broken = append(w.broken, "the head shares memory with the change")
	}
	if err != nil || r.Duplicate {
		return r, err
	}
	w.promise(h, c)
	for _, audit := range r.Before {
		delete(w.accepted, audit.ID)
	}
	if next.Run.Reason == thread.ReasonDeadLetter && h.Run.Status != thread.Closing && w.fair[h.Run.ID] {
		w.broken = append(w.broken, "a run was dead-lettered though its worker did all it could")
	}
	if r.Outcome == thread.Done {
		delete(w.accepted, h.Run.Dispatch) // its record says how it ended
	}
	w.audit()
	return r, err
}

// promise notes what an accepted change acknowledges.
func (w *world) promise(h thread.Head, c thread.Change) {
	switch c := c.(type) {
	case thread.Enqueue:
		w.accept(c)
	case thread.EnqueueAndClaim:
		w.accept(c.Enqueue)
	case thread.Interrupt:
		for id := range w.accepted {
			w.cut[id] = !slices.ContainsFunc(h.Delayed, func(d thread.Dispatch) bool { return d.ID == id })
		}
		if c.Enqueue != nil {
			w.accept(*c.Enqueue)
		}
	case thread.Input:
		w.accepted[c.ID] = true
	case thread.Decide:
		if slices.Contains(w.decided, c.Decision) && slices.Contains(h.Recent, c.Decision) {
			w.broken = append(w.broken, "a decision was applied twice")
		}
		w.decided = append(w.decided, c.Decision)
	case thread.Delivered:
		if c.Kind == thread.OutboxChildEnded && c.Next == 0 {
			delete(w.told, c.ID)
		}
	case thread.Delete:
		clear(w.accepted)
	}
	if run := w.head.Run; run.ID != h.Run.ID && w.cut[run.Dispatch] {
		w.broken = append(w.broken, fmt.Sprintf("run %s opens after the interrupt that came after it", run.ID))
	}
}

// program is the build that makes the next change: a third of the worlds have two.
func (w *world) program() thread.Schemas {
	if !w.mixed || w.calm {
		return thread.Schemas{Reads: 3, Writes: 3}
	}
	return [...]thread.Schemas{{}, {Reads: 3, Writes: 1}, {Reads: 3, Writes: 3}}[w.rand.IntN(3)]
}

func (w *world) accept(e thread.Enqueue) {
	w.accepted[e.Dispatch] = true
	if e.Child {
		w.told[e.Run] = true
	}
}

// audit checks that nothing that was acknowledged is lost: it is in the head, or
// somebody was told.
func (w *world) audit() {
	h := w.head
	in := map[core.ID]bool{h.Run.Dispatch: true}
	owed := map[core.ID]bool{}
	if h.Run.Child {
		owed[h.Run.ID] = true
	}
	for _, d := range h.Unopened() {
		in[d.ID] = true
		for _, e := range d.Rest {
			in[e.ID] = true
		}
		if d.Child {
			owed[d.Run] = true
		}
	}
	for _, e := range h.Inbox {
		in[e.ID] = true
	}
	for _, e := range h.Outbox {
		if e.Kind == thread.OutboxChildEnded {
			owed[e.ID] = true
		}
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
	w.calm = true
	for range 600 {
		switch h := &w.head; {
		case len(w.broken) > 0:
			return
		case h.DueAt == 0:
			w.rest()
			return
		case h.DueAt > w.now:
			w.now = h.DueAt
		case slices.ContainsFunc(h.Outbox, thread.OutboxEntry.Delivers):
			e := h.Outbox[slices.IndexFunc(h.Outbox, thread.OutboxEntry.Delivers)]
			w.do(thread.Delivered{ID: e.ID, Kind: e.Kind, Missed: h.SaysMissed(e)})
		case h.Deleted:
			w.do(thread.Delete{Erased: true})
		default:
			if r, _ := w.do(thread.TakeClaim{Worker: "sweep", Lease: 30_000, Alone: true}); r.Claimed {
				w.fair[h.Run.ID] = w.fair[h.Run.ID] || h.Run.Attempts == 1
				w.work()
			} else if r.Unchanged && h.Claim.Fence == 0 {
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
		w.do(thread.CommitClose{Fence: fence, From: h.Seq, Seq: end})
	case r.Cursor == thread.CursorTools:
		calls := slices.Clone(r.Calls)
		for i, s := range calls {
			if s != thread.CallSuspended {
				calls[i] = thread.CallDone
			}
		}
		if slices.Contains(calls, thread.CallSuspended) {
			w.do(thread.CommitStep{Fence: fence, From: h.Seq, Outcome: thread.Wait, Seq: h.Seq, Calls: calls})
		} else {
			w.do(thread.CommitStep{Fence: fence, From: h.Seq, Outcome: thread.Yield, Seq: end, Calls: calls})
		}
	default:
		refs := w.inbox()
		w.do(thread.CommitStep{Fence: fence, From: h.Seq, Outcome: thread.Done, Natural: true, Seq: h.Seq + 1 + uint64(len(refs)), Consumed: refs})
	}
}

// spoil writes over what a change refers to.
func spoil(c thread.Change) {
	switch c := c.(type) {
	case thread.CommitStep:
		clear(c.Calls)
		clear(c.Tickets)
	case thread.Suspend:
		clear(c.Calls)
		clear(c.Tickets)
	case thread.Nack:
		clear(c.Calls)
	}
}

// rest checks what a thread looks like at which nobody will look again.
func (w *world) rest() {
	h := w.head
	waits := h.Run.Status == thread.Waiting && slices.ContainsFunc(h.Tickets, func(t thread.Ticket) bool { return t.Decision == 0 })
	if h.Claim.Fence != 0 || slices.ContainsFunc(h.Outbox, thread.OutboxEntry.Delivers) || h.Open() && !waits || !h.Open() && len(h.Unopened()) > 0 {
		w.broken = append(w.broken, "the thread rests unfinished")
	}
	for id := range w.accepted {
		if !waits {
			w.broken = append(w.broken, fmt.Sprintf("%s was accepted, and nothing became of it", id))
		}
	}
}

func (w *world) inbox() (refs []thread.InboxRef) {
	for i, e := range w.head.Inbox {
		refs = append(refs, thread.InboxRef{ID: e.ID, Revision: e.Revision, Seq: w.head.Seq + 1 + uint64(i)})
	}
	return refs
}

func (w *world) fresh() core.ID {
	w.serial++
	return id(fmt.Sprintf("x%d", w.serial))
}
