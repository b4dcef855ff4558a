package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/pins"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
)

// Options describes the present code. Agents is required.
type Options struct {
	Agents  *registry.Registry
	Stops   []agent.StopPolicy // of every run, as a runtime has them
	Window  int                // as of run.Options
	Records thread.Records     // the schemas that the records may have
	// Profiles are the values outside of threads; nil: none. Hooks read the present values
	// there, not those of the recording.
	Profiles func(tenant string) state.Profiles
}

func (o Options) complete() (Options, error) {
	if o.Agents == nil {
		return o, core.Errorf(core.CodeInvalid, "replay: Agents is required")
	}
	return o, nil
}

// Thread replays the runs of a thread in the order of its log, or one of them (only; zero:
// all), and returns a report for each. It reads from and writes nothing there. The error
// means that the thread cannot be read, with code not_found when it, or the run, does not
// exist.
func (o Options) Thread(ctx context.Context, from store.Backend, key core.ThreadKey, only core.ID) ([]Report, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	head, err := from.Head(ctx, key)
	if err == nil && (!head.Exists() || head.Deleted) {
		err = thread.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("replay thread %s: %w", key, err)
	}
	runs, err := o.readThread(ctx, from, key, head)
	if err != nil {
		return nil, fmt.Errorf("replay thread %s: %w", key, err)
	}
	summed, err := o.readSummaries(ctx, from, key, runs)
	if err != nil {
		return nil, fmt.Errorf("replay thread %s: %w", key, err)
	}
	p := player{options: o, owner: head.Owner, summed: summed, pins: pins.New(o.Agents, from)}
	var reports []Report
	for _, r := range runs {
		if only.IsZero() || only == r.record.ID {
			reports = append(reports, p.replay(ctx, r))
			if err := ctx.Err(); err != nil {
				return reports, err
			}
		} else {
			p.on = nil
		}
		p.before = append(p.before, r.entries...)
	}
	if len(reports) == 0 && !only.IsZero() {
		return nil, fmt.Errorf("run %s in the log of thread %s: %w", only, key, thread.ErrNotFound)
	}
	return reports, nil
}

// player replays the runs of one thread, one after the other.
type player struct {
	options  Options
	pins     *pins.Pins // resolves agents as they were, where the store has kept them
	owner    string
	summed   summaries
	before   []thread.Entry // the log before the run
	inherits bool           // the thread is a fork
	copied   bool           // the thread is a fork that was made with the summary that the run first begins under
	on       store.Backend  // has the thread up to there, as the replay has made it; nil: it is to be made
}

// replay replays a run.
func (p *player) replay(ctx context.Context, r *recording) Report {
	report := Report{Thread: r.key, Run: r.record.ID, Agent: r.record.AgentID, Steps: r.last, Records: len(r.entries)}
	if p.inherits = p.inherits || r.inherited; r.inherited {
		report.Skipped, p.on = "it belongs to the thread that this one was forked from, or its record is lost", nil
		return report
	}
	if report.Skipped = p.resolve(ctx, r); report.Skipped != "" {
		p.on = nil
		return report
	}
	on := p.on
	report.Difference, p.on = p.play(ctx, r, on)
	for n := 1; report.Difference != nil && r.otherwise(n); n++ {
		report.Difference, p.on = p.play(ctx, r, nil)
	}
	if report.Difference != nil && p.mayCopy(r) {
		p.copied = true
		report.Difference, p.on = p.play(ctx, r, nil)
		p.copied = false
	}
	if x := report.Difference; x != nil {
		if x.Where == whereUntold {
			report.Difference, report.Skipped = nil, "a call that waited, or was about to, was cut off, and the records do not have the time"
			return report
		}
		if r.crowded() {
			report.Difference, report.Skipped = nil, "a round had more waiting calls than can wait at a time, and the records do not name those that could"
			return report
		}
		x.Thread, x.Run = r.key, r.record.ID
		// Code that the record decides has the same outcome again, for any content.
		if x.Where == WhereReplay {
			return report
		}
		if again, _ := p.play(ctx, r, nil); again == nil || again.Present != x.Present || again.Seq != x.Seq || again.Field != x.Field {
			x.Unstable = true
		}
	}
	return report
}

// resolve finds the agent that the run had: with the old spec, if that was kept, and the
// present code. It returns the reason if it does not exist; empty: it exists.
func (p *player) resolve(ctx context.Context, r *recording) string {
	id, pin := r.record.AgentID, r.record.Resolution
	var err error
	if pin == "" { // it never reached a step
		r.agent, err = p.options.Agents.Resolve(id)
	} else {
		r.agent, err = p.pins.Resolve(ctx, id, pin)
	}
	switch {
	case err != nil:
		return fmt.Sprintf("agent %q: %v", id, err)
	case r.record.Spend != 0 || r.record.Termination != nil && r.record.Termination.Code == string(core.CodeTenantLimit):
		return "its tenant had limits, which no record contains"
	case r.record.Ending != nil && r.record.Ending.Form != thread.FormWhole:
		return fmt.Sprintf("its end was too large to be stored whole: its form is %s", r.record.Ending.Form)
	case r.record.InRound && r.record.Termination != nil && r.record.Termination.Code == string(core.CodeTooLarge):
		return "it ended with a write of an open round that was too large, and no record has the limit of its store"
	case len(r.own) == 0:
		return "it has no separate input, or its input is not in the log"
	case slices.ContainsFunc(r.entries, refusedInAPool):
		return "a model of its pool refused a request that may have been made for another model"
	case r.lostAtItsStart():
		return "it ended before its first step, after lost claims"
	}
	return ""
}

// refusedInAPool reports whether a turn was shortened in a step that may have called several
// models: the first one's counts decide what was shown before, and no record has which it was.
func refusedInAPool(e thread.Entry) bool {
	return e.Member != nil && e.Window != nil && e.Window.Refused
}

// play plays a run on a store that has what is before it (nil: one is made), and
// returns the first difference, and the store when the next run can go on there.
func (p *player) play(ctx context.Context, r *recording, on store.Backend) (*Difference, store.Backend) {
	fail := func(err error) (*Difference, store.Backend) {
		return &Difference{Where: WhereReplay, Present: err.Error()}, nil
	}
	if on == nil {
		on = memory.New()
	}
	d, err := p.options.newDirector(r, p.owner, on)
	if err != nil {
		return fail(err)
	}
	if on != p.on {
		err := d.lay(ctx, p.before, p.inForce(r))
		if err == nil {
			err = p.summed.lay(ctx, on, r.key)
		}
		if err != nil {
			return fail(fmt.Errorf("prepare the thread before the run: %w", err))
		}
	}
	played := d.play(ctx)
	if d.untold {
		return &Difference{Where: whereUntold}, nil
	}
	x, err := d.compare(ctx, p.before)
	switch {
	case x != nil && (played == nil || x.Present != ""):
		return x, nil
	case played != nil || err != nil:
		return fail(errors.Join(played, err))
	case d.over:
		return nil, nil
	}
	return nil, on
}

// inForce is the summary that was in force when the run began.
func (p *player) inForce(r *recording) uint64 {
	if p.copied {
		return r.summed()
	}
	return p.summed.inForce(p.options.Records, p.before)
}

// mayCopy reports whether the thread may have been made with a summary that no turn
// before the run used: a fork has those of the other thread that cover its messages. No
// record has that.
func (p *player) mayCopy(r *recording) bool {
	upTo := r.summed()
	return p.inherits && upTo <= uint64(len(p.before)) && upTo > p.summed.inForce(p.options.Records, p.before)
}

// lay puts the log before the run into the store: a thread whose runs are over, with the
// summary in force that covers it up to a sequence.
func (d *director) lay(ctx context.Context, before []thread.Entry, summed uint64) error {
	if len(before) == 0 {
		return nil
	}
	made := thread.Enqueue{Dispatch: core.ID{1}, Run: core.ID{1}, Owner: d.owner}
	head, _, err := d.box.Commit(ctx, d.recording.key, thread.Head{}, made, nil)
	if err == nil {
		head, _, err = d.box.Commit(ctx, d.recording.key, head, thread.Cancel{Run: core.ID{1}}, nil)
	}
	if err != nil {
		return err
	}
	c := store.Commit{Head: head}
	for i := range before {
		seq := uint64(i) + 1
		payload, err := d.o.Records.EncodeEntry(&before[i])
		if err != nil {
			return err
		}
		c.Records = append(c.Records, store.Record{Name: store.LogName(seq), Fence: 1, Payload: payload})
		if before[i].Superseded != nil {
			c.Head.Supersedes = seq
		}
	}
	c.Head.Version, c.Head.Fence, c.Head.Seq, c.Head.Summary = head.Version+1, 1, uint64(len(before)), summed
	outcome, err := d.store.Commit(ctx, d.recording.key, c)
	if err == nil && !outcome.Written {
		err = store.ErrConflict
	}
	return err
}
