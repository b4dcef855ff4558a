package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/pattern"
	"github.com/reveille-run/reveille/core/internal/registered"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

// approvalGate names the engine's own gate, which asks the question of a tool's
// [tool.Spec].Approval: where a plugin's gate has the plugin's id.
const approvalGate = registered.Prefix + "approval"

// The state keys of remembered approvals. Members are named by digests of the parts in
// [approval.member].
var (
	runApprovals    = state.Map[approval](registered.RunApprovals, state.ScopeRun)
	threadApprovals = state.Map[approval](registered.ThreadApprovals, state.ScopeThread)
)

// approval is an answer to a tool's question that holds for more than one call.
type approval struct {
	Agent     string `json:"agent"` // another one that takes the thread over does not inherit it
	Tool      string `json:"tool"`
	Arguments string `json:"arguments,omitempty"` // digest of the call's; empty: any
	Denied    bool   `json:"denied,omitempty"`
}

// member is the name of the approval in the state. The question is part of it: an answer
// holds for its question. So is the answer, so that a later one replaces none.
func (a approval) member(question string) string {
	h := sha256.New()
	for _, part := range []string{a.Agent, a.Tool, question, a.Arguments, fmt.Sprint(a.Denied)} {
		_, _ = fmt.Fprintf(h, "%d:%s", len(part), part) // a hash takes everything
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// approvals asks a tool's question about its calls.
type approvals struct{ question string }

// gate suspends the call until a person has approved it, or earlier did so for calls of
// its kind.
func (a approvals) gate(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
	answer, denied, err := a.recall(c)
	if err != nil {
		return plugin.Verdict{}, err
	}
	if denied {
		return plugin.SetResult(core.ToolResult{
			Message: "denied: a person has denied such calls of " + c.Call.Name, IsError: true, Status: core.ResultDenied,
		}), nil
	}
	var remembered state.Command
	if c.Answer != nil { // a person approved this very call
		remembered = a.remember(c, false)
	}
	if answer {
		return plugin.Allow.With(remembered), nil
	}
	asked, err := core.EncodeJSON(struct {
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
	}{c.Call.Name, c.Call.Arguments})
	if err != nil {
		return plugin.Verdict{}, err
	}
	request := core.TicketRequest{Message: a.question, Action: core.ActionConfirm, Parameters: asked}
	return plugin.Suspend(request).With(remembered), nil
}

// refused remembers that a person has denied a call.
func (a approvals) refused(_ context.Context, c plugin.GateCall) (state.Command, error) {
	return a.remember(c, true), nil
}

// recall returns the remembered answer that covers a call: one about the same call before
// one about all calls of the tool, and denied before approved.
func (a approvals) recall(c plugin.GateCall) (answered, denied bool, err error) {
	var kept []map[string]approval
	for _, key := range []state.MapKey[approval]{runApprovals, threadApprovals} {
		if !key.Has(c.Snapshot) {
			continue
		}
		all, err := key.Read(c.Snapshot)
		if err != nil {
			return false, false, err
		}
		kept = append(kept, all)
	}
	if len(kept) == 0 {
		return false, false, nil
	}
	kinds := []approval{ofTool(c)}
	if same, ok := ofCall(c); ok {
		kinds = []approval{same, kinds[0]}
	}
	for _, kind := range kinds {
		for _, denied := range []bool{true, false} {
			kind.Denied = denied
			member := kind.member(a.question)
			for _, all := range kept {
				if _, ok := all[member]; ok {
					return true, denied, nil
				}
			}
		}
	}
	return false, false, nil
}

// remember returns the command that keeps the answer to the call's question for as long
// as it says.
func (a approvals) remember(c plugin.GateCall, denied bool) state.Command {
	kind, ok := ofCall(c)
	if c.Answer.RememberAs == core.RememberRule {
		kind, ok = ofTool(c), true
	}
	if !ok {
		return state.Command{}
	}
	kind.Denied = denied
	switch c.Answer.Remember {
	case core.RememberRun:
		return runApprovals.Put(kind.member(a.question), kind)
	case core.RememberThread:
		return threadApprovals.Put(kind.member(a.question), kind)
	}
	return state.Command{}
}

// ofTool is an answer about all calls of the tool.
func ofTool(c plugin.GateCall) approval { return approval{Agent: c.Agent.ID, Tool: c.Call.Name} }

// ofCall is an answer about calls of the tool with the same arguments. Arguments that can
// be read in two ways have none.
func ofCall(c plugin.GateCall) (kind approval, ok bool) {
	t, _ := c.Agent.Tool(c.Call.Name)
	arguments, ok := pattern.NewCall(c.Call.Name, c.Call.Arguments, t.Parameters).Canonical()
	digest := sha256.Sum256([]byte(arguments))
	kind = ofTool(c)
	kind.Arguments = hex.EncodeToString(digest[:16])
	return kind, ok
}
