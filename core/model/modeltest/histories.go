package modeltest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// Histories sends conversations of every form that a thread can have, and passes each body
// to check, which knows the provider's rules. The provider must accept each request:
// the order of the roles, the models that generated the turns and the place where a turn was
// truncated do not matter.
func (p Provider) Histories(t *testing.T, check func(body string) error) {
	t.Helper()
	own := p.own(t)
	opened := p.Open(t, "text")
	rapid.Check(t, func(t *rapid.T) {
		r := p.draw(t, own)
		before := len(opened.Requests())
		for _, err := range opened.Model.Stream(t.Context(), r) {
			if err != nil {
				t.Fatalf("%v\n%s", err, shown(r.Messages))
			}
		}
		requests := opened.Requests()[before:]
		if len(requests) != 1 {
			t.Fatalf("%d requests", len(requests))
		}
		if strings.Contains(requests[0], "foreign-") {
			t.Fatalf("the request has an echo of another model\n%s", requests[0])
		}
		if err := check(requests[0]); err != nil {
			t.Fatalf("%v\n%s\n%s", err, requests[0], shown(r.Messages))
		}
	})
}

// Requests returns the bodies of n requests with such conversations. Request i is the same
// in every run: i is its seed. Every seventh asks for a response format, unless the
// exceptions have response_format.
func (p Provider) Requests(t *testing.T, n int) []string {
	t.Helper()
	own := p.own(t)
	opened := p.Open(t, "text")
	drawn := rapid.Custom(func(t *rapid.T) model.Request { return p.draw(t, own) })
	_, plain := p.Exceptions["response_format"]
	for i := range n {
		r := drawn.Example(i)
		if i%7 == 3 && !plain {
			r.ResponseFormat = &model.ResponseFormat{Name: "answer", Strict: true, Schema: json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}},"required":["word"],"additionalProperties":false}`)}
			r.Tools, r.ToolChoice = nil, model.ToolChoice{}
		}
		for _, err := range opened.Model.Stream(t.Context(), r) {
			if err != nil {
				t.Fatalf("%v\n%s", err, shown(r.Messages))
			}
		}
	}
	return opened.Requests()
}

// own is the turn of the case "reasoning"; empty: the provider wants nothing back.
func (p Provider) own(t *testing.T) (own core.Message) {
	t.Helper()
	if _, ok := p.Exceptions["reasoning"]; !ok {
		var err error
		if _, own, err = collect(t, p.Open(t, "reasoning").Model, p.request(nil)); err != nil {
			t.Fatal(err)
		}
	}
	return own
}

// draw draws a request.
func (p Provider) draw(t *rapid.T, own core.Message) model.Request {
	r := p.request(nil)
	h := history{t: t, own: own, model: r.Model}
	r.Messages = h.messages()
	r.ReasoningEffort = rapid.SampledFrom([]model.Effort{"", "", model.EffortLow, model.EffortHigh}).Draw(t, "effort")
	r.NoPromptCache = rapid.IntRange(0, 4).Draw(t, "cache") == 0
	if rapid.IntRange(0, 4).Draw(t, "forced") == 0 {
		r.ToolChoice = model.ToolChoice{Mode: model.ToolRequired}
	}
	return r
}

func shown(messages []core.Message) string {
	var b strings.Builder
	for _, m := range messages {
		line, err := json.Marshal(m)
		fmt.Fprintf(&b, "%s %v\n", line, err)
	}
	return b.String()
}

// history draws a conversation.
type history struct {
	t     *rapid.T
	own   core.Message // a turn of the provider with what it wants back; empty: it wants nothing
	model string
	all   []core.Message
}

var texts = []string{"", " ", "\n", "Hello.", "Wörter — 🌍", "{\"a\":1}", "A longer text of several words."}

func (h *history) text(label string) string { return rapid.SampledFrom(texts).Draw(h.t, label) }

func (h *history) add(m core.Message) {
	m.ID = fmt.Sprint("m", len(h.all))
	h.all = append(h.all, m)
}

func (h *history) messages() []core.Message {
	h.context("before")
	h.user()
	for range rapid.IntRange(0, 6).Draw(h.t, "rounds") {
		h.turn()
		if rapid.IntRange(0, 3).Draw(h.t, "context") == 0 {
			h.context("between")
		}
		for range rapid.IntRange(0, 2).Draw(h.t, "users") {
			h.user()
		}
	}
	if last := h.all[len(h.all)-1]; last.Role != core.RoleTool && last.Role != core.RoleUser {
		h.user()
	}
	h.context("behind")
	return h.all
}

// context is what plugins say.
func (h *history) context(where string) {
	for range rapid.IntRange(0, 2).Draw(h.t, where) {
		h.add(core.Message{Role: core.RoleSystem, Content: []core.Block{{Type: core.BlockText, Text: "It is " + where + "."}}})
	}
}

func (h *history) user() {
	m := core.UserMessage(rapid.SampledFrom(texts[3:]).Draw(h.t, "said"))
	if rapid.IntRange(0, 5).Draw(h.t, "file") == 0 {
		m.Content[0].Text = h.text("said of a file")
		m.Content = append(m.Content, core.Block{Type: core.BlockFile, MediaType: "image/png", Data: []byte("\x89PNG")})
	}
	h.add(m)
}

// turn is what a model said, this one or another, with the results of its calls.
func (h *history) turn() {
	m := core.Message{Role: core.RoleAssistant, StopReason: core.StopEndTurn, Model: h.model}
	calls := rapid.IntRange(0, 3).Draw(h.t, "calls")
	mine := h.own.ToolCalls != nil && calls > 0 && rapid.Bool().Draw(h.t, "own")
	switch {
	case mine:
		m.Content = append(m.Content, h.own.Content...)
	case rapid.Bool().Draw(h.t, "foreign"):
		m.Content = append(m.Content, core.Block{Type: core.BlockReasoning, Text: h.text("thought"), Echo: json.RawMessage(`{"signature":"foreign-1"}`), Origin: "other/model"})
	case rapid.Bool().Draw(h.t, "thought without an echo"):
		m.Content = append(m.Content, core.Block{Type: core.BlockReasoning, Text: h.text("thought")})
	}
	if !mine && rapid.Bool().Draw(h.t, "another's") {
		m.Model = "another"
	}
	if rapid.Bool().Draw(h.t, "talks") {
		m.Content = append(m.Content, core.Block{Type: core.BlockText, Text: h.text("text")})
	}
	for i := range calls {
		c := core.ToolCall{
			ID:        rapid.SampledFrom([]string{"", "functions.get_time:0", "call_", "ü id"}).Draw(h.t, "id") + fmt.Sprint(i),
			Name:      rapid.SampledFrom([]string{"get_time", "get_weather", "gone"}).Draw(h.t, "name"),
			Arguments: json.RawMessage(rapid.SampledFrom([]string{`{}`, `{"city":"Oslo"}`, `"{\"city\":\"Os"`, `[1]`, `"text"`}).Draw(h.t, "arguments")),
		}
		switch {
		case mine && i == 0:
			c.Echo, c.Origin = h.own.ToolCalls[0].Echo, h.own.ToolCalls[0].Origin
		case !mine && rapid.IntRange(0, 3).Draw(h.t, "signed") == 0:
			c.Echo, c.Origin = json.RawMessage(`"foreign-2"`), "other/model"
		}
		m.ToolCalls = append(m.ToolCalls, c)
	}
	h.add(m)
	for _, c := range m.ToolCalls {
		r := core.ToolResult{CallID: c.ID, Name: c.Name, Message: h.text("result"), IsError: rapid.Bool().Draw(h.t, "failed")}
		if rapid.Bool().Draw(h.t, "data") {
			r.Data = json.RawMessage(rapid.SampledFrom([]string{`null`, `"x"`, `{"a":[1]}`, `[]`, `1`}).Draw(h.t, "value"))
		}
		if rapid.IntRange(0, 5).Draw(h.t, "result with a file") == 0 {
			kind := rapid.SampledFrom([]string{"image/png", "application/pdf", "text/plain", "audio/wav", "application/zip"}).Draw(h.t, "type")
			r.Content = []core.Block{{Type: core.BlockText, Text: h.text("caption")}, {Type: core.BlockFile, MediaType: kind, Data: []byte("\x89PNG")}}
		}
		h.add(core.Message{Role: core.RoleTool, ToolResult: &r})
	}
}
