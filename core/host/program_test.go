package host

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
)

// What tests say in short, as a program says it by core/reveille.

// InMemory returns a host in memory, on its own queue.
func InMemory(parts agent.Parts) (*Host, error) { return New(Options{Agents: parts}) }

// Run asks an agent on a new thread, and returns what became of it.
func (r *Host) Run(ctx context.Context, agentID, text string) (Result, error) {
	s, err := question(agentID, text)
	if err != nil {
		return Result{}, err
	}
	return r.Play(ctx, s, nil, nil)
}

// Resume decides tickets of a run that waits, and continues the run in one go: as a stream of
// decisions does.
func (r *Host) Resume(ctx context.Context, waiting Result, decisions ...mailbox.Deciding) (Result, error) {
	if ctx.Err() != nil {
		return waiting, fmt.Errorf("resume run %s: %w", waiting.Run.ID, context.Cause(ctx))
	}
	if waiting.Run.ID.IsZero() {
		return waiting, core.Errorf(core.CodeInvalid, "resume: the result is of no run")
	}
	key := core.ThreadKey{Tenant: waiting.identity.Tenant, Thread: waiting.Thread}
	if err := key.Check(); err != nil {
		return waiting, err
	}
	// The decisions are for this run alone: another open run of the thread is not meant.
	decisions = slices.Clone(decisions)
	for i := range decisions {
		decisions[i].Run = waiting.Run.ID
	}
	d, err := r.worker.decideAll(ctx, waiting.identity, key, decisions)
	if err != nil {
		return waiting, err
	}
	one := r.player.follow(key, d.run, core.ID{}, waiting.identity, ListenerFunc(discard))
	if head, permit := r.worker.claimInline(ctx, key, d.head, d.run); permit != nil {
		r.worker.runInline(ctx, key, one.follower.stream, head, permit)
	}
	return r.player.end(ctx, one)
}

// question is the submission of Run and Events.
func question(agentID, text string) (mailbox.Submission, error) {
	if strings.TrimSpace(text) == "" {
		return mailbox.Submission{}, core.Errorf(core.CodeInvalid, "the text for agent %q is empty", core.Excerpt(agentID))
	}
	return mailbox.Submission{Opening: mailbox.Opening{AgentID: agentID}, Messages: []core.Message{core.UserMessage(text)}}, nil
}

// Events yields the events of a run that asks an agent on a new thread.
func (r *Host) Events(ctx context.Context, agentID, text string) iter.Seq2[core.Event, error] {
	s, err := question(agentID, text)
	if err != nil {
		return func(yield func(core.Event, error) bool) { yield(core.Event{}, err) }
	}
	return r.EventsOf(ctx, s)
}

// Approve returns the decision that allows the ticket's call to run.
func Approve(t core.Ticket) mailbox.Deciding { return Reply(t, nil) }

// Reply returns the decision that resumes the ticket's call with a payload: the result of a
// client's tool, or the input that the ticket asks for.
func Reply(t core.Ticket, payload json.RawMessage) mailbox.Deciding {
	return mailbox.Deciding{Target: t.Suspension.ID, Decision: core.Decision{Action: core.DecisionResume, Payload: payload}}
}

// Deny returns the decision that refuses the ticket's call. The model reads the reason.
func Deny(t core.Ticket, reason string) mailbox.Deciding {
	return mailbox.Deciding{Target: t.Suspension.ID, Decision: core.Decision{Action: core.DecisionCancel, Reason: reason}}
}
