package run

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// What a model says is stored while it says it, as event chunks (E#), so that a reader
// in another process need not wait for the commit. A chunk is a cache of a moment: no
// step reads one, and one that is missing costs its readers time and nothing else.
//
// An attempt is a step's inference under a fence, and its chunks are numbered from 0.
// They hold every event of the attempt from step_start on, in order and without a gap:
// the first chunks of an attempt are always a prefix of what the live stream shows of
// it. Whoever reads them believes the head alone about which attempt that is (see
// [AttemptOf]); what lies there of another fence is void. When a claim takes its next
// fence within an inference, since something was dropped that had been shown, the
// chunks begin anew under that, with what stands of the turn.

// Attempt is an inference of a step under the fence of a claim.
type Attempt struct {
	Run   core.ID
	Step  int
	Fence uint64
}

// AttemptOf returns the attempt that a head's claim is about to make, or makes; ok is
// false when none is: nobody has the claim, or the step's turn is in the log.
func AttemptOf(head thread.Head) (a Attempt, ok bool) {
	r := &head.Run
	if !head.Open() || head.Claim.Fence == 0 || r.Status == thread.Closing || r.Cursor == thread.CursorTools {
		return a, false
	}
	return Attempt{r.ID, int(r.Step) + 1, head.Claim.Fence}, true
}

// Prefix begins the names of the attempt's chunks.
func (a Attempt) Prefix() string { return store.ChunkPrefix(a.Run, a.Step, a.Fence) }

// Events reads a chunk of the attempt. The events have the positions that they have in
// the live stream. One that is no chunk, or of another attempt, is core.CodeCorrupt; a
// newer program's is thread.ErrSchema.
func (a Attempt) Events(records thread.Records, chunk store.Record) ([]core.Event, error) {
	var stored chunkRecord
	if err := records.Decode("event chunk", chunk.Payload, &stored); err != nil {
		return nil, err
	}
	events := make([]core.Event, len(stored.Events))
	for i, s := range stored.Events {
		e := s.Event
		e.RunID, e.Step = a.Run, a.Step
		if s.At != "" {
			at, err := core.ParsePosition(a.before() + s.At)
			if err != nil {
				return nil, core.Errorf(core.CodeCorrupt, "event chunk %s: %w", chunk.Name, err)
			}
			e.Position = at.String()
		}
		events[i] = e
	}
	return events, nil
}

// before is what the positions of the attempt begin with.
func (a Attempt) before() string {
	text := core.Position{Run: a.Run, Step: a.Step, Attempt: a.Fence, Kind: core.PositionRunStart}.String()
	return text[:len(text)-len("0-0-a")]
}

// chunkRecord is the payload of a chunk.
type chunkRecord struct {
	Events []chunkEvent `json:"events"`
}

// chunkEvent is an event without what the chunk's name says: run, step and the first
// half of its position.
type chunkEvent struct {
	core.Event
	At string `json:"at,omitempty"` // block-end-kind; empty: it has no position
}

// Bounds of chunks. A chunk is due when it is full or its first event is old enough;
// while a write is slow the next one grows. What waits beyond the last bound is given
// up, and with it the rest of the attempt.
const (
	chunkSize = 4 << 10
	chunkTime = 500 * time.Millisecond
	chunkMost = 16 << 10
	chunkWait = 256 << 10
	chunkLife = 24 * time.Hour

	chunkFailures = 3 // of writes in a row, until the attempt's rest is given up
)

// waiting is an event that is not stored. Deltas of one block are one event.
type waiting struct {
	event core.Event // without its delta
	at    core.Position
	delta int // bytes of it, in texts
	size  int // about, in bytes
}

// chunks stores the events of a step's inference. The step's goroutine adds events, and
// never waits: one function beside it stores them. It is started by the step's own timer
// (see watched), half a second after the step has begun, or when there is something to
// store later than that: a short inference costs no write, no timer and no goroutine.
type chunks struct {
	step  *step
	group *env.Group // of the step's work

	mu      sync.Mutex // guards what follows; not held over I/O
	attempt Attempt
	waiting []waiting // oldest first
	texts   []byte    // their deltas
	size    int       // of waiting, in bytes
	since   time.Time // of the first that waits, step_start apart
	next    int       // number of the next chunk
	cut     store.Record
	late    bool          // the step's timer has gone off, or it has none that early
	begun   bool          // the function beside the step runs
	over    bool          // nothing is stored any more
	cause   error         // why it was given up
	changed chan struct{} // closed when there is something to look at; nil: nobody waits
}

// beginChunks makes the events of the step's inference be stored from here on, if
// there may be readers of it: where a request streams the run, or its agent says so.
func (m *machine) beginChunks(number int) {
	if !m.chunked || !m.agent.Spec.Live(m.events.sink != nil) {
		return
	}
	c := &m.step.chunks
	c.mu.Lock() // the timer may look
	defer c.mu.Unlock()
	c.step, c.attempt = m.step, Attempt{m.id, number, m.events.fence}
	c.late = c.late || m.events.sink == nil
	m.events.chunks = c
}

// add takes an event that is emitted. That arguments are complete, and the turn is, is
// left to the commit, which comes next.
func (c *chunks) add(event core.Event, at core.Position) {
	switch event.Type {
	case core.EventStepRestarted, // the next fence says so
		core.EventToolCallReady, core.EventInferenceComplete, core.EventInferenceFailed:
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	if c.put(event, at); c.size > chunkWait {
		c.giveUp(core.Errorf(core.CodeTooLarge, "%d bytes wait, at most %d may", c.size, chunkWait))
		return
	}
	switch event.Type {
	case core.EventStepStart, core.EventPrefixChanged, core.EventContextCompacted, core.EventContextSkipped: // they go with what is said
		return
	}
	if c.since.IsZero() {
		c.since = c.step.env.Now()
		c.wake()
	}
	if c.late || c.size >= chunkSize {
		c.begin()
	}
	if c.size >= chunkSize {
		c.wake()
	}
}

// put appends an event, or the delta of one to the last; the caller holds mu.
func (c *chunks) put(event core.Event, at core.Position) {
	n := len(event.Delta)
	c.texts = append(c.texts, event.Delta...)
	event.Delta = ""
	c.size += n
	if last := len(c.waiting) - 1; last >= 0 && n > 0 {
		w := &c.waiting[last]
		if w.event.Type == event.Type && w.at.Block == at.Block && w.at.Kind == at.Kind && w.size+n <= chunkSize {
			w.at, w.delta, w.size = at, w.delta+n, w.size+n
			return
		}
	}
	if c.waiting == nil {
		c.waiting = make([]waiting, 0, 4) // what most chunks have
	}
	size := len(event.EncryptedValue) + eventSize
	c.waiting = append(c.waiting, waiting{event, at, n, n + size})
	c.size += size
}

// eventSize is about what an event has besides its texts, in bytes.
const eventSize = 100

// begin starts the function beside the step, once; the caller holds mu.
func (c *chunks) begin() {
	if !c.begun && !c.over {
		c.begun = true
		c.group.Go(c.run)
	}
}

// rung is called when the step's timer has gone off.
func (c *chunks) rung() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.late = true
	if !c.since.IsZero() {
		c.begin()
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

// refused reports whether a write will never succeed.
func refused(err error) bool {
	_, taken := errors.AsType[*store.RefusedError](err)
	return taken || errors.Is(err, store.ErrTooLarge)
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
	if c.over || c.cut.Name != "" {
		return c.cut, 0, nil
	}
	if !c.since.IsZero() {
		wait = c.since.Add(chunkTime).Sub(c.step.env.Now())
	}
	if c.since.IsZero() || c.size < chunkSize && wait > 0 {
		if c.changed == nil {
			c.changed = make(chan struct{})
		}
		return record, wait, c.changed
	}
	if err := c.cutNext(); err != nil {
		c.giveUp(err)
	}
	return c.cut, 0, nil
}

// cutNext makes the next chunk of what waits; the caller holds mu.
func (c *chunks) cutNext() error {
	var stored chunkRecord
	size, n, used := 0, 0, 0
	for _, w := range c.waiting {
		if size += w.size; n > 0 && size > chunkMost {
			break
		}
		n++
		c.size -= w.size
		e := chunkEvent{Event: w.event}
		e.Delta, used = string(c.texts[used:used+w.delta]), used+w.delta
		if !utf8.ValidString(e.Delta) { // JSON would make something else of it
			return core.Errorf(core.CodeInvalid, "a piece of %s is no UTF-8", e.Type)
		}
		if w.at.Kind != 0 {
			e.At = w.at.String()[len(c.attempt.before()):]
		}
		stored.Events = append(stored.Events, e)
	}
	c.waiting, c.texts = slices.Delete(c.waiting, 0, n), slices.Delete(c.texts, 0, used)
	if len(c.waiting) == 0 {
		c.since = time.Time{} // else the rest is as old, and due
	}
	payload, err := c.step.records.Encode("event chunk", &stored)
	if err != nil {
		return err
	}
	c.cut = store.Record{
		Name: store.ChunkName(c.attempt.Prefix(), c.next), Payload: payload,
		Expires: c.step.env.Now().Add(chunkLife).Unix(),
	}
	return nil
}

// stored notes that a chunk is. It may be of an attempt that is void by now.
func (c *chunks) stored(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut.Name == name {
		c.cut = store.Record{}
		c.next++
	}
}

// failed is giveUp for a write.
func (c *chunks) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.giveUp(err)
}

// giveUp stores nothing of the turn any more, which the log says when the step is over.
// The caller holds mu.
func (c *chunks) giveUp(err error) {
	c.over, c.cause = true, err
	c.clear()
}

// clear forgets what waits; the caller holds mu.
func (c *chunks) clear() {
	c.waiting, c.texts, c.size, c.since, c.cut = nil, nil, 0, time.Time{}, store.Record{}
}

// restart begins the chunks of the next attempt, under another fence.
func (c *chunks) restart(fence uint64) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attempt.Fence, c.next = fence, 0
	c.clear()
}

// end stores nothing any more: the turn is committed, or void. A write under way goes
// on, until the step is over.
func (c *chunks) end() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.clear()
	c.wake()
}

// report says in the log what was given up, when the step is over.
func (c *chunks) report(ctx context.Context) {
	if c != nil && c.cause != nil {
		c.step.warn(ctx, "a part of what the model said was not stored before its commit, for which readers in other processes had to wait", "error", c.cause)
	}
}
