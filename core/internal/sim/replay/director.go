package replay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// director takes one recorded run through the step machine. It is between the machine and
// the mailbox: whenever the machine writes a head, the director makes the acts of people
// happen that had happened until then. It is the model and the tools as well.
//
// A claim is released after every turn with calls, and wherever something must happen
// before the round continues: the merged part is merged again then, as after a crash,
// with the same outcome.
type director struct {
	recording *recording
	o         Options
	owner     string
	store     store.Backend
	box       *mailbox.Service
	stepper   *run.Stepper
	played    *registry.Resolved
	now       int64  // the clock, unix milliseconds: it moves only where a claim or ticket must run out
	ids       uint64 // the newest; runs of a thread share a store, and no id

	number  int                   // of the step under way
	said    int                   // blocks of its turn that the model has said
	refused int                   // the newest step whose first request the model has refused
	heard   map[int]int           // by step: so many of its inputs were given to the run
	waited  map[*recordedStep]int // waits that have passed
	closes  bool                  // the run is to be closed as the record says
	over    bool                  // the record ends here
	found   *Difference           // on the way, before there are records to compare
	untold  bool                  // the record does not have the end of a wait
}

// errLeft ends a step whose claim the director has released: for the machine it is lost.
var errLeft = fmt.Errorf("the replay continues: %w", thread.ErrFenced)

// lease is that of the director's claims. Its clock does not move, so that they hold.
const lease = 30 * time.Second

// quiet discards what the machine logs: of a replay it has been logged.
var quiet = slog.New(slog.DiscardHandler)

// newDirector returns a director on a thread of which everything before the run is in
// the store.
func (o Options) newDirector(r *recording, owner string, on store.Backend) (*director, error) {
	d := &director{
		recording: r, o: o, owner: owner, store: on, now: max(r.record.CreatedAt, 1), ids: r.first << 24,
		heard: map[int]int{}, waited: map[*recordedStep]int{},
	}
	e := d.env()
	var err error
	if d.box, err = mailbox.New(mailbox.Options{Env: e, Store: on, Waker: asleep{}, Logger: quiet, Records: o.Records, Lease: lease}); err != nil {
		return nil, err
	}
	d.stepper, err = run.New(run.Options{
		Env: e, Store: on, Committer: d, Agents: d, Window: o.Window, Records: o.Records, Stops: o.Stops, Logger: quiet, Lease: lease, Choices: r, Accept: r.accept, Profiles: o.Profiles,
		LeaveFor: -1, // what a build lacked by then is recorded, and no other one comes
	})
	return d, err
}

// asleep sends no wake-ups.
type asleep struct{}

// Wake implements mailbox.Waker.
func (asleep) Wake(context.Context, core.WakeUp, time.Duration) error { return nil }

// maxSteps bounds the claims of a replayed run, by those that its record can need.
func (d *director) maxSteps() int { return 20 + 40*(len(d.recording.entries)+d.recording.last) }

// play takes the run to its end, or as far as its record goes. The error means that the
// replay itself has failed.
func (d *director) play(ctx context.Context) error {
	if err := d.enqueue(ctx); err != nil {
		return err
	}
	for range d.maxSteps() {
		head, err := d.box.Head(ctx, d.recording.key)
		if err != nil || head.Run.ID != d.recording.record.ID && len(head.Pending) == 0 {
			return err
		}
		if !head.Open() && d.recording.steps[1] != nil && len(d.recording.steps[1].inputs) > 0 { // they came when the run was open, and before its first step
			if _, err := d.claim(ctx); err != nil {
				return err
			}
			if err := d.giveBack(ctx); !errors.Is(err, errLeft) {
				return err
			}
			continue
		}
		if head.Open() {
			if err := d.prepare(ctx, head); err != nil || d.over {
				return err
			}
			if head.Run.Status == thread.Waiting {
				continue // it may be claimed now
			}
		}
		if head, err = d.claim(ctx); err != nil {
			return err
		}
		if head.Run.Status != thread.Closing && d.closes {
			if head, err = d.endRun(ctx, head); err != nil {
				return err
			}
			if d.recording.record.Skipped {
				continue
			}
		}
		if next := int(head.Run.Step) + 1; head.Run.Cursor != thread.CursorTools && next != d.number {
			d.number, d.said = next, 0
		}
		_, err = d.stepper.Step(ctx, run.Work{Key: d.recording.key, Head: head}, func(core.Event) error { return nil })
		if d.over {
			return nil
		}
		if err != nil && !errors.Is(err, thread.ErrFenced) { // no other worker takes claims: the director has released it
			return err
		}
		if err := d.dropWaiting(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("the run does not end within %d claims", d.maxSteps())
}

// enqueue gives the thread the run's input, as its log has it.
func (d *director) enqueue(ctx context.Context) error {
	queued := thread.Queued{
		Run: d.recording.record.ID, Dispatch: d.recording.record.Dispatch, AgentID: d.recording.record.AgentID, Origin: d.recording.record.Origin, Messages: d.recording.own,
		CreatedAt: d.recording.record.CreatedAt, Supersede: d.recording.takeBack, Request: d.recording.record.Request,
		Frontend: d.recording.record.Frontend, Parent: d.recording.record.Parent,
	}
	e := thread.Enqueue{Dispatch: queued.Dispatch, Run: queued.Run, Owner: d.owner}
	_, _, err := d.box.Commit(ctx, d.recording.key, thread.Head{}, e, d.inputRecord(queued))
	return err
}

// inputRecord builds the record of an input.
func (d *director) inputRecord(in thread.Queued) func(thread.Head, thread.Result) ([]store.Record, error) {
	return func(thread.Head, thread.Result) ([]store.Record, error) {
		payload, err := d.o.Records.EncodeQueued(&in)
		return []store.Record{{Name: recordname.Input(in.Dispatch, 0), Payload: payload}}, err
	}
}

// dropWaiting drops what waits for another run: what was steered to this one and not read
// is of no use here.
func (d *director) dropWaiting(ctx context.Context) error {
	for {
		head, err := d.box.Head(ctx, d.recording.key)
		if err != nil || head.Open() || len(head.Pending) == 0 {
			return err
		}
		if _, _, err := d.box.Commit(ctx, d.recording.key, head, thread.Cancel{Run: head.Pending[0].Run}, nil); err != nil {
			return err
		}
	}
}

// prepare does what happened before the next claim.
func (d *director) prepare(ctx context.Context, head thread.Head) error {
	switch s := d.recording.steps[int(head.Run.Step)]; {
	case head.Run.Status == thread.Closing:
		return d.loseClaims(ctx, head)
	case head.Run.Status == thread.Waiting:
		return d.endWait(ctx, head, s)
	case head.Run.Cursor != thread.CursorTools:
		next := int(head.Run.Step) + 1
		if d.recording.steps[next].said() != 0 { // it would have read what was not withdrawn
			if err := d.retract(ctx); err != nil {
				return err
			}
		}
		return d.steer(ctx, next, thread.InboxInternal, thread.MaxInbox)
	case s == nil:
		return fmt.Errorf("step %d is not recorded", head.Run.Step)
	case d.closesIn(s) && (d.closes || d.waitedLast(s, head)):
		d.closes = true
		return d.putResults(ctx, head, s, func(*thread.Entry, int) bool { return true })
	default:
		// No code would reach an outcome that is unknown.
		return d.putResults(ctx, head, s, func(e *thread.Entry, i int) bool {
			return e.Message.ToolResult.Status == core.ResultUnknown && d.due(s, i)
		})
	}
}

// closesIn reports whether the run ended while the round of the step was open.
func (d *director) closesIn(s *recordedStep) bool {
	return d.recording.ended() && d.recording.record.InRound && d.recording.steps[d.recording.last] == s
}

// waitedLast reports whether the round has waited for the last time. Waits whose claims
// continued immediately, and had brought nothing, do not count: a decision came between the
// claim's first look and its write, and the next claim knew of it.
func (d *director) waitedLast(s *recordedStep, head thread.Head) bool {
	passed := d.waited[s]
	return !slices.ContainsFunc(d.next(s), func(w wait) bool {
		return passed == 0 || !same(w.Merged, s.waits[passed-1].Merged) || slices.ContainsFunc(w.Waits, func(id uint64) bool {
			return !slices.ContainsFunc(head.Tickets, func(t thread.Ticket) bool { return t.ID == id })
		})
	})
}

// putResults stores recorded results where an earlier claim would have.
func (d *director) putResults(ctx context.Context, head thread.Head, s *recordedStep, want func(e *thread.Entry, call int) bool) error {
	for i := range head.Run.Calls {
		e := s.result(i)
		if e == nil || head.Run.Calls[i] == thread.CallDone || !want(e, i) {
			continue
		}
		payload, err := d.o.Records.EncodeEntry(e)
		if err == nil {
			err = d.store.Put(ctx, d.recording.key, store.Record{Name: store.LogName(head.Run.Base + uint64(i)), Fence: head.Fence, Payload: payload})
		}
		if err != nil && !errors.Is(err, store.ErrConflict) { // the round's own, put before
			return err
		}
	}
	return nil
}

// claim takes the claim on the run.
func (d *director) claim(ctx context.Context) (thread.Head, error) {
	head, result, err := d.box.Commit(ctx, d.recording.key, thread.Head{}, thread.TakeClaim{Worker: "replay", Lease: lease.Milliseconds(), Alone: true}, nil)
	if err == nil && !result.Claimed {
		err = errors.New("there is no run to claim: " + fmt.Sprintf("%+v", head))
	}
	return head, err
}

// giveBack gives the claim back, so that something can happen before the next one.
// The error is the step's.
func (d *director) giveBack(ctx context.Context) error { return d.release(ctx, nil) }

// release gives the claim back with what the next one is to know of calls that were let
// through to their tools; nil: what the head says.
func (d *director) release(ctx context.Context, through *uint32) error {
	head, err := d.box.Head(ctx, d.recording.key)
	if err == nil {
		change := thread.Nack{Fence: head.Claim.Fence, Kind: thread.NackGiven, Closing: true, Through: through}
		_, _, err = d.box.Commit(ctx, d.recording.key, head, change, nil)
	}
	return errors.Join(errLeft, err)
}

// stop ends the replay of the run.
func (d *director) stop(ctx context.Context) error {
	d.over = true
	return d.giveBack(ctx)
}

// differs notes a difference that shows before there are records to compare.
func (d *director) differs(x Difference) {
	if d.found == nil {
		d.found = &x
	}
}

// loseClaims loses as many claims as let RunEnd be skipped, if it was.
func (d *director) loseClaims(ctx context.Context, head thread.Head) error {
	if !d.recording.record.Skipped {
		return nil
	}
	for d.now += lease.Milliseconds() + 1; head.Run.Attempts < thread.SkipRunEnd-1; d.now += lease.Milliseconds() + 1 {
		var err error
		if head, err = d.claim(ctx); err != nil {
			return err
		}
	}
	return nil
}

// endRun makes the run end as in its record, if no code would reach that end: it was
// ended from outside, or by a step of which nothing is left.
func (d *director) endRun(ctx context.Context, head thread.Head) (thread.Head, error) {
	change := thread.CommitStep{Fence: head.Claim.Fence, From: head.Seq, Seq: head.Seq, Outcome: thread.Done, Listens: true}
	head, _, err := d.box.Commit(ctx, d.recording.key, head, change, func(next thread.Head, _ thread.Result) ([]store.Record, error) {
		record := d.recording.record
		record.Status, record.Termination, record.Response, record.FinishedAt = core.RunRunning, nil, "", 0
		record.InRound, record.Skipped = false, false
		record.Ending = &thread.Ending{Version: next.Closing, Termination: *d.recording.record.Termination}
		payload, err := d.o.Records.EncodeRun(&record)
		return []store.Record{{Name: recordname.Run(record.ID), Fence: next.Fence, Version: next.Version, Payload: payload}}, err
	})
	return head, err
}

// cancel ends the run from outside while its model speaks. The error is the model's.
func (d *director) cancel(ctx context.Context, how core.TerminationType) error {
	head, err := d.box.Head(ctx, d.recording.key)
	if err != nil {
		return err
	}
	var change thread.Change = thread.Cancel{Run: d.recording.record.ID}
	if how == core.TerminationSuperseded {
		change = thread.Interrupt{Owner: d.owner, Dedupe: 2*d.recording.first + 1, Epoch: head.Epoch}
	}
	_, _, err = d.box.Commit(ctx, d.recording.key, head, change, nil)
	return errors.Join(thread.ErrClosing, err)
}
