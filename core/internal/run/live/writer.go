package live

import (
	"context"
	"errors"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/position"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// Bounds of chunks, in bytes as JSON has them. A chunk is due when it is full or
// its first event is old enough; events that have waited for a reader, or for a
// slow write, are stored in larger ones. Words after the last bound are not kept
// any more.
const (
	chunkSize = 4 << 10
	chunkTime = 500 * time.Millisecond
	chunkMost = 16 << 10
	chunkKeep = 4 << 20
	chunkLife = 24 * time.Hour

	chunkFailures = 3 // of writes in a row, until the attempt's rest is given up
)

// demand decides when the words are stored.
type demand uint8

const (
	demandUnknown demand = iota // Start was not called yet
	demandMarked                // while a mark is valid
	demandAlways
	demandNever // and it is not kept
)

// Store is what a [Writer] needs of the store.
type Store interface {
	Put(ctx context.Context, key core.ThreadKey, r store.Record) error
	Lister
}

// Source is what all Writers of a process share. Env, Store and Records are required.
type Source struct {
	Env     *env.Env
	Store   Store
	Records thread.Records
	// Keep means that the words of models are kept. Without it a Writer stores nothing, and
	// keeps the words of child runs alone.
	Keep bool
	// Said is called when there is something new for [Writer.Hear], in the goroutine that
	// adds the event: it must not block. nil: no reader waits for that.
	Said func(core.ThreadKey)
}

// Writer keeps the events of a step's inference, and stores them as long as readers
// of other processes follow. The step's goroutine adds events, and never waits: one
// concurrent function stores them, which is started when there is something to
// store. Events that no reader wants cost no write, no timer and no goroutine.
//
// The step calls Init, RunIn, Start and Err; the rest may be called from any goroutine.
type Writer struct {
	source *Source
	key    core.ThreadKey
	run    core.ID
	group  *env.Group // of the step's work

	mu      sync.Mutex    // guards what follows; not held over I/O
	attempt Attempt       // zero: it has not started
	pieces  []spoken      // all that was said, oldest first
	texts   []byte        // their deltas
	kept    int           // size of all of them
	cut     int           // how many of the pieces chunks have
	size    int           // of what no chunk has
	since   time.Time     // when the first of that was generated, step_start apart; zero: nothing yet
	next    int           // number of the next chunk
	writing *store.Record // the chunk that is being stored; nil: none
	demand  demand
	until   int64         // until when a client follows, unix milliseconds
	mark    Mark          // the last that was seen
	looks   bool          // a look for one is under way
	running bool          // the concurrent function runs
	over    bool          // nothing is kept or stored any more
	keeps   bool          // words, at least for readers of this process; set by Init
	cause   error         // why it was given up
	changed chan struct{} // closed when there is something to look at; nil: no function waits
}

// Init makes the zero Writer that of a step of a run. infers means that the step
// may make an inference; one that finds its turn in the log keeps nothing. The words of a child
// run are kept without Source.Keep too, for the stream of its parent in this process.
func (w *Writer) Init(source *Source, key core.ThreadKey, run core.ID, infers, child bool) {
	w.source, w.key, w.run, w.over, w.keeps = source, key, run, !infers, source.Keep || child
}

// RunIn sets the group in which chunks are stored and marks are read: that of the step's
// work, which waits for both.
func (w *Writer) RunIn(group *env.Group) { w.group = group }

// Start makes the events of the step's inference be kept from here on, in the way that
// the agent asks for. It returns false when nothing is kept: the process keeps nothing, or
// the agent shows other readers its commits only. Otherwise the Writer is to be the tap of
// the step's events.
func (w *Writer) Start(attempt Attempt, mode agent.EventMode) bool {
	w.mu.Lock() // the watch may look
	defer w.mu.Unlock()
	switch {
	case !w.keeps, mode == agent.EventsCommits:
		w.demand, w.over = demandNever, true
		return false
	case mode == agent.EventsLive && w.source.Keep:
		w.demand = demandAlways
	default:
		w.demand = demandMarked
	}
	w.attempt = attempt
	return true
}

// Add implements history.Tap: it keeps an event of the inference. It skips the
// events that announce complete arguments or a complete turn: the commit, which
// comes next, has them.
func (w *Writer) Add(event core.Event, at position.Position) {
	switch event.Type {
	case core.EventStepRestarted, // the next fence announces that
		core.EventTextAnnotations, core.EventToolCallReady, core.EventInferenceComplete, core.EventInferenceFailed:
		return
	}
	if w.took(event, at) && w.source.Said != nil {
		w.source.Said(w.key)
	}
}

// took is Add under the lock. It reports whether there is something new to hear.
func (w *Writer) took(event core.Event, at position.Position) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return false
	}
	if w.put(event, at); w.kept > chunkKeep {
		w.giveUp(core.Errorf(core.CodeTooLarge, "%d bytes were said, at most %d are kept", w.kept, chunkKeep))
		return false
	}
	switch event.Type {
	case core.EventStepStart, core.EventPrefixChanged, core.EventContextCompacted, core.EventContextSkipped: // they go with the words
		return false
	}
	first := w.since.IsZero()
	if first {
		w.since = w.source.Env.Now()
	}
	if w.wanted() {
		w.begin()
		if first || w.size >= chunkSize {
			w.wake()
		}
	}
	return true
}

// wanted reports whether the words are to be stored now; the caller holds mu.
func (w *Writer) wanted() bool {
	return !w.over && (w.demand == demandAlways || w.demand == demandMarked && w.source.Env.Millis() < w.until)
}

// begin starts the concurrent function, once; the caller holds mu.
func (w *Writer) begin() {
	if !w.running {
		w.running = true
		w.group.Go(w.write)
	}
}

// wake ends the wait of the concurrent function; the caller holds mu.
func (w *Writer) wake() {
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// write stores one chunk after the other until the context ends. A chunk that could not be
// stored goes out again with the same bytes: its first try may have arrived.
func (w *Writer) write(ctx context.Context) error {
	for failures := 0; ctx.Err() == nil; {
		record, wait, changed := w.due()
		if changed != nil {
			w.pause(ctx, wait, changed)
			continue
		}
		if record == nil {
			return nil
		}
		err := env.Protect(func() error { return w.source.Store.Put(ctx, w.key, *record) })
		switch {
		case ctx.Err() != nil:
		case err == nil:
			failures = 0
			w.stored(record)
		default:
			if failures++; failures == chunkFailures || refused(err) {
				w.failed(err)
				return nil
			}
			_ = w.source.Env.Sleep(ctx, chunkTime) // which ends early with ctx
		}
	}
	return nil
}

// pause waits for news, or for as long as given; 0: for news alone.
func (w *Writer) pause(ctx context.Context, d time.Duration, changed <-chan struct{}) {
	if d > 0 {
		within, cancel := w.source.Env.WithTimeout(ctx, d)
		defer cancel()
		ctx = within
	}
	_ = w.source.Env.Wait(ctx, changed)
}

// due returns the chunk to store next. If there is none yet, it returns the channel
// that is closed when there may be one, and the time to wait for that; 0: without
// limit. None of them: nothing will be stored any more.
func (w *Writer) due() (record *store.Record, wait time.Duration, changed <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || w.writing != nil { // a started chunk is completed, also when no client follows any more
		return w.writing, 0, nil
	}
	asked := w.wanted() && !w.since.IsZero()
	if asked {
		wait = w.since.Add(chunkTime).Sub(w.source.Env.Now())
	}
	if !asked || w.size < chunkSize && wait > 0 {
		if w.changed == nil {
			w.changed = make(chan struct{})
		}
		return nil, wait, w.changed
	}
	if err := w.cutNext(); err != nil {
		w.giveUp(err)
	}
	return w.writing, 0, nil
}

// cutNext makes the next chunk of what no chunk has; the caller holds mu.
func (w *Writer) cutNext() error {
	var stored chunkRecord
	size := 0
	for _, p := range w.pieces[w.cut:] {
		if size+int(p.size) > chunkMost && size > 0 {
			break
		}
		size += int(p.size)
		e := chunkEvent{Event: p.event()}
		e.Delta = string(w.texts[p.begin : p.begin+p.delta])
		if !utf8.ValidString(e.Delta) { // JSON would make something else of it
			return core.Errorf(core.CodeInvalid, "a piece of %s is not UTF-8", e.Type)
		}
		if p.at.kind != 0 {
			e.At = w.attempt.position(p.at).String()[len(w.attempt.before()):]
		}
		stored.Events = append(stored.Events, e)
	}
	payload, err := w.source.Records.Encode("event chunk", &stored)
	if err != nil {
		return err
	}
	w.cut, w.size = w.cut+len(stored.Events), w.size-size
	if w.cut == len(w.pieces) {
		w.since = time.Time{} // else the rest is as old, and due
	}
	w.writing = &store.Record{
		Name: recordname.Chunk(w.attempt.Prefix(), w.next), Payload: payload,
		Expires: w.source.Env.Now().Add(chunkLife).Unix(),
	}
	return nil
}

// refused reports whether a write will never succeed.
func refused(err error) bool {
	_, taken := errors.AsType[*store.RefusedError](err)
	return taken || errors.Is(err, store.ErrTooLarge)
}

// stored notes that a chunk is. It may be of an attempt that is void by now.
func (w *Writer) stored(record *store.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.writing == record {
		w.writing = nil
		w.next++
	}
}

// failed is giveUp for a write.
func (w *Writer) failed(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.giveUp(err)
}

// giveUp keeps and stores nothing of the turn any more. The caller holds mu.
func (w *Writer) giveUp(err error) {
	w.over, w.cause = true, err
	w.forget()
}

// forget drops the words; the caller holds mu.
func (w *Writer) forget() {
	w.pieces, w.texts, w.kept, w.size = nil, nil, 0, 0
	w.cut, w.since, w.writing = 0, time.Time{}, nil
}

// Restart implements history.Tap: it starts the next attempt, under another fence.
func (w *Writer) Restart(fence uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.attempt.Fence, w.next = fence, 0
	w.forget()
}

// End makes the Writer keep and store nothing any more: the turn is committed, or void. A
// write under way continues until the step is over. Before Start it does nothing: there is
// no turn, and marks are still looked for.
func (w *Writer) End() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.attempt == (Attempt{}) {
		return
	}
	w.over = true
	w.forget()
	w.wake()
}

// Err is why the turn's events were no longer stored; nil: they were. It is called when
// the step's work is over.
func (w *Writer) Err() error { return w.cause }
