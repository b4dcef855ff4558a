package sim

import (
	"context"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/tool"
)

// modelCalls is how often a step may call its model, but for tolerant agents.
const modelCalls = 3

// doomed: no call of the run's model ever succeeds.
func (au *auditor) doomed(name string) bool {
	return au.w.config.Agents.Outage == 0 && (au.w.config.Faults == 0 || au.w.config.People.Asks) && !au.w.config.Processes.Local && !au.w.config.Processes.Batch && trait(name, 12, 12) == 0 && !au.w.mended(name)
}

// modelStep names a step.
type modelStep struct {
	run  core.ID
	step int
}

// budget is how often the models of steps have failed.
type budget struct {
	known map[modelStep]int // under claims that were released: the head can have it
	here  map[modelStep]int // under the present claim
}

// modelFails counts a failure of the model itself. Failures under a claim that was lost
// are not known to any process; all others are counted, over all deliveries. A call
// whose time is over fails for that.
func (ru *runs) modelFails(ctx context.Context, h *host, s script) {
	b, key := &ru.th.budget, modelStep{s.run, s.step}
	if head := &ru.th.p.head; !ru.holds() || head.Run.ID != s.run || ctx.Err() != nil {
		return // or its claim is lost, and it does not know yet
	}
	b.here[key]++
	allowed := modelCalls
	if in := ru.th.inputs.byText[s.name]; in != nil {
		allowed = callsOf(in.agent)
	}
	n := b.known[key] + b.here[key]
	if in := ru.th.inputs.byText[s.name]; ru.th.w.config.Agents.Outage > 0 && in != nil && !tolerates(in.agent) {
		ru.checkPatience(s, n, allowed)
		return
	}
	if n > allowed {
		ru.th.fail("the model has failed %d times in a step after turn %d of run %s, %d are allowed", n, s.step, s.run, allowed)
	}
}

// keepBudget notes what becomes of the failures under a claim that is over.
func (ru *runs) keepBudget(a, b *thread.Head) {
	held := a.Claim.Fence != 0 && b.HolderCommitID == b.CommitID
	if held && b.Claim.Fence != 0 {
		return // it remains
	}
	if held {
		for key, n := range ru.th.budget.here {
			ru.th.budget.known[key] += n
		}
	}
	if a.Claim.Fence != b.Claim.Fence {
		clear(ru.th.budget.here)
		clear(ru.th.asking)
	}
}

// expect is the outcome of a run where nothing goes wrong.
type expect struct{ inferences, tools int }

// expected follows the script of an input.
func (au *auditor) expected(in *input) (e expect) {
	if au.doomed(in.name) {
		if tolerates(in.agent) {
			return expect{inferences: errorLimit}
		}
		return expect{inferences: modelCalls}
	}
	for step := 0; ; step++ {
		e.inferences++
		calls := script{name: in.name, step: step}.calls(au.w)
		if calls == 0 || in.agent == agentShort && step+1 == shortRounds {
			return e
		}
		e.tools += calls
	}
}

// checkCounts: where nothing goes wrong, nothing is done twice, omitted, or done late.
func (au *auditor) checkCounts() {
	if !au.w.innocent() || au.w.config.People.Asks || au.w.config.Agents.Timers || au.w.config.Agents.Children { // what people say decides then, or who is quicker
		return
	}
	var want expect
	inline := 0
	most := au.w.people.again + len(au.w.threads)*au.w.config.Runs // one that comes while a run is ready gives a hint, too
	for _, th := range au.w.threads {
		for _, in := range th.inputs.byText {
			e := au.expected(in)
			want.inferences += e.inferences
			want.tools += e.tools
			if au.doomed(in.name) { // who comes while the run waits for its model gives a hint, too
				most += e.inferences - 1
			}
			if in.inline { // it has none, if it was not queued
				inline += e.inferences
			}
		}
	}
	least := want.inferences - inline
	most += want.inferences
	if sent := au.w.Stats.Steps.Hints - au.w.summaries; sent < least || sent > most {
		au.w.violate("%d hints for work were sent, %d to %d are needed", sent, least, most)
	}
	if got := (expect{au.w.Stats.Steps.Inferences, au.w.Stats.Steps.Executions}); got != want {
		au.w.violate("models and tools were called %+v times, %+v are needed", got, want)
	}
}

// completion is a tool that has returned while its process was well.
type completion struct {
	run       core.ID
	seq       uint64
	host      *host
	began, at time.Duration
}

// complete notes a tool's return.
func (ru *runs) complete(ctx context.Context, h *host, call tool.Call, began time.Duration) {
	if run, seq, ok := placeOf(call); ok && ctx.Err() == nil && ru.holds() {
		ru.th.calls.completed = append(ru.th.calls.completed, completion{run, seq, h, began, ru.th.w.now})
	}
}

// unheard reports whether the process may never have learned that the call's turn is
// committed: a fault struck the write beside which the tool ran.
func (c completion) unheard(turned time.Duration) bool {
	return c.began <= turned && c.began <= c.host.unheard
}

// checkGivenBack: a holder that releases its claim has stored the results of its tools,
// unless the store failed it.
func (ru *runs) checkGivenBack(a, b *thread.Head) {
	if b.Run.Cursor == thread.CursorTools && (a.Run.Cursor != thread.CursorTools || b.Run.Base != a.Run.Base) {
		ru.turned = ru.th.w.now
	}
	if a.Claim.Fence == 0 || b.Claim.Fence == a.Claim.Fence && b.Run.ID == a.Run.ID {
		return
	}
	if b.HolderCommitID == b.CommitID && b.Claim.Fence == 0 && b.Run.ID == a.Run.ID {
		ru.checkUncounted(a, b)
		for _, c := range ru.th.calls.completed {
			if a.Run.Cursor != thread.CursorTools && c.seq > a.Seq {
				continue // its turn was not committed
			}
			if c.unheard(ru.turned) {
				continue
			}
			if c.run != a.Run.ID || c.host.name != a.Claim.Worker || c.at < ru.claimed || c.host.unstored >= c.at {
				continue
			}
			if _, ok := ru.th.logged.result(c.run, c.seq); !ok {
				ru.th.fail("%s releases its claim, the result at %d is not stored", c.host.name, c.seq)
			}
		}
	}
	ru.th.calls.completed = ru.th.calls.completed[:0]
}

// checkUncounted: where only hosts stop, a release by one of them is not an attempt of
// the run, and a release for another program never is. Progress under the claim has set
// them to 0 before.
func (ru *runs) checkUncounted(a, b *thread.Head) {
	w := ru.th.w
	if a.Run.LacksSince == 0 && b.Run.LacksSince != 0 && 0 < a.Run.Attempts && a.Run.Attempts <= b.Run.Attempts {
		ru.th.fail("a run released for another program has %d attempts, as many as with the claim", b.Run.Attempts)
	}
	h := w.hosts[a.Claim.Worker]
	if w.config.Processes.Restarts && w.config.Faults == 0 && w.config.Poison == 0 && h != nil && h.ending && 0 < a.Run.Attempts && a.Run.Attempts <= b.Run.Attempts {
		ru.th.fail("%s must stop, and the run that it releases has %d attempts, as many as with the claim", h.name, b.Run.Attempts)
	}
}

// checkHolds: a model or a tool that has ended was not at work long after another process
// had taken its claim. A process that cannot look is excused.
//
// A step that starts without its claim finds out as soon.
func (ru *runs) checkHolds(h *host, began time.Duration) {
	lost, ok := ru.lost[h.name]
	if late := ru.th.w.now - max(lost, h.blind, began); ok && late > ru.th.w.poll()+time.Second {
		ru.th.fail("%s still works, %s after its claim was taken over", h.name, late)
	}
}

// checkRenewed: no process that is well loses a claim to the clock.
func (ru *runs) checkRenewed(a thread.Head) {
	h := ru.th.w.hosts[a.Claim.Worker]
	until := time.UnixMilli(a.Claim.Lease).Sub(epoch)
	if h != nil && !h.dead && !h.ending && max(h.blind, h.hindered) < until-lease-time.Second {
		ru.th.fail("the claim of %s runs out, although the process lives and nothing hinders it", h.name)
	}
}

// checkApart: a run that takes its process down goes alone once two of its
// claims without progress are lost: no other run loses more to it.
func (ru *runs) checkApart(b thread.Head) {
	w := ru.th.w
	if w.config.Faults > 0 || w.config.Poison != 1 && w.config.Poison != 3 || w.scripted.poisonOf(ru.th, ru.th.inputs.textOf(b.Run.Dispatch)) != 0 {
		return
	}
	most := uint8(2)
	if w.config.Poison == 3 { // the claim under which it starts to close has made progress, and is lost too
		most = 3
	}
	if uint8(b.Run.Lost) > most {
		ru.th.fail("innocent run %s has lost %d claims", b.Run.ID, b.Run.Lost)
	}
}

// checkAlone: a suspect starts when its process does nothing else, and other processes
// get the rest of its batch. A process is excused whose claim may have been on its way
// for long: later work may be there first.
func (ru *runs) checkAlone(b thread.Head) {
	h := ru.th.w.hosts[b.Claim.Worker]
	if h == nil || h.slow > ru.th.w.now {
		return
	}
	if s := h.sight.suspect; s != nil && s != ru.th && ru.th.w.config.Faults == 0 {
		head := &s.p.head
		if s.p.changed < h.sight.began || head.Suspect() && head.Claim.Worker == h.name {
			ru.th.fail("%s claims it together with suspect %s of the same batch", h.name, head.Run.ID)
		}
	}
	if b.Run.Attempts <= thread.SuspectAt {
		return
	}
	for _, other := range ru.th.w.threads {
		// Abandoned work is not this process's any more.
		if other != ru.th && slices.ContainsFunc(h.calls, func(c *called) bool { return c.th == other && c.ctx.Err() == nil }) {
			ru.th.fail("suspect %s is claimed by %s, which works on thread %s", b.Run.ID, h.name, other.p.key.Thread)
		}
	}
}

// checkAcknowledged: a worker that is done with a hint leaves nothing that could have
// been claimed all the time, or another hint. An invocation that got a hint since then is
// responsible for it.
func (au *auditor) checkAcknowledged(h *host, hint core.WakeUp, handed int, began int64) {
	if au.w.config.Faults > 0 || au.w.config.Poison < 0 || au.w.config.Programs.Mixed || au.w.config.Storage.Late || au.w.config.Storage.Ambiguous || h.ending {
		return
	}
	p := au.w.partition(hint.Key())
	if p.head.Deleted { // it stays due until no worker can put anything any more
		return
	}
	ready := max(p.head.DueAt, epoch.Add(p.changed).UnixMilli())
	if p.head.DueAt != 0 && ready < began && p.state.hints <= p.state.returning && p.state.held <= 1 && p.state.handed == handed {
		au.w.fail(p, "%s finishes a hint without a change of the thread: %+v", h.name, p.head)
	}
}
