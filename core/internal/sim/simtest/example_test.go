package simtest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/sim/simtest"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/tool"
)

// bank stands for the outside: it books once for each key.
type bank struct {
	mu     sync.Mutex
	booked map[string]int
}

func (b *bank) book(key string, amount int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.booked[key] = amount
}

func (b *bank) total() (sum int) {
	for _, amount := range b.booked {
		sum += amount
	}
	return sum
}

// shop is an agent of one's own, with its one tool.
func shop(b *bank) (agent.Parts, error) {
	pay := tool.New(tool.Spec{Name: "pay", Description: "Pays an amount."}, func(_ context.Context, call tool.Call, a struct {
		Amount int `json:"amount"`
	}) (string, error) {
		b.book(call.Key(), a.Amount) // without the key a crash may book twice
		return fmt.Sprint("paid ", a.Amount), nil
	})
	return agent.Parts{
		Specs:  []agent.Spec{{ID: "shop", Model: "m"}},
		Models: map[string]agent.ModelBinding{"m": {Model: model.None{}}}, // a real one elsewhere
		Tools:  []tool.Tool{pay},
	}, nil
}

// world is called for each world: its processes share the bank.
func world() simtest.World {
	b := &bank{booked: map[string]int{}}
	return simtest.World{
		Parts: func() (agent.Parts, error) { return shop(b) },
		Check: func(simtest.Ended) error {
			if total := b.total(); total != 12 {
				return fmt.Errorf("booked %d, want 12", total)
			}
			return nil
		},
	}
}

var payments = simtest.Scenario{Name: "payments", Person: []simtest.Act{
	simtest.Say(`call: pay {"amount":5}`),
	simtest.Say(`call: pay {"amount":7}`),
}}

// together is a scenario in which the model makes both calls in one turn, which the rules
// of the scripted model cannot say.
var together = simtest.Scenario{Name: "together", Person: []simtest.Act{simtest.Say("Pay both.")}, Turns: []scripted.Turn{
	{Calls: []core.ToolCall{scripted.Call("pay", map[string]int{"amount": 5}), scripted.Call("pay", map[string]int{"amount": 7})}},
	{Text: "Both are paid."},
}}

// A tool books at a bank. Whatever process dies at whatever moment, both amounts are
// booked once.
func ExampleRunWorlds() {
	var t *testing.T // the test's
	simtest.RunWorlds(t, world, payments, together)
}
