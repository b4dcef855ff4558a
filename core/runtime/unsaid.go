package runtime

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// What a follower shows of a turn before its commit. Another process infers it and
// stores what the model says as event chunks (see core/run/chunk.go). Each follower
// lists what is new of them on an interval, as long as the head says that its run is
// inferred, and only those of the claim that the head has.
//
// The log tells the turn again. What the reader has of it then is left out or cut, by
// the positions; where the log, or another claim's chunks, have another attempt, the
// reader is told first that the step was restarted. Nothing is said before that: a
// claim may take another fence, or be lost, behind an inference that is committed.

// unsaid is what a follower has shown of turns that the log did not have.
type unsaid struct {
	attempt run.Attempt // whose chunks are read
	next    int         // number of the next chunk
	deaf    bool        // they cannot be read
	failed  bool        // the last list of them could not be
	last    core.Position
}

// chunksAtOnce is how many chunks one read brings at most.
const chunksAtOnce = 32

// emit is the run.Sink of what follows from the log and from chunks: it shows what the
// reader does not have.
func (f *follower) emit(e core.Event) error {
	had := f.unsaid.last
	if had.Run.IsZero() || e.Position == "" {
		return f.audience.emit(e)
	}
	at, err := core.ParsePosition(e.Position)
	if err != nil { // cannot be: an emitter has made it
		return f.audience.emit(e)
	}
	if at.Voids(had) {
		f.unsaid.last = core.Position{}
		_ = f.audience.emit(core.Event{Type: core.EventStepRestarted, RunID: e.RunID, Step: e.Step}) // it remembers who is gone
		return f.audience.emit(e)
	}
	e, ok := e.Behind(at, had)
	if !ok {
		return f.audience.gone
	}
	return f.audience.emit(e)
}

// showUnsaid shows what is stored of an attempt of its run. Chunks that cannot be read
// stop nobody: the log has the turn when it is committed.
func (f *follower) showUnsaid(ctx context.Context, attempt run.Attempt) error {
	u := &f.unsaid
	if attempt != u.attempt {
		u.attempt, u.next, u.deaf, u.failed = attempt, 0, false, false
	}
	for !u.deaf {
		after := ""
		if u.next > 0 {
			after = store.ChunkName(attempt.Prefix(), u.next-1)
		}
		found, err := f.store.Records(ctx, f.key, attempt.Prefix(), after, chunksAtOnce)
		if err != nil {
			if ctx.Err() == nil && !u.failed { // one line, however long the store is away
				u.failed = true
				f.log.WarnContext(ctx, "what a model says cannot be read", "tenant", f.key.Tenant, "thread", f.key.Thread, "run", f.run, "error", err)
			}
			return nil
		}
		u.failed = false
		for _, chunk := range found {
			if chunk.Name != store.ChunkName(attempt.Prefix(), u.next) { // the list lags, and the one before comes later
				return nil
			}
			if err := f.showChunk(ctx, chunk); err != nil {
				return err
			}
		}
		if len(found) < chunksAtOnce {
			return nil
		}
	}
	return nil
}

// showChunk shows the next chunk.
func (f *follower) showChunk(ctx context.Context, chunk store.Record) error {
	u := &f.unsaid
	if u.deaf {
		return nil
	}
	events, err := u.attempt.Events(f.records, chunk)
	if err != nil {
		u.deaf = true
		f.log.WarnContext(ctx, "what a model says cannot be read before it is committed",
			"tenant", f.key.Tenant, "thread", f.key.Thread, "run", f.run, "error", err)
		return nil
	}
	if err := f.ready(ctx); err != nil {
		return err
	}
	for _, e := range events {
		if err := f.emit(e); err != nil {
			return err
		}
		if at, err := core.ParsePosition(e.Position); err == nil {
			u.last = at
		}
	}
	u.next++
	return nil
}

// afterUnsaid is watch.after for a follower that shows meanwhile what is said under the
// head that it has seen.
func (f *follower) afterUnsaid(ctx context.Context, watch *watch, seen thread.Head) (thread.Head, error) {
	for {
		attempt, ok := run.AttemptOf(seen)
		if !ok || attempt.Run != f.run {
			return watch.after(ctx, seen)
		}
		if err := f.showUnsaid(ctx, attempt); err != nil {
			return seen, err
		}
		within, cancel := f.env.WithTimeout(ctx, f.chunkEvery)
		head, err := watch.after(within, seen)
		over := within.Err() != nil
		cancel()
		if err == nil || !over || ctx.Err() != nil {
			return head, err
		}
	}
}
