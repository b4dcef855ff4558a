package run

import (
	"errors"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/stop"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/wire"
	"github.com/reveille-run/reveille/core/model"
)

// The stop policies judge a step by its records and the window: its totals and its
// own time, and neither this process's clock nor its memory. So three steps decide
// the same: the one that heard the turn, one that takes its round over, and one
// that has read the thread again. They run
//
//   - after commit A, before any call is looked at, and in each claim that
//     continues the round;
//   - once more when the round is whole and all its calls have failed;
//   - for a turn without calls before commit B, which alone makes it visible;
//   - likewise for a failed inference.

// judge returns what the first policy that stops says of the step, else nil. failed
// is its inference's failure, and turn is zero then. before are the messages in front
// of the turn, and a what is known of it as the run's answer. A policy that panics ends the
// run with an error.
func (m *machine) judge(turn core.Message, failed *thread.Failure, before []core.Message, a answer) (*core.Termination, error) {
	at, started := turn.CreatedAt, m.base.record.StartedAt
	view := agent.StopView{Step: m.draft.step, Turn: turn, Usage: m.draft.totals.Usage, ErrorSteps: int(m.draft.totals.ErrorSteps), Mends: a.mends}
	if failed != nil {
		view.Failed, at = failed.Kind, failed.At
	}
	// Most runs have this one policy, which asks for nothing that has to be looked up.
	if end := m.base.agent.Spec.RoundLimit().Check(view); end != nil || !m.base.judged(m.holder.s.stops) && !m.base.shares() {
		return end, nil
	}
	view.Now = time.UnixMilli(at).UTC()
	if end := m.base.overShare(view); end != nil {
		return end, nil
	}
	if started != 0 { // else the record was lost, see identify
		view.StartedAt = time.UnixMilli(started).UTC()
	}
	view.Turns = ofRun(before, m.holder.id)
	view.Calls, view.Texts = m.draft.totals.TurnPrints()
	for _, policies := range [2][]agent.StopPolicy{m.base.agent.Stops, m.holder.s.stops} {
		for _, p := range policies {
			if end, err := check(p, view); end != nil || err != nil {
				return end, err
			}
		}
	}
	return nil, nil
}

// check asks one policy, which is the user's code.
func check(p agent.StopPolicy, view agent.StopView) (end *core.Termination, err error) {
	if err := env.Protect(func() error { end = p.Check(view); return nil }); err != nil {
		return nil, endAt("stop_policy", fmt.Sprintf("stop policy %q", stop.Name(p)), err)
	}
	if end == nil {
		return nil, nil
	}
	settled := *end // it may be one that the policy keeps
	switch settled.Type {
	case "":
		settled.Type = core.TerminationStopped
	case core.TerminationStopped, core.TerminationBehavior, core.TerminationNatural, core.TerminationBlocked, core.TerminationError:
	default: // what only the runtime can say, or nothing at all
		what := fmt.Sprintf("stop policy %q ends the run as %q, which no policy can", stop.Name(p), core.Excerpt(string(settled.Type)))
		return nil, endAt("stop_policy", what, errors.New("an end that no policy may return"))
	}
	settled.Code = core.Excerpt(settled.Code)
	settled.Detail = wire.Shorten(settled.Detail, maxDetail)
	return &settled, nil
}

// ofRun returns the messages at the end that are the run's.
func ofRun(messages []core.Message, run core.ID) []core.Message {
	first := len(messages)
	for first > 0 && messages[first-1].RunID == run {
		first--
	}
	return messages[first:len(messages):len(messages)]
}

// tolerated is the failure of the model that err is, if a policy is to judge it
// instead of the run ending with it; nil if not. A provider that asks for a longer
// pause than is waited would only refuse the next step as well.
func (b *base) tolerated(err error, program []agent.StopPolicy) *ended {
	var end *ended
	if !errors.As(err, &end) || end.termination.Code != "model" {
		return nil
	}
	if !stop.Tolerates(b.agent.Stops) && !stop.Tolerates(program) {
		return nil
	}
	return end
}

// failureOther is the kind of a failure that no provider has classed: a panic of the
// adapter, or calls that an earlier delivery made.
const failureOther = "other"

// failureKind is the kind of a model's failure, for records and policies.
func failureKind(err error) string {
	var failure *model.Error
	switch {
	case errors.As(err, &failure) && failure.Kind != "":
		return string(failure.Kind)
	}
	return failureOther
}
