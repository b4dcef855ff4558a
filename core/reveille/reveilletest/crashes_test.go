package reveilletest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/core/reveille/reveilletest"
)

// ledger books each key once; it outlives the processes of a world.
type ledger struct {
	mu     sync.Mutex
	booked map[string]float64
}

func (l *ledger) refund(_ context.Context, call reveille.Call, a struct {
	Order  string  `json:"order"`
	Amount float64 `json:"amount"`
}) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.booked == nil {
		l.booked = map[string]float64{}
	}
	l.booked[call.Key()] = a.Amount
	return "refunded", nil
}

// parts are those of an agent that refunds when a person approves it.
func parts(m reveille.Model, l *ledger) reveille.Parts {
	return reveille.Parts{
		Specs:  []reveille.AgentSpec{{ID: "support", Model: "m"}},
		Models: reveille.Models{"m": {Model: m}},
		Tools:  []reveille.Tool{reveille.NewTool(reveille.ToolSpec{Name: "refund", Approval: "May the agent refund?"}, l.refund)},
	}
}

func TestARefundWaitsForAPerson(t *testing.T) {
	refund := reveilletest.Call("refund", map[string]any{"order": "A-1", "amount": 5})
	m := reveilletest.Script(reveilletest.Turn{Calls: []reveille.ToolCall{refund}}, reveilletest.Turn{Text: "Done."})
	l := &ledger{}
	r, err := reveille.New(parts(m, l), nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.Run(t.Context(), reveille.Input{Text: "my money, please"})
	if err != nil || len(result.Tickets) != 1 || len(l.booked) != 0 {
		t.Fatalf("%+v, %v, %v", result, l.booked, err)
	}
	if err := r.Decide(t.Context(), result.Run.ID, reveille.Approve(result.Tickets[0])); err != nil {
		t.Fatal(err)
	}
	result, err = r.Wait(t.Context(), result.Run.ID)
	if err != nil || result.Text != "Done." || len(l.booked) != 1 {
		t.Errorf("%q, %v, %v", result.Text, l.booked, err)
	}
}

func TestNoCrashRefundsTwice(t *testing.T) { crashes.Run(t) }

// crashes play what a person does with the agent through each fault. The bank outlives the
// processes of a world: whatever happens, it has booked once at the end.
var crashes = reveilletest.Crashes{
	World: func() reveilletest.World {
		l := &ledger{}
		return reveilletest.World{
			Parts: func() (reveille.Parts, error) { return parts(reveilletest.Rules(), l), nil },
			Check: func(reveilletest.Ended) error {
				if len(l.booked) != 1 {
					return fmt.Errorf("%d refunds", len(l.booked))
				}
				return nil
			},
		}
	},
	Scenarios: []reveilletest.Scenario{{Name: "refund", Person: []reveilletest.Act{
		reveilletest.Say(`call: refund {"order":"A-17","amount":5}`), reveilletest.Approve(),
	}}},
}

func ExampleCrashes() {
	var t *testing.T // the test's
	crashes.Run(t)
}

// The tool of a delegate does its work once through each fault.
func TestNoCrashDelegatesTwice(t *testing.T) {
	reveilletest.Crashes{
		World: func() reveilletest.World {
			l := &ledger{}
			return reveilletest.World{
				Parts: func() (reveille.Parts, error) {
					p := parts(reveilletest.Rules(), l)
					p.Specs = append(p.Specs, reveille.AgentSpec{ID: "lead", Model: "m", Delegates: []string{"support"}, AllowedTools: []string{}})
					p.Tools, p.Default = []reveille.Tool{reveille.NewTool(reveille.ToolSpec{Name: "refund"}, l.refund)}, "lead"
					return p, nil
				},
				Check: func(reveilletest.Ended) error {
					if len(l.booked) != 1 {
						return fmt.Errorf("%d refunds", len(l.booked))
					}
					return nil
				},
			}
		},
		Scenarios: []reveilletest.Scenario{{Name: "delegate", Person: []reveilletest.Act{
			reveilletest.Say(`call: agent_run_support {"prompt":"call: refund {\"order\":\"A-17\",\"amount\":5}"}`),
		}}},
	}.Run(t)
}

// Every act, the model's own turns, and parts that change nothing outside.
func TestEveryActIsPlayed(t *testing.T) {
	wait := reveille.NewTool(reveille.ToolSpec{Name: "wait", ReadOnly: true}, func(ctx context.Context, _ reveille.Call, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	screenshot := reveille.NewClientTool[struct{}](reveille.ToolSpec{Name: "screenshot"})
	call := func(name string) reveilletest.Turn {
		return reveilletest.Turn{Calls: []reveille.ToolCall{reveilletest.Call(name, nil)}}
	}
	say := func(text string) reveilletest.Turn { return reveilletest.Turn{Text: text} }
	ends := func(want ...reveille.Termination) func(reveilletest.Ended) error {
		return func(e reveilletest.Ended) error {
			if len(e.Runs) != len(want) {
				return fmt.Errorf("%d runs, want %d", len(e.Runs), len(want))
			}
			for i := range want {
				if e.Runs[i].Type != want[i].Type {
					return fmt.Errorf("run %d ends as %s, want %s", i, e.Runs[i].Type, want[i].Type)
				}
			}
			return nil
		}
	}
	natural, cancelled := reveille.Termination{Type: reveille.TerminationNatural}, reveille.Termination{Type: reveille.TerminationCancelled}
	reveilletest.Crashes{
		Parts: func() (reveille.Parts, error) {
			p := parts(reveilletest.Rules(), &ledger{})
			p.Tools = append(p.Tools, wait, screenshot)
			return p, nil
		},
		Passings: 1, Seed: 7,
		Scenarios: []reveilletest.Scenario{
			{Name: "denied", Person: []reveilletest.Act{reveilletest.Say("go"), reveilletest.Deny("no")},
				Turns: []reveilletest.Turn{{Calls: []reveille.ToolCall{reveilletest.Call("refund", map[string]any{"order": "A-1", "amount": 5})}}, say("a pity")}, Check: ends(natural)},
			{Name: "replied", Person: []reveilletest.Act{reveilletest.Say("go"), reveilletest.Reply(`"a picture"`)},
				Turns: []reveilletest.Turn{call("screenshot"), say("seen")}, Check: ends(natural)},
			{Name: "cancelled", Person: []reveilletest.Act{reveilletest.Say("go"), reveilletest.Cancel().While("wait")},
				Turns: []reveilletest.Turn{call("wait"), say("never")}, Varies: true, Check: ends(cancelled)},
		},
	}.Run(t)
}
