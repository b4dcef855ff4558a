package reveille_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/core/tool"
)

type stay struct {
	Hotel  string `json:"hotel" jsonschema:"name of the hotel"`
	Nights int    `json:"nights" jsonschema:"number of nights"`
	Wish   string `json:"wish,omitempty" jsonschema:"wish of the guest"`
}

// Check validates what the schema cannot. The model reads the error.
func (s stay) Check() error {
	if s.Nights < 1 || s.Nights > 30 {
		return reveille.InvalidArgument("nights", "%d is outside 1 to 30", s.Nights)
	}
	return nil
}

// hotels is a booking service. It reserves once for each key.
type hotels map[string]string

func (h hotels) reserve(_ context.Context, key, hotel string) (string, error) {
	if hotel == "Full" {
		return "", errors.New("hotel Full has no free room")
	}
	if h[key] == "" {
		h[key] = fmt.Sprint("R", len(h)+1)
	}
	return h[key], nil
}

// book returns a tool that changes something outside, once for each call.
func book(h hotels) reveille.Tool {
	return reveille.NewTool(reveille.ToolSpec{Name: "book", Description: "Books a hotel.", Timeout: 20 * time.Second},
		func(ctx context.Context, call reveille.Call, s stay) (reveille.ToolResult, error) {
			number, err := h.reserve(ctx, call.Key(), s.Hotel)
			if err != nil {
				return reveille.ToolResult{}, err // the model reads it
			}
			return reveille.NewResult(s.Hotel+" is booked").WithMetadata("reservation", number), nil
		})
}

// chart returns a tool whose result has an image.
func chart(draw func(month string) []byte) reveille.Tool {
	return reveille.NewTool(reveille.ToolSpec{Name: "chart", Description: "Draws the sales of a month.", ReadOnly: true},
		func(_ context.Context, _ reveille.Call, a struct {
			Month string `json:"month"`
		}) (reveille.ToolResult, error) {
			return reveille.NewResult("The sales of "+a.Month+".").WithFile("image/png", draw(a.Month)), nil
		})
}

// The file of a result is for the model, and for clients.
func ExampleNewResult_file() {
	r, err := reveille.New(guide(chart(func(string) []byte { return []byte("png") })), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	done, err := r.Run(context.Background(), reveille.Input{Text: `call: chart {"month":"May"}`})
	fmt.Println(done.Text, err)
	// Output: The result of chart: The sales of May. <nil>
}

// Arguments are checked before a tool runs. Its errors are results that the model reads.
func ExampleNewTool() {
	r, err := reveille.New(guide(book(hotels{})), nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, arguments := range []string{`{"hotel":"Grand","nights":2}`, `{"hotel":"Grand","nights":99}`, `{"hotel":"Full","nights":2}`} {
		result, err := r.Run(context.Background(), reveille.Input{Text: "call: book " + arguments})
		fmt.Println(result.Text, err)
	}
	// Output:
	// The result of book: Grand is booked <nil>
	// The result of book: invalid arguments: property "nights": 99 is outside 1 to 30 <nil>
	// The result of book: execution failed: hotel Full has no free room <nil>
}

// A tool shows its work while it runs.
func Example_progress() {
	pages := []string{"one", "two"}
	index := reveille.NewTool(reveille.ToolSpec{Name: "index", Description: "Indexes the documents."},
		func(_ context.Context, call reveille.Call, _ struct{}) (string, error) {
			call.Activity("plan", map[string]any{"pages": pages})
			for i, page := range pages {
				call.Progress(float64(i), float64(len(pages)), "page "+page)
				call.Output("read page " + page + "\n")
			}
			return "2 pages are indexed", nil
		})
	r, err := reveille.New(guide(index), nil)
	if err != nil {
		log.Fatal(err)
	}
	for e, err := range r.Events(context.Background(), reveille.Input{Text: "call: index"}) {
		switch {
		case err != nil:
			log.Fatal(err)
		case e.Type == core.EventToolCallStreamDelta:
			fmt.Printf("output %q\n", e.Delta)
		case e.Type == core.EventActivitySnapshot:
			fmt.Println(e.ActivityType, strings.ReplaceAll(string(e.Content), e.CallID, "ID"))
		case e.Type == reveille.EventToolCallDone:
			fmt.Println("result", string(e.Result))
		}
	}
	// Output:
	// plan {"pages":["one","two"]}
	// tool_progress {"call_id":"ID","tool_name":"index","status":"running","progress":0,"loaded":0,"total":2,"message":"page one"}
	// output "read page one\n"
	// tool_progress {"call_id":"ID","tool_name":"index","status":"running","progress":0.5,"loaded":1,"total":2,"message":"page two"}
	// output "read page two\n"
	// result "2 pages are indexed"
}

// A tool of two parts repeats no finished part when its call runs again.
func Example_once() {
	h := hotels{}
	reserve := func(call reveille.Call, what string) func(context.Context) (json.RawMessage, error) {
		return func(ctx context.Context) (json.RawMessage, error) {
			number, err := h.reserve(ctx, call.Key()+what, what)
			if err != nil {
				return nil, err
			}
			return json.Marshal(number)
		}
	}
	trip := reveille.NewTool(reveille.ToolSpec{Name: "trip", Description: "Books flight and hotel."},
		func(ctx context.Context, call reveille.Call, _ struct{}) (string, error) {
			flight, err := call.Once(ctx, "flight", reserve(call, "flight"))
			if err != nil {
				return "", err
			}
			hotel, err := call.Once(ctx, "hotel", reserve(call, "hotel"))
			return fmt.Sprintf("flight %s, hotel %s", flight, hotel), err
		})
	r, err := reveille.New(guide(trip), nil)
	if err != nil {
		log.Fatal(err)
	}
	result, err := r.Run(context.Background(), reveille.Input{Text: "call: trip"})
	fmt.Println(result.Text, err)
	// Output: The result of trip: flight "R1", hotel "R2" <nil>
}

// A tool leaves its work to a run of another agent, and its own run waits for it.
func Example_childRun() {
	type question struct {
		Text string `json:"text"`
	}
	research := reveille.NewTool(reveille.ToolSpec{Name: "research", Description: "Researches a question."},
		func(ctx context.Context, call reveille.Call, q question) (reveille.ToolResult, error) {
			if end, ok := call.ChildEnd(); ok { // the child run has ended
				return tool.ChildResult(end), nil
			}
			run, err := call.Start(ctx, tool.Child{Agent: "researcher", Messages: []reveille.Message{core.UserMessage(q.Text)}})
			if err != nil {
				return reveille.ToolResult{}, err
			}
			return tool.AwaitChild(run, core.ResumeReplay), nil
		})
	parts := guide(research)
	parts.Specs = append(parts.Specs, reveille.AgentSpec{ID: "researcher", Model: "m", AllowedTools: []string{}})
	parts.Default = "guide"
	r, err := reveille.New(parts, nil)
	if err != nil {
		log.Fatal(err)
	}
	result, err := r.Run(context.Background(), reveille.Input{Text: `call: research {"text":"Which rivers has Norway?"}`})
	fmt.Println(strings.Contains(result.Text, `"response":"You said: Which rivers has Norway?"`), err)
	// Output: true <nil>
}
