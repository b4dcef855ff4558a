package thread

import (
	"encoding/binary"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// Times is what the head knows of the time that the open run has spent without work: for
// people, and because workers were lost. It is an [Extension], so that the head of a run
// which never waits and loses no worker has none of it.
type Times struct {
	Waited int64  // milliseconds of the waits that are over
	Since  int64  // since when the run waits for a person or a client, and nothing of it runs; 0: it does not
	Losses []Loss // the newest MaxLosses, oldest first
}

// MaxLosses bounds the losses that a head keeps. [Run.Lost] counts them all.
const MaxLosses = 8

// Loss is a claim that was lost: its worker has neither released nor renewed it. Times are
// unix milliseconds.
type Loss struct {
	Step    int   `json:"step"`            // that the claim worked on
	Claimed int64 `json:"claimed"`         // when it was taken
	Lost    int64 `json:"lost"`            // when its lease ended, or when its host came back without it
	Began   int64 `json:"began,omitempty"` // when the next claim was taken; 0: not yet
}

// timesTag is the tag of the extension that holds [Times].
const timesTag = 1

// Times returns how the open run has spent its time; zero: it neither waited nor lost a
// claim, or the program that wrote the head does not keep it.
func (h *Head) Times() (t Times) {
	if value, ok := h.extension(timesTag); ok {
		t.decode(value)
	}
	return t
}

// setTimes replaces the extension.
func (h *Head) setTimes(t *Times) { h.setExtension(timesTag, t.encode()) }

// idle reports whether the open run waits for a person, a client or the clock, and nothing of it
// runs.
func (h *Head) idle() bool { return h.Open() && h.Run.Status == Waiting && h.Tickets.sleeps() }

// noteTimes notes in the next head that the run starts or ends such a wait. A run that is
// over leaves the head with its times.
func (h *Head) noteTimes(now int64) {
	t := h.Times()
	switch waits := t.Since != 0; {
	case h.idle() && !waits:
		t.Since = max(now, 1)
	case !h.idle() && waits:
		t.Waited, t.Since = t.Waited+max(now-t.Since, 0), 0
	default:
		return
	}
	h.setTimes(&t)
}

// noteLoss notes that the claim is lost, before it is given up. Claims of a closing run do
// not count: they make no step.
func (h *Head) noteLoss(now int64) {
	if !h.Open() || h.Run.Status == Closing {
		return
	}
	step := int(h.Run.Step)
	if h.Run.Cursor != CursorTools {
		step++
	}
	lost := min(now, h.Claim.Lease)
	claimed := min(madeAt(h.Claim.CommitID), lost)
	t := h.Times()
	if len(t.Losses) >= MaxLosses {
		t.Losses = slices.Delete(t.Losses, 0, 1)
	}
	t.Losses = append(t.Losses, Loss{Step: step, Claimed: claimed, Lost: lost})
	h.setTimes(&t)
}

// noteTaken notes that the next claim is taken, and returns the time of the loss before it;
// 0: the last claim was not lost.
func (h *Head) noteTaken(now int64) (lost int64) {
	t := h.Times()
	n := len(t.Losses)
	if n == 0 || t.Losses[n-1].Began != 0 {
		return 0
	}
	last := &t.Losses[n-1]
	last.Began = max(now, last.Lost, 1)
	h.setTimes(&t)
	return last.Lost
}

// madeAt is the time in an id, unix milliseconds.
func madeAt(id core.ID) int64 { return int64(binary.BigEndian.Uint64(id[:]) >> 16) }

// encode returns the value of the extension. The times of a loss are mostly distances: 16
// bytes are usual for one.
func (t *Times) encode() []byte {
	w := writer{}
	w.time(t.Waited)
	w.time(t.Since)
	for _, l := range t.Losses {
		w.time(int64(l.Step))
		w.time(l.Claimed)
		w.time(l.Lost - l.Claimed)
		w.time(max(l.Began-l.Lost+1, 0))
	}
	return w.b
}

// decode reads the value. What no encoder wrote is no times: they are for readers alone.
func (t *Times) decode(value []byte) {
	r := reader{b: value}
	t.Waited, t.Since = r.time(), r.time()
	for len(r.b) > 0 && !r.bad && len(t.Losses) < MaxLosses {
		l := Loss{Step: int(r.time()), Claimed: r.time()}
		l.Lost = l.Claimed + r.time()
		if began := r.time(); began > 0 {
			l.Began = l.Lost + began - 1
		}
		t.Losses = append(t.Losses, l)
	}
	if r.bad || len(r.b) > 0 {
		*t = Times{}
	}
}
