package sim

import (
	"context"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// askAgain has every client whose input was accepted repeat its request, and look at its
// run: the responses are the log's, despite the records of refused writes.
func (pe *people) askAgain() {
	for _, th := range pe.w.threads {
		for n := range len(th.inputs.byText) {
			in := th.inputs.byText[th.inputs.inputName(n)]
			if in == nil || in.id.IsZero() {
				continue
			}
			pe.w.at(pe.w.random.between(0, 90*time.Second), func() { pe.repeat(th, in) })
			pe.w.at(pe.w.random.between(0, 90*time.Second), func() { pe.ask(th, in) })
		}
		pe.repeatAgain(th)
	}
}

// repeat makes the request of an accepted input again.
func (pe *people) repeat(th *threadState, in *input) {
	reader, read := th.inputs.readBy[in.name]
	pe.insist(requestTimeout, func(ctx context.Context, h *host) bool {
		r, err := h.engine.runtime.Submit(ctx, th.inputs.submission(in))
		switch {
		case core.CodeOf(err) == core.CodeDeleted && th.p.head.Deleted:
		case err != nil && refused(err):
			th.fail("the repeated request of %s is refused: %v", in.name, err)
		case err != nil:
			return false
		case r.DispatchID != in.id || !r.Duplicate:
			th.fail("the request of %s was accepted as %s, and is now %+v", in.name, in.id, r)
		case read && r.RunID != reader:
			th.fail("run %s read input %s, its client receives run %s", reader, in.name, r.RunID)
		}
		return true
	})
}

// ask reads the run of an accepted input.
func (pe *people) ask(th *threadState, in *input) {
	run := in.run
	final, ended := th.runs.ended[run]
	pe.insist(requestTimeout, func(ctx context.Context, h *host) bool {
		r, err := h.engine.runtime.ReadRun(ctx, th.client(), run)
		switch {
		case core.CodeOf(err) == core.CodeDeleted && th.p.head.Deleted:
			return true
		case core.CodeOf(err) == core.CodeNotFound:
			th.fail("run %s of input %s is not found", run, in.name)
			return true
		case err != nil:
			return false
		case ended && (r.Status != core.RunDone || r.Termination == nil || r.Termination.Type != final.end):
			th.fail("run %s ended as %s, a reader receives %s, %+v", run, final.end, r.Status, r.Termination)
		case r.Status == core.RunDone && th.runs.goesOn(run):
			th.fail("run %s continues, a reader finds it done: %+v", run, r.Termination)
		case r.Status == core.RunDone && !ended && mailbox.Mode(in.mode) != mailbox.ModeSteer && !th.inputs.endedUnread(in):
			th.fail("run %s of input %s has not ended, a reader receives %+v", run, in.name, r.Termination)
		}
		return true
	})
}

// goesOn reports whether a run is queued, or open and not closing.
func (ru *runs) goesOn(run core.ID) bool {
	status, live := ru.th.p.head.RunStatus(run)
	return live && status != core.RunDone
}

// endedUnread reports whether an input ended, now at the latest.
func (ins *inputs) endedUnread(in *input) bool {
	if _, ended := ins.th.runs.ended[in.run]; ended {
		return true
	}
	status, live := ins.th.p.head.RunStatus(in.run)
	return live && status == core.RunDone || strings.HasPrefix(ins.fate(in.id, in), "ended")
}
