package sim

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// errorLimit is how many steps in a row may fail in a run of a tolerant agent, whose
// model is called once in a step.
const errorLimit = 3

// tolerates reports whether a failed inference is a step of the agent's runs, and
// not their end.
func tolerates(agent string) bool { return agent == agentHooked }

// streak is how many steps of a run have failed in a row, by what the log says.
type streak struct {
	run            core.ID
	errors         int
	calls, results int // of the newest turn
	round          thread.Outcomes
}

// countFailures counts failed steps: the totals of a record must follow from the log, for
// every writer, and no run continues past its limit.
func (lo *logged) countFailures(a thread.Head, e thread.Entry) {
	s, m := &lo.th.runs.streak, e.Message
	if e.Run != s.run {
		*s = streak{run: e.Run}
	}
	in := lo.th.inputs.byText[lo.th.inputs.textOf(a.Run.Dispatch)]
	tolerant := in != nil && tolerates(in.agent)
	turn := m != nil && m.Role == core.RoleAssistant && e.Totals != nil // not the last words of a cancelled run
	if (turn || e.Failed != nil) && tolerant && s.errors >= errorLimit {
		lo.th.fail("run %s continues after %d failed steps", e.Run, s.errors)
	}
	switch {
	case e.Failed != nil:
		if s.errors++; !tolerant {
			lo.th.fail("run %s continues after a failed inference", e.Run)
		}
		lo.th.w.Stats.Steps.FailedSteps++
		lo.th.budget.forget(e.Run)
	case turn:
		s.calls, s.results, s.round = len(m.ToolCalls), 0, thread.Outcomes{}
		if s.calls == 0 {
			s.errors = 0
		}
	case m != nil && m.ToolResult != nil:
		s.round.Add(m.ToolResult)
		if s.results++; s.results == s.calls && s.round.Failed() {
			s.errors++
		} else if s.results == s.calls {
			s.errors = 0
		}
	}
	if e.Totals != nil && int(e.Totals.ErrorSteps) != s.errors {
		lo.th.fail("a record of step %d of run %s counts %d failed steps in a row, the log has %d", e.Step, e.Run, e.Totals.ErrorSteps, s.errors)
	}
}

// forget lets the next step of a run call its model again.
func (b *budget) forget(run core.ID) {
	for _, counts := range []map[modelStep]int{b.known, b.here} {
		for key := range counts {
			if key.run == run {
				delete(counts, key)
			}
		}
	}
}

// callsOf is how often a step of an agent may call its model.
func callsOf(agent string) int {
	if tolerates(agent) {
		return 1
	}
	return modelCalls
}
