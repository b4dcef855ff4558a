package host

import (
	"context"
	"log/slog"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run/live"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// unsaid shows a stream what a model says of a turn before the turn is committed. If a
// step of this process infers the turn, unsaid hears each word of it. If another process
// does, unsaid asks that process by a mark (demand.go) to store what the model says as
// event chunks (core/internal/run/live/writer.go), and lists new chunks on an interval, while
// the run is inferred according to the head, and only the chunks of the head's claim.
//
// The log repeats the turn. stream.emit omits or cuts what the reader has of it, by the
// positions. If the log, or the chunks of another claim, have another attempt, it first
// emits step_restarted. It does not before: a claim may take another fence, or be lost,
// after an inference that is committed.
type unsaid struct {
	env     *env.Env
	log     *slog.Logger
	key     core.ThreadKey
	run     core.ID
	stream  *stream
	source  source
	demand  demand
	records thread.Records
	worker  string        // of this process, in claims
	every   time.Duration // between two lists of chunks
	// listen returns what a step of this process has said since the hearing; here is false
	// if no step of this process makes the attempt.
	listen func(core.ThreadKey, *live.Hearing) (said []core.Event, here bool)

	// others makes news of other threads end a wait too: words that the watch counts after
	// since, which was counted before the last look at those threads. See descendants.
	others bool
	since  uint64

	// The words that were heard or read so far, of the attempt under way.

	hearing live.Hearing // of an attempt that this process makes
	attempt live.Attempt // whose chunks are read
	next    int          // number of the next chunk
	deaf    bool         // a chunk cannot be decoded: the attempt is shown from its commit
	failed  bool         // the last list failed
}

// once shows the model's words under the head that was seen, and waits once: for another head,
// for words, or until its second context ends, which is not an error and must end with the
// first. It returns the head that was seen if there is no other. agent is the run's: its spec
// may decide which events are stored.
func (u *unsaid) once(ctx, until context.Context, watch *watch, seen thread.Head, agent string) (head thread.Head, err error) {
	attempt, ok := live.AttemptOf(seen)
	switch {
	case ok && attempt.Run == u.run:
		spoken := u.since // before it is heard: later words end the wait
		if !u.others {
			spoken = watch.spoken()
		}
		here, failed := u.hear(ctx, attempt)
		if failed != nil {
			return seen, failed
		}
		// A step of this process ends the wait with each word, another process's after the
		// interval at the latest.
		if here {
			head, err = watch.afterWords(until, seen, spoken)
		} else {
			head, err = u.afterChunks(ctx, until, watch, seen, spoken, attempt, agent)
		}
	case seen.Run.ID == u.run && seen.FailingSince() != 0:
		head, err = u.afterPause(ctx, until, watch, seen, agent)
	default:
		head, err = u.afterNews(until, watch, seen)
	}
	if err != nil && until.Err() != nil && ctx.Err() == nil {
		return seen, nil
	}
	return head, err
}

// afterPause asks the process that calls the failing model next to count a stream, and returns
// the head that the watch knows when the mark is to be renewed.
func (u *unsaid) afterPause(ctx, until context.Context, watch *watch, seen thread.Head, agent string) (thread.Head, error) {
	u.demand.ask(ctx, seen, agent)
	within, cancel := u.env.WithTimeout(until, renewMark)
	defer cancel()
	head, err := u.afterNews(within, watch, seen)
	if err != nil && within.Err() != nil && until.Err() == nil {
		return seen, nil
	}
	return head, err
}

// afterNews waits for another head, or for news of other threads.
func (u *unsaid) afterNews(ctx context.Context, watch *watch, seen thread.Head) (thread.Head, error) {
	if u.others {
		return watch.afterWords(ctx, seen, u.since)
	}
	return watch.after(ctx, seen)
}

// now shows what is said under a head, without waiting for more. It reads the chunks of another
// process. speaks is false if nothing is said under the head.
func (u *unsaid) now(ctx context.Context, seen thread.Head, agent string) (speaks bool, err error) {
	attempt, ok := live.AttemptOf(seen)
	if seen.Run.ID == u.run && seen.FailingSince() != 0 {
		u.demand.ask(ctx, seen, agent)
	}
	if !ok || attempt.Run != u.run {
		return false, nil
	}
	here, err := u.hear(ctx, attempt)
	if err == nil && !here {
		err = u.chunksNow(ctx, seen, attempt, agent)
	}
	return true, err
}

// hear shows what a step of this process says; here is false if none makes the attempt.
func (u *unsaid) hear(ctx context.Context, attempt live.Attempt) (here bool, err error) {
	if u.hearing.Attempt != attempt {
		u.hearing = live.Hearing{Attempt: attempt}
	}
	events, here := u.listen(u.key, &u.hearing)
	if len(events) == 0 {
		return here, nil
	}
	if err := u.stream.ready(ctx); err != nil {
		return here, err
	}
	return here, u.stream.showUnsaid(events)
}

// afterChunks shows what another process has stored, and returns the head that the watch
// knows one interval later.
func (u *unsaid) afterChunks(ctx, until context.Context, watch *watch, seen thread.Head, spoken uint64, attempt live.Attempt, agent string) (thread.Head, error) {
	if err := u.chunksNow(ctx, seen, attempt, agent); err != nil {
		return seen, err
	}
	within, cancel := u.env.WithTimeout(until, u.every)
	defer cancel()
	head, err := watch.afterWords(within, seen, spoken) // or until a step of this process says its first word
	if err != nil && within.Err() != nil && until.Err() == nil {
		return seen, nil
	}
	return head, err
}

// chunksNow shows what another process has stored, and asks it for more.
func (u *unsaid) chunksNow(ctx context.Context, seen thread.Head, attempt live.Attempt, agent string) error {
	// In the first look at an attempt of this process's own claim, the step has not started
	// to speak: a mark would make it store chunks that its followers here do not need.
	late := u.attempt == attempt
	if err := u.showChunks(ctx, attempt); err != nil {
		return err
	}
	if late || seen.Claim.Worker != u.worker { // else a step of this process is about to start
		u.demand.ask(ctx, seen, agent)
	}
	return nil
}

// showChunks shows the stored chunks of an attempt. A failed read ends no stream: the log has
// the turn when it is committed.
func (u *unsaid) showChunks(ctx context.Context, attempt live.Attempt) error {
	if attempt != u.attempt {
		u.attempt, u.next, u.deaf, u.failed = attempt, 0, false, false
	}
	// Pages of chunks, until one has room left.
	for !u.deaf {
		after := ""
		if u.next > 0 {
			after = recordname.Chunk(attempt.Prefix(), u.next-1)
		}
		found, err := u.source.Chunks(ctx, attempt.Prefix(), after)
		if err != nil {
			if ctx.Err() == nil && !u.failed { // one line, however long the store is away
				u.failed = true
				u.log.WarnContext(ctx, "event chunks cannot be read", "tenant", u.key.Tenant, "thread", u.key.Thread, "run", u.run, "error", err)
			}
			return nil
		}
		u.failed = false
		for _, chunk := range found {
			if chunk.Name != recordname.Chunk(attempt.Prefix(), u.next) { // the list lags: the missing chunk will appear in a later list
				return nil
			}
			if err := u.showChunk(ctx, chunk); err != nil {
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
func (u *unsaid) showChunk(ctx context.Context, chunk store.Record) error {
	events, err := u.attempt.Events(u.records, chunk)
	if err != nil {
		u.deaf = true
		u.log.WarnContext(ctx, "live events cannot be read",
			"tenant", u.key.Tenant, "thread", u.key.Thread, "run", u.run, "error", err)
		return nil
	}
	if err := u.stream.ready(ctx); err != nil {
		return err
	}
	u.next++
	return u.stream.showUnsaid(events)
}
