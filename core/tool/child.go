package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// Child is a run that a tool starts on another thread of its tenant.
type Child struct {
	Agent    string         // that runs
	Messages []core.Message // its input; role user, at least one
	// Thread is where a child in the background runs; it must not be the call's own. Empty: on
	// a separate thread, whose id follows from the call's Key, or on the thread of Kept. A call
	// may wait only for runs on such child threads, since two runs that wait for each other's
	// threads would wait for ever.
	Thread string
	// Kept names a child thread that lasts: the children of a thread with the same Kept run on
	// one thread, one after the other, and each remembers those before it. See
	// [core.CheckName]. Empty: none.
	Kept string
	// Name distinguishes several children of one call; see [core.CheckName]. Empty: the
	// call has one.
	Name string
	// Background means that the call does not wait: the run reads the child's end as
	// internal input, if it is still open then.
	Background bool
	// Detached means that the child continues when the run that started it is over. Otherwise
	// it is then cancelled. If it is in the background, its end becomes the input of another
	// run then, of the same agent and on the same thread.
	Detached bool
	Request  json.RawMessage // for the child's hooks and tools; nil: nothing
}

// Start starts a child run, durably, and returns its id. The same call that runs again
// gets the same run, so that a tool needs no memory of it. Unless the child is in the
// background the tool then returns [AwaitChild], and its run waits: nothing is held or
// billed until the child is over. That the child waits for a person itself makes no
// difference to it. The child has a share of what the run's stop policies token_budget and
// timeout leave, see [Lineage].
//
//	run, err := call.Start(ctx, tool.Child{Agent: "researcher", Messages: question})
//	if err != nil {
//		return tool.Result{}, err
//	}
//	return tool.AwaitChild(run, core.ResumeAsResult), nil
//
// core.CodeUnsupported: the host starts no runs. core.CodeInvalid: the run has [core.MaxDepth] runs
// above it, or the child is invalid. Other errors are those of a submission.
func (c Call) Start(ctx context.Context, child Child) (core.ID, error) {
	switch {
	case c.Children == nil:
		return core.ID{}, core.Errorf(core.CodeUnsupported, "tool %s cannot start a run here", c.Name)
	case child.Thread == c.Thread.Thread:
		return core.ID{}, core.Errorf(core.CodeInvalid, "child: thread %q is that of the call, for whose end it would wait", child.Thread)
	case child.Thread != "" && !child.Background:
		return core.ID{}, core.Errorf(core.CodeInvalid, "child: thread %q is for a child in the background; a call waits only for one on its own child threads, see Kept", core.Excerpt(child.Thread))
	case child.Thread != "" && child.Kept != "":
		return core.ID{}, core.Errorf(core.CodeInvalid, "child: there is both thread %q and kept %q", core.Excerpt(child.Thread), core.Excerpt(child.Kept))
	}
	for _, n := range []struct{ what, name string }{{"child: name", child.Name}, {"child: kept", child.Kept}} {
		if n.name == "" {
			continue
		}
		if err := core.CheckName(n.what, n.name); err != nil {
			return core.ID{}, err
		}
	}
	if above := c.Lineage().Agents; len(above) > core.MaxDepth {
		return core.ID{}, core.Errorf(core.CodeInvalid, "child: the run is at depth %d (%s), where no run starts another", len(above)-1, strings.Join(above, " -> "))
	}
	return c.Children.StartChild(ctx, c, child)
}

// Lineage is the place of a run in its tree.
type Lineage struct {
	// Root is the run at the top of the tree, which no call has started.
	Root core.ID
	// Agents are the ids of the agents from the root's to the run's own, oldest first.
	Agents []string
	// MaxTokens and Deadline are what the run's stop policies leave to a child of the call:
	// tokens, input and output together, and a time in unix milliseconds. 0: no limit. A call
	// that starts several children gives each of them all of it.
	MaxTokens int64
	Deadline  int64
}

// Lineage returns the place of the call's run in its tree. Where the host starts no runs, only
// Root is set: it is the run itself.
func (c Call) Lineage() Lineage {
	if c.Children == nil {
		return Lineage{Root: c.Run}
	}
	return c.Children.Lineage()
}

// AwaitChild makes the call wait for a child run that it has started. The child's end is a
// [core.ChildEnd]. With core.ResumeAsResult that end is the call's result. With
// core.ResumeReplay the tool runs again, and reads it by [Call.ChildEnd]; [ChildResult]
// makes a result of it.
func AwaitChild(run core.ID, mode core.ResumeMode) Result {
	return Suspended(core.TicketRequest{
		ID: run.String(), Action: "run:Child", Mode: mode, Kind: core.TicketChild,
	})
}

// ChildEnd is the end of the child that the call has waited for; ok is false when it
// has waited for none. The end is the same when the call runs again, and its RunID
// identifies the call as [Call.Key] does.
func (c Call) ChildEnd() (end core.ChildEnd, ok bool) {
	if c.Resume == nil || json.Unmarshal(c.Resume.Decision.Payload, &end) != nil {
		return core.ChildEnd{}, false
	}
	ok = end.RunID.String() == c.Resume.Suspension
	if ok && c.KeyRead != nil {
		c.KeyRead()
	}
	return end, ok
}

// ChildResult is the text of a child's end for the model. A child that ended by itself, or
// that a stop policy has stopped, has answered: its result is {"agent_id", "run_id",
// "status", "response", "steps"}, and a stopped one names the policy, in "stopped". Every
// other end is an error that names it: text so far is not an answer.
func ChildResult(end core.ChildEnd) Result {
	t := end.Termination
	if t == nil {
		t = &core.Termination{Type: core.TerminationError, Code: string(core.CodeInternal)}
	}
	switch t.Type {
	case core.TerminationNatural, core.TerminationBehavior, core.TerminationStopped:
	default:
		reason := string(t.Type)
		for _, more := range []string{t.Code, t.Detail} {
			if more != "" {
				reason += ": " + more
			}
		}
		return Failed(fmt.Sprintf("the run of agent %s ended without an answer: %s", end.AgentID, reason))
	}
	data, _ := core.EncodeJSON(struct { // texts and numbers always encode
		AgentID  string  `json:"agent_id"`
		RunID    core.ID `json:"run_id"`
		Status   string  `json:"status"`
		Stopped  string  `json:"stopped,omitempty"`
		Response string  `json:"response"`
		Cut      bool    `json:"cut,omitempty"`
		Steps    int     `json:"steps"`
	}{end.AgentID, end.RunID, string(t.Type), t.Code, end.Response, end.Cut, end.Steps})
	return Result{ToolResult: core.ToolResult{Data: data}}
}
