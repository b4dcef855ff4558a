package thread_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// refused reads what no encoder has written.
func refused(t *testing.T, name string, b []byte) {
	t.Helper()
	if h, err := thread.Decode(b); core.CodeOf(err) != core.CodeCorrupt || h.Exists() {
		t.Errorf("%s: %v, want corrupt", name, err)
	}
}

// only returns where two encoded heads differ, in one byte.
func only(t *testing.T, a, b thread.Head) (encoded []byte, at int) {
	t.Helper()
	encoded, other := a.AppendBinary(nil), b.AppendBinary(nil)
	at = -1
	for i := range encoded {
		if len(other) != len(encoded) || encoded[i] != other[i] && at >= 0 {
			t.Fatalf("they differ in more than a byte: %x %x", encoded, other)
		}
		if encoded[i] != other[i] {
			at = i
		}
	}
	return encoded, at
}

func TestBitsThatNoProgramSetsAreRefused(t *testing.T) {
	head := func() thread.Head { return thread.Head{Version: 1, Run: thread.Run{ID: id("r")}} }
	queued, child := head(), head()
	queued.Pending, child.Pending = []thread.Dispatch{{ID: id("d"), Run: id("q")}}, []thread.Dispatch{{ID: id("d"), Run: id("q"), Child: true}}
	b, at := only(t, queued, child)
	b[at] = 4
	refused(t, "a third flag of a queued run", b)

	on, over := head(), head()
	on.Run.Stretch, over.Run.Stretch = thread.Stretch{Since: 5}, thread.Stretch{Since: 5, Over: true}
	b, at = only(t, on, over)
	b[at] = 2
	refused(t, "a second flag of a stretch", b)

	gone, erased := thread.Head{Version: 1, Deleted: true}, thread.Head{Version: 1, Deleted: true, Erased: true}
	b, at = only(t, gone, erased)
	b[at] |= 128
	refused(t, "an eighth flag of a head", b)
}

func TestWhatCannotStandInAHeadIsRefused(t *testing.T) {
	h := thread.Head{Version: 1, Run: thread.Run{ID: id("the run's id")}}
	b := h.AppendBinary(nil)
	name := id("the run's id")
	i := bytes.Index(b, name[:])
	clear(b[i : i+16])
	refused(t, "an open run without an id", b)

	b = (&thread.Head{Version: 1}).AppendBinary(nil)
	b[len(b)-1] = 1
	refused(t, "a byte of an extension", append(b, 1))
	refused(t, "a byte of an extension that begins a number", append(b, 128))

	owing := func(e thread.OutboxEntry) []byte {
		return (&thread.Head{Version: 1, Outbox: thread.Outbox{e}}).AppendBinary(nil)
	}
	for kind := thread.OutboxChildEnded; kind <= thread.OutboxDeadLettered; kind++ {
		refused(t, fmt.Sprintf("a nameless entry of kind %s", kind), owing(thread.OutboxEntry{Kind: kind}))
	}
	if _, err := thread.Decode(owing(thread.OutboxEntry{Kind: thread.OutboxDeadLettered + 1})); err != nil {
		t.Errorf("a nameless entry of a newer program: %v", err)
	}
	b = owing(thread.OutboxEntry{ID: id("x"), Kind: thread.OutboxEnded, Next: 0x0102030405060708})
	i = bytes.Index(b, []byte{1, 2, 3, 4, 5, 6, 7, 8})
	b[i] = 0x81
	refused(t, "an entry that is due before all time", b)

	for _, layout := range []byte{2, 255} {
		if _, err := thread.Decode([]byte{layout}); core.CodeOf(err) != core.CodeSchema || err.Error() != fmt.Sprintf("layout %d, newest known 1: thread was written by a newer version of the program", layout) {
			t.Errorf("layout %d: %v", layout, err)
		}
	}
}

// What a head holds comes back, at the ends of what each number can be.
func TestNumbersOfEachSizeComeBack(t *testing.T) {
	h := thread.Head{Layout: 1, Version: 1, Run: thread.Run{ID: id("r"), Calls: []thread.CallStatus{thread.CallSuspended, thread.CallSuspended}}, Tickets: thread.Tickets{{ID: 1, WakeAt: 1}, {ID: 1, Call: 1}}}
	for _, tag := range []uint64{0, 1, 127, 128, 1<<14 - 1, 1 << 14, 1<<21 - 1, 1 << 21, 1<<28 - 1, 1 << 28, 1<<35 - 1, 1 << 35, 1<<42 - 1, 1 << 42, 1<<49 - 1, 1 << 49, 1<<56 - 1, 1 << 56, 1<<63 - 1, 1 << 63, 1<<64 - 1} {
		h.Extensions = append(h.Extensions, thread.Extension{Run: id("r"), Tag: tag, Value: []byte{1}})
		one := h
		one.Extensions = slices.Clone(h.Extensions[len(h.Extensions)-1:])
		for _, want := range []thread.Head{one, h} {
			got, err := thread.Decode(want.AppendBinary(nil))
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Fatalf("with the tag %d: %v (-want +got):\n%s", tag, err, diff)
			}
		}
	}
}

// A head of usual size is encoded into one piece of memory.
func TestAHeadIsEncodedInOnePiece(t *testing.T) {
	h := must(t, thread.Head{}, thread.Enqueue{Dispatch: id("d"), Run: id("r"), Owner: "ann"}, thread.TakeClaim{Worker: "w", Lease: 30_000})
	if got := testing.AllocsPerRun(100, func() { _ = h.AppendBinary(nil) }); got > 1 {
		t.Errorf("it takes %v allocations, want 1", got)
	}
}
