package acp

import (
	"cmp"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
)

// ending is a termination as far as stop reasons go: its type and code.
type ending struct {
	kind core.TerminationType
	code string
}

// reasons are the stop reasons of all that a run, or one stream of it, can end with. A
// type without a code is also the row of the codes that are not here, such as those of
// stop policies of one's own. What is absent altogether is an error.
var reasons = map[ending]sdk.StopReason{
	{core.TerminationNatural, ""}: sdk.StopReasonEndTurn,
	// A turn that was cut short: naturally, since nothing comes behind it.
	{core.TerminationNatural, string(core.StopMaxTokens)}:       sdk.StopReasonMaxTokens,
	{core.TerminationNatural, string(core.StopContextOverflow)}: sdk.StopReasonMaxTokens,
	{core.TerminationNatural, string(core.StopContentFilter)}:   sdk.StopReasonRefusal,

	{core.TerminationBehavior, ""}: sdk.StopReasonEndTurn,

	{core.TerminationStopped, ""}:                          sdk.StopReasonMaxTurnRequests,
	{core.TerminationStopped, agent.StopMaxRounds}:         sdk.StopReasonMaxTurnRequests,
	{core.TerminationStopped, agent.StopTimeout}:           sdk.StopReasonMaxTurnRequests,
	{core.TerminationStopped, agent.StopConsecutiveErrors}: sdk.StopReasonMaxTurnRequests,
	{core.TerminationStopped, agent.StopLoopDetection}:     sdk.StopReasonMaxTurnRequests,
	{core.TerminationStopped, agent.StopTokenBudget}:       sdk.StopReasonMaxTokens,
	// These two stop where the agent's author wants an end.
	{core.TerminationStopped, agent.StopOnTool}:       sdk.StopReasonEndTurn,
	{core.TerminationStopped, agent.StopContentMatch}: sdk.StopReasonEndTurn,

	{core.TerminationBlocked, ""}:    sdk.StopReasonRefusal,
	{core.TerminationCancelled, ""}:  sdk.StopReasonCancelled,
	{core.TerminationSuperseded, ""}: sdk.StopReasonCancelled, // an interrupt took its place

	// What is left waits for somebody else than this client, such as a child run.
	{core.TerminationSuspended, ""}: sdk.StopReasonEndTurn,
}

// stopReason translates how a run ended. A run that failed has no stop reason: its
// error is the public sentence of the termination.
func stopReason(t *core.Termination) (sdk.StopReason, error) {
	if t == nil {
		t = &core.Termination{Type: core.TerminationNatural}
	}
	if r, ok := reasons[ending{t.Type, t.Code}]; ok {
		return r, nil
	}
	if r, ok := reasons[ending{t.Type, ""}]; ok {
		return r, nil
	}
	code := cmp.Or(t.Code, "error")
	return "", &sdk.RequestError{
		Code: protocol.RPCInternal, Message: cmp.Or(t.Detail, "the run ended with the error "+code), Data: details{Code: code},
	}
}
