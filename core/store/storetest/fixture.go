package storetest

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/wire"
	"github.com/reveille-run/reveille/core/store"
)

// largePayload is what every backend must take: a tool result of 256 KB with
// what goes around it.
const largePayload = 300 << 10

// head returns a small head of a version; commit tells writers apart.
func head(version uint64, commit byte) thread.Head {
	return thread.Head{Layout: thread.Layout, Schema: 1, Version: version, CommitID: core.ID{0xc0, commit}, Seq: version * 10}
}

// dueHead is head with a time, in unix milliseconds, at which it is due.
func dueHead(version uint64, at int64) thread.Head {
	h := head(version, 0)
	h.DueAt = at
	return h
}

// fullHead has every field set and every table full: more than 2 KB of the 4 KB
// that a head may have.
func fullHead(version uint64) thread.Head {
	longest := strings.Repeat("n", wire.MaxName)
	h := thread.Head{
		Layout: thread.Layout, Schema: 65_535, Version: version, CommitID: core.ID{0xc0, 1}, HolderCommitID: core.ID{0xc0, 2},
		Incarnation: 1<<64 - 1, Owner: longest, Deleted: true, Erased: true, Epoch: 300, Fence: 70_000,
		Seq: 999_999_999_999, Summary: 5_000, Supersedes: 1 << 38, TailSum: 1<<32 - 1, Closing: 1 << 50, ClosingAt: 4_102_444_799_999, DueAt: 4_102_444_800_000,
		Run: thread.Run{
			ID: core.ID{0xaa, 2}, Dispatch: core.ID{0xdd, 1}, Revision: 7, Status: thread.Closing, Reason: thread.ReasonDeadLetter,
			Cursor: thread.CursorTools, Step: 4_000_000_000, Base: 1 << 39, TurnFence: 69_000, Batch: true, Round: 1 << 41,
			Child: true, AvailableAt: 4_102_444_800_001, Attempts: 5, Lost: 6, ModelFailed: 7, ModelLost: 8,
			Through: thread.Through{May: 1<<32 - 1, Ran: 1<<32 - 1}, WaitsSince: 1<<63 - 1, LacksSince: 1<<63 - 1, RunEnd: 1 << 42,
			Stretch: thread.Stretch{Number: 1, Since: 1<<63 - 1, Over: true, Behind: 2, Wasted: 3, Spent: core.Spent{Handler: 1<<63 - 1, Write: 4}},
		},
		Claim:      thread.Claim{Fence: 70_000, Epoch: 299, Worker: longest, Lease: 4_102_444_800_002, CommitID: core.ID{0xc0, 3}},
		Missed:     65_535,
		Extensions: []thread.Extension{{Run: core.ID{0xaa, 2}, Tag: 300, Value: []byte("newer")}},
	}
	for i := range thread.MaxCalls {
		h.Run.Calls = append(h.Run.Calls, thread.CallStatus(i%6))
	}
	for i := range byte(thread.MaxChildren) {
		h.Run.Children = append(h.Run.Children, core.ID{0xab, i})
	}
	for i := range byte(8) {
		h.Pending = append(h.Pending, thread.Dispatch{
			ID: core.ID{0xdd, 3, i}, Run: core.ID{0xaa, 3, i}, Revision: uint32(i), Priority: 255 - i, Child: true,
		})
		h.Delayed = append(h.Delayed, thread.Dispatch{
			ID: core.ID{0xdd, 4, i}, Run: core.ID{0xaa, 4, i}, Revision: uint32(i), Priority: 255 - i, AvailableAt: 1<<63 - 1 - int64(i),
		})
		h.Tickets = append(h.Tickets, thread.Ticket{Call: i, Kind: thread.TicketKind(i % 3), ID: 1<<64 - 1, Decision: uint64(i), Deadline: int64(i)})
		if i%2 > 0 {
			k := &h.Tickets[len(h.Tickets)-1]
			k.Kind, k.WakeAt, k.Keep = thread.TicketTimer, int64(i)<<40, i%4 > 1
		}
		h.Inbox = append(h.Inbox, thread.InboxEntry{ID: core.ID{0xee, i}, Revision: uint32(i), Kind: thread.InboxKind(i % 2)})
		h.Recent = append(h.Recent, uint64(i), 1<<64-1-uint64(i))
	}
	kinds := []thread.OutboxKind{thread.OutboxChildEnded, thread.OutboxCancel, thread.OutboxMessage, thread.OutboxWaiting, thread.OutboxEnded, thread.OutboxDeadLettered, 200}
	for i := range byte(32) {
		kind := kinds[min(int(i), len(kinds)-1)] // most are of a kind that only a newer program knows
		h.Outbox = append(h.Outbox, thread.OutboxEntry{ID: core.ID{0xcc, i}, Kind: kind, Tries: i, Next: 4_102_444_800_003 + int64(i)})
	}
	h.Pending[0].Steered, h.Pending[0].Rest = true, []thread.InboxEntry{{ID: core.ID{0xee, 9}, Revision: 3}}
	return h
}

// logRecord is the record of a sequence whose payload names it.
func logRecord(seq, fence uint64) store.Record {
	return store.Record{Name: store.LogName(seq), Fence: fence, Payload: fmt.Appendf(nil, "seq %d fence %d", seq, fence)}
}

// noise is n bytes that no compression makes smaller; the same n, the same bytes.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b) // never fails, says its documentation
	return b
}

// diffRecords compares records; a payload of no bytes equals a nil one, and a
// long one is shown as its length and hash.
func diffRecords(want, got []store.Record) string {
	return cmp.Diff(describeAll(want), describeAll(got))
}

func describeAll(records []store.Record) []string {
	texts := make([]string, len(records))
	for i, r := range records {
		texts[i] = describe(r)
	}
	return texts
}

func describe(r store.Record) string {
	payload := fmt.Sprintf("%q", r.Payload)
	if len(r.Payload) > 64 {
		payload = fmt.Sprintf("%d bytes with sha256 %x", len(r.Payload), sha256.Sum256(r.Payload))
	}
	return fmt.Sprintf("%s fence=%d version=%d expires=%d payload=%s", r.Name, r.Fence, r.Version, r.Expires, payload)
}

func names(records []store.Record) []string {
	list := []string{}
	for _, r := range records {
		list = append(list, r.Name)
	}
	return list
}
