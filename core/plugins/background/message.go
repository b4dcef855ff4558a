package background

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/tool"
)

// recipient is the receiver of a message.
type recipient struct {
	Relation string `json:"relation" jsonschema:"parent: the agent that has started this one; child: a background task; agent: a thread"`
	Name     string `json:"name,omitempty" jsonschema:"of a child: the id or the name of its task"`
	ThreadID string `json:"thread_id,omitempty" jsonschema:"of an agent: its thread"`
	AgentID  string `json:"agent_id,omitempty" jsonschema:"of an agent: which one answers if no run is open on the thread; the last one if it is omitted"`
}

// sendArguments are those of send_message.
type sendArguments struct {
	To      recipient `json:"to"`
	Message string    `json:"message"`
}

// Check returns an error about a recipient that names none, and about a blank message.
func (a sendArguments) Check() error {
	if core.Blank(a.Message) {
		return core.Errorf(core.CodeInvalid, "message is blank")
	}
	switch a.To.Relation {
	case relationParent:
		return nil
	case relationChild:
		return named(a.To.Name)
	case relationAgent:
		if a.To.AgentID != "" {
			if err := core.CheckName("agent_id", a.To.AgentID); err != nil {
				return err
			}
		}
		return core.CheckName("thread_id", a.To.ThreadID)
	}
	return core.Errorf(core.CodeInvalid, "to.relation is %q, allowed are parent, child and agent", core.Excerpt(a.To.Relation))
}

// sent is the result of send_message.
type sent struct {
	MessageID *core.ID `json:"message_id,omitempty"`
	Status    string   `json:"status"` // queued or failed
	Error     *problem `json:"error,omitempty"`
}

func unsent(code, message string) tool.Result {
	return tool.NewResult(sent{Status: "failed", Error: &problem{code, message}})
}

// send sends a message.
func (c Config) send(ctx context.Context, call tool.Call, a sendArguments) (tool.Result, error) {
	m := tool.Message{Text: a.Message}
	switch a.To.Relation {
	case relationParent:
		m.Parent = true
	case relationChild:
		t, ok, err := find(call, a.To.Name)
		if err != nil {
			return tool.Result{}, err
		}
		if !ok {
			return unsent("recipient_not_found", fmt.Sprintf("task %q does not exist", core.Excerpt(a.To.Name))), nil
		}
		m.Child = t.RunID
	default:
		if a.To.AgentID != "" && !slices.Contains(c.Agents, a.To.AgentID) {
			return unsent("agent_not_allowed", fmt.Sprintf("agent %q cannot be named, allowed are: %s", core.Excerpt(a.To.AgentID), c.agents())), nil
		}
		if a.To.ThreadID == call.Thread.Thread {
			return unsent("recipient_not_found", "the thread is that of this run"), nil
		}
		m.Thread, m.AgentID = a.To.ThreadID, a.To.AgentID
	}
	id, err := call.Send(ctx, m)
	if refusal, ok := errors.AsType[*tool.MessageError](err); ok {
		return unsent(refusal.Code, refusal.Error()), nil
	}
	if err != nil {
		return tool.Result{}, err
	}
	return tool.NewResult(sent{MessageID: &id, Status: "queued"}), nil
}

// recoverArguments are those of recover_failed_messages.
type recoverArguments struct {
	Action string `json:"action" jsonschema:"list, replay or clear"`
}

// Check returns an error about an unknown action.
func (a recoverArguments) Check() error {
	switch a.Action {
	case "list", "replay", "clear":
		return nil
	}
	return core.Errorf(core.CodeInvalid, "action is %q, allowed are list, replay and clear", core.Excerpt(a.Action))
}

// recoverFailed lists, replays or clears the failed messages of the thread.
func recoverFailed(ctx context.Context, call tool.Call, a recoverArguments) (tool.Result, error) {
	if a.Action == "clear" {
		n, err := call.RecoverMessages(ctx, false)
		return tool.NewResult(map[string]int{"cleared": n}), err
	}
	replayed := 0
	if a.Action == "replay" {
		n, err := call.RecoverMessages(ctx, true)
		if err != nil {
			return tool.Result{}, err
		}
		replayed = n
	}
	failed, err := call.FailedMessages(ctx)
	if a.Action == "replay" {
		return tool.NewResult(map[string]int{"replayed": replayed, "left": len(failed)}), err
	}
	if failed == nil {
		failed = []tool.FailedMessage{}
	}
	return tool.NewResult(map[string][]tool.FailedMessage{"messages": failed}), err
}
