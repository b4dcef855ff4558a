package sim

import (
	"context"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/breaker"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/model"
)

// In some worlds each agent's model is a pool of three, of which the home fails oftener
// than a single model does. The world finds out the circuits and the places of threads by
// itself, from the models' output and the committed records.

// poolNames are the providers' names of the members of an agent's pool, its home first;
// their prices are known.
var poolNames = map[string][3]string{
	agentBare:   {modelOf[agentBare], "gpt-4.1", "gpt-4.1-mini"},
	agentShort:  {modelOf[agentShort], "gpt-5", "gpt-5-mini"},
	agentHooked: {modelOf[agentHooked], "gpt-5-nano", "gpt-5.1"},
	agentEnding: {modelOf[agentEnding], "gpt-5.2", "gpt-4o-2024-08-06"},
}

// mostSwitches is how often threads of the short agent may switch.
const mostSwitches = 1

// memberIDs are what specs call the members.
func memberIDs(id string) [3]string { return [3]string{id, id + ".next", id + ".spare"} }

// poolOf is what specs call the pool of an agent.
func poolOf(id string) string { return id + ".pool" }

// addPools puts a pool in the place of each agent's model.
func (sc scripted) addPools(p *agent.Parts) {
	if !sc.w.config.Agents.Pooled {
		return
	}
	for i := range p.Specs {
		s := &p.Specs[i]
		ids, names := memberIDs(s.ID), poolNames[s.ID]
		pool := agent.ModelPoolSpec{ID: poolOf(s.ID), Routing: agent.RouteFirstHealthy, Members: []agent.PoolMember{
			{Model: ids[0]}, {Model: ids[1]}, {Model: ids[2], Role: agent.RoleFailoverOnly},
		}}
		if s.ID == agentShort {
			pool.Switch.MaxSwitches = mostSwitches
		}
		for j, id := range ids {
			p.Models[id] = agent.ModelBinding{Model: scriptedModel(sc), Name: names[j]}
		}
		s.Model, p.Pools = pool.ID, append(p.Pools, pool)
	}
}

// refuses draws how a model of a pool refuses a call; nil: it does not. Threads leave it
// for that.
func (sc scripted) refuses(name string) *model.Error {
	home := slices.ContainsFunc(agents, func(id string) bool { return modelOf[id] == name })
	if !sc.w.config.Agents.Pooled || !sc.w.scripted.flaky() || !sc.w.random.chance(map[bool]float64{true: 0.25, false: 0.08}[home]) {
		return nil
	}
	switch sc.w.random.below(4) {
	case 0:
		return &model.Error{Kind: model.KindQuota, Message: "quota"}
	case 1:
		return &model.Error{Kind: model.KindRateLimited, Message: "limited", RetryAfter: 20 * time.Second}
	case 2:
		return &model.Error{Kind: model.KindProvider, Message: "broken"} // stays
	}
	return &model.Error{Kind: model.KindOverloaded, Message: "overloaded"}
}

// circuit is what the world expects of a process: that it leaves a model alone.
type circuit struct {
	failed        int
	opened, until time.Duration
}

// circuit is the one of a model.
func (h *host) circuit(name string) *circuit {
	c := h.circuits[name]
	if c == nil {
		c = &circuit{}
		h.circuits[name] = c
	}
	return c
}

// takes notes the outcome of a call; nil: it ended normally.
func (c *circuit) takes(w *World, failure *model.Error, began time.Duration) {
	switch {
	case c.failed >= breaker.CircuitFailures && began < c.opened: // from before it opened
	case failure == nil:
		c.failed = 0
	case failure.Transient():
		if c.failed++; c.failed >= breaker.CircuitFailures {
			c.opened, c.until = w.now, w.now+breaker.CircuitCooldown
		}
	}
}

// slack is how much later than the model a process may know the outcome of a call.
const slack = time.Second

// inquiry has the outcomes of the members of a pool in a step, under one claim.
type inquiry struct {
	calls   int
	refused []string // names of those that a thread leaves
}

// inquire notes a call of a model, and checks that it is the one to call. The function
// takes the outcome of the call, nil for a turn, and whether the model spoke: such a
// failure leaves the circuit as it is.
func (th *threadState) inquire(h *host, s script, name string) func(context.Context, *model.Error, bool) {
	w := th.w
	c := h.circuit(name)
	if c.failed >= breaker.CircuitFailures && w.now > c.opened+slack && w.now < c.until {
		th.fail("%s calls %s, which has failed %d times in a row until %s", h.name, name, c.failed, c.opened)
	}
	step, began := th.member(h, s, name), w.now
	return func(ctx context.Context, failure *model.Error, spoke bool) {
		if ctx.Err() != nil { // no step waits for it any more
			return
		}
		if failure == nil || !spoke {
			c.takes(w, failure, began)
		}
		if failure == nil || step == nil {
			return
		}
		switch failure.Kind {
		case model.KindQuota, model.KindRateLimited, model.KindOverloaded:
			step.refused = append(step.refused, name)
		}
	}
}

// member checks that a call is that of the member whose turn it is in the thread; nil: it
// is of a claim that is lost, or there is no pool.
func (th *threadState) member(h *host, s script, name string) *inquiry {
	w := th.w
	head, in := &th.p.head, th.inputs.byText[s.name]
	if !w.config.Agents.Pooled || in == nil || !th.runs.holds() || head.Run.ID != s.run {
		return nil
	}
	key := modelStep{s.run, int(head.Run.Step)} // not that of the script: a step may have no turn
	step := th.asking[key]
	if step == nil {
		step = &inquiry{}
		th.asking[key] = step
	}
	names := poolNames[in.agent]
	closed := func(name string) bool {
		return h.circuits[name] == nil || h.circuits[name].failed < breaker.CircuitFailures
	}
	if want := th.logged.nextMember(in.agent, names); step.calls == 0 && want != "" && want != name && closed(want) {
		th.fail("%s calls %s in a step after turn %d of run %s, the thread's model is %s", h.name, name, s.step, s.run, want)
	}
	if slices.Contains(step.refused, name) && in.agent != agentShort {
		for _, other := range names {
			if closed(other) && !slices.Contains(step.refused, other) {
				th.fail("%s calls %s again, which has refused, and not %s", h.name, name, other)
			}
		}
	}
	step.calls++
	return step
}

// nextMember is the member that the thread's next step starts with; empty where clocks that
// differ decide it.
func (lo *logged) nextMember(id string, names [3]string) string {
	places := lo.places
	head := &lo.th.p.head
	if in := lo.th.inputs.own(head.Run.Dispatch); in != nil && head.Run.Cursor == thread.CursorStart && in.supersede > 0 && in.supersede <= head.Seq {
		for len(places) > 0 && places[len(places)-1].seq >= in.supersede { // the records that the run is about to supersede
			places = places[:len(places)-1]
		}
	}
	if len(places) == 0 || places[len(places)-1].Pool != poolOf(id) {
		return names[0]
	}
	last := places[len(places)-1]
	switch age := epoch.Add(lo.th.w.now).Sub(time.UnixMilli(last.at)); {
	case age < 4*time.Minute:
		i := slices.Index(memberSlice(id), last.Model)
		if i < 0 {
			lo.th.fail("the thread's model is %s of pool %s, which has no such member", last.Model, last.Pool)
			return ""
		}
		return names[i]
	case age > 6*time.Minute:
		return names[0]
	}
	return ""
}

func memberSlice(id string) []string {
	ids := memberIDs(id)
	return ids[:]
}

// stood is the thread's place in a pool after a record.
type stood struct {
	thread.Member
	seq uint64
	at  int64
}

// notePlace notes where a committed record has left the thread in its agent's pool.
func (lo *logged) notePlace(e thread.Entry, seq uint64) {
	if r := e.Superseded; r != nil {
		for len(lo.places) > 0 && lo.places[len(lo.places)-1].seq >= r.From {
			lo.places = lo.places[:len(lo.places)-1]
		}
	}
	turn := e.Message != nil && e.Message.Role == core.RoleAssistant
	words := turn && e.Totals == nil // a run that cannot be read any more does not say whose they are
	if !lo.th.w.config.Agents.Pooled || !turn && e.Failed == nil || words && e.Member == nil {
		return
	}
	if e.Member == nil {
		lo.th.fail("the record at %d does not name its member of the pool", seq)
		return
	}
	now := stood{Member: *e.Member, seq: seq}
	var before stood
	if n := len(lo.places); n > 0 && lo.places[n-1].Pool == now.Pool {
		before = lo.places[n-1]
	}
	if now.at = before.at; turn {
		now.at = e.Message.CreatedAt
		if least := words && lo.th.w.config.Storage.Tight && e.Message.Model == ""; !least { // the least form of an end leaves out who said its last words
			lo.checkTurn(&e, before, now)
		}
	}
	if most := mostSwitches; now.Switches < before.Switches || now.Pool == poolOf(agentShort) && now.Switches > most {
		lo.th.fail("the thread has switched %d times after %d, and %d times before", now.Switches, seq, before.Switches)
	}
	lo.th.w.Stats.Steps.Switches += now.Switches - before.Switches
	lo.places = append(lo.places, now)
}

// checkTurn: a turn is its member's, and the thread has switched where that is another.
func (lo *logged) checkTurn(e *thread.Entry, before, now stood) {
	for id, names := range poolNames {
		if i := slices.Index(memberSlice(id), now.Model); poolOf(id) == now.Pool && (i < 0 || names[i] != e.Message.Model) {
			lo.th.fail("the turn at %d names the member %s, and the model %s", now.seq, now.Model, e.Message.Model)
		}
	}
	soon := before.Pool != "" && now.at-before.at < (4*time.Minute).Milliseconds()
	if soon && before.Model != now.Model && now.Switches == before.Switches {
		lo.th.fail("the turn at %d is of %s, the previous turn of %s, and the thread has switched %d times", now.seq, now.Model, before.Model, now.Switches)
	}
}
