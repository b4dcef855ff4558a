package thread_test

import (
	"testing"

	"github.com/reveille-run/reveille/core/internal/thread"
)

// failing is the head of a run whose model fails since 1,500.
func failing(t *testing.T) thread.Head {
	t.Helper()
	h := timed(t, thread.Head{}, 1_000, thread.Enqueue{Dispatch: id("d"), Run: id("r")})
	h = timed(t, h, 1_000, thread.TakeClaim{Worker: "w", Lease: 30_000})
	since := int64(1_500)
	return timed(t, h, 1_600, thread.Nack{Fence: 1, Kind: thread.NackModel, ModelFailed: 1, Failing: &since})
}

// older applies changes as a program does that does not know the tag: to it, the value is
// another's.
func older(t *testing.T, h thread.Head, at int64, changes ...thread.Change) thread.Head {
	t.Helper()
	rename := func(from, to uint64) {
		kept := make([]thread.Extension, len(h.Extensions))
		for i, e := range h.Extensions {
			if kept[i] = e; e.Tag == from {
				kept[i].Tag = to
			}
		}
		h.Extensions = kept
	}
	rename(2, 901)
	for _, c := range changes {
		h = timed(t, h, at, c)
	}
	rename(901, 2)
	return h
}

// An older program carries the time through its writes. The progress that it makes ends it,
// although that program does not remove it.
func TestOlderProgramsCarryTheTimeOfAnOutage(t *testing.T) {
	h := failing(t)
	h = older(t, h, 2_000, thread.TakeClaim{Worker: "old", Lease: 30_000}, thread.Nack{Fence: 2, Kind: thread.NackModel, ModelFailed: 2})
	if got := h.FailingSince(); got != 1_500 {
		t.Fatalf("behind an older program the model fails since %d, want 1500", got)
	}
	h = older(t, h, 3_000, thread.TakeClaim{Worker: "old", Lease: 30_000}, thread.CommitStep{Fence: 3, Outcome: thread.Yield, Seq: 1})
	if got := h.FailingSince(); got != 0 || len(h.Extensions) != 1 {
		t.Errorf("after progress under an older program it fails since %d, with %d extensions; want 0 and the value left behind", got, len(h.Extensions))
	}
	if h = timed(t, h, 3_000, thread.TakeClaim{Worker: "w", Lease: 30_000}); len(h.Extensions) != 0 {
		t.Errorf("the next write of this program keeps %v", h.Extensions)
	}
}

func TestTheTimeOfAnOutageIsSmallAndChecked(t *testing.T) {
	h := failing(t)
	with := h.Size()
	none := int64(0)
	h = timed(t, h, 2_000, thread.TakeClaim{Worker: "w", Lease: 30_000})
	h = timed(t, h, 2_000, thread.Nack{Fence: 2, Kind: thread.NackModel, ModelFailed: 1, Failing: &none})
	if without := h.Size(); with-without != 21 || h.FailingSince() != 0 {
		t.Errorf("the time takes %d bytes, want 21", with-without)
	}
	for _, value := range [][]byte{{0xff}, {0}, {1, 1}, {0, 0xff}} {
		h.Extensions = []thread.Extension{{Run: h.Run.ID, Tag: 2, Value: value}}
		if got := h.FailingSince(); got != 0 {
			t.Errorf("%v is read as %d", value, got)
		}
	}
	h.Extensions = []thread.Extension{{Run: id("other"), Tag: 2, Value: []byte{0, 9}}}
	if got := h.FailingSince(); got != 0 {
		t.Errorf("another run's is read as %d", got)
	}
	h.Extensions = []thread.Extension{{Run: h.Run.ID, Tag: 2, Value: []byte{0, 9, 7}}}
	if got := h.FailingSince(); got != 9 {
		t.Errorf("what a newer program appends hides the time: %d, want 9", got)
	}
}
