package sim

import (
	"encoding/binary"
	"encoding/json"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/tool"
)

// In a world with Timers some calls wait for a time. The clock lets them continue, or a person
// who decides earlier; some are kept when a person speaks, and some are questions that the clock
// answers at last.

// timerNames are the tools that wait for a time.
var timerNames = []string{"nap", "nap", "naponce"}

// timers is what a world with Timers has in addition.
type timers struct {
	random random // separate, so that the worlds of a seed stay the same
	mute   bool   // no hint for a time to wake arrives: the sweep alone finds these threads
}

func newTimers(c Config) timers {
	r := random{mix(c.Seed ^ 0x71)}
	return timers{mute: r.chance(0.3) && !c.Processes.Unswept, random: r}
}

// times chooses the worlds with timers: a part of most kinds, by no other feature. Input comes
// while a run waits, which a world whose models refuse long requests cannot have: see narrows.
func (c *Config) times(kind int) {
	r := random{mix(c.Seed ^ 0x72)}
	chance := 0.0
	switch kind {
	case 0, 9, 13, 14, 15:
		chance = 0.5
	case 4, 12, 17, 18, 19, 20, 21, 22:
		chance = 0.35
	}
	c.Agents.Timers = r.chance(chance) && c.Agents.Refuses == refusesNothing && !c.Processes.Killed && !c.Storage.Throttled
}

func (sc scripted) timerTools() (list []tool.Tool) {
	if !sc.w.config.Agents.Timers {
		return nil
	}
	for _, name := range []string{"nap", "naponce"} {
		list = append(list, simTool{sc.w, tool.Spec{Name: name, Parameters: json.RawMessage(`{"type":"object"}`), AtMostOnce: name == "naponce"}})
	}
	return list
}

// naps reports whether the call of the name waits for a time.
func (sc scripted) naps(s script, name string) bool {
	return sc.w.config.Agents.Timers && !s.endless(sc.w) && trait(name, 82, 3) == 0
}

// nap is the work of a tool that waits for a time, a second time at times; ok reports that it
// does.
func (as *asks) nap(h *host, name, key string, call tool.Call) (r tool.Result, ok bool) {
	switch {
	case !slices.Contains(timerNames, name):
	case call.Resume == nil:
		r.Suspend = h.timer("", key)
	case trait(key, 85, 4) == 0 && call.Resume.Suspension != "again."+key:
		r.Suspend = h.timer("again."+key, key)
	}
	return r, r.Suspend != nil
}

// timer is what a call waits for, by the clock of its process.
func (h *host) timer(id, key string) *core.TicketRequest {
	s := &core.TicketRequest{ID: id, Action: "nap", Message: h.world.scripted.bulk(key, 65, 3), Kind: core.TicketTimer}
	s.WakeAt = h.clock().Add(h.world.scripted.wait(id + key))
	switch trait(id+key, 86, 3) {
	case 0:
		s.Keep = true
	case 1:
		s.Kind = core.TicketPerson
	}
	if trait(id+key, 87, 4) == 0 {
		s.Mode = core.ResumeAsResult
	}
	return s
}

// wait is how long a call waits. A queue holds no hint back for longer than [maxDelay], so that
// a longer wait ends through the sweep.
func (sc scripted) wait(name string) time.Duration {
	within := func(from, to time.Duration) time.Duration {
		return from + time.Duration(trait(name, 84, 1000))*(to-from)/1000
	}
	switch trait(name, 83, 10) {
	case 0:
		return 0
	case 1:
		return -time.Minute // it has passed
	case 2, 3:
		return within(time.Second, 20*time.Second)
	case 4, 5:
		return within(20*time.Second, 3*time.Minute)
	case 6:
		return within(3*time.Minute, 14*time.Minute)
	}
	if sc.w.config.Processes.Unswept {
		return within(5*time.Minute, 14*time.Minute)
	}
	return within(16*time.Minute, 24*time.Minute)
}

// disturb has people decide about a call that waits for a time: earlier, at that time or later;
// or speak until then; or do nothing.
func (pe *people) disturb(th *threadState, k *asked) {
	r, left := &pe.w.timers.random, max(0, time.Duration(k.ticket.WakeAt-pe.w.millis())*time.Millisecond)
	early := func() time.Duration { return r.between(0, min(left, 3*time.Minute)+50*time.Millisecond) }
	var at time.Duration
	d := pe.decision(k)
	switch r.below(8) {
	case 0, 1:
		at = early()
	case 2:
		at, d.said.Action, d.said.Payload, d.said.Reason, d.said.Arguments = early(), core.DecisionCancel, nil, "because it is late", nil
	case 3:
		at = max(0, left+r.between(-300*time.Millisecond, 300*time.Millisecond))
	case 4:
		at = left + r.between(0, 90*time.Second)
	case 5, 6:
		if !pe.w.config.People.Calm {
			pe.plan(early(), func() { pe.steer(th) })
		}
		return
	default:
		return
	}
	pe.plan(at, func() { pe.decide(th, k, d) })
}

// checkTimer looks at a ticket that a head has for the first time: it is as its call asked for.
func (as *asks) checkTimer(t thread.Ticket, k *asked) {
	if timer := k.ticket.Kind == core.TicketTimer; t.WakeAt != k.ticket.WakeAt || t.Keep != k.ticket.Keep || timer != (t.Kind == thread.TicketTimer) {
		as.th.fail("the ticket %+v is not as its call asked for: %+v", t, k.ticket.Ticket)
	}
}

// checkClock looks at a decision of the clock: it comes with a claim, and not before its time by
// the claimer's clock. by is the process that writes the head.
func (as *asks) checkClock(a, b *thread.Head, t thread.Ticket, k *asked, d thread.DecisionRecord) {
	w := as.th.w
	if d.Ticket == 0 {
		if d.Woken() {
			as.th.fail("the decision %+v on %s is not of the clock", d, k.ticket.Suspension.ID)
		}
		if k.ticket.WakeAt > w.millis() && k.ticket.Resumes(d.Decision) {
			w.did(WokenEarly)
		}
		return
	}
	if !d.Woken() || d.Ticket != t.ID || k.ticket.WakeAt == 0 {
		as.th.fail("the clock decides %s, with %+v: %+v", k.ticket.Suspension.ID, d, k.ticket.Ticket)
	}
	if a.Claim.Fence != 0 && (b.Claim.Fence == a.Claim.Fence || b.HolderCommitID == b.CommitID) {
		as.th.fail("the clock decides %s, and no process claims the thread: %+v", k.ticket.Suspension.ID, *b)
	}
	if by := as.th.p.writer; by == nil || by.clock().UnixMilli() < k.ticket.WakeAt {
		as.th.fail("the ticket %s wakes before its time, %d", k.ticket.Suspension.ID, k.ticket.WakeAt)
	}
	w.did(WokenByClock)
	if w.now-k.since > maxDelay {
		w.did(WokenBySweep)
	}
}

// checkYields: a holder that stores its open round gives up its claim if a ticket is to wake: only
// the next claim decides that. The time is that of the commit id, by the holder's clock.
func (as *asks) checkYields(a, b *thread.Head) {
	if b.Run.Round == a.Run.Round || b.Run.Round != b.Version || b.Claim.Fence == 0 {
		return
	}
	made := int64(binary.BigEndian.Uint64(b.CommitID[:]) >> 16)
	for _, t := range b.Tickets {
		if t.Decision == 0 && t.WakeAt != 0 && t.WakeAt <= made {
			as.th.fail("a round continues under its claim at %d, although the ticket of call %d wakes at %d: %+v", made, t.Call, t.WakeAt, *b)
		}
	}
}

// wakesAt is when the first call of a waiting run continues by itself, unix milliseconds; 0:
// none does.
func wakesAt(h *thread.Head) (at int64) {
	if !h.Open() || h.Run.Status != thread.Waiting {
		return 0
	}
	for _, t := range h.Tickets {
		if t.Decision == 0 && t.WakeAt != 0 && (at == 0 || t.WakeAt < at) {
			at = t.WakeAt
		}
	}
	return at
}

// muted reports whether a hint is lost because it is for a time to wake.
func (q *queue) muted(hint core.WakeUp, delay time.Duration) bool {
	return q.w.timers.mute && delay > 0 && wakesAt(&q.w.partition(hint.Key()).head) != 0
}

// lookForSleepers: where nothing goes wrong, a call is woken at its time, not by the next sweep.
func (au *auditor) lookForSleepers(p *partition) {
	at := wakesAt(&p.head)
	if at == 0 || p.head.Deleted || au.w.timers.mute || p.state.hints > 0 || p.state.held > 0 {
		return
	}
	if late := au.w.millis() - max(at, epoch.Add(p.changed).UnixMilli()); late > (3 * time.Second).Milliseconds() {
		au.w.fail(p, "the hint of a call that waits for its time was forgotten, %d ms ago: %+v", late, p.head)
	}
}

// startsWait notes a write after which a run waits for another time than before, whose hint its
// process sends next. If the process dies before, nothing but a sweep repeats that hint: the
// delivery that the process had comes again, finds a run that waits, and cannot know that the hint
// is not on its way. So a world without a sweep looks for this run.
func (h *host) startsWait(p *partition, a, b *thread.Head) {
	at := wakesAt(b)
	switch {
	case !h.world.config.Processes.Unswept || at == 0 || at == wakesAt(a):
	case h.dead: // it died while the write was on its way
		sweepFor(h.world, p, at)
	default:
		h.waits[p.key] = at
	}
}

// giveUpWaits leaves the waits to the sweep whose hints the process has not sent.
func (h *host) giveUpWaits() {
	for _, p := range h.world.storage.partitions {
		if at := h.waits[p.key]; at != 0 {
			sweepFor(h.world, p, at)
		}
	}
}

// sweepFor is the sweep of a world without one, for a run alone: it sends hints until the run waits
// no more for that time, the first when it has come.
func sweepFor(w *World, p *partition, at int64) {
	w.at(max(time.UnixMilli(at).Sub(epoch)-w.now, 0)+sweepEvery, func() {
		if wakesAt(&p.head) != at {
			return
		}
		w.queue.carry(nil, core.WakeUp{Tenant: p.key.Tenant, Thread: p.key.Thread, Sweep: true}, 0)
		sweepFor(w, p, at)
	})
}
