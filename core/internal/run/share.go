package run

import (
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
)

// A child run has a share of what its parent may still use: each call of the parent's turn gets
// the same part of the tokens that were left when the turn was committed, and all get the
// parent's last moment. Both follow from stored values, so that a call that runs again asks for
// the same child.

// share is the share of a child of one of the calls of a turn, after which the run has used so
// much; 0: no limit.
func (b *base) share(used core.Usage, calls int) (tokens, deadline int64) {
	smaller := func(of *int64, limit int64) {
		if limit > 0 && (*of == 0 || limit < *of) {
			*of = limit
		}
	}
	for _, p := range b.agent.Spec.Stop {
		switch {
		case p.Type == agent.StopTokenBudget:
			smaller(&tokens, int64(p.MaxTotal))
		case p.Type == agent.StopTimeout && b.record.StartedAt > 0:
			smaller(&deadline, b.record.StartedAt+int64(p.Seconds)*1000)
		}
	}
	if above := b.record.Parent; above != nil {
		smaller(&tokens, above.MaxTokens)
		smaller(&deadline, above.Deadline)
	}
	if tokens > 0 {
		tokens = max(1, (tokens-int64(used.Input)-int64(used.Output))/int64(calls)) // 0 would be no limit
	}
	return tokens, deadline
}

// shares reports whether the run has a share of its parent's.
func (b *base) shares() bool {
	above := b.record.Parent
	return above != nil && (above.MaxTokens > 0 || above.Deadline > 0)
}

// overShare is the end of a run that would continue beyond its share, as by the stop policies of
// the same codes; nil: it continues.
func (b *base) overShare(v agent.StopView) *core.Termination {
	if !b.shares() || !v.GoesOn() {
		return nil
	}
	above := b.record.Parent
	if used := int64(v.Usage.Input + v.Usage.Output); above.MaxTokens > 0 && used > above.MaxTokens {
		return stoppedBy(agent.StopTokenBudget, fmt.Sprintf("the run has used %d tokens, its share of its parent's budget is %d", used, above.MaxTokens))
	}
	if last := time.UnixMilli(above.Deadline); above.Deadline > 0 && v.Now.After(last) {
		return stoppedBy(agent.StopTimeout, fmt.Sprintf("the run's parent had time until %s", last.UTC().Format(time.RFC3339)))
	}
	return nil
}

func stoppedBy(code, detail string) *core.Termination {
	return &core.Termination{Type: core.TerminationStopped, Code: code, Detail: detail}
}
