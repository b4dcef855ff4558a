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
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/scripted"
)

// ask prints the deltas of an answer, one line each.
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

func user(text string) core.Message { return core.UserMessage("", text) }

func result(data string) core.Message {
	return core.Message{Role: core.RoleTool, ToolResult: &core.ToolResult{Data: json.RawMessage(data)}}
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
		{"echo, answered", []core.Message{user("echo: a"), called, result(`{"text":"a"}`)}, []string{
			"text Echo", "text : a", "usage 3 2", "stop end_turn"}},
		{"input after the answer", []core.Message{user("echo: a"), called, result(`{"text":"a"}`), user("echo: b")}, []string{
			"call 0 echo", `arguments 0 {"text`, `arguments 0 ":"b"}`, "usage 5 1", "stop tool_use"}},
		{"parallel", []core.Message{user("parallel: a, <b>,,")}, []string{
			"call 0 echo", `arguments 0 {"text`, `arguments 0 ":"a"}`,
			"call 1 echo", `arguments 1 {"text"`, `arguments 1 :"<b>"}`, "usage 3 2", "stop tool_use"}},
		{"parallel, answered", []core.Message{user("parallel: a, b"), called, result("1"), result("2")}, []string{
			"text Echo: ", "text a, b", "usage 5 3", "stop end_turn"}},
		{"parallel of nothing", []core.Message{user("parallel: ,")}, []string{"text Echo", "text : ", "usage 2 1", "stop end_turn"}},
		{"think", []core.Message{user("think: this")}, []string{
			"reasoning Thinking about ", "reasoning this", "text I thought ", "text about it.", "usage 2 4", "stop end_turn"}},
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
		if !errors.As(err, &failure) || failure.Kind != model.KindInvalid || model.Transient(err) {
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
