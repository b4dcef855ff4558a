package sim

import (
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/limit"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// turnTokens are those of every turn.
const turnTokens = 15

// limits are those of the tenant: so low that some runs come to them.
func (w *World) limits() limit.Tenants {
	if !w.Limited {
		return limit.Tenants{}
	}
	l := limit.Limits{ConcurrentRuns: 2}
	switch w.Seed / Kinds % 3 {
	case 1:
		l = limit.Limits{TokensADay: 8 * turnTokens}
	case 2:
		l = limit.Limits{RunsADay: 4, ConcurrentRuns: 3}
	}
	return limit.Tenants{Default: l}
}

// admissions are what is known of the tenant's limits.
type admissions struct {
	began map[core.ID]map[int]bool // steps whose inference began over a limit, by run
	calm  time.Duration            // since when nothing has moved
}

// forever reports whether a client is refused until the next day.
func forever(err error) bool {
	reached, ok := limit.Reached(err)
	return ok && reached.Ends != 0
}

func (w *World) admission() store.Admission { return w.tallyOf(tenant).On(store.DayOf(w.millis())) }

// checkWithin: over a limit a run that has a claim begins one inference at most, which it
// was about to begin when another came over it.
func (th *threadState) checkWithin(h *host, s script) {
	w := th.w
	most := w.limits().Default.TokensADay
	if most == 0 || w.admission().Tokens < most || th.p.head.Claim.Worker != h.name || th.p.head.Run.ID != s.run {
		return
	}
	if w.admissions.began == nil {
		w.admissions.began = map[core.ID]map[int]bool{}
	}
	steps := w.admissions.began[s.run]
	if steps == nil {
		steps = map[int]bool{}
		w.admissions.began[s.run] = steps
	}
	if steps[s.step] = true; len(steps) > 1 {
		th.fail("run %s begins a second inference over the limit of its tenant", s.run)
	}
}

// lookForSlots: when nothing moves any more, slots are given back within two sweeps of the
// time that a run may take to be enqueued.
func (w *World) lookForSlots() {
	if !w.Limited || w.now < w.stop || w.moving() != "" {
		w.admissions.calm = w.now
		return
	}
	const within = lease + time.Minute + 2*sweepEvery + 10*time.Second
	if slots := w.admission().Slots; len(slots) > 0 && w.now-w.admissions.calm > within {
		w.violate("nothing has moved for %s, and there are slots: %+v", w.now-w.admissions.calm, slots)
	}
}

// checkCounters: what is counted is what the logs say.
func (w *World) checkCounters() {
	if !w.Limited {
		return
	}
	a := w.admission()
	if len(a.Slots) > 0 {
		w.violate("at rest there are slots: %+v", a.Slots)
	}
	tokens, counted, erased := int64(0), int64(0), false
	for _, day := range w.tallyOf(tenant).Days {
		counted += day.Tokens
	}
	over := len(w.tallyOf(tenant).Days) > 1 // a clock that was slow saw the day before: of its slots nothing is taken off
	for _, th := range w.threads {
		erased = erased || th.p.head.Deleted
		last := map[core.ID]thread.Totals{}
		for _, e := range th.entries {
			if e.Totals != nil {
				last[e.Run] = *e.Totals
			}
		}
		for _, t := range last {
			tokens += limit.Tokens(t.Usage)
		}
	}
	if counted < tokens || counted > tokens && !erased && !over {
		w.violate("%d tokens are counted, the logs say %d", counted, tokens)
	}
	w.Stats.Limited++
}
