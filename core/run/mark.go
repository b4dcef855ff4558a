package run

import (
	"context"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// A reader in another process than the one that makes an inference leaves a mark beside
// the head (F#). The holder reads it with each of its looks, and stores what its model
// says until the mark has expired. Nothing but time depends on a mark: one that is lost,
// late, stale or of a clock that goes wrong costs readers a delay, or the holder some
// chunks for nobody.

// MarkLife is how long a mark asks for chunks, from when it is left. A holder never
// believes one for longer, whatever the other's clock says.
const MarkLife = time.Minute

// Mark says that somebody in another process follows a run.
type Mark struct {
	Run   core.ID `json:"run"`
	Until int64   `json:"until"` // unix milliseconds, by the clock of who follows
}

// Record returns the record of the mark, beside a head that shows the run.
func (m Mark) Record(records thread.Records, head thread.Head) (store.Record, error) {
	payload, err := records.Encode("follow mark", &m)
	return store.Record{
		Name: store.FollowName, Fence: head.Fence, Version: head.Version, Payload: payload,
		Expires: (m.Until + 999) / 1000,
	}, err
}

// FindMark reads the mark of a thread, which may lag; the zero Mark: there is none. One that
// cannot be decoded is an error, as is a newer program's.
func FindMark(ctx context.Context, lists store.Lists, records thread.Records, key core.ThreadKey) (mark Mark, err error) {
	found, err := lists.Records(ctx, key, store.FollowName, "", 1)
	if err != nil || len(found) == 0 {
		return Mark{}, err
	}
	if err := records.Decode("follow mark", found[0].Payload, &mark); err != nil {
		return Mark{}, err
	}
	return mark, nil
}

// look sees to it that the mark is read, beside the step's look at the head, which does not
// wait for that.
func (c *chunks) look() {
	if c.asks() {
		c.group.Go(c.heed)
	}
}

// heed reads the mark and heeds it. One that cannot be read changes nothing.
func (c *chunks) heed(ctx context.Context) error {
	defer c.looked()
	var mark Mark
	err := env.Protect(func() (err error) { // a panic must not end the step
		mark, err = FindMark(ctx, c.step.store, c.step.records, c.step.Key)
		return err
	})
	if err != nil || mark.Run != c.step.id {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if mark != c.mark { // one that was seen before counts from then
		c.mark = mark
		c.follow(mark.Until)
	}
	return nil
}

// looked ends a look.
func (c *chunks) looked() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looks = false
}

// asks reports whether to read the mark, and begins a look: where one would change
// something, which is not beside a tool round, whose turn is in the log, and when none is
// under way.
func (c *chunks) asks() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.looks || c.over || !c.step.chunked || c.demand > demandMarked {
		return false
	}
	c.looks = true
	return true
}

// follow heeds that somebody follows until a time, unix milliseconds; the caller holds mu.
func (c *chunks) follow(until int64) {
	now := c.step.env.Millis()
	until = min(until, now+MarkLife.Milliseconds())
	if until <= now {
		return
	}
	c.until = max(c.until, until)
	if !c.since.IsZero() {
		c.begin()
		c.wake()
	}
}

// followed is until when somebody follows, as far as the step knows, for the step that
// comes next; 0: nobody does.
func (c *chunks) followed() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.demand > demandMarked || c.until <= c.step.env.Millis() {
		return 0
	}
	return c.until
}
