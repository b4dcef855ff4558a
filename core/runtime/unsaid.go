package runtime

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// What a follower shows of a turn before its commit. Where a step of this process infers
// it, the follower is told of each word. Where another process does, the follower asks it
// by a mark (mark.go) to store what the model says as event chunks (see
// core/run/chunk.go), and lists what is new of them on an interval, as long as the head
// says that its run is inferred, and only those of the claim that the head has.
//
// The log tells the turn again. What the reader has of it then is left out or cut, by
// the positions; where the log, or another claim's chunks, have another attempt, the
// reader is told first that the step was restarted. Nothing is said before that: a
// claim may take another fence, or be lost, behind an inference that is committed.

// unsaid is what a follower has shown of turns that the log did not have.
type unsaid struct {
	hearing run.Hearing // of an attempt that this process makes
	marked  int64       // until when the run is marked, as far as is known, unix milliseconds
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
	u.next++
	return f.showSaid(events)
}

// showSaid shows events of an attempt that is not committed.
func (f *follower) showSaid(events []core.Event) error {
	for _, e := range events {
		if err := f.emit(e); err != nil {
			return err
		}
		at, err := core.ParsePosition(e.Position)
		// What is stored lags behind what was heard: it takes nothing back.
		if had := f.unsaid.last; err == nil && (had.Run.IsZero() || at.Compare(had) > 0) {
			f.unsaid.last = at
		}
	}
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
		spoken := watch.spoken() // before it is heard: what is said meanwhile ends the wait
		here, err := f.hear(ctx, attempt)
		if err != nil {
			return seen, err
		}
		var head thread.Head
		if here {
			head, err = watch.afterWords(ctx, seen, spoken)
		} else {
			head, err = f.afterChunks(ctx, watch, seen, spoken, attempt)
		}
		if err != nil || head.Version != seen.Version || head.Incarnation != seen.Incarnation {
			return head, err
		}
	}
}

// hear shows what a step of this process says; here is false when none makes the attempt.
func (f *follower) hear(ctx context.Context, attempt run.Attempt) (here bool, err error) {
	if f.unsaid.hearing.Attempt != attempt {
		f.unsaid.hearing = run.Hearing{Attempt: attempt}
	}
	events, here := f.stepper.Hear(f.key, &f.unsaid.hearing)
	if len(events) == 0 {
		return here, nil
	}
	if err := f.ready(ctx); err != nil {
		return here, err
	}
	return here, f.showSaid(events)
}

// afterChunks shows what another process has stored, and returns the head that the watch
// knows a little later.
func (f *follower) afterChunks(ctx context.Context, watch *watch, seen thread.Head, spoken uint64, attempt run.Attempt) (thread.Head, error) {
	late := f.unsaid.attempt == attempt
	if err := f.showUnsaid(ctx, attempt); err != nil {
		return seen, err
	}
	if late || seen.Claim.Worker != f.worker { // else a step of this process is about to begin
		f.ask(ctx, seen)
	}
	within, cancel := f.env.WithTimeout(ctx, f.chunkEvery)
	defer cancel()
	head, err := watch.afterWords(within, seen, spoken) // or until a step of this process says the first of it
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return seen, nil
	}
	return head, err
}
