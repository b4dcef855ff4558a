package tool_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// A tool says how far it is, as often as it likes: what changes little is held back.
// A Recorder shows a test what readers would be shown.
func ExampleCall_Progress() {
	index := tool.New(tool.Spec{Name: "index"}, func(_ context.Context, call tool.Call, _ struct{}) (string, error) {
		const pages = 1000
		for page := range pages {
			call.Progress(float64(page), pages, "") // each page; shown at each percent
		}
		call.Progress(pages, pages, "indexed")
		return "1000 pages", nil
	})
	var shown tool.Recorder
	result, err := tool.Execute(context.Background(), index, tool.Call{ID: "call_1", Name: "index", Live: shown.Live()})
	reports := shown.Reports()
	fmt.Println(result.Text(), err, len(reports), "reports")
	fmt.Println(string(reports[1].Content))
	fmt.Println(string(reports[100].Content))
	// Output:
	// "1000 pages" <nil> 101 reports
	// {"call_id":"call_1","tool_name":"index","status":"running","progress":0.01,"loaded":10,"total":1000}
	// {"call_id":"call_1","tool_name":"index","status":"done","progress":1,"loaded":1000,"total":1000,"message":"indexed"}
}

// A tool shows what a command prints while it runs; the model reads the result alone.
func ExampleCall_Output() {
	build := tool.New(tool.Spec{Name: "build"}, func(_ context.Context, call tool.Call, _ struct{}) (map[string]bool, error) {
		for _, line := range []string{"compiling\n", "linking\n"} {
			call.Output(line)
		}
		return map[string]bool{"built": true}, nil
	})
	var shown tool.Recorder
	result, err := tool.Execute(context.Background(), build, tool.Call{Live: shown.Live()})
	for _, r := range shown.Reports() {
		fmt.Printf("%s %q\n", r.Type, r.Text)
	}
	fmt.Println(result.Text(), err)
	// Output:
	// tool_call_stream_delta "compiling\n"
	// tool_call_stream_delta "linking\n"
	// {"built":true} <nil>
}

// A tool shows a plan, whole once and then what changes of it.
func ExampleCall_Activity() {
	var shown tool.Recorder
	call := tool.Call{Live: shown.Live()}
	call.Activity("plan", map[string]any{"steps": []string{"search"}, "done": 0})
	call.ActivityPatch("plan",
		tool.PatchOperation{Op: "add", Path: "/steps/-", Value: "book"},
		tool.PatchOperation{Op: "replace", Path: "/done", Value: 1})
	for _, r := range shown.Reports() {
		fmt.Println(r.Type, r.Kind, string(r.Content)+string(r.Patch))
	}
	// Output:
	// activity_snapshot plan {"done":0,"steps":["search"]}
	// activity_delta plan [{"op":"add","path":"/steps/-","value":"book"},{"op":"replace","path":"/done","value":1}]
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
	result, err := tool.Execute(context.Background(), book, tool.Call{Arguments: json.RawMessage(`{"from":5,"until":3}`)})
	fmt.Println(result.Text(), result.Status, err)
	// Output:
	// invalid arguments: property "until": 3 is not after 5 invalid <nil>
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
