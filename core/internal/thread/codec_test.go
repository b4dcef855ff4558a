package thread_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// z fills up an id of one letter.
const z = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// The layout is stored for good: a change of these bytes needs a new layout
// number and a decoder for the old one.
var encodedHeads = []struct {
	name string
	head thread.Head
	want string
}{
	{
		"a queued dispatch",
		thread.Head{
			Layout: 1, Schema: 1, Version: 1, CommitID: id("c"), Incarnation: 7, DueAt: 1,
			Pending: []thread.Dispatch{{ID: id("d"), Run: id("r"), Priority: 128}},
		},
		"\x01\x01\x01" + "c" + z + "\x00" + z + "\x07\x00" + "\x00" + "\x00\x00\x00\x00\x00\x00\x01\x00" +
			"\x01" + "d" + z + "r" + z + "\x00\x80\x00" + "\x00" + "\x00" + "\x00" + "\x00" + "\x00" + "\x00",
	},
	{
		"a queued and a delayed dispatch",
		thread.Head{
			Layout: 1, Schema: 1, Version: 1, CommitID: id("c"), Incarnation: 7, DueAt: 1,
			Pending: []thread.Dispatch{{ID: id("d"), Run: id("r"), Priority: 128}},
			Delayed: []thread.Dispatch{{ID: id("e"), Run: id("s"), Revision: 2, Priority: 5, AvailableAt: 300}},
		},
		"\x01\x01\x01" + "c" + z + "\x00" + z + "\x07\x00" + "\x00" + "\x00\x00\x00\x00\x00\x00\x01\x00" +
			"\x01" + "d" + z + "r" + z + "\x00\x80\x00" + "\x01" + "e" + z + "s" + z + "\x02\x05\xac\x02" + "\x00" + "\x00" + "\x00" + "\x00" + "\x00",
	},
	{
		"an open round under a claim",
		thread.Head{
			Layout: 1, Schema: 2, Version: 300, CommitID: id("c"), HolderCommitID: id("h"), Incarnation: 7, Owner: "ann",
			Epoch: 2, Fence: 5, Seq: 9, Summary: 4, Closing: 3, ClosingAt: 8, DueAt: 1,
			Run: thread.Run{
				ID: id("r"), Dispatch: id("d"), Revision: 6, Cursor: thread.CursorTools, Step: 3, Base: 10, TurnFence: 5, Round: 200,
				Calls: []thread.CallStatus{thread.CallDone, thread.CallSuspended}, Batch: true, Child: true,
				Attempts: 1, Lost: 2, ModelFailed: 3, ModelLost: 4,
				Through: thread.Through{May: 3, Ran: 1}, WaitsSince: 300, LacksSince: 301, RunEnd: 302,
				Stretch: thread.Stretch{
					Number: 2, Since: 303, Over: true, Behind: 7, Wasted: 8,
					Spent: core.Spent{Handler: 1, Write: 2, Read: 3, Queue: 4, WriteMore: 5, QueueMore: 6},
				},
			},
			Claim:      thread.Claim{Fence: 5, Epoch: 2, Worker: "w", Lease: 6, CommitID: id("t")},
			Tickets:    []thread.Ticket{{Call: 1, Kind: thread.TicketChild, ID: 12, Decision: 14, Deadline: 13}},
			Inbox:      []thread.InboxEntry{{ID: id("i"), Revision: 1, Kind: thread.InboxInternal}},
			Recent:     []uint64{11},
			Extensions: []thread.Extension{{Run: id("r"), Tag: 7, Value: []byte("new")}},
		},
		"\x01\x02\xac\x02" + "c" + z + "h" + z + "\x07\x03ann" + "\x0c" + "\x02\x05\x09\x04\x03\x08\x01\x00" +
			"r" + z + "d" + z + "\x06\x00\x00\x02\x03\x0a\x05\xc8\x01\x00" + "\x01\x02\x03\x04" + "\x02\x05\x02" + "\x7f" +
			"\x03\x01" + "\xac\x02" + "\xad\x02" + "\xae\x02" + "\x02\xaf\x02\x01\x01\x02\x03\x04\x05\x06\x07\x08" +
			"\x05\x02\x01w\x06" + "t" + z + "\x00\x00" + "\x01" + "\x01\x02\x0c\x0e\x0d" + "\x01" + "i" + z + "\x01\x01" +
			"\x00" + "\x01" + "\x00\x00\x00\x00\x00\x00\x00\x0b" + "\x15" + "r" + z + "\x07\x03new",
	},
	{
		"open children, a ticket that wakes, and a sum of the log's tail",
		thread.Head{
			Layout: 1, Schema: 1, Version: 9, CommitID: id("c"), HolderCommitID: id("c"), Incarnation: 7, Fence: 3, Seq: 4, TailSum: 0x01020304, DueAt: 1,
			Run: thread.Run{
				ID: id("r"), Dispatch: id("d"), Status: thread.Waiting, Cursor: thread.CursorTools, Step: 1, Base: 5, TurnFence: 3,
				Calls: []thread.CallStatus{thread.CallSuspended, thread.CallSuspended}, WaitsSince: 2, Children: []core.ID{id("k"), id("l")},
			},
			Tickets: []thread.Ticket{{Call: 0, Kind: thread.TicketTimer, ID: 12, Deadline: 13, WakeAt: 300}, {Call: 1, Kind: thread.TicketClient, ID: 14}},
		},
		"\x01\x01\x09" + "c" + z + "c" + z + "\x07\x00" + "\x44" + "\x00\x03\x04\x00" + "\x01\x02\x03\x04" + "\x00\x00\x01\x00" +
			"r" + z + "d" + z + "\x00\x01\x00\x02\x01\x05\x03\x00\x00" + "\x00\x00\x00\x00" + "\x02\x02\x02" + "\x88" +
			"\x02" + "\x02" + "k" + z + "l" + z +
			"\x00\x00" + "\x02" + "\x00\x81\x0c\x00\x0d\xac\x02" + "\x01\x01\x0e\x00\x00" + "\x00\x00\x00\x00",
	},
	{
		"an outbox with each kind, and one that only a newer program knows",
		thread.Head{
			Layout: 1, Schema: 1, Version: 9, CommitID: id("c"), HolderCommitID: id("c"), Incarnation: 7, Fence: 3, Seq: 4, Closing: 9, ClosingAt: 8, DueAt: 1,
			Outbox: []thread.OutboxEntry{
				{ID: id("a"), Kind: thread.OutboxChildEnded, Tries: 2, Next: 0x0102030405060708},
				{ID: id("b"), Kind: thread.OutboxCancel},
				{ID: id("d"), Kind: thread.OutboxMessage, Tries: 255, Next: 1},
				{ID: id("e"), Kind: thread.OutboxWaiting, Next: 2},
				{ID: id("f"), Kind: thread.OutboxEnded, Next: 3},
				{ID: id("g"), Kind: thread.OutboxDeadLettered, Next: 4},
				{Kind: 99, Tries: 7, Next: 5},
			},
			Missed: 0x778a,
		},
		"\x01\x01\x09" + "c" + z + "c" + z + "\x07\x00" + "\x10" + "\x00\x03\x04\x00\x09\x08\x01\x00" +
			"\x00\x00" + "\x00" + "\x00" + "\x07" +
			"a" + z + "\x01\x02\x01\x02\x03\x04\x05\x06\x07\x08" +
			"b" + z + "\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
			"d" + z + "\x03\xff\x00\x00\x00\x00\x00\x00\x00\x01" +
			"e" + z + "\x04\x00\x00\x00\x00\x00\x00\x00\x00\x02" +
			"f" + z + "\x05\x00\x00\x00\x00\x00\x00\x00\x00\x03" +
			"g" + z + "\x06\x00\x00\x00\x00\x00\x00\x00\x00\x04" +
			"\x00" + z + "\x63\x07\x00\x00\x00\x00\x00\x00\x00\x05" +
			"\x8a\xef\x01" + "\x00" + "\x00",
	},
	{
		"a queued child and steered input",
		thread.Head{
			Layout: 1, Schema: 1, Version: 9, CommitID: id("c"), HolderCommitID: id("c"), Incarnation: 7, Fence: 3, Seq: 4, Closing: 9, DueAt: 1,
			Pending: []thread.Dispatch{
				{ID: id("e"), Run: id("s"), Priority: 5, Child: true},
				{ID: id("i"), Run: id("i"), Revision: 3, Priority: 128, Steered: true, Rest: []thread.InboxEntry{{ID: id("j"), Revision: 1}}},
			},
		},
		"\x01\x01\x09" + "c" + z + "c" + z + "\x07\x00" + "\x00" + "\x00\x03\x04\x00\x09\x00\x01\x00" +
			"\x02" + "e" + z + "s" + z + "\x00\x05\x01" +
			"i" + z + "i" + z + "\x03\x80\x02" + "\x01" + "j" + z + "\x01\x00" +
			"\x00" + "\x00" + "\x00" + "\x00" + "\x00" + "\x00",
	},
	{
		"a log whose tail was superseded",
		thread.Head{Layout: 1, Schema: 1, Version: 2, CommitID: id("c"), Incarnation: 7, Fence: 3, Seq: 300, Summary: 4, Supersedes: 299, Closing: 2},
		"\x01\x01\x02" + "c" + z + "\x00" + z + "\x07\x00" + "\x20" + "\x00\x03\xac\x02\x04\xab\x02\x02\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00",
	},
	{
		"a tombstone",
		thread.Head{Layout: 1, Schema: 1, Version: 2, CommitID: id("c"), Incarnation: 7, Deleted: true, Erased: true, Epoch: 1, ClosingAt: 300},
		"\x01\x01\x02" + "c" + z + "\x00" + z + "\x07\x00" + "\x03" + "\x01\x00\x00\x00\x00\xac\x02\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00",
	},
}

func TestEncodedHeadIsFixedForGood(t *testing.T) {
	for _, tt := range encodedHeads {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.head.AppendBinary([]byte("before"))
			if diff := cmp.Diff("before"+tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
			decoded, err := thread.Decode([]byte(tt.want))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.head, decoded); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A newer program's field of the open run stands at the end, behind its length, so
// that this one reads past it, and writes it back as it was.
func TestAnotherProgramsFieldIsCarriedThroughTheCodec(t *testing.T) {
	h := must(t, thread.Head{}, thread.Enqueue{Dispatch: id("d"), Run: id("r")}, thread.TakeClaim{Worker: "w", Lease: 30_000})
	plain := string(h.AppendBinary(nil))
	foreign := "r" + z + "\x88\x27" + "\x05\x00\xff\x00\xff\x00" + "r" + z + "\x03" + "\x00"
	stored := strings.TrimSuffix(plain, "\x00") + string(rune(len(foreign))) + foreign
	h, err := thread.Decode([]byte(stored))
	if err != nil {
		t.Fatal(err)
	}
	want := []thread.Extension{{Run: id("r"), Tag: 5000, Value: []byte("\x00\xff\x00\xff\x00")}, {Run: id("r"), Tag: 3, Value: []byte{}}}
	if diff := cmp.Diff(want, h.Extensions); diff != "" {
		t.Error(diff)
	}
	next := must(t, h, thread.Nack{Fence: 1})
	if got := string(next.AppendBinary(nil)); !strings.HasSuffix(got, foreign) {
		t.Errorf("%q does not end in %q", got, foreign)
	}
}

func TestDecodeRefusesWhatNoEncoderWrites(t *testing.T) {
	h := must(t, thread.Head{}, thread.Enqueue{Dispatch: id("d"), Run: id("r")}, thread.TakeClaim{Worker: "w", Lease: 30_000})
	good := h.AppendBinary(nil)
	edit := func(at int, b ...byte) []byte { return append(append(bytes.Clone(good[:at]), b...), good[at+1:]...) }
	// Layout 0, schema 1, version 2, commit ids 3..34, the incarnation from 35 on, behind it
	// no owner, and the flags. The last seven are the counts of queued and delayed
	// dispatches, tickets, inbox and outbox entries and keys, and the length of the
	// extensions.
	owner := 35 + len(binary.AppendUvarint(nil, h.Incarnation))
	flags, end := owner+1, len(good)-7
	tests := []struct {
		name string
		b    []byte
	}{
		{"nothing", nil},
		{"layout 0", edit(0, 0)},
		{"a schema over 65535", edit(1, 0x80, 0x80, 4)},
		{"a version in two bytes", edit(2, 0x82, 0)},
		{"a version without an end", append(bytes.Clone(good[:2]), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)},
		{"an owner longer than the rest", edit(owner, 0xff, 0x7f)},
		{"superseded, by no record", edit(flags, good[flags]|1<<5)},
		{"a sum of the log's tail, and less than that behind it", append(append(bytes.Clone(good[:flags]), good[flags]|1<<6), 0, 1, 0, 0, 1, 2, 3)},
		{"an unknown flag", edit(flags, good[flags]|1<<7)},
		{"one byte more", append(bytes.Clone(good), 0)},
		{"one byte less", good[:len(good)-1]},
		{"more tickets than any memory holds", edit(end+2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f)},
		{"ten queued dispatches", edit(end, 10)},
		{"nine delayed dispatches", edit(end+1, 9)},
		{"nine tickets", edit(end+2, 9)},
		{"nine inbox entries", edit(end+3, 9)},
		{"thirty-three outbox entries", edit(end+4, 33)},
		{"seventeen keys", edit(end+5, 17)},
		{"extensions longer than the rest", edit(end+6, 20)},
		{"half an extension", edit(end+6, 3, 1, 2, 3)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := thread.Decode(tt.b)
			if core.CodeOf(err) != core.CodeCorrupt {
				t.Errorf("error %v, want corrupt", err)
			}
			if diff := cmp.Diff(thread.Head{}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := thread.Decode(edit(0, 2)); !errors.Is(err, thread.ErrSchema) {
		t.Errorf("a newer layout is %v, want ErrSchema", err)
	}
}

// What a head has not is left out, so that each head has one form: it is never there as 0.
func TestDecodeRefusesPartsThatAreThereAndEmpty(t *testing.T) {
	const mark = 0x7e // stands nowhere else in the head
	tests := map[string]func(h *thread.Head){
		"calls that may have run": func(h *thread.Head) { h.Run.Through.May = mark },
		"the time of a wait":      func(h *thread.Head) { h.Run.WaitsSince = mark },
		"the time of a lack":      func(h *thread.Head) { h.Run.LacksSince = mark },
		"RunEnd":                  func(h *thread.Head) { h.Run.RunEnd = mark },
		"a stretch":               func(h *thread.Head) { h.Run.Stretch.Since = mark },
		"superseded":              func(h *thread.Head) { h.Supersedes = mark },
		"the sum of the tail":     func(h *thread.Head) { h.TailSum = mark },
		"a time to wake at":       func(h *thread.Head) { h.Tickets = []thread.Ticket{{WakeAt: mark}} },
		"a child":                 func(h *thread.Head) { h.Run.Children = []core.ID{{mark}} },
		"missed announcements":    func(h *thread.Head) { h.Missed = mark },
		"a claim":                 func(h *thread.Head) { h.Claim.Fence = mark },
	}
	for name, set := range tests {
		h := thread.Head{Layout: 1, Schema: 1, Version: 1, Run: thread.Run{ID: id("r")}}
		set(&h)
		b := h.AppendBinary(nil)
		if _, err := thread.Decode(b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		b[bytes.IndexByte(b, mark)] = 0
		if _, err := thread.Decode(b); core.CodeOf(err) != core.CodeCorrupt {
			t.Errorf("%s that is there and 0: %v, want corrupt", name, err)
		}
	}
}

// The encoder writes what it is given; the decoder takes no value that no change
// leaves in a head, nor one more of a table than there can be.
func TestDecodeRefusesValuesAndCountsThatNoHeadHas(t *testing.T) {
	owed := func(n int, kind thread.OutboxKind) (list []thread.OutboxEntry) {
		for range n {
			list = append(list, thread.OutboxEntry{ID: id("x"), Kind: kind})
		}
		return list
	}
	delayed := func(n int) (list []thread.Dispatch) {
		for range n {
			list = append(list, thread.Dispatch{AvailableAt: math.MaxInt64})
		}
		return list
	}
	base := func() thread.Head {
		return thread.Head{
			Layout: 1, Schema: 1, Version: 1, CommitID: id("c"), Run: thread.Run{ID: id("r"), Calls: make([]thread.CallStatus, 32), Children: slices.Repeat([]core.ID{id("k")}, 16)},
			Claim: thread.Claim{Fence: 1}, Tickets: make([]thread.Ticket, 8), Inbox: make([]thread.InboxEntry, 8),
			Pending: make([]thread.Dispatch, 9), Delayed: delayed(8), Recent: make([]uint64, 16), Missed: math.MaxUint16,
			Outbox: slices.Concat(owed(10, thread.OutboxChildEnded), owed(10, thread.OutboxCancel), owed(8, thread.OutboxMessage), owed(4, thread.OutboxEnded)),
		}
	}
	tests := []struct {
		name  string
		last  func(h *thread.Head) // what is still taken
		first func(h *thread.Head) // what is not
	}{
		{"status", func(h *thread.Head) { h.Run.Status = 2 }, func(h *thread.Head) { h.Run.Status = 3 }},
		{"reason", func(h *thread.Head) { h.Run.Reason = 5 }, func(h *thread.Head) { h.Run.Reason = 6 }},
		{"cursor", func(h *thread.Head) { h.Run.Cursor = 2 }, func(h *thread.Head) { h.Run.Cursor = 3 }},
		{"call status", func(h *thread.Head) { h.Run.Calls[31] = 5 }, func(h *thread.Head) { h.Run.Calls[31] = 6 }},
		{"ticket kind", func(h *thread.Head) { h.Tickets[7].Kind = 2 }, func(h *thread.Head) { h.Tickets[7].Kind = 3 }},
		{"kind of a ticket that wakes", func(h *thread.Head) {
			h.Tickets[7] = thread.Ticket{Kind: thread.TicketTimer, Keep: true, WakeAt: math.MaxInt64}
		}, func(h *thread.Head) { h.Tickets[7] = thread.Ticket{Kind: 4, WakeAt: 1} }},
		{"children", func(*thread.Head) {}, func(h *thread.Head) { h.Run.Children = slices.Repeat([]core.ID{id("k")}, 17) }},
		{"a child", func(h *thread.Head) { h.Run.Children[15] = core.ID{15: 1} }, func(h *thread.Head) { h.Run.Children[15] = core.ID{} }},
		{"inbox kind", func(h *thread.Head) { h.Inbox[7].Kind = 1 }, func(h *thread.Head) { h.Inbox[7].Kind = 2 }},
		{"calls", func(*thread.Head) {}, func(h *thread.Head) { h.Run.Calls = make([]thread.CallStatus, 33) }},
		{"tickets", func(*thread.Head) {}, func(h *thread.Head) { h.Tickets = make([]thread.Ticket, 9) }},
		{"inbox entries", func(*thread.Head) {}, func(h *thread.Head) { h.Inbox = make([]thread.InboxEntry, 9) }},
		{"dispatches", func(*thread.Head) {}, func(h *thread.Head) { h.Pending = make([]thread.Dispatch, 10) }},
		{"dispatches, of fewer that are delayed", func(h *thread.Head) { h.Delayed = nil }, func(h *thread.Head) { h.Pending = make([]thread.Dispatch, 10) }},
		{"delayed dispatches", func(*thread.Head) {}, func(h *thread.Head) { h.Delayed = delayed(9) }},
		{"delayed dispatches, of fewer that are queued", func(h *thread.Head) { h.Pending = nil }, func(h *thread.Head) { h.Delayed = delayed(9) }},
		{"a delayed dispatch's time", func(h *thread.Head) { h.Delayed[7].AvailableAt = 1 }, func(h *thread.Head) { h.Delayed[7].AvailableAt = 0 }},
		{"outbox entries", func(h *thread.Head) { h.Outbox = owed(32, 7) }, func(h *thread.Head) { h.Outbox = owed(33, 7) }},
		{"ends of children", func(h *thread.Head) { h.Outbox = owed(10, 1) }, func(h *thread.Head) { h.Outbox = owed(11, 1) }},
		{"cancels", func(h *thread.Head) { h.Outbox = owed(10, 2) }, func(h *thread.Head) { h.Outbox = owed(11, 2) }},
		{"messages", func(h *thread.Head) { h.Outbox = owed(8, 3) }, func(h *thread.Head) { h.Outbox = owed(9, 3) }},
		{"announcements", func(h *thread.Head) { h.Outbox = slices.Concat(owed(1, 4), owed(2, 5), owed(1, 6)) }, func(h *thread.Head) { h.Outbox = owed(5, 5) }},
		{"an outbox kind", func(h *thread.Head) { h.Outbox[0].Kind = 255 }, func(h *thread.Head) { h.Outbox[0].Kind = 0 }},
		{"an outbox entry's time", func(h *thread.Head) { h.Outbox[0].Next = math.MaxInt64 }, nil},
		{"an outbox entry's id", func(h *thread.Head) { h.Outbox[0].ID = id("y") }, func(h *thread.Head) { h.Outbox[0].ID = core.ID{} }},
		{"the id of an entry of a newer kind", func(h *thread.Head) { h.Outbox[0] = thread.OutboxEntry{Kind: 7} }, nil},
		{"keys", func(*thread.Head) {}, func(h *thread.Head) { h.Recent = make([]uint64, 17) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := base()
			tt.last(&h)
			if got, err := thread.Decode(h.AppendBinary(nil)); err != nil {
				t.Errorf("the last that there can be: %v", err)
			} else if diff := cmp.Diff(h, got); diff != "" {
				t.Error(diff)
			}
			if tt.first == nil {
				return
			}
			tt.first(&h)
			if _, err := thread.Decode(h.AppendBinary(nil)); core.CodeOf(err) != core.CodeCorrupt {
				t.Errorf("one more: %v, want corrupt", err)
			}
		})
	}
}

// A list of children that is there has some.
func TestDecodeRefusesAnEmptyListOfChildren(t *testing.T) {
	h := thread.Head{Layout: 1, Schema: 1, Version: 1, Run: thread.Run{ID: id("r"), Children: []core.ID{id("k")}}}
	b, child := h.AppendBinary(nil), "\x01k"+z
	if _, err := thread.Decode(b); err != nil || strings.Count(string(b), child) != 1 {
		t.Fatalf("%v, %q", err, b)
	}
	if _, err := thread.Decode([]byte(strings.Replace(string(b), child, "\x00", 1))); core.CodeOf(err) != core.CodeCorrupt {
		t.Errorf("error %v, want corrupt", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, tt := range encodedHeads {
		f.Add([]byte(tt.want))
	}
	for seed := range uint64(20) {
		w := newWorld(rand.New(rand.NewPCG(seed, 2)))
		for range 40 {
			w.do(w.change())
		}
		if seed%2 == 0 {
			w.head.Extensions = []thread.Extension{{Run: w.head.Run.ID, Tag: seed, Value: []byte("newer")}}
		}
		f.Add(w.head.AppendBinary(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := thread.Decode(b)
		if err != nil {
			if code := core.CodeOf(err); code != core.CodeCorrupt && code != core.CodeSchema {
				t.Fatalf("code %s: %v", code, err)
			}
			return
		}
		if again := h.AppendBinary(nil); !bytes.Equal(b, again) {
			t.Fatalf("%x was decoded, and is encoded as %x", b, again)
		}
		if h.Size() != len(b) {
			t.Fatalf("size %d of %d bytes", h.Size(), len(b))
		}
	})
}
