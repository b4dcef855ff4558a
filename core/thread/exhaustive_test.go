//go:build !race

// The walk starts no goroutine, and takes ten times as long under the race detector.

package thread_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core/thread"
)

// TestEveryHeadOfASmallWorld walks every head that two dispatches, two calls and
// two inbox entries can make, checks every transition between them, and brings
// each of them to rest. Heads that differ only in counters are one.
func TestEveryHeadOfASmallWorld(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	seen := map[string]bool{}
	queue := []thread.Head{{}}
	for len(queue) > 0 {
		h := queue[0]
		queue = queue[1:]
		for _, a := range smallWorld(h) {
			next, effects, broken, err := transition(h, thread.Command{Now: start, CommitID: id("c"), Action: a})
			if len(broken) > 0 {
				t.Fatalf("%T %+v: %s\n%s%s", a, a, strings.Join(broken, "\n"), describeHead(h), describeHead(next))
			}
			if err != nil || effects.Unchanged {
				continue
			}
			next = canonical(next)
			if key := encode(next); !seen[key] {
				seen[key] = true
				queue = append(queue, next)
				comesToRest(t, next)
			}
		}
		if h.Claim.Fence != 0 && h.Live(start) { // the holder dies
			dead := canonical(h)
			dead.Claim.Lease = start - 1
			if key := encode(dead); !seen[key] {
				seen[key] = true
				queue = append(queue, dead)
				comesToRest(t, dead)
			}
		}
	}
	t.Logf("%d heads", len(seen))
	if len(seen) < 1000 {
		t.Errorf("only %d heads: the walk is cut short", len(seen))
	}
}

func comesToRest(t *testing.T, h thread.Head) {
	t.Helper()
	w := newWorld(rand.New(rand.NewPCG(0, 0)))
	w.head, w.due = h, thread.DuePolicy{}
	if w.drain(); len(w.broken) > 0 {
		t.Fatalf("%s\n%safter: %v", strings.Join(w.broken, "\n"), describeHead(h), w.history)
	}
}

// smallWorld lists the commands that are tried on a head.
func smallWorld(h thread.Head) []thread.Action {
	fence, n := h.Claim.Fence, len(h.Run.Calls)
	first := thread.Enqueue{Dispatch: id("d1"), Run: id("r1")}
	actions := []thread.Action{
		first,
		thread.EnqueueAndClaim{Enqueue: first, Worker: "w", Lease: 1_000},
		thread.Claim{Worker: "w", Lease: 1_000},
		thread.Reclaim{},
		thread.ExtendLease{Fence: fence, Lease: 1_000},
		thread.Nack{Fence: fence},
		thread.Nack{Fence: fence, AvailableAt: start + 1_000},
		thread.Cancel{},
		thread.Cancel{Run: id("r2")},
		thread.Interrupt{},
		thread.Interrupt{Enqueue: &first},
		thread.Input{ID: id("i1")},
		thread.Input{ID: id("i2"), Kind: thread.InboxInternal},
		thread.Retract{ID: id("i1")},
		thread.Decide{Run: h.Run.ID, Call: 0, Decision: 1, Resume: true},
		thread.Decide{Run: h.Run.ID, Call: 1, Decision: 2},
		thread.Notified{Child: id("r2")},
		thread.Delete{},
		thread.Delete{Erased: true},
		thread.CommitClose{Fence: fence, Seq: h.Seq + uint64(n)},
	}
	if h.Notify == nil {
		actions = append(actions, thread.Enqueue{Dispatch: id("d2"), Run: id("r2"), Parent: &thread.Parent{Thread: "p", Run: id("b")}})
	}
	if fence == 0 {
		return actions
	}
	if h.Run.Cursor != thread.CursorTools {
		actions = append(actions, thread.CommitTurn{Fence: fence, Seq: h.Seq + 1, Calls: []thread.CallStatus{thread.CallNew, thread.CallRunning}, Consumed: inbox(h)})
	}
	deadline := start + int64(60_000)
	tickets := []thread.Ticket{{Call: 0, ID: 1}, {Call: 1, ID: 2, Deadline: deadline}}
	for _, o := range []thread.Outcome{thread.Continue, thread.Yield, thread.Wait, thread.Done} {
		if n == 0 {
			actions = append(actions,
				thread.CommitStep{Fence: fence, Outcome: o, Seq: h.Seq},
				thread.CommitStep{Fence: fence, Outcome: o, Seq: h.Seq + 1, Consumed: inbox(h)})
			continue
		}
		done := []thread.CallStatus{thread.CallDone, thread.CallDone}
		actions = append(actions,
			thread.CommitStep{Fence: fence, Outcome: o, Seq: h.Seq + 2, Calls: done},
			thread.CommitStep{Fence: fence, Outcome: o, Seq: h.Seq, Calls: []thread.CallStatus{thread.CallDone, h.Run.Calls[1]}},
			thread.CommitStep{Fence: fence, Outcome: o, Seq: h.Seq, Calls: []thread.CallStatus{h.Run.Calls[0], thread.CallDone}},
			thread.CommitStep{Fence: fence, Outcome: o, Seq: h.Seq, Tickets: tickets[:1], Calls: []thread.CallStatus{thread.CallSuspended, thread.CallDone}},
			thread.CommitStep{Fence: fence, Outcome: o, Seq: h.Seq, Tickets: tickets})
	}
	if n > 0 {
		actions = append(actions, thread.Suspend{Fence: fence, Tickets: tickets[:1]}, thread.Suspend{Fence: fence, Tickets: tickets[1:]})
	}
	return actions
}

func inbox(h thread.Head) (refs []thread.InboxRef) {
	for _, e := range h.Inbox {
		refs = append(refs, thread.InboxRef{ID: e.ID, Revision: e.Revision})
	}
	return refs
}

// canonical forgets what only counts.
func canonical(h thread.Head) thread.Head {
	h.Version, h.Incarnation, h.Recent, h.Summary = 1, 0, nil, 0
	h.Seq, h.Run.Step = 10, 0
	if h.Run.Cursor == thread.CursorTools {
		h.Run.Base = 11
	}
	few := func(attempts uint8) uint8 {
		if attempts > 1 && attempts < 4 {
			return 4
		}
		return min(attempts, 5)
	}
	h.Run.Attempts = few(h.Run.Attempts)
	if h.Claim.Fence == 0 {
		h.Epoch = 0
	} else {
		h.Claim.Epoch, h.Epoch = 0, min(h.Epoch-h.Claim.Epoch, 1)
		h.Claim.Fence, h.Claim.Attempts = 1, few(h.Claim.Attempts)
		if h.Claim.Lease >= start {
			h.Claim.Lease = start + 1_000
		}
	}
	h.Fence = 1
	slices.SortFunc(h.Tickets, func(a, b thread.Ticket) int { return int(a.Call) - int(b.Call) })
	return h
}
