package sim

import (
	"context"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// takesBack chooses the worlds in which people withdraw their input.
func (c *Config) takesBack(turn int) {
	c.People.Retracts = turn%5 == 2 && !c.Replayed && !c.People.Calm && !c.Programs.Old
}

// retractionsEach is how often a client withdraws input, on each thread.
const retractionsEach = 4

// planRetractions has people withdraw queued input, or their latest message to a run.
func (pe *people) planRetractions() {
	for _, th := range pe.w.threads {
		for k := range retractionsEach {
			pe.w.at(pe.w.random.between(500*time.Millisecond, submitWithin+60*time.Second), func() {
				if k%2 == 0 {
					pe.steer(th)
				}
				pe.w.at(pe.w.random.between(50*time.Millisecond, 2*time.Second), func() { pe.retract(th) })
			})
		}
	}
}

// retract takes input back that no step has read.
func (pe *people) retract(th *threadState) {
	in := th.inputs.unread()
	if in == nil {
		return
	}
	pe.insist(requestTimeout, func(ctx context.Context, h *host) bool {
		th.inputs.named[in.run] = true // which it cancels, if no worker has opened it
		d := pe.begin(HiddenRetract)
		d.target = in
		before := th.p.head
		err := h.engine.runtime.RetractInput(ctx, th.client(), th.p.key.Thread, in.id)
		th.checkDeed(d, err)
		th.inputs.checkRetracted(in, d, &before, err)
		return err == nil || refused(err)
	})
}

// checkRetracted: input that a client knows as withdrawn is gone, and no step has read
// it. If a client learns that there is none to withdraw, that is true.
func (ins *inputs) checkRetracted(in *input, d *deed, before *thread.Head, err error) {
	if ins.th.p.head.Deleted {
		return
	}
	waits := func(h *thread.Head) bool {
		_, queued := h.Queues(in.id)
		return queued
	}
	switch {
	case core.CodeOf(err) == core.CodeNotFound && waits(before) && waits(&ins.th.p.head):
		ins.th.fail("input %s waits to be read, the client that withdraws it receives %v", in.name, err)
	case err != nil:
		return
	}
	ins.takenBack[in.id] = true
	if waits(&ins.th.p.head) || ins.reads[in.name] > 0 || ins.th.p.head.Run.Dispatch == in.id {
		ins.th.fail("input %s is reported as withdrawn: it was read %d times, and the head has %+v", in.name, ins.reads[in.name], ins.th.p.head)
	}
	if fate := ins.fate(in.id, in); fate == "" {
		ins.th.fail("input %s is reported as withdrawn, but no record has its end", in.name)
	}
	if slices.Contains(d.entries, in.id) {
		ins.th.w.did(RetractedSteered)
	} else if slices.Contains(d.runs, in.run) || slices.Contains(d.runs, in.id) {
		ins.th.w.did(RetractedQueued)
	}
}

// checkTarget: who takes input back takes no other back.
func (ins *inputs) checkTarget(d *deed) {
	in := d.target
	if in == nil {
		return
	}
	for _, id := range slices.Concat(d.entries, d.runs) {
		if id != in.id && id != in.run {
			ins.th.fail("the withdrawal of input %s (dispatch %s of run %s) has ended %s", in.name, in.id, in.run, id)
		}
	}
}

// checkUnread: no step reads input that a client knows as withdrawn.
func (ins *inputs) checkUnread(e *thread.Entry) {
	if ins.takenBack[e.Input] {
		ins.th.fail("input %s of dispatch %s is withdrawn, and run %s reads it", e.Message.ID, e.Input, e.Run)
	}
}
