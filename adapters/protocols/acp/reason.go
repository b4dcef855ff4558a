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

// reasons are the stop reasons of all endings of a run, or of one stream of it. A type
// without a code is also the row of unlisted codes, such as those of custom stop
// policies. A type without a row is an error.
var reasons = map[ending]sdk.StopReason{
	{core.TerminationNatural, ""}: sdk.StopReasonEndTurn,
	// A truncated turn: the run ends naturally, since nothing follows.
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

	// The rest waits for a decision of others than this client, such as a child run.
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
