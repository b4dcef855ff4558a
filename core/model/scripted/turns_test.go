package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/cutturn"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/scripted"
)

// says prints what a model says, a word for each delta but the pieces of texts, which are
// joined.
func says(m model.Model, r model.Request) string {
	var words []string
	var last model.DeltaType
	add := func(d model.Delta, prefix string) {
		if d.Type != last || prefix != "" && d.Type == model.DeltaToolStart {
			words = append(words, prefix)
		}
		words[len(words)-1] += d.Text
	}
	for d, err := range m.Stream(context.Background(), r) {
		switch {
		case err != nil:
			words = append(words, "error "+err.Error())
		case d.Type == model.DeltaText:
			add(d, "text ")
		case d.Type == model.DeltaReasoning:
			add(d, "reasoning ")
		case d.Type == model.DeltaToolStart:
			words = append(words, fmt.Sprintf("call %d %s%s", d.Index, d.Name, d.CallID))
		case d.Type == model.DeltaToolArgument:
			add(d, "")
		case d.Type == model.DeltaUsage:
			words = append(words, fmt.Sprintf("usage %d %d", d.Usage.Input, d.Usage.Output))
		case d.Type == model.DeltaStop:
			words = append(words, "stop "+string(d.Stop))
		}
		last = d.Type
	}
	return strings.Join(words, ", ")
}

// input is what a run was asked.
func input(run byte, text string) core.Message {
	m := core.UserMessage(text)
	m.RunID = core.ID{run}
	return m
}

func continued(said, note string) []core.Message {
	return []core.Message{
		input(1, "go"), {Role: core.RoleAssistant, Content: []core.Block{{Type: core.BlockText, Text: said}}}, input(1, note),
	}
}

func TestTurnsAreSaidStepByStep(t *testing.T) {
	failure := &model.Error{Kind: model.KindOverloaded, Message: "come back"}
	turns := scripted.Turns(
		scripted.Turn{Reasoning: "hm", Text: "I look.", Calls: []core.ToolCall{scripted.Call("find", map[string]int{"n": 1}), scripted.Call("see", nil), {Name: "hear"}}},
		scripted.Turn{Text: "half a word", Cut: true, Calls: []core.ToolCall{scripted.Call("see", nil)}},
		scripted.Turn{Text: "then", Err: failure},
		scripted.Turn{Text: "ok", Usage: core.Usage{Input: 7, Output: 8}, Stop: core.StopContentFilter},
		scripted.Turn{Calls: []core.ToolCall{{Name: "see", Arguments: json.RawMessage(`{"n":`)}}},
		scripted.Turn{},
	)
	tests := []struct {
		name     string
		step     int
		messages []core.Message
		want     string
	}{
		{"reasoning, text and calls", 1, []core.Message{input(1, "go")}, `reasoning hm, text I look., call 0 find, {"n":1}, call 1 see, {}, call 2 hear, {}, usage 1 5, stop tool_use`},
		{"whatever was said between", 1, []core.Message{input(1, "go"), called, result("1"), input(1, "stay")}, `reasoning hm, text I look., call 0 find, {"n":1}, call 1 see, {}, call 2 hear, {}, usage 3 5, stop tool_use`},
		{"a turn that is resumed", 1, continued("I lo", cutturn.Note), `text ok., call 0 find, {"n":1}, call 1 see, {}, call 2 hear, {}, usage 30 4, stop tool_use`},
		{"a turn that is cut", 2, nil, "text half , usage 0 1, stop max_tokens"},
		{"the rest of it", 2, continued("half ", cutturn.LimitNote), "text a word, call 0 see, {}, usage 32 3, stop tool_use"},
		{"a failure in it", 2, continued("ha", cutturn.Note), "text lf , usage 29 1, stop max_tokens"},
		{"a failure", 3, nil, "text then, error come back"},
		{"the failure again", 3, continued("then", cutturn.Note), "error come back"},
		{"usage and stop", 4, nil, "text ok, usage 7 8, stop content_filter"},
		{"arguments that are no JSON", 5, nil, `call 0 see, {"n":, usage 0 1, stop tool_use`},
		{"nothing", 6, nil, "usage 0 0, stop end_turn"},
		{"more steps than turns", 7, nil, "error scripted turns: step 7 of the run has no turn, there are 6"},
		{"a summary", 0, []core.Message{input(1, "sum up")}, "text A summary., usage 2 2, stop end_turn"},
		{"another beginning", 4, continued("no", cutturn.Note), `error scripted turns: the model is to go on from "no", which turn 4 does not begin with`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := says(turns, model.Request{Step: test.step, Messages: test.messages}); got != test.want {
				t.Errorf("it says %s\nwant     %s", got, test.want)
			}
		})
	}
	for _, err := range turns.Stream(t.Context(), model.Request{Step: 3}) {
		if err != nil && !errors.Is(err, failure) {
			t.Errorf("the error is %v", err)
		}
	}
}

func TestRunsHaveTheTurnsOfTheirFirstInput(t *testing.T) {
	some := scripted.Turns(
		scripted.Turn{Input: "soup?", Text: "soup 1"}, scripted.Turn{Text: "soup 2"},
		scripted.Turn{Input: "bread?", Text: "bread 1"},
	)
	all := scripted.Turns(
		scripted.Turn{Text: "other 1"}, scripted.Turn{Text: "other 2"},
		scripted.Turn{Input: "bread?", Text: "bread 1"},
	)
	repair := core.Message{Role: core.RoleUser, RunID: core.ID{3}, Repair: true, Content: []core.Block{{Type: core.BlockText, Text: "mend"}}}
	tests := []struct {
		name     string
		model    model.Model
		step     int
		messages []core.Message
		want     string
	}{
		{"the first", some, 1, []core.Message{input(1, " soup?\n")}, "text soup 1"},
		{"its next", some, 2, []core.Message{input(1, "soup?")}, "text soup 2"},
		{"steered with another's", some, 2, []core.Message{input(1, "soup?"), called, input(1, "bread?")}, "text soup 2"},
		{"two messages", some, 1, []core.Message{input(1, "soup?"), input(1, "please")}, "text soup 1"},
		{"behind another run", some, 1, []core.Message{input(1, "soup?"), called, input(2, "bread?")}, "text bread 1"},
		{"behind a summary", some, 2, []core.Message{core.UserMessage("...").WithID("summary.9"), input(2, "soup?")}, "text soup 2"},
		{"with a note of the runtime", some, 2, []core.Message{input(2, "soup?"), called, repair}, "text soup 2"},
		{"too many", some, 2, []core.Message{input(1, "bread?")}, "error scripted turns: step 2 of the run has no turn, there are 1"},
		{"none", some, 1, []core.Message{input(1, "wine?")}, `error scripted turns: no turns for a run with the input "wine?", want "bread?", "soup?"`},
		{"of all others", all, 2, []core.Message{input(1, "wine?")}, "text other 2"},
		{"not of all others", all, 1, []core.Message{input(1, "bread?")}, "text bread 1"},
		{"no turns", scripted.Turns(), 1, []core.Message{input(1, "wine?")}, "error scripted turns: step 1 of the run has no turn, there are 0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, _, _ := strings.Cut(says(test.model, model.Request{Step: test.step, Messages: test.messages}), ", usage")
			if got != test.want {
				t.Errorf("it says %s, want %s", got, test.want)
			}
		})
	}
}

func TestTurnsThatCannotBeSaid(t *testing.T) {
	m := scripted.Turns(
		scripted.Turn{Text: "a", Cut: true},
		scripted.Turn{Calls: []core.ToolCall{{}}},
		scripted.Turn{Calls: []core.ToolCall{scripted.Call("ok", nil), {ID: "c1", Name: "see"}}},
		scripted.Turn{Calls: []core.ToolCall{scripted.Call("see", math.Inf(1))}},
		scripted.Turn{Input: "x"}, scripted.Turn{Input: "x "}, scripted.Turn{Input: " "},
	)
	want := `scripted turns: turn 1: text "a" is too short to be cut
turn 2: call 0 has no name
turn 3: call 1 has the id "c1", want none: a run gives each call its own
turn 4: call 0, of see: json: unsupported value: +Inf
turn 6: input "x " is empty, or given twice
turn 7: input " " is empty, or given twice`
	err := m.(model.Checker).Check(model.Request{})
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" || core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("code %s %s", core.CodeOf(err), diff)
	}
	if got := says(m, model.Request{Step: 1}); got != "error "+want {
		t.Errorf("it says %s", got)
	}
	if err := scripted.Turns(scripted.Turn{Text: "ok"}).(model.Checker).Check(model.Request{ResponseFormat: &model.ResponseFormat{}}); err != nil {
		t.Errorf("turns with a form: %v", err)
	}
}
