package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

const markText = `,"cache_control":{"type":"ephemeral"}`

// round is a turn with n calls, and their results.
func round(n int) []core.Message {
	turn := core.Message{Role: core.RoleAssistant, Model: "claude-sonnet-4-5", Content: []core.Block{
		{Type: core.BlockReasoning, Echo: json.RawMessage(`{"type":"redacted_thinking","data":"d"}`), Origin: "o"},
	}}
	messages := []core.Message{turn}
	for i := range n {
		id := fmt.Sprint("call", i)
		messages[0].ToolCalls = append(messages[0].ToolCalls, core.ToolCall{ID: id, Name: "add", Arguments: json.RawMessage(`{"a":1}`)})
		messages = append(messages, result(id, fmt.Sprint("result ", i)))
	}
	return messages
}

// What stands up to the last mark of a step's request is in front of the next step's as it
// was, but for the marks; and the next request has a mark there, however long the round
// between them was, or no more than 20 blocks behind it, where the message itself grew.
func TestEachStepReadsWhatTheLastOneWrote(t *testing.T) {
	conversation := [][]core.Message{
		{said(core.RoleUser, "Add them.")}, round(32), round(1), {said(core.RoleUser, "Faster!")},
		{said(core.RoleAssistant, "Yes."), said(core.RoleUser, "Well?"), said(core.RoleUser, "Well?")}, round(32), {said(core.RoleAssistant, "It is 7."), said(core.RoleUser, "Thanks.")},
	}
	request := model.Request{
		Model: "claude-sonnet-4-5", Origin: "o", System: "Be brief.", ReasoningEffort: model.EffortLow, MaxTokens: 9000,
		Tools: []model.ToolDefinition{{Name: "add"}, {Name: "now"}},
	}
	before := "" // up to the last mark of the request before, without marks
	for step, part := range conversation {
		request.Messages = append(request.Messages, part...)
		now := request
		if step%2 == 0 { // volatile context comes and goes
			now.Messages = append(request.Messages[:len(request.Messages):len(request.Messages)], said(core.RoleSystem, fmt.Sprint("It is step ", step)))
		}
		wire, err := encode(now, false)
		if err != nil {
			t.Fatal(err)
		}
		body := string(wire.body)
		pieces := strings.Split(body, markText)
		if len(pieces) > 5 {
			t.Fatalf("step %d has %d marks", step, len(pieces)-1)
		}
		if step > 0 && !marksAfter(pieces, before) {
			t.Errorf("step %d has no mark where the last one of step %d stood:\n%s", step, step-1, body)
		}
		if strings.Contains(strings.Join(pieces[:len(pieces)-1], ""), "It is step") {
			t.Errorf("step %d: a mark stands behind what is gone in the next step", step)
		}
		before = strings.Join(pieces[:len(pieces)-1], "")
	}
}

// marksAfter reports whether one of the marks between the pieces finds what was written up
// to prefix.
func marksAfter(pieces []string, prefix string) bool {
	at := ""
	for _, piece := range pieces[:len(pieces)-1] {
		at += piece
		if between, ok := strings.CutPrefix(at, prefix); ok && strings.Count(between, `{"type":`) < 20 {
			return true
		}
	}
	return false
}

func TestWhereMarksStand(t *testing.T) {
	tests := []struct {
		name    string
		request model.Request
		want    []string // what each mark is on
	}{
		{"all four", model.Request{
			System: "s", Tools: []model.ToolDefinition{{Name: "a"}, {Name: "b"}},
			Messages: []core.Message{said(core.RoleUser, "1"), said(core.RoleAssistant, "2"), said(core.RoleUser, "3"), said(core.RoleAssistant, "4"), said(core.RoleUser, "5")},
		}, []string{`"b"`, `"s"`, `"3"`, `"5"`}},
		{"the first message", model.Request{Messages: []core.Message{said(core.RoleUser, "1")}}, []string{`"1"`}},
		{"the agent's part of the system prompt", model.Request{System: "s", Messages: []core.Message{said(core.RoleSystem, "x"), said(core.RoleUser, "1")}}, []string{`"s"`, `"1"`}},
		{"a message that may be gone", model.Request{
			Messages: []core.Message{said(core.RoleUser, "1"), said(core.RoleAssistant, "2"), said(core.RoleSystem, "3"), said(core.RoleSystem, "4")},
		}, []string{`"1"`}},
		{"two messages before it", model.Request{
			Messages: []core.Message{said(core.RoleUser, "1"), said(core.RoleAssistant, "2"), said(core.RoleUser, "3"), said(core.RoleAssistant, "4"), said(core.RoleSystem, "5")},
		}, []string{`"1"`, `"3"`}},
		{"a file", model.Request{Messages: []core.Message{{Role: core.RoleUser, Content: []core.Block{{Type: core.BlockText, Text: "1"}, file("image/png", "", "x", "")}}}}, []string{`"image"`}},
		{"none", model.Request{NoPromptCache: true, System: "s", Tools: []model.ToolDefinition{{Name: "a"}}, Messages: []core.Message{said(core.RoleUser, "1")}}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.request.Model = "m"
			wire, err := encode(test.request, false)
			if err != nil {
				t.Fatal(err)
			}
			var body struct {
				Tools    []map[string]any `json:"tools"`
				System   []map[string]any `json:"system"`
				Messages []struct {
					Content []map[string]any `json:"content"`
				} `json:"messages"`
			}
			if err := json.Unmarshal(wire.body, &body); err != nil {
				t.Fatal(err)
			}
			blocks := append(body.Tools, body.System...)
			for _, m := range body.Messages {
				blocks = append(blocks, m.Content...)
			}
			var got []string
			for _, b := range blocks {
				if b["cache_control"] != nil {
					name := b["name"]
					if name == nil {
						name = b["text"]
					}
					if name == nil {
						name = b["type"]
					}
					got = append(got, fmt.Sprintf("%q", name))
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
