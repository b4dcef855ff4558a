package sim

import (
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
)

// In a world with Delays people submit runs for later, on one thread more than there are
// places for. In addition they speak, stop, interrupt and repeat messages, none of which
// is to change the delayed runs.

// skew is how far two clocks of a world lie apart, in milliseconds, and some more.
const skew = 1_000

// delays is what people do on a thread of such a world.
func (pe *people) delays(th *threadState) {
	n := 2
	if th.i == int(pe.w.config.Seed/Kinds)%pe.w.config.Threads {
		n = thread.MaxDelayed + 1
	}
	began := pe.w.random.between(0, 200*time.Second)
	for range n {
		pe.w.at(began+pe.w.random.between(0, time.Second), func() { pe.forLater(th) })
	}
	soon := func() time.Duration { return began + pe.w.random.between(2*time.Second, 40*time.Second) }
	for range 2 {
		pe.w.at(soon(), func() {
			pe.submit(th, th.inputs.newInput(mailbox.ModeQueue, pe.anyAgent()), !pe.w.config.Processes.Local)
		})
		pe.w.at(soon(), func() { pe.stopBeside(th) })
	}
	pe.w.at(soon(), func() { pe.submit(th, th.inputs.newInput(mailbox.ModeReject, pe.anyAgent()), false) })
	pe.w.at(soon(), func() { pe.sayAgain(th) })
	pe.w.at(soon(), func() { pe.interrupt(th) })
	if pe.w.random.chance(0.5) {
		pe.w.at(soon(), func() { pe.cancelLater(th) })
	}
}

// forLater submits a run that is to open in a while.
func (pe *people) forLater(th *threadState) {
	in := th.inputs.newInput(mailbox.ModeQueue, pe.anyAgent())
	in.delay = pe.w.random.between(45*time.Second, 150*time.Second)
	pe.w.Stats.Clients.Delayed++
	pe.w.did(DelayedInput)
	pe.submit(th, in, false)
}

// cancelLater ends a delayed run by its name.
func (pe *people) cancelLater(th *threadState) {
	if delayed := th.p.head.Delayed; len(delayed) > 0 {
		run := delayed[pe.w.random.below(len(delayed))].Run
		pe.cancelRun(th, func() core.ID { return run })
	}
}

// stopBeside ends the open run of a thread, or the first in its queue.
func (pe *people) stopBeside(th *threadState) {
	if len(th.p.head.Delayed) > 0 {
		pe.w.did(DelayedStop)
	}
	pe.stopThread(th)
}

// sayAgain says other words in place of an earlier input, and interrupts with them.
func (pe *people) sayAgain(th *threadState) {
	at := th.taken()
	if at == 0 {
		return
	}
	pe.w.Stats.Clients.Interrupts++
	pe.w.Stats.Clients.Retakes++
	th.inputs.interrupts++
	in := th.inputs.newInput(mailbox.ModeInterrupt, pe.anyAgent())
	in.supersede, in.retakes = at, th.logged.entries[at-1].Message.ID
	pe.submit(th, in, false)
}

// checkDelayed: a delayed run leaves the head when it opens, when it is due, or when a
// client named it; and it opens before queued ones of its priority. Nothing waits for one
// that is not due.
func (ins *inputs) checkDelayed(a, b *thread.Head) {
	w, opens := ins.th.w, b.Open() && b.Run.ID != a.Run.ID
	due := func(d thread.Dispatch) bool { return d.AvailableAt <= w.millis()+skew }
	for _, d := range a.Delayed {
		switch {
		case slices.ContainsFunc(b.Delayed, func(o thread.Dispatch) bool { return o.ID == d.ID }):
			if opens && ins.overtakes(a, b, d) {
				ins.th.fail("queued run %s opens before run %s, which was delayed to %d: %+v", b.Run.ID, d.Run, d.AvailableAt, *a)
			}
		case opens && b.Run.ID == d.Run:
			if !due(d) {
				ins.th.fail("run %s was delayed to %d, and opens at %d", d.Run, d.AvailableAt, w.millis())
			}
			if slices.ContainsFunc(a.Pending, func(o thread.Dispatch) bool { return o.Priority == d.Priority }) {
				w.did(DelayedFirst)
			}
		case !ins.named[d.Run]:
			ins.th.fail("delayed run %s is gone, although no request named it: %+v after %+v", d.Run, *b, *a)
		}
	}
	if len(a.Delayed) == 0 {
		return
	}
	if b.Epoch > a.Epoch {
		w.did(DelayedInterrupt)
	}
	if a.Open() || len(a.Pending) > 0 || slices.ContainsFunc(a.Delayed, due) {
		return
	}
	if opens {
		w.did(DelayedInline)
	} else if len(b.Pending) == 1 && !w.config.Programs.Mixed && b.Epoch == a.Epoch {
		if in := ins.own(b.Pending[0].ID); in != nil && in.inline {
			ins.th.fail("%s is queued although only delayed runs are before it: %+v", in.name, *b)
		}
	}
}

// overtakes reports whether a queued run opens before a delayed one that has been due for
// a while and is not to come after it. Its claim may have been on its way for long.
func (ins *inputs) overtakes(a, b *thread.Head, d thread.Dispatch) bool {
	i := slices.IndexFunc(a.Pending, func(o thread.Dispatch) bool { return o.Run == b.Run.ID })
	claimed := min(ins.th.w.millis(), b.Claim.Lease-lease.Milliseconds())
	return i >= 0 && !a.Pending[i].Steered && d.Priority <= a.Pending[i].Priority && d.AvailableAt < claimed-skew
}

// checkPlaces: nothing is refused for a delayed run, except the ninth one, and one that
// has no place with other work.
func (ins *inputs) checkPlaces(in *input, before *thread.Head, err error) {
	h := &ins.th.p.head
	if err == nil || before.Version != h.Version {
		return
	}
	switch full := len(h.Delayed) >= thread.MaxDelayed; core.CodeOf(err) {
	case core.CodeFull:
		switch {
		case in.delay > 0 && full:
			ins.th.w.did(DelayedFull)
		case in.delay > 0, len(h.Pending)+len(h.Outbox) < thread.MaxPending && len(h.Inbox) < thread.MaxInbox:
			ins.th.fail("%s is refused for lack of a slot (%v): %+v", in.name, err, *h)
		}
	case core.CodeBusy:
		if !h.Open() && len(h.Pending) == 0 && !slices.ContainsFunc(h.Delayed, func(d thread.Dispatch) bool { return d.AvailableAt <= ins.th.w.millis()+skew }) {
			ins.th.fail("%s is refused, although nothing is open, queued or due: %+v", in.name, *h)
		}
	}
}
