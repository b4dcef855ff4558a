package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/cutturn"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/scripted"
)

// ask prints the deltas of a turn, one line each.
func ask(ctx context.Context, messages ...core.Message) (lines []string) {
	for d, err := range scripted.New(env.System()).Stream(ctx, model.Request{Messages: messages}) {
		switch {
		case err != nil:
			lines = append(lines, "error "+err.Error())
		case d.Type == model.DeltaText:
			lines = append(lines, "text "+d.Text)
		case d.Type == model.DeltaReasoning:
			lines = append(lines, "reasoning "+d.Text)
		case d.Type == model.DeltaToolStart:
			lines = append(lines, fmt.Sprintf("call %d %s%s", d.Index, d.Name, d.CallID))
		case d.Type == model.DeltaToolArgument:
			lines = append(lines, fmt.Sprintf("arguments %d %s", d.Index, d.Text))
		case d.Type == model.DeltaUsage:
			lines = append(lines, fmt.Sprintf("usage %d %d", d.Usage.Input, d.Usage.Output))
		case d.Type == model.DeltaStop:
			lines = append(lines, "stop "+string(d.Stop))
		}
	}
	return lines
}

func user(text string) core.Message { return core.UserMessage(text) }

func result(data string) core.Message {
	return core.Message{Role: core.RoleTool, ToolResult: &core.ToolResult{Data: json.RawMessage(data)}}
}

// ended is a result of a status.
func ended(status core.ResultStatus, data, message string) core.Message {
	return core.Message{Role: core.RoleTool, ToolResult: &core.ToolResult{Status: status, Data: json.RawMessage(data), Message: message}}
}

// cut is a conversation whose turn was cut off behind what is said.
func cut(question, said string) []core.Message {
	return []core.Message{
		user(question),
		{Role: core.RoleAssistant, Content: []core.Block{{Type: core.BlockText, Text: said}}},
		user(cutturn.Note),
	}
}

var called = core.Message{Role: core.RoleAssistant, ToolCalls: []core.ToolCall{{ID: "c", Name: "echo"}}}

func TestRules(t *testing.T) {
	tests := []struct {
		name     string
		messages []core.Message
		want     []string
	}{
		{"nothing", nil, []string{"text You sa", "text id: ", "usage 0 2", "stop end_turn"}},
		{"anything", []core.Message{user("hi there")}, []string{"text You said: ", "text hi there", "usage 2 4", "stop end_turn"}},
		{"not cut inside a rune", []core.Message{user("ää")}, []string{"text You said", "text : ää", "usage 1 3", "stop end_turn"}},
		{"the last user message counts", []core.Message{user("fail"), user("hi")}, []string{"text You sai", "text d: hi", "usage 2 3", "stop end_turn"}},
		{"echo", []core.Message{user("echo: a b")}, []string{
			"call 0 echo", `arguments 0 {"text"`, `arguments 0 :"a b"}`, "usage 3 1", "stop tool_use"}},
		{"arguments not cut inside a rune", []core.Message{user("echo: üüüüü")}, []string{
			"call 0 echo", `arguments 0 {"text":"ü`, `arguments 0 üüüü"}`, "usage 2 1", "stop tool_use"}},
		{"echo, with its result", []core.Message{user("echo: a"), called, result(`{"text":"a"}`)}, []string{
			"text Echo", "text : a", "usage 3 2", "stop end_turn"}},
		{"input after the reply", []core.Message{user("echo: a"), called, result(`{"text":"a"}`), user("echo: b")}, []string{
			"call 0 echo", `arguments 0 {"text`, `arguments 0 ":"b"}`, "usage 5 1", "stop tool_use"}},
		{"parallel", []core.Message{user("parallel: a, <b>,,")}, []string{
			"call 0 echo", `arguments 0 {"text`, `arguments 0 ":"a"}`,
			"call 1 echo", `arguments 1 {"text"`, `arguments 1 :"<b>"}`, "usage 3 2", "stop tool_use"}},
		{"parallel, with its results", []core.Message{user("parallel: a, b"), called, result("1"), result("2")}, []string{
			"text Echo: ", "text a, b", "usage 5 3", "stop end_turn"}},
		{"parallel of nothing", []core.Message{user("parallel: ,")}, []string{"text Echo", "text : ", "usage 2 1", "stop end_turn"}},
		{"think", []core.Message{user("think: this")}, []string{
			"reasoning Thinking about ", "reasoning this", "text I thought ", "text about it.", "usage 2 4", "stop end_turn"}},
		{"approve", []core.Message{user("approve: ship it")}, []string{
			"call 0 danger", `arguments 0 {"text":"`, `arguments 0 ship it"}`, "usage 3 1", "stop tool_use"}},
		{"approve, approved", []core.Message{user("approve: ship it"), called, ended(core.ResultOK, `{"text":"ship it","executions":1}`, "")}, []string{
			"text Done: s", "text hip it", "usage 5 3", "stop end_turn"}},
		{"approve, denied", []core.Message{user("approve: ship it"), called, ended(core.ResultDenied, "", "no")}, []string{
			"text The call of dang", "text er was denied.", "usage 4 6", "stop end_turn"}},
		{"approve, cancelled", []core.Message{user("approve: ship it"), called, ended(core.ResultCancelled, "", "no")}, []string{
			"text The call of dang", "text er was denied.", "usage 4 6", "stop end_turn"}},
		{"a text does not make a refusal", []core.Message{user("approve: x"), called, ended(core.ResultOK, `"it was denied"`, "")}, []string{
			"text Done", "text : x", "usage 5 2", "stop end_turn"}},
		{"ask", []core.Message{user("ask: your name?")}, []string{
			"call 0 ask_user", `arguments 0 {"question":`, `arguments 0 "your name?"}`, "usage 3 1", "stop tool_use"}},
		{"ask, answered with a string", []core.Message{user("ask: your name?"), called, ended(core.ResultSet, `"Ann \"A\""`, "")}, []string{
			`text The answer i`, `text s: Ann "A"`, "usage 5 5", "stop end_turn"}},
		{"ask, answered with an object", []core.Message{user("ask: your name?"), called, ended(core.ResultSet, `{"name":"Ann"}`, "")}, []string{
			`text The answer is: `, `text {"name":"Ann"}`, "usage 4 4", "stop end_turn"}},
		{"ask, answered with nothing", []core.Message{user("ask: your name?"), called, ended(core.ResultSet, `null`, "")}, []string{
			`text The answer`, `text  is: null`, "usage 4 4", "stop end_turn"}},
		{"state", []core.Message{user(`state: {"a": 1}`)}, []string{
			"call 0 set_state", `arguments 0 {"state":`, `arguments 0 {"a": 1}}`, "usage 3 1", "stop tool_use"}},
		{"state, with its result", []core.Message{user(`state: {"a": 1}`), called, ended(core.ResultOK, `{"keys":["a"]}`, "")}, []string{
			"text The state", "text  is set.", "usage 4 4", "stop end_turn"}},
		{"call", []core.Message{user(`call: weather  {"city": "Bern"}`)}, []string{
			"call 0 weather", `arguments 0 {"city":`, `arguments 0  "Bern"}`, "usage 4 1", "stop tool_use"}},
		{"call without arguments", []core.Message{user(`call: weather`)}, []string{
			"call 0 weather", `arguments 0 {`, `arguments 0 }`, "usage 2 1", "stop tool_use"}},
		{"call with arguments that are no JSON", []core.Message{user(`call: weather Bern`)}, []string{
			"call 0 weather", `arguments 0 Be`, `arguments 0 rn`, "usage 3 1", "stop tool_use"}},
		{"team", []core.Message{user("team: researcher  echo: <a>  b |buyer\tapprove: \"order\" |")}, []string{
			"call 0 agent_run_researcher", `arguments 0 {"prompt":"e`, `arguments 0 cho: <a>  b"}`,
			"call 1 agent_run_buyer", `arguments 1 {"prompt":"appr`, `arguments 1 ove: \"order\""}`, "usage 9 2", "stop tool_use"}},
		{"a team of one, without a prompt", []core.Message{user("team: buyer")}, []string{
			"call 0 agent_run_buyer", `arguments 0 {"prom`, `arguments 0 pt":""}`, "usage 2 1", "stop tool_use"}},
		{"a prompt is a line of its own", []core.Message{user("team: buyer\necho: a")}, []string{
			"call 0 agent_run_buyer", `arguments 0 {"prompt":`, `arguments 0 "echo: a"}`, "usage 4 1", "stop tool_use"}},
		{"a team without members", []core.Message{user("team: | ")}, []string{
			"text team takes an agent and a prompt, or se", "text veral: team: NAME PROMPT | NAME PROMPT", "usage 2 15", "stop end_turn"}},
		{"team, answered", []core.Message{user("team: researcher a | buyer b"), called,
			ended(core.ResultOK, `{"agent_id":"researcher","response":"Echo: \"a\"","output":"x"}`, ""), ended(core.ResultOK, `{"response":""}`, "")}, []string{
			`text researcher: Ech`, "text o: \"a\"\nbuyer: ", "usage 9 4", "stop end_turn"}},
		{"team, one of whom fails", []core.Message{user("team: researcher a | buyer b"), called,
			ended(core.ResultError, "", "delegation to researcher cancelled"), ended(core.ResultInvalid, "", `tool "agent_run_buyer" not found`)}, []string{
			"text researcher: delegation to researcher cancell", "text ed\nbuyer: tool \"agent_run_buyer\" not found", "usage 14 10", "stop end_turn"}},
		{"team, with data of another form", []core.Message{user("team: a b"), called, ended(core.ResultOK, `"done"`, "")}, []string{
			"text a: d", "text one", "usage 4 2", "stop end_turn"}},
		{"team, with more results than parts", []core.Message{user("team: a b"), called, result("1"), result("2")}, []string{
			"text a: ", "text 1", "usage 5 2", "stop end_turn"}},
		{"echo without such a tool", []core.Message{user("echo: a"), called, ended(core.ResultInvalid, "", "tool \"echo\" not found")}, []string{
			"text Nothing came of it: t", `text ool "echo" not found`, "usage 6 8", "stop end_turn"}},
		{"parallel without such a tool", []core.Message{user("parallel: a, b"), called, ended(core.ResultInvalid, "", "no"), ended(core.ResultInvalid, "", "no")}, []string{
			"text Nothing came", `text  of it: no`, "usage 5 5", "stop end_turn"}},
		{"approve without such a tool", []core.Message{user("approve: a"), called, ended(core.ResultInvalid, "", "no")}, []string{
			"text Nothing came", `text  of it: no`, "usage 3 5", "stop end_turn"}},
		{"call, failed", []core.Message{user(`call: weather`), called, ended(core.ResultError, "", "no weather")}, []string{
			"text The result of wea", "text ther: no weather", "usage 4 6", "stop end_turn"}},
		{"call, denied", []core.Message{user(`call: weather`), called, ended(core.ResultDenied, "", "no")}, []string{
			"text The call of weat", "text her was denied.", "usage 3 6", "stop end_turn"}},
		{"the rest of a cut turn", cut("hi there", "You s"), []string{"text aid: hi", "text  there", "usage 31 3", "stop end_turn"}},
		{"the rest of a whole turn", cut("hi", "You said: hi"), []string{"usage 31 0", "stop end_turn"}},
		{"the rest behind a thought", cut("think: this", "I thought"), []string{"text  about", "text  it.", "usage 31 2", "stop end_turn"}},
		{"a note that nothing precedes is input", []core.Message{user(cutturn.Note)}, []string{
			"text " + ("You said: " + cutturn.Note)[:(len(cutturn.Note)+10)/2+1],
			"text " + ("You said: " + cutturn.Note)[(len(cutturn.Note)+10)/2+1:], "usage 27 29", "stop end_turn"}},
		{"fail", []core.Message{user(" fail ")}, []string{"error scripted model failure"}},
		{"no rule without a colon", []core.Message{user("echo")}, []string{"text You said", "text : echo", "usage 1 3", "stop end_turn"}},
		{"slow without a number", []core.Message{user("slow: x")}, []string{
			"text slow takes a number fr", `text om 1 to 600, not "x"`, "usage 2 10", "stop end_turn"}},
		{"slow out of range", []core.Message{user("slow: 601")}, []string{
			"text slow takes a number fro", `text m 1 to 600, not "601"`, "usage 2 10", "stop end_turn"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, ask(t.Context(), tt.messages...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSlowSaysAWordEach100Milliseconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at []string
		for d, err := range scripted.New(env.System()).Stream(t.Context(), model.Request{Messages: []core.Message{user("slow: 3")}}) {
			if err != nil {
				t.Fatal(err)
			}
			at = append(at, fmt.Sprintf("%s%q", time.Since(start), d.Text))
		}
		if diff := cmp.Diff([]string{`100ms"w1"`, `200ms" w2"`, `300ms" w3"`, `300ms""`, `300ms""`}, at); diff != "" {
			t.Error(diff)
		}
	})
}

// Words that were said before the cut are neither repeated nor waited for.
func TestSlowGoesOnFromACutTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at []string
		for d, err := range scripted.New(env.System()).Stream(t.Context(), model.Request{Messages: cut("slow: 5", "w1 w2 w")}) {
			if err != nil {
				t.Fatal(err)
			}
			at = append(at, fmt.Sprintf("%s%q", time.Since(start), d.Text))
		}
		if diff := cmp.Diff([]string{`100ms"3"`, `200ms" w4"`, `300ms" w5"`, `300ms""`, `300ms""`}, at); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSlowEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		defer cancel()
		got := strings.Join(ask(ctx, user("slow: 600")), "; ")
		if got != "text w1; text  w2; error context deadline exceeded" {
			t.Errorf("slow says %q", got)
		}
	})
}

func TestFailureIsPermanent(t *testing.T) {
	for _, err := range scripted.New(env.System()).Stream(t.Context(), model.Request{Messages: []core.Message{user("fail")}}) {
		var failure *model.Error
		if !errors.As(err, &failure) || failure.Kind != model.KindInvalid || failure.Transient() {
			t.Errorf("the error is %v", err)
		}
	}
}

// A reader may stop at any delta.
func TestReaderStops(t *testing.T) {
	for stop := range 9 {
		n := 0
		for range scripted.New(env.System()).Stream(t.Context(), model.Request{Messages: []core.Message{user("parallel: a, b")}}) {
			if n++; n > stop {
				break
			}
		}
		if n != min(stop+1, 8) {
			t.Errorf("stopped after %d deltas, want %d", n, stop+1)
		}
	}
}

func TestFilesAreTold(t *testing.T) {
	picture := core.Block{Type: core.BlockFile, MediaType: "image/png", Filename: "a.png", Data: []byte("abc")}
	link := core.Block{Type: core.BlockFile, MediaType: "application/pdf", URL: "https://example.com/b.pdf"}
	text := core.Block{Type: core.BlockText, Text: "see"}
	tests := []struct {
		content []core.Block
		want    string
	}{
		{[]core.Block{text, picture, link}, "You said: see [a.png, image/png, 3 bytes] [a file, application/pdf, https://example.com/b.pdf]"},
		{[]core.Block{picture}, "You said: [a.png, image/png, 3 bytes]"},
	}
	for _, tt := range tests {
		var said strings.Builder
		for d, err := range scripted.New(env.System()).Stream(t.Context(), model.Request{Messages: []core.Message{{Role: core.RoleUser, Content: tt.content}}}) {
			if err != nil {
				t.Fatal(err)
			}
			if d.Type == model.DeltaText {
				said.WriteString(d.Text)
			}
		}
		if got := said.String(); got != tt.want {
			t.Errorf("said %q, want %q", got, tt.want)
		}
	}
}
