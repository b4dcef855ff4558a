package compaction

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/pins"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run/checkpoint"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/window"
	"github.com/reveille-run/reveille/core/store"
)

// job is a summary on its way.
type job struct {
	m           *Maker
	key         core.ThreadKey
	run         core.ID // whose turn asks for it
	upTo        uint64  // 0: none is requested
	incarnation uint64  // of the thread
	before      *checkpoint.Summary
	said        *thread.Member // of its pool that said the turn; nil: it has none
	agent       *registry.Resolved
	model       *registry.BoundModel
}

// outcome is an error after which another attempt may succeed; any other error is
// logged.
func (j *job) outcome(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case core.CodeOf(err) == core.CodeCorrupt, core.CodeOf(err) == core.CodeSchema, core.CodeOf(err) == core.CodeTooLarge:
		j.complain(ctx, err)
		return nil
	}
	return fmt.Errorf("compact %s: %w", j.key, err)
}

// complain logs why there is no summary.
func (j *job) complain(ctx context.Context, err error) {
	j.m.o.Log.WarnContext(ctx, "no summary made, older messages omitted", append([]any{
		"tenant", j.key.Tenant, "thread", j.key.Thread, "run", j.run, "up_to", j.upTo}, env.ErrorAttrs(err)...)...)
}

// find looks for what the newest turn asks for, and whether it is there already.
func (j *job) find(ctx context.Context, head *thread.Head) error {
	turn, err := j.newestTurn(ctx, head.Seq)
	if err != nil || turn == nil || turn.Window == nil || turn.Window.Compact <= head.Summary || turn.Window.Compact >= head.Seq {
		return err
	}
	_, ok, err := j.m.o.Store.Get(ctx, j.key, recordname.Summary(turn.Window.Compact))
	if err != nil || ok {
		return err
	}
	if head.Summary > 0 {
		if j.before, err = j.m.o.Reader.ReadSummary(ctx, j.key, head.Summary); err != nil {
			return err
		}
	}
	j.run, j.upTo, j.said = turn.Run, turn.Window.Compact, turn.Member
	return nil
}

// newestTurn returns the record of the newest turn that counts; nil: no turn.
func (j *job) newestTurn(ctx context.Context, seq uint64) (turn *thread.Entry, err error) {
	err = j.backwards(ctx, 1, seq, func(_ uint64, e *thread.Entry) bool {
		if e.Message != nil && e.Message.Role == core.RoleAssistant {
			turn = e
		}
		return turn == nil
	})
	return turn, err
}

// backwardsPage is how many records are read at a time if the number of records
// needed is unknown.
const backwardsPage = 16

// backwards passes the log's records to a function, newest first and without the
// superseded ones, until it returns false.
func (j *job) backwards(ctx context.Context, from, to uint64, each func(seq uint64, e *thread.Entry) bool) error {
	skip := uint64(0) // records from here on were superseded; 0: none
	for next := to; next >= from; {
		first := max(from, next-min(next-1, backwardsPage-1))
		for record, err := range j.m.o.Store.LogBackwards(ctx, j.key, first, next) {
			if err != nil {
				return fmt.Errorf("read log of %s: %w", j.key, err)
			}
			if next < first || record.Name != store.LogName(next) {
				return fmt.Errorf("log of %s: found %s where sequence %d belongs: %w", j.key, record.Name, next, store.ErrCorrupt)
			}
			entry, err := j.m.o.Records.DecodeEntry(record.Payload)
			if err != nil {
				return fmt.Errorf("log of %s at %d: %w", j.key, next, err)
			}
			seq := next
			next--
			if skip != 0 && seq >= skip {
				continue
			}
			skip = 0
			if entry.Superseded != nil {
				skip = entry.Superseded.From
			}
			if !each(seq, &entry) {
				return nil
			}
		}
		if next >= first {
			return fmt.Errorf("log of %s has nothing at %d: %w", j.key, next, store.ErrCorrupt)
		}
	}
	return nil
}

// resolve finds the agent that the run is pinned to. Without it, or where it compacts
// otherwise, there is no summary.
func (j *job) resolve(ctx context.Context) (ok bool, err error) {
	record, ok, err := j.m.o.Store.Get(ctx, j.key, recordname.Run(j.run))
	if err != nil || !ok {
		return false, err
	}
	run, err := j.m.o.Records.DecodeRun(record.Payload)
	if err != nil {
		return false, err
	}
	found, err := j.m.o.Agents.Resolve(ctx, run.AgentID, run.Resolution)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, pins.ErrStore) {
			j.complain(ctx, err)
			return false, nil
		}
		return false, err
	}
	j.agent, j.model = found, j.memberOf(found)
	return ModeOf(found) == Background, nil
}

// memberOf is the model that makes the summary: of a pool the member that has said the
// newest turn, or else the home. Where its circuit is open and the pool leaves such, it is
// the first member of the others whose circuit lets a call through.
func (j *job) memberOf(a *registry.Resolved) *registry.BoundModel {
	pool := a.Pool()
	if pool == nil {
		return a.ModelOf(j.key, j.run)
	}
	order := pool.Order(j.key, j.run)
	if j.said != nil && j.said.Pool == pool.ID {
		if m := pool.Member(j.said.Model); m != nil {
			order = append([]*registry.BoundModel{m}, order...)
		}
	}
	if pool.Switch.LeavesOpen() {
		for _, m := range order {
			if j.m.o.Circuits.Wait(m, m.Name) == 0 {
				return m
			}
		}
	}
	return order[0]
}

// read reads the messages for the summary, from its end backwards, as many as fit
// into the model's request.
func (j *job) read(ctx context.Context) (window.History, error) {
	var h window.History
	from, room := uint64(1), j.room()
	if j.before != nil {
		from = j.before.UpTo + 1
	}
	err := j.backwards(ctx, from, j.upTo, func(seq uint64, e *thread.Entry) bool {
		if e.Message == nil {
			return true
		}
		full := room < 0 // one message more than there is room for tells that there are more
		h.Messages, h.Places = append(h.Messages, *e.Message), append(h.Places, window.Place{Sequence: seq})
		room -= window.TranscriptSize(e.Message)
		return !full
	})
	slices.Reverse(h.Messages)
	slices.Reverse(h.Places)
	return h, err
}

// put stores the summary, once: a record that exists already is another's, which
// counts. It returns the one that does.
func (j *job) put(ctx context.Context, made *thread.Summary) (*checkpoint.Summary, error) {
	payload, err := j.m.o.Records.EncodeSummary(j.upTo, made)
	if err != nil {
		return nil, err
	}
	err = j.m.o.Store.Put(ctx, j.key, store.Record{Name: recordname.Summary(j.upTo), Payload: payload})
	if core.CodeOf(err) == core.CodeConflict {
		return j.m.o.Reader.FindSummary(ctx, j.key, j.upTo) // it may be one that has a reason in place of a text
	}
	if err != nil {
		return nil, fmt.Errorf("put summary: %w", err)
	}
	return checkpoint.NewSummary(j.m.o.Records, j.upTo, made, payload)
}
