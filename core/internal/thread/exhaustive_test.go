//go:build !race

// The walk takes ten times as long under the race detector; what it does side by side
// shares nothing but what nobody writes meanwhile.

package thread_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/reveille-run/reveille/core/internal/thread"
)

// TestEveryHeadOfASmallWorld walks every head that two dispatches, two calls and
// two inbox entries can make, not all of them at once, checks every transition
// between them, and brings each of them to rest. Heads that differ only in
// counters are one. With -short it leaves after 600 heads to go on from, near and
// far from the first: a second instead of many.
func TestEveryHeadOfASmallWorld(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	seen := map[string]bool{}
	queue := []thread.Head{{}}
	for left := 600; len(queue) > 0 && (left > 0 || !testing.Short()) && !t.Failed(); {
		batch := make([]thread.Head, min(len(queue), 50))
		for n := range batch {
			i := random.IntN(len(queue))
			batch[n], queue[i] = queue[i], queue[len(queue)-1]
			queue = queue[:len(queue)-1]
		}
		left -= len(batch)
		found := make([][]reached, len(batch))
		sideBySide(len(batch), func(i int) { found[i] = reach(t, batch[i], seen) })
		var fresh []thread.Head
		for _, r := range slices.Concat(found...) {
			if !seen[r.key] {
				seen[r.key] = true
				fresh = append(fresh, r.head)
			}
		}
		sideBySide(len(fresh), func(i int) { comesToRest(t, fresh[i]) })
		queue = append(queue, fresh...)
	}
	t.Logf("%d heads", len(seen))
	if len(seen) < 1000 {
		t.Errorf("only %d heads: the walk is cut short", len(seen))
	}
}

// sideBySide calls do for each number up to n, on all processors.
func sideBySide(n int, do func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	all.Wait()
}

// reached is a head with what names it among all.
type reached struct {
	key  string
	head thread.Head
}

// reach checks every transition from a head and returns the heads that they lead to, but
// for those that were seen.
func reach(t *testing.T, h thread.Head, seen map[string]bool) (found []reached) {
	add := func(h thread.Head) {
		if key := encode(h); !seen[key] {
			found = append(found, reached{key, h})
		}
	}
	for _, c := range smallWorld(h) {
		next, result, broken, err := transition(h, thread.Transition{Now: start, CommitID: id("c"), Change: c})
		if len(broken) > 0 {
			t.Errorf("%T %+v: %s\n%s%s", c, c, strings.Join(broken, "\n"), describeHead(h), describeHead(next))
			return nil
		}
		if err == nil && !result.Unchanged {
			add(canonical(next))
		}
	}
	if h.Claim.Fence != 0 && h.Live(start) { // the holder dies
		dead := canonical(h)
		dead.Claim.Lease = start - 1
		add(dead)
	}
	return found
}

func comesToRest(t *testing.T, h thread.Head) {
	w := newWorld(rand.New(rand.NewPCG(0, 0)))
	w.head, w.due = h, thread.DuePolicy{}
	if w.drain(); len(w.broken) > 0 {
		t.Errorf("%s\n%safter: %v", strings.Join(w.broken, "\n"), describeHead(h), w.history)
	}
}

// smallWorld lists the changes that are tried on a head.
func smallWorld(h thread.Head) []thread.Change {
	fence, n := h.Claim.Fence, uint64(len(h.Run.Calls))
	first := thread.Enqueue{Dispatch: id("d1"), Run: id("r1")}
	changes := []thread.Change{
		first,
		thread.EnqueueAndClaim{Enqueue: first, Worker: "w", Lease: 1_000},
		thread.TakeClaim{Worker: "w", Lease: 1_000},
		thread.TakeClaim{Worker: "w", Lease: 1_000, Alone: true},
		thread.Reclaim{},
		thread.Cancel{},
		thread.Cancel{Run: id("r2")},
		thread.Interrupt{Dedupe: 9, Epoch: h.Epoch},
		thread.Interrupt{Dedupe: 10},
		thread.Interrupt{Enqueue: &first},
		thread.Input{ID: id("i1")},
		thread.Retract{ID: id("i1")},
		thread.Decide{Run: h.Run.ID, Call: 0, Decision: 1, Resume: true},
		thread.Decide{Run: h.Run.ID, Call: 1, Decision: 2},
		thread.Delivered{ID: id("r2"), Kind: thread.OutboxChildEnded},
		thread.Delete{},
		thread.Delete{Erased: true},
	}
	if len(h.Inbox) == 1 && len(h.Pending) == 0 {
		changes = append(changes, thread.Input{ID: id("i2"), Kind: thread.InboxInternal})
	}
	if len(h.Outbox) == 0 && len(h.Inbox) == 0 {
		changes = append(changes, thread.Enqueue{Dispatch: id("d2"), Run: id("r2"), Child: true})
	}
	if fence == 0 {
		return changes
	}
	changes = append(changes,
		thread.Refence{Fence: fence},
		thread.Refence{Fence: fence, Lease: 1_000},
		thread.ExtendLease{Fence: fence, Lease: 1_000},
		thread.Nack{Fence: fence},
		thread.Nack{Fence: fence, Kind: thread.NackGiven},
		thread.Nack{Fence: fence, Kind: thread.NackModel, ModelFailed: 1, Failing: new(int64(start))},
		thread.Nack{Fence: fence, Kind: thread.NackLacks, AvailableAt: start + 1_000},
		thread.Nack{Fence: fence, AvailableAt: start + 1_000},
		thread.CommitClose{Fence: fence, From: h.Seq, Seq: h.Seq + n})
	if h.Run.Cursor == thread.CursorTools {
		return append(changes, smallRound(h)...)
	}
	for _, batch := range []bool{false, true} {
		changes = append(changes, thread.CommitTurn{Fence: fence, From: h.Seq, Seq: h.Seq + 3, Calls: 2, TurnFence: fence, Batch: batch, Consumed: inbox(h)})
	}
	for _, step := range endings(h) {
		changes = append(changes, step)
		step.Seq, step.Consumed = h.Seq+3, inbox(h)
		changes = append(changes, step)
	}
	return changes
}

// endings are the ways in which a step can hand its run on.
func endings(h thread.Head) []thread.CommitStep {
	step := thread.CommitStep{Fence: h.Claim.Fence, From: h.Seq, Seq: h.Seq, Lease: 1_000, Outcome: thread.Yield}
	keep, wait, natural, stopped, listens := step, step, step, step, step
	keep.Keep = true
	wait.Outcome, wait.Round = thread.Wait, true
	natural.Outcome, natural.Natural = thread.Done, true
	stopped.Outcome = thread.Done
	listens.Outcome, listens.Listens = thread.Done, true
	return []thread.CommitStep{step, keep, wait, natural, stopped, listens}
}

// smallRound lists what is tried on an open round of two calls.
func smallRound(h thread.Head) (changes []thread.Change) {
	fence, was := h.Claim.Fence, h.Run.Calls
	tickets := []thread.Ticket{{Call: 0, ID: 1}, {Call: 1, ID: 2, Deadline: start + 60_000}}
	done := []thread.CallStatus{thread.CallDone, thread.CallDone}
	for _, step := range endings(h) {
		add := func(seq uint64, calls []thread.CallStatus, tickets []thread.Ticket) {
			step.Seq, step.Calls, step.Tickets = seq, calls, tickets
			changes = append(changes, step)
		}
		add(h.Seq+2, done, nil)
		add(h.Seq, []thread.CallStatus{thread.CallDone, was[1]}, nil)
		add(h.Seq, []thread.CallStatus{was[0], thread.CallDone}, nil)
		add(h.Seq, []thread.CallStatus{thread.CallSuspended, thread.CallDone}, tickets[:1])
		add(h.Seq, nil, tickets)
	}
	return append(changes,
		thread.Suspend{Fence: fence, Tickets: tickets[:1]},
		thread.Suspend{Fence: fence, Tickets: tickets[1:]},
		thread.Suspend{Fence: fence, Calls: []thread.CallStatus{thread.CallRunning, was[1]}},
		thread.Nack{Fence: fence, Calls: []thread.CallStatus{was[0], thread.CallDone}})
}

func inbox(h thread.Head) (refs []thread.InboxRef) {
	for i, e := range h.Inbox {
		refs = append(refs, thread.InboxRef{ID: e.ID, Revision: e.Revision, Seq: h.Seq + 1 + uint64(i)})
	}
	return refs
}

// canonical forgets what only counts.
func canonical(h thread.Head) thread.Head {
	h.Run.Through, h.Run.Stretch = thread.Through{}, thread.Stretch{} // no change depends on them
	h.Extensions, h.Claim.Queued = nil, 0
	h.Version, h.Closing, h.Incarnation, h.Recent, h.Summary, h.Supersedes = 100, min(h.Closing, 1), 0, nil, 0, 0
	h.CommitID, h.HolderCommitID = id("c"), id("")
	h.Seq, h.Run.Step, h.Run.Round = 10, 0, min(h.Run.Round, 1)
	if h.Run.Cursor == thread.CursorTools {
		h.Run.Base, h.Run.TurnFence = 11, 1
	}
	steered := h.Run.ID == id("i1") || h.Run.ID == id("i2")
	if steered && !slices.ContainsFunc(h.Pending, func(d thread.Dispatch) bool { return d.Run == id("r1") }) {
		h.Run.ID, h.Run.Dispatch = id("r1"), id("d1") // once open it is a run like any other
	}
	if h.Run.Status == thread.Closing { // its round is over, but for the results
		h.Run.Batch, h.Run.Round = false, 0
		for i, s := range h.Run.Calls {
			if s != thread.CallDone {
				h.Run.Calls[i] = thread.CallNew
			}
		}
	}
	few := func(attempts uint8) uint8 {
		if attempts > 0 && attempts < 4 {
			return 4
		}
		return min(attempts, 5)
	}
	h.Run.Attempts, h.Run.Lost, h.Run.ModelFailed, h.Run.ModelLost = few(h.Run.Attempts), 0, 0, 0
	if h.Claim.Fence == 0 {
		h.Epoch = 0
	} else {
		h.Claim.Epoch, h.Epoch = 0, min(h.Epoch-h.Claim.Epoch, 1)
		h.Claim.Fence, h.Claim.CommitID = 1, id("c")
		if h.Claim.Lease >= start {
			h.Claim.Lease = start + 1_000
		}
	}
	h.Fence = 1
	slices.SortFunc(h.Tickets, func(a, b thread.Ticket) int { return int(a.Call) - int(b.Call) })
	return h
}
