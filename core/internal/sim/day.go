package sim

import (
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// A day is a world of many tenants: 24 hours of their work, across a midnight in UTC, in
// which processes die and messages come twice all the time. People decide immediately or
// hours later, in another hour of usage and at times on another day. When it is over, the
// tenants' usage reports must equal what the provider has served them.

// DayTenants is how many tenants a day has by default.
const DayTenants = 1000

// Day is the n-th day of so many tenants: its seed is n.
func Day(n, tenants int) Config {
	return Config{Seed: uint64(n), Tenants: tenants, Faults: 0.004, Poison: -1, People: People{Asks: true}, Accounts: Accounts{Metered: true, Limited: true}}
}

// Times of a day, since the world's epoch, which is a midnight.
const (
	dayBegins = 13*time.Hour + 20*time.Second // so that sweeps do not come with the minute: clocks differ
	dayLasts  = 24 * time.Hour
	lastCall  = dayLasts - 20*time.Minute // no later clients
	quietFrom = 1                         // hour of the night in which few clients come
	quietTo   = 5
)

// habits are what a tenant does in a day.
type habits struct {
	users   int
	threads int
	inputs  int           // that start runs
	busy    time.Duration // all of them come within this time; 0: over the day
}

// habit draws the habits of the n-th tenant: a few are hot, many do little, and some
// nothing at all.
func (pe *people) habit(n int) habits {
	switch x := pe.w.random.below(100); {
	case n < 5 || x < 2:
		h := habits{users: 3, threads: 8, inputs: 30}
		if n%2 == 0 {
			h.busy = time.Hour
		}
		return h
	case x < 15:
		return habits{}
	case x < 40:
		return habits{users: 1, threads: 1, inputs: 1}
	}
	return habits{users: 1 + pe.w.random.below(2), threads: 1 + pe.w.random.below(2), inputs: 2 + pe.w.random.below(3)}
}

// openDay makes the threads of the tenants, and what they do when.
func (pe *people) openDay() {
	pe.w.now, pe.w.stop = dayBegins, dayBegins+dayLasts
	for n := range pe.w.config.Tenants {
		tenant, h := tenantName(n), pe.habit(n)
		if h.inputs == 0 {
			continue
		}
		first := len(pe.w.threads)
		for i := range h.threads {
			pe.w.addThread(tenant, fmt.Sprintf("u%d", i%h.users))
		}
		from := pe.w.random.between(0, lastCall-h.busy)
		for k := range h.inputs {
			th := pe.w.threads[first+pe.w.random.below(h.threads)]
			at := from + pe.w.random.between(0, h.busy+1)
			if h.busy == 0 {
				at = pe.daytime()
			}
			pe.w.at(at, func() { pe.w.people.newcomer(th, k) })
		}
		if pe.w.random.chance(0.03) {
			th := pe.w.threads[first]
			pe.w.at(pe.w.random.between(dayLasts/4, lastCall), func() { pe.w.people.deleteThread(th) })
		}
		pe.w.Stats.Runs += h.inputs
	}
	pe.w.Stats.Tenants = pe.w.config.Tenants
	pe.w.Stats.Threads = len(pe.w.threads)
}

// daytime draws when a client comes, since the day began.
func (pe *people) daytime() time.Duration {
	for {
		at := pe.w.random.between(0, lastCall)
		if hour := int((dayBegins + at) / time.Hour % 24); hour < quietFrom || hour >= quietTo || pe.w.random.chance(0.1) {
			return at
		}
	}
}

// addThread makes a thread without messages.
func (w *World) addThread(tenant, user string) *threadState {
	return w.addNamedThread(core.ThreadKey{Tenant: tenant, Thread: fmt.Sprintf("t%d", len(w.threads))}, user)
}

func (w *World) addNamedThread(key core.ThreadKey, user string) *threadState {
	i := len(w.threads)
	p := &partition{key: key, records: map[string]store.Record{}}
	p.shard = store.Overdue{Key: p.key}.Shard()
	p.state = newThreadState(w, i, p)
	p.state.user = user
	w.storage.partitions, w.threads, w.storage.byKey[p.key] = append(w.storage.partitions, p), append(w.threads, p.state), p
	w.storage.shards[p.shard] = append(w.storage.shards[p.shard], p)
	return p.state
}

// Every third hour of a day the queue hands nothing out from five minutes before its end
// on, for as long as that: work that was under way continues when its hour has long been
// summed.
const (
	stallsEvery = 3 * time.Hour
	stallBegins = 55 * time.Minute
	stallLasts  = 45 * time.Minute
)

// stalled is how long the queue will hand out nothing.
func (w *World) stalled() time.Duration {
	if into := (w.now - stallBegins) % stallsEvery; w.config.Tenants > 0 && w.now < w.stop-stallsEvery && into < stallLasts {
		return stallLasts - into
	}
	return 0
}

// later is how long a person of a day thinks about a decision: an hour is another one
// then, and at times the day.
func (pe *people) later() time.Duration {
	return min(pe.w.random.between(30*time.Minute, 9*time.Hour), max(0, pe.w.stop-pe.w.now))
}

// settles is how long a world must be at rest before it is looked at. The last hour of a
// day must have passed, and been summed.
func (w *World) settles() time.Duration {
	if w.config.Tenants > 0 {
		return 130 * time.Minute
	}
	return sweepEvery
}

// client is the identity that speaks in the thread.
func (th *threadState) client() core.Identity {
	return core.Identity{Tenant: th.p.key.Tenant, User: th.user}
}
