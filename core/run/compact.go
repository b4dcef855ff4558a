package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/run/checkpoint"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
	"github.com/reveille-run/reveille/core/window"
)

// A summary stands for the messages of a thread up to a closed turn. Who makes it and
// who uses it need not know of each other:
//
//   - A step over the agent's threshold names the turn, its target, in the record of its
//     own turn (core.Window.Compact), and asks for the summary after the commit.
//   - Whoever gets that hint makes the summary and puts it, once (Z#<target>). It holds no
//     claim: the run goes on meanwhile, and two who make one do no harm, since the record
//     of the first stays. A hint that is lost costs the summary, until a later step names
//     another target.
//   - The steps that follow look for the record, one read each. The first that finds it
//     begins with it, and its commit puts it in force: the head names it then, and every
//     later reader begins with it.
//
// With inline compaction the step does all three by itself, before its inference.
//
// What is in force is the head's to say, and only a commit that takes back a part of
// what the summary covers makes it fall: to its newest predecessor that ends before
// that. A record that was made behind another predecessor than the one in force is
// stale. Targets stand in turn records, so that the target of a turn that was taken back
// is gone with it.

// compactAgain is how many log records must have come behind a target that came to
// nothing, or has not come yet, until a step names another one.
const compactAgain = 32

// leastCompacted is which part of the threshold the messages must cost of which a summary
// is made: less is not worth a call of the model, nor that the provider reads all that
// follows anew.
const leastCompacted = 4

// Compact makes the summary that a thread's newest turn asks for. It does nothing where
// none is asked for, or there is one already: hints may be late, doubled or forged. It
// holds no claim. A summary that comes to nothing is a line in the log; the error is the
// store's, or the end of the context, and the hint is worth another try.
func (s *Stepper) Compact(ctx context.Context, key core.ThreadKey) error {
	head, err := s.committer.Head(ctx, key)
	if err != nil {
		return fmt.Errorf("compact %s: %w", key, err)
	}
	if !head.Exists() || head.Deleted || head.Seq == 0 {
		return nil
	}
	ctx = core.WithIdentity(ctx, core.Identity{Tenant: key.Tenant, User: head.Owner})
	c := &compaction{Stepper: s, key: key}
	if err := c.find(ctx, &head); err != nil || c.upTo == 0 {
		return c.give(ctx, err)
	}
	if ok, err := c.resolve(ctx); err != nil || !ok {
		return c.give(ctx, err)
	}
	history, err := c.read(ctx)
	if err != nil {
		return c.give(ctx, err)
	}
	made, err := c.make(ctx, history)
	if err != nil || made == nil {
		return c.give(ctx, err)
	}
	_, err = c.put(ctx, made)
	return c.give(ctx, err)
}

// compaction is a summary on its way.
type compaction struct {
	*Stepper
	key    core.ThreadKey
	run    core.ID // whose turn asks for it
	upTo   uint64  // 0: nobody asks for one
	before *checkpoint.Summary
	said   *thread.Member // of its pool that said the turn; nil: it has none
	agent  *agent.Resolved
	model  *agent.BoundModel
}

// give returns an error that is worth another try, and logs what no other try mends.
func (c *compaction) give(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case core.CodeOf(err) == core.CodeCorrupt, core.CodeOf(err) == core.CodeSchema, core.CodeOf(err) == core.CodeTooLarge:
		c.complain(ctx, err)
		return nil
	}
	return fmt.Errorf("compact %s: %w", c.key, err)
}

// complain logs why there is no summary.
func (c *compaction) complain(ctx context.Context, err error) {
	c.log.WarnContext(ctx, "no summary is made, what is older is left out instead", append([]any{
		"tenant", c.key.Tenant, "thread", c.key.Thread, "run", c.run, "up_to", c.upTo}, failure(err)...)...)
}

// find looks for what the newest turn asks for, and whether it is there already.
func (c *compaction) find(ctx context.Context, head *thread.Head) error {
	turn, err := c.newestTurn(ctx, head.Seq)
	if err != nil || turn == nil || turn.Window == nil || turn.Window.Compact <= head.Summary || turn.Window.Compact >= head.Seq {
		return err
	}
	_, ok, err := c.store.Get(ctx, c.key, store.SummaryName(turn.Window.Compact))
	if err != nil || ok {
		return err
	}
	if head.Summary > 0 {
		if c.before, err = c.reader.ReadSummary(ctx, c.key, head.Summary); err != nil {
			return err
		}
	}
	c.run, c.upTo, c.said = turn.Run, turn.Window.Compact, turn.Member
	return nil
}

// newestTurn returns the record of the newest turn that counts; nil: there is none.
func (c *compaction) newestTurn(ctx context.Context, seq uint64) (turn *thread.Entry, err error) {
	err = c.backwards(ctx, 1, seq, func(_ uint64, e *thread.Entry) bool {
		if e.Message != nil && e.Message.Role == core.RoleAssistant {
			turn = e
		}
		return turn == nil
	})
	return turn, err
}

// backwardsPage is how many records are read at once where nobody knows how many are
// needed.
const backwardsPage = 16

// backwards hands the log's records to a function, newest first, but for those that were
// taken back, until it returns false.
func (c *compaction) backwards(ctx context.Context, from, to uint64, each func(seq uint64, e *thread.Entry) bool) error {
	skip := uint64(0) // records from here on were taken back; 0: none
	for next := to; next >= from; {
		first := max(from, next-min(next-1, backwardsPage-1))
		for record, err := range c.store.LogBackwards(ctx, c.key, first, next) {
			if err != nil {
				return fmt.Errorf("read log of %s: %w", c.key, err)
			}
			if next < first || record.Name != store.LogName(next) {
				return fmt.Errorf("log of %s: found %s where sequence %d belongs: %w", c.key, record.Name, next, store.ErrCorrupt)
			}
			entry, err := c.records.DecodeEntry(record.Payload)
			if err != nil {
				return fmt.Errorf("log of %s at %d: %w", c.key, next, err)
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
			return fmt.Errorf("log of %s has nothing at %d: %w", c.key, next, store.ErrCorrupt)
		}
	}
	return nil
}

// resolve finds the agent that the run is pinned to. Without it, or where it compacts
// otherwise, there is no summary.
func (c *compaction) resolve(ctx context.Context) (ok bool, err error) {
	record, ok, err := c.store.Get(ctx, c.key, store.RunName(c.run))
	if err != nil || !ok {
		return false, err
	}
	run, err := c.records.DecodeRun(record.Payload)
	if err != nil {
		return false, err
	}
	found, err := c.agents.Resolve(ctx, run.AgentID, run.Resolution)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, agent.ErrStore) {
			c.complain(ctx, err)
			return false, nil
		}
		return false, err
	}
	c.agent, c.model = found, c.memberOf(found)
	return compactionOf(found) == agent.CompactBackground, nil
}

// memberOf is the model that makes the summary: of a pool the member that has said the
// newest turn, or else the home. Where its circuit is open and the pool leaves such, it is
// the first member of the others whose circuit lets a call through.
func (c *compaction) memberOf(a *agent.Resolved) *agent.BoundModel {
	pool := a.Pool()
	if pool == nil {
		return a.ModelOf(c.key, c.run)
	}
	order := pool.Order(c.key, c.run)
	if c.said != nil && c.said.Pool == pool.ID {
		if m := pool.Member(c.said.Model); m != nil {
			order = append([]*agent.BoundModel{m}, order...)
		}
	}
	if pool.Switch.LeavesOpen() {
		for _, m := range order {
			if c.circuits.Wait(m, m.Name) == 0 {
				return m
			}
		}
	}
	return order[0]
}

// compactionOf is how an agent compacts.
func compactionOf(a *agent.Resolved) agent.Compaction {
	if a.Spec.Context == nil {
		return agent.CompactOff
	}
	return a.Spec.Context.WithDefaults().Compaction
}

// read reads the messages that the summary is made of, from its end backwards, as many
// as the model has room for.
func (c *compaction) read(ctx context.Context) (window.History, error) {
	var h window.History
	from, room := uint64(1), c.room()
	if c.before != nil {
		from = c.before.UpTo + 1
	}
	err := c.backwards(ctx, from, c.upTo, func(seq uint64, e *thread.Entry) bool {
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

// put stores the summary, once: what stands there already is another's, which counts.
// It returns the one that does.
func (c *compaction) put(ctx context.Context, made *thread.Summary) (*checkpoint.Summary, error) {
	payload, err := c.records.EncodeSummary(c.upTo, made)
	if err != nil {
		return nil, err
	}
	err = c.store.Put(ctx, c.key, store.Record{Name: store.SummaryName(c.upTo), Payload: payload})
	if core.CodeOf(err) == core.CodeConflict {
		return c.reader.FindSummary(ctx, c.key, c.upTo) // it may be one that says why there is none
	}
	if err != nil {
		return nil, fmt.Errorf("put summary: %w", err)
	}
	return checkpoint.NewSummary(c.records, c.upTo, made, payload)
}
