package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// shows runs a tool once, and prints what a reader of the run's events sees of its work.
func shows(t reveille.Tool) {
	r, err := reveille.New(reveille.Parts{
		Specs:  []reveille.AgentSpec{{ID: "a", Model: "m"}},
		Models: reveille.Models{"m": {Model: scripted.Rules()}},
		Tools:  []reveille.Tool{t},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for e, err := range r.Events(context.Background(), reveille.Input{Text: "call: " + t.Spec().Name}) {
		switch {
		case err != nil:
			fmt.Println(err)
		case e.Type == core.EventToolCallStreamDelta:
			fmt.Printf("%s %q\n", e.Type, e.Delta)
		case e.Type == core.EventActivitySnapshot:
			fmt.Println(e.Type, e.ActivityType, strings.ReplaceAll(string(e.Content), e.CallID, "ID"))
		case e.Type == core.EventActivityDelta:
			fmt.Println(e.Type, e.ActivityType, string(e.Patch))
		case e.Type == core.EventToolCallDone:
			fmt.Println(e.Type, string(e.Result))
		}
	}
}

// A tool says how far it is, as often as it likes: what changes little is held back.
func ExampleCall_Progress() {
	shows(tool.New(tool.Spec{Name: "index"}, func(_ context.Context, call tool.Call, _ struct{}) (string, error) {
		const pages = 2
		for page := range pages {
			call.Progress(float64(page), pages, "")
		}
		call.Progress(pages, pages, "indexed")
		return "2 pages", nil
	}))
	// Output:
	// activity_snapshot tool_progress {"call_id":"ID","tool_name":"index","status":"running","progress":0,"loaded":0,"total":2}
	// activity_snapshot tool_progress {"call_id":"ID","tool_name":"index","status":"running","progress":0.5,"loaded":1,"total":2}
	// activity_snapshot tool_progress {"call_id":"ID","tool_name":"index","status":"done","progress":1,"loaded":2,"total":2,"message":"indexed"}
	// tool_call_done "2 pages"
}

// A tool shows what a command prints while it runs; the model reads the result alone.
func ExampleCall_Output() {
	shows(tool.New(tool.Spec{Name: "build"}, func(_ context.Context, call tool.Call, _ struct{}) (map[string]bool, error) {
		for _, line := range []string{"compiling\n", "linking\n"} {
			call.Output(line)
		}
		return map[string]bool{"built": true}, nil
	}))
	// Output:
	// tool_call_stream_delta "compiling\n"
	// tool_call_stream_delta "linking\n"
	// tool_call_done {"built":true}
}

// A tool shows a plan, whole once and then what changes of it.
func ExampleCall_Activity() {
	shows(tool.New(tool.Spec{Name: "travel"}, func(_ context.Context, call tool.Call, _ struct{}) (string, error) {
		call.Activity("plan", map[string]any{"steps": []string{"search"}, "done": 0})
		call.ActivityPatch("plan",
			tool.PatchOperation{Op: "add", Path: "/steps/-", Value: "book"},
			tool.PatchOperation{Op: "replace", Path: "/done", Value: 1})
		return "booked", nil
	}))
	// Output:
	// activity_snapshot plan {"done":0,"steps":["search"]}
	// activity_delta plan [{"op":"add","path":"/steps/-","value":"book"},{"op":"replace","path":"/done","value":1}]
	// tool_call_done "booked"
}

// nights is arguments that a schema alone cannot check.
type nights struct {
	From  int `json:"from"`
	Until int `json:"until"`
}

func (n nights) Check() error {
	if n.Until <= n.From {
		return tool.InvalidArgument("until", "%d is not after %d", n.Until, n.From)
	}
	return nil
}

// A check of one's own follows the schema's. What it returns goes back to the model,
// before anybody is asked for permission.
func ExampleInvalidArgument() {
	book := tool.New(tool.Spec{Name: "book"}, func(_ context.Context, _ tool.Call, n nights) (string, error) {
		return fmt.Sprintf("booked %d nights", n.Until-n.From), nil
	})
	fmt.Println(book.Check(json.RawMessage(`{"from":5,"until":3}`)))
	// Output: property "until": 3 is not after 5
}

// A result may change the state and say something to programs that the model does
// not read.
func ExampleResult_With() {
	visited := state.Key[[]string, string]{
		Name: "visited", Scope: state.ScopeThread, Commutative: true,
		Apply: func(all []string, city string) []string { return append(all[:len(all):len(all)], city) },
	}
	result := tool.NewResult("sunny").With(visited.Update("Oslo")).WithMetadata("source", "met.no")
	fmt.Println(result.Text(), string(result.Metadata["source"]), len(result.Command.Batch.Mutations))
	// Output:
	// "sunny" "met.no" 1
}
