//go:build clients

package local

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	script "github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/tool"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// servePage serves the demo, and beside it the agents clerk, whose calls wait for answers of
// every kind, desk and refunds, whose calls take their time, show their progress and start a
// child run, and painter and ledger, of [withPainter].
func servePage(t *testing.T) string {
	t.Helper()
	s, err := settings.Read(nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Data = filepath.Join(t.TempDir(), "data.db")
	url, _ := serveWhole(t, s, demonstration.With(withClerk).With(withLead).With(withDesk).With(withPainter))
	return url
}

// withDesk adds the agents to the parts of a deployment.
func withDesk(parts agent.Parts) agent.Parts {
	parts.Models["desk"] = agent.ModelBinding{Model: script.Turns(deskTurns()...)}
	parts.Models["refunds"] = agent.ModelBinding{Model: script.Turns(
		script.Turn{Calls: []core.ToolCall{script.Call("look", lookArguments{"the rules of refunds", 20})}},
		script.Turn{Text: "Allowed, up to 80.00."},
	)}
	parts.Tools = append(parts.Tools, lookTool(), scanTool(), refundTool())
	parts.Specs = append(parts.Specs,
		agent.Spec{ID: "desk", Model: "desk", Description: "Looks after parcels.", AllowedTools: []string{"look", "scan", "refund", "ask_user"}, ExecutionMode: agent.ParallelStreaming},
		agent.Spec{ID: "refunds", Model: "refunds", Description: "Knows the rules of refunds.", AllowedTools: []string{"look"}},
	)
	return parts
}

// deskReport is a text with everything that the page highlights.
const deskReport = "The parcel was **packed without corner guards**:\n\n| Way | Cost |\n|---|---:|\n| Replacement from `north` | 11.20 |\n| Refund | 64.90 |\n\n" +
	"```sql\nselect order_no, packed_at\nfrom parcels\nwhere batch = 'B-311' and guards = 0  -- 6 rows\norder by packed_at;\n```\n\n" +
	"```go\nfunc total(n int) string { return \"n\" } // sum\n```\n\n```diff\n-old\n+new\n```\n\n```sh\nmake run | grep \"x\" # look\n```\n\n" +
	"```json\n{\"a\": [1, true]}\n```\n\n```text\nplain 'text'\n```\n"

// deskTurns are the turns of the agent desk, by the first input of a run.
func deskTurns() []script.Turn {
	return []script.Turn{
		{Input: "check", Text: "I look at three things.", Calls: []core.ToolCall{
			script.Call("look", lookArguments{"the order", 60}), script.Call("look", lookArguments{"the stock", 120}), script.Call("look", lookArguments{"the rules", 300}),
		}},
		{Text: deskReport, Calls: []core.ToolCall{script.Call("ask_user", map[string]string{"question": "Replacement or refund?"})}},
		{Text: "It is settled."},
		{Input: "refund", Calls: []core.ToolCall{script.Call("refund", struct{}{})}},
		{Text: "The refund is made."},
		{Input: "scan", Calls: []core.ToolCall{script.Call("scan", scanArguments{24, 20, 24})}},
		{Text: "All parcels are scanned."},
		{Input: "scan for long", Calls: []core.ToolCall{script.Call("scan", scanArguments{24, 20, 14})}},
		{Text: "It was stopped."},
	}
}

type lookArguments struct {
	At string `json:"at"`
	MS int    `json:"ms"`
}

// lookTool returns a tool that takes as long as its arguments say.
func lookTool() tool.Tool {
	return tool.New(tool.Spec{Name: "look", Description: "Looks something up.", ReadOnly: true},
		func(ctx context.Context, _ tool.Call, a lookArguments) (map[string]any, error) {
			wait(ctx, a.MS)
			return map[string]any{"found": a.At, "in_stock": 14}, ctx.Err()
		})
}

type scanArguments struct {
	Parcels int `json:"parcels"`
	MS      int `json:"ms"`
	Hold    int `json:"hold"` // the parcel at which it stays until it is cancelled
}

// scanTool returns a tool that shows its progress and what it finds.
func scanTool() tool.Tool {
	return tool.New(tool.Spec{Name: "scan", Description: "Scans the parcels of a batch.", ReadOnly: true},
		func(ctx context.Context, call tool.Call, a scanArguments) (string, error) {
			for i := range a.Parcels {
				call.Progress(float64(i), float64(a.Parcels), fmt.Sprintf("parcel %d of %d", i+1, a.Parcels))
				call.Output(fmt.Sprintf("88-%d  guards 0\n", 1030+i))
				if i == a.Hold {
					<-ctx.Done()
				}
				wait(ctx, a.MS)
			}
			return fmt.Sprintf("%d parcels", a.Parcels), ctx.Err()
		})
}

// refundTool returns a tool that starts a run of the agent refunds and waits for it.
func refundTool() tool.Tool {
	return tool.New(tool.Spec{Name: "refund", Description: "Asks the agent refunds."},
		func(ctx context.Context, call tool.Call, _ struct{}) (tool.Result, error) {
			if end, ok := call.ChildEnd(); ok {
				return tool.ChildResult(end), nil
			}
			run, err := call.Start(ctx, tool.Child{Agent: "refunds", Messages: []core.Message{core.UserMessage("Refund 64.90")}})
			if err != nil {
				return tool.Result{}, err
			}
			return tool.AwaitChild(run, core.ResumeReplay), nil
		})
}

// wait waits, unless the context ends.
func wait(ctx context.Context, ms int) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(ms) * time.Millisecond):
	}
}
