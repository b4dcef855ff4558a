package sim

import (
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run/live"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/model"
)

// In some worlds the provider is away from the start on: for less time than the agents wait
// for it while no stream follows the run, or for more. In all others they do not wait, so that
// the number of calls is checked.

// modelPatience is the default of agent.Retry.
const modelPatience = 15 * time.Minute

// outageSlack is how late or early a run may give its provider up: clocks differ, and what
// wakes the run up for its last call may be lost.
const outageSlack = 2*sweepEvery + lease + 30*time.Second

// outages makes the provider of some worlds be away.
func (c *Config) outages(kind, turn int) {
	if turn%8 != 3 || c.Processes.Unswept {
		return
	}
	switch kind {
	case 0, 4, 12:
		c.Agents.Outage = []time.Duration{10 * time.Minute, 14 * time.Minute, 20 * time.Minute}[(turn/8+kind/4)%3]
		c.People.Followed, c.Agents.Compacts = false, ""
	}
}

// away returns the failure of a call during the outage; nil: it is over.
func (sc scripted) away() *model.Error {
	if sc.w.now >= sc.w.config.Agents.Outage {
		return nil
	}
	sc.w.Stats.Steps.Away++
	return &model.Error{Kind: model.KindProvider, Message: "away"}
}

// impatient makes specs count their calls where the provider is never away.
func (c *Config) impatient(specs []agent.Spec) {
	for i := range specs {
		if c.Agents.Outage == 0 {
			specs[i].Retry.PatienceMS = new(int)
		}
	}
}

// outlasted is since when the model of a thread's open run fails, by its newest head that said
// so. It outlives the run's end.
type outlasted struct {
	run   core.ID
	since int64
}

// keepPatience notes it, and checks that the head forgets it with progress.
func (ru *runs) keepPatience(a, b *thread.Head) {
	if since := b.FailingSince(); since != 0 {
		ru.outlasted = outlasted{b.Run.ID, since}
		if a.Run.ID == b.Run.ID && a.Run.Step != b.Run.Step {
			ru.th.fail("the model fails since %d after step %d, although the run has made progress", since, a.Run.Step)
		}
	}
}

// checkPatience looks at a failed call of a run whose calls are not counted: the head must say
// since when, unless it is among those that are, and the time must not be over for long.
func (ru *runs) checkPatience(s script, n, allowed int) {
	since := ru.th.p.head.FailingSince()
	ends := ru.th.p.head.Run.Status == thread.Closing // the call was under way, and the head has no such time any more
	if since == 0 && n > allowed && !ends {
		ru.th.fail("the model has failed %d times in a step after turn %d of run %s, and the head does not say since when", n, s.step, s.run)
	}
	if late := ru.th.w.millis() - since - modelPatience.Milliseconds(); since != 0 && late > outageSlack.Milliseconds() {
		ru.th.fail("run %s calls its model %d s after its patience ended", s.run, late/1000)
	}
}

// checkGivenUp looks at a run that ended with its model's error: its patience must be over, if
// no stream has followed it.
func (ru *runs) checkGivenUp(record *core.Run, in *input) {
	if ru.th.w.config.Agents.Outage == 0 || record.Termination.Code != "model" || in == nil || in.inline || tolerates(in.agent) {
		return
	}
	var mark live.Mark
	if r, ok := ru.th.p.record(recordname.Follow); ok && ru.th.w.checks.Decode("follow mark", r.Payload, &mark) == nil && mark.Run == record.ID {
		return // a stream has followed it: its calls were counted
	}
	if ru.streamed[record.ID] {
		return // so have those of a person who has decided
	}
	ru.th.w.Stats.Steps.GivenUp++
	if o := ru.outlasted; o.run != record.ID || record.FinishedAt-o.since < (modelPatience-time.Minute).Milliseconds() {
		ru.th.fail("run %s gives its model up at %d; it fails since %+v", record.ID, record.FinishedAt, o)
	}
}
