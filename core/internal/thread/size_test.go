package thread_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// packer fills heads at random, each table mostly to its limit and each number mostly with
// the longest encoding, whether or not transitions lead to such a head.
type packer struct {
	rand *rand.Rand
	full bool // all of them
}

func (f packer) most() bool { return f.full || f.rand.IntN(4) > 0 }

// upTo is a length: mostly the limit.
func (f packer) upTo(limit int) int {
	if f.most() {
		return limit
	}
	return f.rand.IntN(limit + 1)
}

func (f packer) number() uint64 {
	if f.most() {
		return math.MaxUint64 - uint64(f.rand.IntN(99))
	}
	return f.rand.Uint64() >> f.rand.IntN(64)
}

func (f packer) time() int64       { return int64(f.number() >> 1) }
func (f packer) flag() bool        { return f.most() }
func (f packer) small() uint8      { return uint8(f.number()) }
func (f packer) middle() uint32    { return uint32(f.number()) }
func (f packer) seq() uint64       { return min(f.number(), thread.MaxSeq-200) }
func (f packer) name(n int) string { return string(f.bytes(f.upTo(n))) }

func (f packer) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(f.rand.IntN(26))
	}
	return b
}

func (f packer) id() (id core.ID) {
	copy(id[:], f.bytes(len(id)))
	return id
}

// some are up to so many values.
func some[T any](f packer, limit int, make func(i int) T) (list []T) {
	for i := range f.upTo(limit) {
		list = append(list, make(i))
	}
	return list
}

func (f packer) entry(int) thread.InboxEntry {
	return thread.InboxEntry{ID: f.id(), Revision: f.middle(), Kind: thread.InboxKind(f.rand.IntN(2))}
}

func (f packer) owed(kind thread.OutboxKind) func(int) thread.OutboxEntry {
	return func(int) thread.OutboxEntry {
		return thread.OutboxEntry{ID: f.id(), Kind: kind, Tries: f.small(), Next: f.time()}
	}
}

// head is mostly a head with an open run under a claim: nothing else has as many parts.
func (f packer) head() thread.Head {
	h := thread.Head{
		Layout: thread.Layout, Schema: uint16(f.number()), Version: f.number() / 2, CommitID: f.id(), HolderCommitID: f.id(), Incarnation: f.number(),
		Owner: f.name(128), Epoch: f.number(), Fence: f.number(), Seq: f.seq(), Summary: f.seq(), Supersedes: f.seq(), TailSum: f.middle(),
		Closing: f.number(), ClosingAt: f.time(), DueAt: f.time(), SecondAt: f.time(), Missed: uint16(f.number()),
		Claim: thread.Claim{Fence: f.number() | 1, Epoch: f.number(), Worker: "w" + f.name(63), Lease: f.time() - 1e15, CommitID: f.id(), Queued: f.time()},
		Run:   f.run(),
	}
	h.Run.Base = h.Seq + 1
	h.Pending = some(f, 8, func(int) thread.Dispatch {
		return thread.Dispatch{ID: f.id(), Run: f.id(), Revision: f.middle(), Priority: f.small(), Child: f.flag()}
	})
	h.Delayed = some(f, 8, func(int) thread.Dispatch {
		return thread.Dispatch{ID: f.id(), Run: f.id(), Revision: f.middle(), Priority: f.small(), AvailableAt: max(f.time(), 1)}
	})
	h.Inbox = some(f, 8, f.entry)
	ends := 9 - len(h.Pending) // a run that is queued keeps a place for its own
	h.Outbox = some(f, ends, f.owed(thread.OutboxChildEnded))
	h.Outbox = append(h.Outbox, some(f, 10, f.owed(thread.OutboxCancel))...)
	h.Outbox = append(h.Outbox, some(f, 8, f.owed(thread.OutboxMessage))...)
	h.Outbox = append(h.Outbox, some(f, 4, f.owed(thread.OutboxEnded))...)
	if f.rand.IntN(5) == 0 { // a run is over, and what it has not read is the next one's
		h.Run, h.Claim, h.Inbox = thread.Run{}, thread.Claim{}, nil
		h.Pending = append(h.Pending, thread.Dispatch{ID: f.id(), Run: f.id(), Revision: f.middle(), Priority: f.small(), Steered: true, Rest: some(f, 7, f.entry)})
	}
	h.Recent = some(f, 16, func(int) uint64 { return f.number() | 1 })
	if h.Open() {
		f.fillCalls(&h)
	}
	f.extend(&h)
	return h
}

func (f packer) run() thread.Run {
	r := thread.Run{
		ID: f.id(), Dispatch: f.id(), Revision: f.middle(), Status: thread.Running, Cursor: thread.CursorTools, Step: f.middle(), TurnFence: f.number(),
		Batch: f.flag(), Round: f.number(), Child: f.flag(), Through: thread.Through{May: f.middle(), Ran: f.middle()},
		WaitsSince: f.time(), LacksSince: f.time(), RunEnd: f.number(), Attempts: f.small(), Lost: f.small(), ModelFailed: f.small(), ModelLost: f.small(),
		Stretch:  thread.Stretch{Number: f.number(), Since: f.time(), Over: f.flag(), Behind: f.number(), Wasted: f.number()},
		Children: some(f, 16, func(int) core.ID { return f.id() }),
	}
	s := &r.Stretch.Spent
	for _, figure := range []*int64{&s.Handler, &s.Write, &s.Read, &s.Queue, &s.WriteMore, &s.QueueMore} {
		*figure = f.time()
	}
	if r.Through.May == 0 {
		r.Through.Ran = 0
	}
	return r
}

// fillCalls gives the run calls, and tickets of every kind.
func (f packer) fillCalls(h *thread.Head) {
	h.Run.Calls = make([]thread.CallStatus, 1+f.upTo(31))
	h.Tickets = some(f, min(8, len(h.Run.Calls)), func(i int) thread.Ticket {
		h.Run.Calls[i] = thread.CallSuspended
		k := thread.Ticket{Call: uint8(i), Kind: thread.TicketKind(f.rand.IntN(4)), ID: f.number() | 1}
		switch {
		case k.Kind == thread.TicketTimer:
			k.WakeAt, k.Keep = max(f.time(), 1), f.flag()
		case f.flag():
			k.Deadline = max(f.time(), 1)
		case k.Kind == thread.TicketPerson:
			k.WakeAt = max(f.time(), 1)
		}
		if f.flag() {
			k.Decision, h.Run.Calls[i] = f.number()|1, thread.CallResuming
		}
		return k
	})
}

// extend adds the extensions of a newer program, of 512 bytes together when they are encoded.
func (f packer) extend(h *thread.Head) {
	for left := f.upTo(512); left > 60; {
		value := min(left-30, 1+f.rand.IntN(512)) // next to it are an id, a tag and a length
		h.Extensions = append(h.Extensions, thread.Extension{Run: h.Run.ID, Tag: 100 + f.number()/2, Value: f.bytes(value)})
		left -= value + 30
	}
}

// change is one that fits the head, of those that must never be refused for its size, or of
// those that add to it.
func (f packer) change(h thread.Head) thread.Change {
	fence := h.Claim.Fence
	call := f.rand.IntN(max(len(h.Run.Calls), 1))
	switch f.rand.IntN(16) {
	case 0:
		return thread.Enqueue{Dispatch: f.id(), Run: f.id(), Priority: f.small(), Dedupe: f.number(), Owner: h.Owner, Child: f.flag()}
	case 1:
		return thread.Enqueue{Dispatch: f.id(), Run: f.id(), Priority: f.small(), Dedupe: f.number(), Owner: h.Owner, AvailableAt: math.MaxInt64}
	case 2:
		return thread.TakeClaim{Worker: f.name(63) + "w", Lease: 30_000, Alone: true}
	case 3:
		return thread.Refence{Fence: fence, Lease: math.MaxInt32}
	case 4:
		return thread.Reclaim{}
	case 5:
		return thread.CommitTurn{Fence: fence, From: h.Seq, Seq: h.Seq + 1, Calls: 32, TurnFence: h.Fence, Batch: f.flag()}
	case 6:
		kinds := thread.Ticket{Call: uint8(call), ID: f.number() | 1, Kind: thread.TicketTimer, WakeAt: math.MaxInt64, Keep: f.flag()}
		return thread.Suspend{Fence: fence, Tickets: []thread.Ticket{kinds}}
	case 7:
		return thread.CommitStep{Fence: fence, From: h.Seq, Seq: h.Seq, Outcome: []thread.Outcome{thread.Yield, thread.Wait, thread.Done}[f.rand.IntN(3)], Listens: f.flag(), Round: f.flag()}
	case 8:
		return thread.CommitClose{Fence: fence, From: h.Seq, Seq: h.Seq + uint64(len(h.Run.Calls))}
	case 9:
		return thread.Nack{Fence: fence, AvailableAt: math.MaxInt64}
	case 10:
		return thread.Input{ID: f.id(), Kind: thread.InboxKind(f.rand.IntN(2)), Owner: h.Owner, Dedupe: f.number()}
	case 11:
		return thread.Decide{Run: h.Run.ID, Call: uint8(call), Decision: f.number() | 1, Dedupe: f.number(), Resume: f.flag()}
	case 12:
		return thread.Cancel{}
	case 13:
		return thread.Interrupt{Owner: h.Owner, Dedupe: f.number() | 1, Epoch: h.Epoch, Enqueue: &thread.Enqueue{Dispatch: f.id(), Run: f.id(), Owner: h.Owner, Child: true}}
	case 14:
		if len(h.Outbox) > 0 {
			e := h.Outbox[f.rand.IntN(len(h.Outbox))]
			return thread.Delivered{ID: e.ID, Kind: e.Kind, Next: f.time(), Failed: true}
		}
	}
	return thread.ExtendLease{Fence: fence, Lease: math.MaxInt32, Closing: true}
}

// checkSize encodes a head, within the limit and the estimate, and decodes it again.
func checkSize(t *testing.T, seed uint64, after string, h thread.Head) (size int) {
	t.Helper()
	encoded := h.AppendBinary(nil)
	bound := thread.Bound(&h)
	if len(encoded) > thread.MaxSize || bound < len(encoded) || h.Size() != len(encoded) {
		t.Fatalf("seed %d, after %s: %d bytes, at most %d are allowed; Size is %d, the estimate %d\n%s", seed, after, len(encoded), thread.MaxSize, h.Size(), bound, describeHead(h))
	}
	decoded, err := thread.Decode(encoded)
	if err != nil || !bytes.Equal(decoded.AppendBinary(nil), encoded) {
		t.Fatalf("seed %d, after %s: decoded to another head, %v:\n%s", seed, after, err, describeHead(h))
	}
	return len(encoded)
}

// However full a head is, it is within its limit, and whatever is done then leaves it there:
// nothing is refused for the head's size.
func TestNoHeadIsOverItsLimit(t *testing.T) {
	t.Parallel()
	heads := 3_000
	if testing.Short() {
		heads = 300
	}
	largest, applied := 0, map[thread.ChangeKind]int{}
	for seed := range uint64(heads) {
		f := packer{rand: rand.New(rand.NewPCG(seed, 4096)), full: seed%4 == 0}
		h := f.head()
		largest = max(largest, checkSize(t, seed, "filling", h))
		for range 12 {
			change := f.change(h)
			next, result, err := thread.Apply(h, thread.Transition{
				Now: start, CommitID: f.id(), Schemas: thread.Schemas{Reads: math.MaxUint16}, Announce: true, Meter: f.flag(), Second: 30_000, Change: change,
			})
			if errors.Is(err, thread.ErrTooLarge) {
				t.Fatalf("seed %d: %T is refused: %v\n%s", seed, change, err, describeHead(h))
			}
			if err == nil && !result.Unchanged {
				applied[thread.KindOf(change)]++
				largest = max(largest, checkSize(t, seed, "a change", next))
				h = next
			}
		}
	}
	if largest < 3_200 || len(applied) < 13 {
		t.Errorf("the largest head has %d bytes, %d kinds of changes were applied: they are not full, or do not move", largest, len(applied))
	}
	t.Logf("the largest head has %d bytes", largest)
}
