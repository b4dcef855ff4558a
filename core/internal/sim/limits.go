package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/calendar"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// turnTokens are about those of a turn, and turnCost is about what they cost.
const (
	turnTokens = 2600
	turnCost   = core.USD(3_000_000)
)

// limitsFor are those of a world's tenants: so low that some runs reach them. In a day
// there are several kinds, and two of five tenants have none.
func (sc scripted) limitsFor() account.Tenants {
	if !sc.w.config.Accounts.Limited {
		return account.Tenants{}
	}
	if sc.w.config.Tenants == 0 {
		return account.Tenants{Default: []account.Limits{
			{ConcurrentRuns: 2}, {TokensADay: 8 * turnTokens}, {RunsADay: 4, ConcurrentRuns: 3},
		}[sc.w.config.Seed/Kinds%3]}
	}
	all := account.Tenants{Tenants: map[string]account.Limits{}}
	for n := range sc.w.config.Tenants {
		l := []account.Limits{
			{ConcurrentRuns: 1 + n%3}, {TokensADay: int64(2+n%7) * turnTokens}, {SpendADay: core.USD(1+n%7) * turnCost},
			{RunsADay: int64(2 + n%5), ConcurrentRuns: 2, TokensADay: 20 * turnTokens},
		}
		switch {
		case n < 5 && n%2 == 0: // the hottest
			all.Tenants[tenantName(n)] = account.Limits{TokensADay: 25 * turnTokens, ConcurrentRuns: 4}
		case n%5 < 3:
			all.Tenants[tenantName(n)] = l[n%len(l)]
		}
	}
	return all
}

// admissions are what is known of the tenants' limits.
type admissions struct {
	limits account.Tenants
	over   map[tenantDay]*overrun
	// crossed are the tenants with a slot that was taken on one day and released on
	// another: nothing is deducted then, so that their counters stay high.
	crossed map[string]bool
	calm    time.Duration             // since when nothing has moved
	twice   map[tenantDay]*spending   // charges that were made again without need
	stays   map[string]spending       // of them, by tenant, those that no slot has
	runs    map[core.ID]*admitted     // runs that were admitted
	charged map[store.Use]bool        // so far
	turns   map[store.Use]bool        // the same, all without their slots
	by      map[core.ID]charger       // who charged a run last
	last    map[core.ID]time.Duration // when a run was admitted last
	taken   map[taking]int            // how often a slot was taken: more than once by tries that came late
}

// charger is a process that has charged a run.
type charger struct {
	host *host
	at   time.Duration
}

// taking is what tells a slot.
type taking struct {
	run   core.ID
	since int64
}

type tenantDay struct {
	tenant string
	day    int64
}

// admitted is a run that was admitted.
type admitted struct {
	thread core.ThreadKey
	times  int           // that it is counted: more than once by tries that came late
	since  time.Duration // when a process began to count it last
	// slow means that it may not be counted: it was enqueued so late that the sweep took
	// it for lost, or an attempt that had given up, and is gone, withdrew its count late.
	slow bool
}

// noteAdmission notes a slot that was taken, and counts the run that was admitted by it.
// had means that the run had a slot already: then it is not to be counted again.
func (au *auditor) noteAdmission(tenant string, a store.Admitting, had bool) {
	if had {
		au.w.fail(au.w.partition(core.ThreadKey{Tenant: tenant, Thread: a.Slot.Thread}), "run %s has a slot, and is admitted again", a.Run)
	}
	au.w.admissions.taken[taking{a.Run, a.Slot.Since}]++
	if a.Again {
		return
	}
	run := au.w.admissions.runs[a.Run]
	if run == nil {
		run = &admitted{thread: core.ThreadKey{Tenant: tenant, Thread: a.Slot.Thread}}
		au.w.admissions.runs[a.Run] = run
	}
	// The sweep counts from when the process began to admit it, which may have paused since.
	run.times, run.since = run.times+1, min(au.w.now, time.UnixMilli(a.Slot.Since).Sub(epoch))
}

// enqueueTime is how long after its admission a run may be enqueued.
const enqueueTime = lease + time.Minute

// overrun is a tenant's day over a limit.
type overrun struct {
	since time.Duration          // when the provider's books reached the limit
	began map[core.ID]beginnings // inferences that began since, by run
}

// beginnings are the steps of a run whose inference began, and whether it ran before.
type beginnings struct {
	steps map[int]bool
	ran   bool
}

// forever reports whether a client is refused until the next day.
func forever(err error) bool {
	reached, ok := errors.AsType[*account.ReachedError](err)
	return ok && reached.Ends != 0
}

// occupied reports whether any slot is taken.
func (au *auditor) occupied() bool {
	for _, t := range au.w.storage.tallies {
		if len(t.Slots) > 0 {
			return true
		}
	}
	return false
}

// charged takes turns that the log has, and adds them to the books of their tenants: a
// tenant over its limit by the provider's books is over it by the runtime's, which
// charges before it commits.
func (au *auditor) charged(s *inference) {
	l := au.w.admissions.limits.Of(s.th.p.key.Tenant)
	if l.TokensADay == 0 && l.SpendADay == 0 {
		return
	}
	at := tenantDay{s.th.p.key.Tenant, calendar.Day(epoch.Add(s.ended).UnixMilli())}
	if calendar.Day(epoch.Add(s.ended-clocks).UnixMilli()) != at.day || calendar.Day(au.w.millis()) != at.day {
		return // by some clock it may have been another day
	}
	spent := au.w.provider.of(at)
	spent.tokens += accounting.Tokens(s.usage)
	if cost, ok := au.w.provider.prices.Cost("", s.model, s.usage, epoch.Add(au.w.now)); ok {
		spent.cost += cost
	}
	if o := au.w.admissions.over[at]; o == nil && (l.TokensADay > 0 && spent.tokens >= l.TokensADay || l.SpendADay > 0 && spent.cost >= l.SpendADay) {
		au.w.Stats.Usage.Overruns++
		au.w.admissions.over[at] = &overrun{since: au.w.now, began: map[core.ID]beginnings{}}
	}
}

// clocks is how far apart two clocks are at most, and a little more.
const clocks = 500 * time.Millisecond

// checkWithin: over a limit a run that was claimed before begins one inference at most,
// which it was about to begin, and any other none.
func (ru *runs) checkWithin(h *host, s script) {
	w := ru.th.w
	o := w.admissions.over[tenantDay{ru.th.p.key.Tenant, calendar.Day(w.millis())}]
	if o == nil || !ru.holds() || ru.th.p.head.Run.ID != s.run || w.now == o.since {
		return
	}
	b, known := o.began[s.run]
	if !known {
		b = beginnings{steps: map[int]bool{}, ran: ru.claimed <= o.since}
		o.began[s.run] = b
	}
	b.steps[s.step] = true
	w.Stats.Usage.Overshoots++
	switch {
	case len(b.steps) > 1:
		ru.th.fail("run %s starts a second inference over the limit of its tenant", s.run)
	case !b.ran:
		ru.th.fail("run %s is claimed over the limit of its tenant, and starts an inference %s after that was reached", s.run, w.now-o.since)
	}
}

// checkLimited: no run is refused for a limit whose tenant is below it.
func (ru *runs) checkLimited(in *input, err error) {
	reached, ok := errors.AsType[*account.ReachedError](err)
	if !ok {
		return
	}
	w := ru.th.w
	w.Stats.Usage.Refusals++
	if w.config.Trace != nil {
		w.config.Trace("%s is refused: %v", in.name, reached)
	}
	l, use := w.admissions.limits.Of(ru.th.p.key.Tenant), w.auditor.mostOf(ru.th.p.key.Tenant)
	switch reached.Limit {
	case account.TokensADay:
		ok = use.tokens >= l.TokensADay
	case account.SpendADay:
		ok = use.spend >= l.SpendADay
	case account.RunsADay:
		ok = use.runs >= l.RunsADay
	case account.ConcurrentRuns:
		ok = use.slots >= l.ConcurrentRuns
	}
	if !ok {
		ru.th.fail("%s is refused, although at most %+v is used: %v", in.name, use, reached)
	}
}

// noteCharge finds charges that were repeated though the first attempt had counted, since
// no process could know, or without a slot since the commit of the turn was refused. The
// part that a slot has of them is deducted with it. A charge without a slot stays, also
// when it comes late, and one that comes late to a slot that was taken once more by a
// late attempt.
func (a *admissions) noteCharge(tenant string, c store.Use) {
	slotless, bare := c.Slot == (store.Slot{}), c
	bare.Slot = store.Slot{}
	again := a.turns[bare]
	if a.charged[c] && (slotless || a.taken[taking{c.Run, c.Slot.Since}] > 1) {
		stays := a.stays[tenant]
		a.stays[tenant] = spending{stays.tokens + c.Tokens, stays.cost + c.Spend}
	}
	if again {
		at := tenantDay{tenant, c.Day}
		if a.twice[at] == nil {
			a.twice[at] = &spending{}
		}
		a.twice[at].tokens += c.Tokens
		a.twice[at].cost += c.Spend
	}
	a.charged[c], a.turns[bare] = true, true
}

// most is the most that a tenant can be said to have used today, and to have running.
type most struct {
	runs, tokens int64
	spend        core.USD
	slots        int
}

// reconciles is how long a run that is gone may be counted, while sweeps fail, too.
const reconciles = 10 * time.Minute

// mostOf counts all that the provider has served a tenant, lost or not, all that its
// clients have asked for, and every run that may still have its slot.
func (au *auditor) mostOf(tenant string) (m most) {
	today := calendar.Day(au.w.millis())
	on := func(at time.Duration) bool {
		return calendar.Day(epoch.Add(at+clocks).UnixMilli()) >= today
	}
	if twice := au.w.admissions.twice[tenantDay{tenant, today}]; twice != nil {
		m.tokens, m.spend = twice.tokens, twice.cost
	}
	for _, s := range au.w.provider.served {
		if s.th.p.key.Tenant == tenant && (!s.over || on(s.ended)) {
			m.tokens += accounting.Tokens(s.usage)
			cost, _ := au.w.provider.prices.Cost("", s.model, s.usage, epoch.Add(au.w.now))
			m.spend += cost
		}
	}
	for _, th := range au.w.threads {
		if th.p.key.Tenant != tenant {
			continue
		}
		h := &th.p.head
		m.slots += len(h.Unopened())
		if h.Open() && h.Run.Status != thread.Waiting || au.w.now-th.p.changed < reconciles {
			m.slots++
		}
		for _, g := range th.runs.goingOn {
			if on(g.sent) {
				m.runs++
			}
			if au.w.now-g.sent < reconciles {
				m.slots++
			}
		}
		for _, in := range th.inputs.byText {
			if on(in.sent) {
				m.runs++
			}
			if in.id.IsZero() && au.w.now-in.sent < reconciles {
				m.slots++
			}
		}
	}
	return m
}

// frees is how long a process may take to give the slot of a run back that waits.
const frees = 10 * time.Second

// checkFreed: a run that waits has no slot, unless a fault has struck the process that
// releases it.
func (au *auditor) checkFreed(th *threadState, h *host, run core.ID, version uint64) {
	if h == nil || au.w.admissions.limits.Of(th.p.key.Tenant).IsZero() {
		return
	}
	began, claimed := au.w.now, th.runs.claimed
	au.w.at(frees, func() {
		if h.dead || h.ending || h.hindered >= began || th.p.head.Version != version {
			return
		}
		if by := au.w.admissions.by[run]; by.host != h && by.at > claimed { // it had lost its claim, and no other process knows
			return
		}
		if au.w.admissions.last[run] > began { // an attempt of its admission that came late: the sweep's
			return
		}
		if slot, ok := au.w.storage.tallyOf(th.p.key.Tenant).Slots[run]; ok && slot.Tokens > 0 && slot.Since <= epoch.Add(began).UnixMilli() { // without, it is of an admission that came late: the sweep's
			th.fail("run %s has waited for %s, and has a slot: %+v", run, frees, slot)
		}
	})
}

// admits notes the runs that a head queues or runs: each was admitted once.
func (ru *runs) admits(a, b *thread.Head) {
	steered := func(run core.ID) bool {
		return slices.ContainsFunc(a.Pending, func(d thread.Dispatch) bool { return d.Run == run && d.Steered })
	}
	for _, d := range b.Unopened() {
		if !d.Steered {
			ru.enqueued(d.Run)
		}
	}
	if b.Open() && b.Run.ID != a.Run.ID && !steered(b.Run.ID) {
		ru.enqueued(b.Run.ID)
	}
}

func (ru *runs) enqueued(run core.ID) {
	if a := ru.th.w.admissions.runs[run]; a != nil && !ru.admitted[run] && ru.th.w.now > a.since+enqueueTime {
		a.slow = true
	}
	ru.admitted[run] = true
}

// lookForSlots: when nothing moves any more, slots are released within two sweeps of the
// time that a run may take to be enqueued.
func (au *auditor) lookForSlots() {
	if !au.w.config.Accounts.Limited || au.w.now < au.w.stop || au.moving() != "" {
		au.w.admissions.calm = au.w.now
		return
	}
	const within = enqueueTime + 2*sweepEvery + 10*time.Second
	if au.occupied() && au.w.now-au.w.admissions.calm > within {
		for tenant, t := range au.w.storage.tallies {
			if len(t.Slots) > 0 {
				au.w.violate("nothing has happened for %s, and tenant %s has slots: %+v", au.w.now-au.w.admissions.calm, tenant, t.Slots)
			}
		}
	}
}

// checkCounters: the counters equal the logs, and what the provider has served for void
// turns.
func (au *auditor) checkCounters() {
	if !au.w.config.Accounts.Limited {
		return
	}
	logged := map[string]counted{}
	for _, th := range au.w.threads {
		c := logged[th.p.key.Tenant]
		c.erased = c.erased || th.p.head.Deleted
		last := map[core.ID]thread.Totals{}
		for _, e := range th.logged.ownEntries() {
			if e.Totals != nil {
				last[e.Run] = *e.Totals
			}
		}
		c.runs += int64(len(th.runs.admitted))
		for _, t := range last {
			c.tokens += accounting.Tokens(t.Usage)
			c.spend += t.Spend
		}
		logged[th.p.key.Tenant] = c
	}
	au.addUnlogged(logged)
	au.addAdmitted(logged)
	for _, tenant := range au.tenants() {
		if au.w.admissions.limits.Of(tenant).IsZero() {
			if t := au.w.storage.tallies[tenant]; t != nil && len(t.Days) > 0 {
				au.w.violate("tenant %s has no limits, and is counted: %+v", tenant, t.Days)
			}
			continue
		}
		au.compareCounters(tenant, logged[tenant])
	}
	au.w.Stats.Usage.Limited++
}

// counted is what the logs of a tenant say.
type counted struct {
	runs   int64 // by the heads
	slow   int64 // of them, those that may not be counted
	again  int64 // what may be counted in addition
	tokens int64
	spend  core.USD
	erased bool     // not everything
	lost   spending // what may be counted in addition
}

// addUnlogged adds what the provider has served for turns that are in no log. Where the
// process that asked has written the run's head since, by giving it back or ending it, it
// must be counted. Where it has not, it may be: it was charged, and the write that follows
// was never made. So may be what was charged again without need: without a slot nothing is
// taken off.
func (au *auditor) addUnlogged(logged map[string]counted) {
	for _, s := range au.w.provider.served {
		if s.logged {
			continue
		}
		tenant := s.th.p.key.Tenant
		c := logged[tenant]
		tokens := accounting.Tokens(s.usage)
		var cost core.USD
		if au.w.admissions.limits.Of(tenant).SpendADay > 0 {
			cost, _ = au.w.provider.prices.Cost("", s.model, s.usage, epoch.Add(au.w.now))
		}
		if s.told {
			c.tokens, c.spend = c.tokens+tokens, c.spend+cost
		} else {
			c.lost.tokens, c.lost.cost = c.lost.tokens+tokens, c.lost.cost+cost
		}
		logged[tenant] = c
	}
	for tenant, twice := range au.w.admissions.stays {
		c := logged[tenant]
		c.lost.tokens, c.lost.cost = c.lost.tokens+twice.tokens, c.lost.cost+twice.cost
		logged[tenant] = c
	}
}

// addAdmitted adds how far the counters of runs may differ from the heads. A late try of an
// admission counts its run again. A slow run may not be counted. A run of a deleted thread may
// be counted though it was never enqueued: the thread's records are gone, so no check can tell.
func (au *auditor) addAdmitted(logged map[string]counted) {
	threads := map[core.ThreadKey]*threadState{}
	for _, th := range au.w.threads {
		threads[th.p.key] = th
	}
	for id, run := range au.w.admissions.runs {
		th, c := threads[run.thread], logged[run.thread.Tenant]
		switch {
		case th == nil:
		case th.runs.admitted[id]:
			c.again += int64(max(0, run.times-1))
			if run.slow {
				c.slow++
			}
		case th.p.head.Deleted:
			c.again += int64(max(0, run.times))
		}
		logged[run.thread.Tenant] = c
	}
}

func (au *auditor) compareCounters(tenant string, logged counted) {
	t := au.w.storage.tallyOf(tenant)
	if len(t.Slots) > 0 {
		au.w.violate("at rest tenant %s has slots: %+v", tenant, t.Slots)
	}
	var all store.Use
	for _, c := range t.Days {
		all.Runs, all.Tokens, all.Spend = all.Runs+c.Runs, all.Tokens+c.Tokens, all.Spend+c.Spend
	}
	if all.Runs < logged.runs-logged.slow || all.Runs > logged.runs+logged.again {
		au.w.violate("%d runs of tenant %s are counted, the heads had %d, %d of them late, and at most %d more", all.Runs, tenant, logged.runs, logged.slow, logged.again)
	}
	more := logged.erased || au.w.admissions.crossed[tenant]
	if all.Tokens < logged.tokens || all.Tokens > logged.tokens+logged.lost.tokens && !more {
		au.w.violate("%d tokens of tenant %s are counted, the logs and the provider have %d, and at most %d more", all.Tokens, tenant, logged.tokens, logged.lost.tokens)
	}
	if all.Spend < logged.spend || all.Spend > logged.spend+logged.lost.cost && !more {
		au.w.violate("%s of tenant %s are counted, the logs and the provider have %s, and at most %s more", all.Spend, tenant, logged.spend, logged.lost.cost)
	}
}

func tenantName(n int) string { return fmt.Sprintf("tenant%d", n) }
