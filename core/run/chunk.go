package run

import (
	"context"
	"errors"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/store"
)

// What a model says is kept in memory until its commit, for readers of this process
// (said.go), and stored meanwhile as event chunks (E#) as long as a reader in another
// process asks for them by its mark (mark.go). A chunk is a cache of a moment: no step
// reads one, and one that is missing costs its readers time and nothing else.
//
// An attempt is a step's inference under a fence, and its chunks are numbered from 0.
// They hold every event of the attempt from step_start on, in order and without a gap,
// however late the first of them is written and however often writing stops and goes on:
// the first chunks of an attempt are always a prefix of what the live stream shows of
// it. Whoever reads them believes the head alone about which attempt that is (see
// [AttemptOf]); what lies there of another fence is void. When a claim takes its next
// fence within an inference, since something was dropped that had been shown, the
// chunks begin anew under that, with what stands of the turn.

// Bounds of chunks, in bytes as JSON has them. A chunk is due when it is full or its
// first event is old enough; what has waited for a reader, or for a slow write, is stored
// in larger ones. What is said beyond the last bound is not kept any more.
const (
	chunkSize = 4 << 10
	chunkTime = 500 * time.Millisecond
	chunkMost = 16 << 10
	chunkKeep = 4 << 20
	chunkLife = 24 * time.Hour

	chunkFailures = 3 // of writes in a row, until the attempt's rest is given up
)

// demand says when what is said is stored.
type demand uint8

const (
	demandUnknown demand = iota // the agent is not loaded yet
	demandMarked                // while a mark stands
	demandAlways
	demandNever // and it is not kept
)

// chunks keeps the events of a step's inference. The step's goroutine adds events, and
// never waits: one function beside it stores them, which is started when there is
// something to store. What nobody asks for costs no write, no timer and no goroutine.
type chunks struct {
	step  *step
	group *env.Group // of the step's work

	mu      sync.Mutex // guards what follows; not held over I/O
	attempt Attempt    // zero: it has not begun
	pieces  []spoken   // all that was said, oldest first
	texts   []byte     // their deltas
	kept    int        // size of all of them
	cut     int        // how many of the pieces chunks have
	size    int        // of what no chunk has
	since   time.Time  // when the first of that was said, step_start apart; zero: there is none
	next    int        // number of the next chunk
	writing store.Record
	demand  demand
	until   int64         // until when somebody follows, unix milliseconds
	mark    Mark          // the last that was seen
	looks   bool          // a look for one is under way
	begun   bool          // the function beside the step runs
	over    bool          // nothing is kept or stored any more
	cause   error         // why it was given up
	changed chan struct{} // closed when there is something to look at; nil: nobody waits
}

// beginChunks makes the events of the step's inference be kept from here on, unless the
// agent shows other readers its commits only.
func (m *machine) beginChunks(number int) {
	c := &m.step.chunks
	c.mu.Lock() // the watch may look
	defer c.mu.Unlock()
	switch {
	case !m.chunked, m.agent.Spec.Events == agent.EventsCommits:
		c.demand, c.over = demandNever, true
		return
	case m.agent.Spec.Events == agent.EventsLive:
		c.demand = demandAlways
	default:
		c.demand = demandMarked
	}
	c.attempt = Attempt{m.id, number, m.events.Fence()}
	m.events.SetTap(c)
}

// Add implements history.Tap: it takes an event that is emitted. That arguments are complete, and the turn is, is
// left to the commit, which comes next.
func (c *chunks) Add(event core.Event, at core.Position) {
	switch event.Type {
	case core.EventStepRestarted, // the next fence says so
		core.EventToolCallReady, core.EventInferenceComplete, core.EventInferenceFailed:
		return
	}
	if c.took(event, at) && c.step.said != nil {
		c.step.said(c.step.Key)
	}
}

// took is Add under the lock. It reports whether there is something new to hear.
func (c *chunks) took(event core.Event, at core.Position) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return false
	}
	if c.put(event, at); c.kept > chunkKeep {
		c.giveUp(core.Errorf(core.CodeTooLarge, "%d bytes were said, at most %d are kept", c.kept, chunkKeep))
		return false
	}
	switch event.Type {
	case core.EventStepStart, core.EventPrefixChanged, core.EventContextCompacted, core.EventContextSkipped: // they go with what is said
		return false
	}
	first := c.since.IsZero()
	if first {
		c.since = c.step.env.Now()
	}
	if c.wanted() {
		c.begin()
		if first || c.size >= chunkSize {
			c.wake()
		}
	}
	return true
}

// wanted reports whether what is said is to be stored now; the caller holds mu.
func (c *chunks) wanted() bool {
	return !c.over && (c.demand == demandAlways || c.demand == demandMarked && c.step.env.Millis() < c.until)
}

// begin starts the function beside the step, once; the caller holds mu.
func (c *chunks) begin() {
	if !c.begun {
		c.begun = true
		c.group.Go(c.run)
	}
}

// wake ends the wait of the function beside the step; the caller holds mu.
func (c *chunks) wake() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// run stores one chunk after the other until the context ends. A chunk that could not be
// stored goes out again with the same bytes: its first try may have arrived.
func (c *chunks) run(ctx context.Context) error {
	for failures := 0; ctx.Err() == nil; {
		record, wait, changed := c.due()
		if changed != nil {
			c.pause(ctx, wait, changed)
			continue
		}
		if record.Name == "" {
			return nil
		}
		err := env.Protect(func() error { return c.step.store.Put(ctx, c.step.Key, record) })
		switch {
		case ctx.Err() != nil:
		case err == nil:
			failures = 0
			c.stored(record.Name)
		default:
			if failures++; failures == chunkFailures || refused(err) {
				c.failed(err)
				return nil
			}
			_ = c.step.env.Sleep(ctx, chunkTime) // which ends early with ctx
		}
	}
	return nil
}

// pause waits for news, or for as long as given; 0: for news alone.
func (c *chunks) pause(ctx context.Context, d time.Duration, changed <-chan struct{}) {
	if d > 0 {
		within, cancel := c.step.env.WithTimeout(ctx, d)
		defer cancel()
		ctx = within
	}
	_ = c.step.env.Wait(ctx, changed)
}

// due returns the chunk to store next, or, when there is none yet, what is closed when
// there may be and how long to wait for that; 0: for good. None of them: nothing will be
// stored any more.
func (c *chunks) due() (record store.Record, wait time.Duration, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.writing.Name != "" { // what was begun is ended, also when nobody follows any more
		return c.writing, 0, nil
	}
	asked := c.wanted() && !c.since.IsZero()
	if asked {
		wait = c.since.Add(chunkTime).Sub(c.step.env.Now())
	}
	if !asked || c.size < chunkSize && wait > 0 {
		if c.changed == nil {
			c.changed = make(chan struct{})
		}
		return record, wait, c.changed
	}
	if err := c.cutNext(); err != nil {
		c.giveUp(err)
	}
	return c.writing, 0, nil
}

// cutNext makes the next chunk of what no chunk has; the caller holds mu.
func (c *chunks) cutNext() error {
	var stored chunkRecord
	size := 0
	for _, p := range c.pieces[c.cut:] {
		if size+p.size > chunkMost && size > 0 {
			break
		}
		size += p.size
		e := chunkEvent{Event: p.event}
		e.Delta = string(c.texts[p.begin : p.begin+p.delta])
		if !utf8.ValidString(e.Delta) { // JSON would make something else of it
			return core.Errorf(core.CodeInvalid, "a piece of %s is no UTF-8", e.Type)
		}
		if p.at.Kind != 0 {
			e.At = p.at.String()[len(c.attempt.before()):]
		}
		stored.Events = append(stored.Events, e)
	}
	payload, err := c.step.records.Encode("event chunk", &stored)
	if err != nil {
		return err
	}
	c.cut, c.size = c.cut+len(stored.Events), c.size-size
	if c.cut == len(c.pieces) {
		c.since = time.Time{} // else the rest is as old, and due
	}
	c.writing = store.Record{
		Name: store.ChunkName(c.attempt.Prefix(), c.next), Payload: payload,
		Expires: c.step.env.Now().Add(chunkLife).Unix(),
	}
	return nil
}

// refused reports whether a write will never succeed.
func refused(err error) bool {
	_, taken := errors.AsType[*store.RefusedError](err)
	return taken || errors.Is(err, store.ErrTooLarge)
}

// stored notes that a chunk is. It may be of an attempt that is void by now.
func (c *chunks) stored(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writing.Name == name {
		c.writing = store.Record{}
		c.next++
	}
}

// failed is giveUp for a write.
func (c *chunks) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.giveUp(err)
}

// giveUp keeps and stores nothing of the turn any more, which the log says when the step
// is over. The caller holds mu.
func (c *chunks) giveUp(err error) {
	c.over, c.cause = true, err
	c.clear()
}

// clear forgets what was said; the caller holds mu.
func (c *chunks) clear() {
	c.pieces, c.texts, c.kept, c.size = nil, nil, 0, 0
	c.cut, c.since, c.writing = 0, time.Time{}, store.Record{}
}

// Restart implements history.Tap: it begins the next attempt, under another fence.
func (c *chunks) Restart(fence uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attempt.Fence, c.next = fence, 0
	c.clear()
}

// end keeps and stores nothing any more: the turn is committed, or void. A write under way
// goes on, until the step is over.
func (c *chunks) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.attempt == (Attempt{}) { // there is no turn: nothing is kept, and marks are still looked for
		return
	}
	c.over = true
	c.clear()
	c.wake()
}

// report says in the log what was given up, when the step is over.
func (c *chunks) report(ctx context.Context) {
	if c.cause != nil {
		c.step.warn(ctx, "a part of what the model said was not shown before its commit to readers beside the run's own", "error", c.cause)
	}
}
