//go:build clients

package local

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
	script "github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/tool"
)

// withClerk adds the agent clerk to the parts of a deployment. Its model makes the calls that
// a message names, several at once, and otherwise follows the rules of the demo's.
func withClerk(parts agent.Parts) agent.Parts {
	parts.Models["clerk"] = agent.ModelBinding{Model: clerkModel{script.Rules()}}
	parts.Tools = append(parts.Tools, refundOrderTool(), chooseTool(), shipTool(), pickTool(), signTool(), addressTool(), napTool())
	parts.Specs = append(parts.Specs, agent.Spec{
		ID: "clerk", Model: "clerk", Description: "Asks before it acts.",
		AllowedTools: []string{"refund_order", "choose", "ship", "pick", "sign", "address", "nap", "ask_user"}, ExecutionMode: agent.ParallelStreaming,
	})
	return parts
}

// withLead adds the agent lead to the parts of a deployment. It leaves work to agents that leave
// work to others, or ask.
func withLead(parts agent.Parts) agent.Parts {
	parts.Specs = append(parts.Specs, agent.Spec{
		ID: "lead", Model: "clerk", Description: "Leaves work to others.",
		AllowedTools: []string{}, Delegates: []string{"coordinator", "clerk", "desk"}, ExecutionMode: agent.ParallelStreaming,
	})
	return parts
}

type clerkModel struct{ model.Model }

// Stream implements model.Model: "calls: [{"name":N,"arguments":A}]" makes these calls, then
// tells their results.
func (m clerkModel) Stream(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	said, results := "", []string(nil)
	for _, message := range request.Messages {
		switch {
		case message.Role == core.RoleUser:
			said, results = message.Text(), nil
		case message.ToolResult != nil:
			results = append(results, message.ToolResult.Text())
		}
	}
	list, ok := strings.CutPrefix(said, "calls:")
	if !ok {
		return m.Model.Stream(ctx, request)
	}
	return func(yield func(model.Delta, error) bool) {
		if len(results) > 0 {
			_ = yield(model.Delta{Type: model.DeltaText, Text: "Results: " + strings.Join(results, " and ")}, nil) &&
				yield(model.Delta{Type: model.DeltaStop, Stop: core.StopEndTurn}, nil)
			return
		}
		var calls []core.ToolCall
		if err := json.Unmarshal([]byte(list), &calls); err != nil {
			yield(model.Delta{}, err)
			return
		}
		for i, call := range calls {
			if !yield(model.Delta{Type: model.DeltaToolStart, Index: i, Name: call.Name}, nil) ||
				!yield(model.Delta{Type: model.DeltaToolArgument, Index: i, Text: string(call.Arguments)}, nil) {
				return
			}
		}
		yield(model.Delta{Type: model.DeltaStop, Stop: core.StopToolUse}, nil)
	}
}

type refundArguments struct {
	Order  string  `json:"order" jsonschema:"the number of the order"`
	Amount float64 `json:"amount"`
	Note   string  `json:"note,omitempty"`
	Urgent bool    `json:"urgent,omitempty"`
}

func (a refundArguments) Check() error {
	if a.Amount > 1000 {
		return tool.InvalidArgument("amount", "is over 1000")
	}
	return nil
}

// refundOrderTool returns a tool with arguments of several types, which a person approves.
func refundOrderTool() tool.Tool {
	return tool.New(tool.Spec{Name: "refund_order", Description: "Pays money back to the card of the order. It cannot be taken back.", Approval: "May the clerk refund?"},
		func(_ context.Context, _ tool.Call, a refundArguments) (refundArguments, error) { return a, nil })
}

// chooseTool returns a tool whose answer is one of a few, and gets an hour.
func chooseTool() tool.Tool {
	return tool.New(tool.Spec{Name: "choose", Description: "Asks a person to choose."},
		func(_ context.Context, _ tool.Call, a struct {
			Question string `json:"question"`
		},
		) (tool.Result, error) {
			return tool.Suspended(core.TicketRequest{
				Message: a.Question, Mode: core.ResumeAsResult, Timeout: time.Hour,
				Response: json.RawMessage(`{"type":"string","enum":["German","French","English"]}`),
			}), nil
		})
}

// napTool returns a tool that waits for some seconds, and says who has woken it.
func napTool() tool.Tool {
	return tool.New(tool.Spec{Name: "nap", Description: "Waits."},
		func(_ context.Context, call tool.Call, a struct {
			Seconds int `json:"seconds"`
		},
		) (tool.Result, error) {
			switch {
			case call.Resume == nil:
				return tool.Suspended(core.TicketRequest{Kind: core.TicketTimer, WakeAt: time.Now().Add(time.Duration(a.Seconds) * time.Second)}), nil
			case call.Resume.Decision.Woken():
				return tool.NewResult("the clock"), nil
			}
			return tool.NewResult("a person"), nil
		})
}

// shipTool returns a tool that runs with what a person says.
func shipTool() tool.Tool {
	type arguments struct {
		To    string   `json:"to"`
		Boxes int      `json:"boxes"`
		Tags  []string `json:"tags,omitempty"`
	}
	return tool.New(tool.Spec{Name: "ship", Description: "Ships boxes."},
		func(_ context.Context, call tool.Call, a arguments) (tool.Result, error) {
			if call.Resume == nil {
				return tool.Suspended(core.TicketRequest{Mode: core.ResumeAsArguments, Timeout: 30 * time.Minute}), nil
			}
			return tool.NewResult(a), nil
		})
}

// pickTool returns a tool of the client with choices, beside which other words fit.
func pickTool() tool.Tool {
	return tool.NewClient[map[string]any](tool.Spec{
		Name: "pick", Description: "Asks the user to pick.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"question":{"type":"string"},"options":{"type":"array","items":{"type":"string"}}},"required":["question"]}`),
	})
}

// signTool returns a tool that runs with its own arguments and a person's name.
func signTool() tool.Tool {
	return tool.New(tool.Spec{Name: "sign", Description: "Signs a letter."},
		func(_ context.Context, call tool.Call, a struct {
			Letter string `json:"letter"`
		},
		) (tool.Result, error) {
			if call.Resume == nil {
				return tool.Suspended(core.TicketRequest{
					Message: "Who signs?", Response: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
				}), nil
			}
			return tool.NewResult(map[string]any{"letter": a.Letter, "signed": call.Resume.Decision.Payload}), nil
		})
}

// addressTool returns a tool whose answer has several fields.
func addressTool() tool.Tool {
	return tool.New(tool.Spec{Name: "address", Description: "Asks for an address."},
		func(context.Context, tool.Call, struct{}) (tool.Result, error) {
			return tool.Suspended(core.TicketRequest{
				Message: "Where to?", Mode: core.ResumeAsResult,
				Response: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"zip":{"type":"integer"}},"required":["city","zip"]}`),
			}), nil
		})
}
