package live

import (
	"context"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// Only time depends on a mark: one that is lost, late, stale or of a wrong clock costs
// readers a delay, or the holder some chunks that are not read.

// MarkLife is how long a mark asks for chunks, from when it is left. A holder never
// accepts a longer time, despite the reader's clock.
const MarkLife = time.Minute

// Mark announces that a client of another process follows a run.
type Mark struct {
	Run   core.ID `json:"run"`
	Until int64   `json:"until"` // unix milliseconds, by the clock of the process that follows
}

// Record returns the record of the mark, next to a head that shows the run. It replaces
// the mark that another process has left.
func (m Mark) Record(records thread.Records, head thread.Head) (store.Record, error) {
	payload, err := records.Encode("follow mark", &m)
	return store.Record{
		Name: recordname.Follow, Fence: head.Fence, Version: head.Version, Payload: payload,
		Expires: (m.Until + 999) / 1000,
	}, err
}

// Valid reports whether the mark holds at a time, in unix milliseconds. The clocks of two
// processes differ by less than [MarkLife]: one that ends later than that allows comes from a
// wrong clock.
func (m Mark) Valid(now int64) bool { return m.Until > now && m.Until < now+2*MarkLife.Milliseconds() }

// Lister lists records of a thread: see [store.Backend].
type Lister interface {
	Records(ctx context.Context, key core.ThreadKey, prefix, after string, limit int) ([]store.Record, error)
}

// FindMark reads the mark of a thread, which may lag; the zero Mark: no mark. One
// that cannot be decoded is an error, as is a newer program's.
func FindMark(ctx context.Context, lists Lister, records thread.Records, key core.ThreadKey) (mark Mark, err error) {
	found, err := lists.Records(ctx, key, recordname.Follow, "", 1)
	if err != nil || len(found) == 0 {
		return Mark{}, err
	}
	if err := records.Decode("follow mark", found[0].Payload, &mark); err != nil {
		return Mark{}, err
	}
	return mark, nil
}

// Look starts a read of the mark, concurrently with the step's look at the head,
// which does not wait for it.
func (w *Writer) Look() {
	if w.asks() {
		w.group.Go(w.heed)
	}
}

// heed reads the mark and follows it. One that cannot be read changes nothing.
func (w *Writer) heed(ctx context.Context) error {
	defer w.looked()
	var mark Mark
	err := env.Protect(func() (err error) { // a panic must not end the step
		mark, err = FindMark(ctx, w.source.Store, w.source.Records, w.key)
		return err
	})
	if err != nil || mark.Run != w.run {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if mark != w.mark { // one that was seen before counts from then
		w.mark = mark
		w.follow(mark.Until)
	}
	return nil
}

// looked ends a look.
func (w *Writer) looked() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks = false
}

// asks reports whether to read the mark, and starts a look. A mark is read only if
// it would change something, and only by one look at a time. In a tool round, whose
// turn is in the log, it changes nothing.
func (w *Writer) asks() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.looks || w.over || !w.source.Keep || w.demand > demandMarked {
		return false
	}
	w.looks = true
	return true
}

// Follow records that a client of another process follows the run until a time, in
// unix milliseconds, at most [MarkLife] from now.
func (w *Writer) Follow(until int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.follow(until)
}

// follow is Follow; the caller holds mu.
func (w *Writer) follow(until int64) {
	now := w.source.Env.Millis()
	until = min(until, now+MarkLife.Milliseconds())
	if until <= now {
		return
	}
	w.until = max(w.until, until)
	if !w.since.IsZero() {
		w.begin()
		w.wake()
	}
}

// Followed is until when a client of another process follows, as far as the step knows, in
// unix milliseconds: for the step that comes next. 0: none does.
func (w *Writer) Followed() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.demand > demandMarked || w.until <= w.source.Env.Millis() {
		return 0
	}
	return w.until
}
