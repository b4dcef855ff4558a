package reveille_test

import (
	"context"
	"fmt"
	"log"

	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/core/reveille/reveilletest"
)

// Limits is what a spec says in its section office.
type Limits struct {
	Letters int `json:"letters"` // of a run
}

// Notice is what happens in the world once a letter is committed.
type Notice struct {
	Run reveille.ID `json:"run"`
	N   int         `json:"n"`
}

var (
	limits = reveille.Section[Limits]{Name: "office", Default: Limits{Letters: 3}}
	sent   = reveille.Counter("letters", reveille.ScopeRun)
	notice = reveille.Effect[Notice]{Name: "office.notice"}
)

// office lets no call shred, asks a person once a run has sent its letters, and tells of each.
var office = reveille.NewPlugin("office", func(r *reveille.Registrar) error {
	l, err := limits.Read(r)
	if err != nil {
		return err
	}
	r.Key(sent)
	r.Gate(func(_ context.Context, c reveille.GateCall) (reveille.Verdict, error) {
		n, err := sent.Read(c.Snapshot)
		switch {
		case err != nil:
			return reveille.Verdict{}, err
		case c.Call.Name == "shred":
			return reveille.Block("nothing is shredded here"), nil
		case c.Call.Name == "letter" && n >= l.Letters:
			return reveille.Suspend(reveille.TicketRequest{Message: "One more letter?"}), nil
		}
		return reveille.Allow, nil
	})
	r.OnAfterTool(func(_ context.Context, c reveille.AfterTool) (reveille.Command, error) {
		if c.Call.Name != "letter" || c.Result.IsError {
			return reveille.Command{}, nil
		}
		n, err := sent.Read(c.Snapshot)
		return reveille.Combine(sent.Update(1), notice.Emit(Notice{c.Run, n + 1})), err
	})
	notice.Handle(r, func(_ context.Context, c reveille.HandlerContext, n Notice) error {
		fmt.Println("letter", n.N, "of thread", c.Thread.Thread)
		return nil
	})
	return nil
})

// A plugin with a gate, state, an effect and a setting.
func ExampleNewPlugin() {
	named := func(name string) reveille.Tool {
		return reveille.NewTool(reveille.ToolSpec{Name: name}, func(context.Context, reveille.Call, struct{}) (string, error) { return name, nil })
	}
	letter := reveilletest.Turn{Calls: []reveille.ToolCall{reveilletest.Call("letter", nil)}}
	shred := reveilletest.Turn{Calls: []reveille.ToolCall{reveilletest.Call("shred", nil)}}
	r, err := reveille.New(reveille.Parts{
		Specs: []reveille.AgentSpec{{
			ID: "clerk", Model: "m", Plugins: []string{"office"},
			Sections: reveille.Sections(limits.Setting(Limits{Letters: 1})),
		}},
		Models:  reveille.Models{"m": {Model: reveilletest.Script(letter, letter, shred)}},
		Tools:   []reveille.Tool{named("letter"), named("shred")},
		Plugins: []reveille.Plugin{office},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	result, err := r.Run(ctx, reveille.Input{Text: "two letters, and away with it", Thread: "t1"})
	fmt.Println(result.Tickets[0].Suspension.Message, err)
	if err := r.Decide(ctx, result.Run.ID, reveille.Approve(result.Tickets[0])); err != nil {
		log.Fatal(err)
	}
	result, err = r.Wait(ctx, result.Run.ID)
	fmt.Println(result.Termination.Type == reveille.TerminationBlocked, result.Termination.Detail, err)
	// Output:
	// letter 1 of thread t1
	// One more letter? <nil>
	// letter 2 of thread t1
	// true nothing is shredded here <nil>
}
