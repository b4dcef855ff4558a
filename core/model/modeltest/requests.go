package modeltest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// sent streams the request of the suite, changed, and returns the body that the server got.
func (p Provider) sent(t *testing.T, change func(*model.Request)) string {
	t.Helper()
	opened := p.Open(t, "text")
	if _, _, err := collect(t, opened.Model, p.request(change)); err != nil {
		t.Fatal(err)
	}
	requests := opened.Requests()
	if len(requests) != 1 {
		t.Fatalf("%d requests, want one attempt", len(requests))
	}
	return requests[0]
}

func has(t *testing.T, body, part string, want bool) {
	t.Helper()
	if strings.Contains(body, part) != want {
		t.Errorf("%q is in the request: %v, want %v\n%s", part, !want, want, body)
	}
}

// echo gives a turn back to the model that said it, and to another.
func (p Provider) echo(t *testing.T) {
	_, said, err := collect(t, p.Open(t, "reasoning").Model, p.request(nil))
	if err != nil || len(said.ToolCalls) != 1 {
		t.Fatalf("turn %+v, %v", said, err)
	}
	said.ToolCalls[0].ID, said.ToolCalls[0].Arguments = "call_a", json.RawMessage(`{"city":"Oslo"}`)
	next := func(m core.Message) string {
		return p.sent(t, func(r *model.Request) {
			r.Messages = append(r.Messages, m, result("call_a", `{"sky":"clear"}`))
		})
	}
	has(t, next(said), p.Echo, true)
	foreign := said
	foreign.Content, foreign.ToolCalls = nil, nil
	for _, b := range said.Content {
		if b.Echo != nil {
			b.Origin = "other/model"
		}
		foreign.Content = append(foreign.Content, b)
	}
	for _, c := range said.ToolCalls {
		if c.Echo != nil {
			c.Origin = "other/model"
		}
		foreign.ToolCalls = append(foreign.ToolCalls, c)
	}
	body := next(foreign)
	has(t, body, p.Echo, false)
	has(t, body, "Oslo", true)
	has(t, body, "clear", true)
}

func result(call, data string) core.Message {
	return core.Message{ID: "r." + call, Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: call, Name: "get_weather", Data: json.RawMessage(data)}}
}

// callIDs checks that ids are the adapter's own: those of another provider, which may
// repeat or have any form, are not sent.
func (p Provider) callIDs(t *testing.T) {
	const odd = "functions.get weather:0/§"
	turn := func(city string) []core.Message {
		return []core.Message{
			{ID: "t" + city, Role: core.RoleAssistant, ToolCalls: []core.ToolCall{{ID: odd, Name: "get_weather", Arguments: json.RawMessage(`{"city":"` + city + `"}`)}}},
			result(odd, `{"in":"`+city+`"}`),
		}
	}
	body := p.sent(t, func(r *model.Request) {
		r.Messages = append(append(r.Messages, turn("Oslo")...), turn("Rome")...)
	})
	has(t, body, "functions.get", false)
	for _, part := range []string{"Oslo", "Rome"} {
		has(t, body, part, true)
	}
}

// files sends an image, a document and a text file.
func (p Provider) files(t *testing.T) {
	image, pdf := []byte("\x89PNG an image"), []byte("%PDF-1.4 a document")
	body := p.sent(t, func(r *model.Request) {
		r.Messages[0].Content = append(r.Messages[0].Content,
			core.Block{Type: core.BlockFile, MediaType: "image/png", Data: image},
			core.Block{Type: core.BlockFile, MediaType: "application/pdf", Data: pdf, Filename: "a document.pdf"},
			core.Block{Type: core.BlockFile, MediaType: "text/plain", Data: []byte("plain words"), Filename: "notes.txt"},
		)
	})
	has(t, body, base64.StdEncoding.EncodeToString(image), true)
	has(t, body, base64.StdEncoding.EncodeToString(pdf), true)
	plain := strings.Contains(body, "plain words") || strings.Contains(body, base64.StdEncoding.EncodeToString([]byte("plain words")))
	if !plain {
		t.Errorf("the text file is not in the request: %s", body)
	}
}

// resultFiles sends a result with an image, which is replaced by a text if the model accepts
// no images.
func (p Provider) resultFiles(t *testing.T) {
	image := []byte("\x89PNG an image")
	send := func(change func(*model.Request)) string {
		return p.sent(t, func(r *model.Request) {
			m := result("call_a", `{"in":"words"}`)
			m.ToolResult.Content = []core.Block{{Type: core.BlockText, Text: "a caption"}, {Type: core.BlockFile, MediaType: "image/png", Data: image}}
			r.Messages = append(r.Messages, core.Message{ID: "t", Role: core.RoleAssistant, ToolCalls: []core.ToolCall{{ID: "call_a", Name: "get_weather", Arguments: json.RawMessage(`{}`)}}}, m)
			change(r)
		})
	}
	encoded := base64.StdEncoding.EncodeToString(image)
	for name, tt := range map[string]struct {
		inputs []string
		want   bool
	}{"unknown inputs": {nil, true}, "images": {[]string{"image"}, true}, "no inputs": {[]string{}, false}, "documents": {[]string{"document"}, false}} {
		body := send(func(r *model.Request) { r.Inputs = tt.inputs })
		t.Run(name, func(t *testing.T) {
			has(t, body, encoded, tt.want)
			has(t, body, "a file of type image/png", !tt.want)
			has(t, body, "words", true)
			has(t, body, "a caption", true)
		})
	}
}

// parameters checks that what bounds a turn arrives.
func (p Provider) parameters(t *testing.T) {
	body := p.sent(t, func(r *model.Request) {
		warm := 0.25
		r.Temperature, r.MaxTokens, r.StopSequences = &warm, 1234, []string{"END-OF-IT"}
		r.ToolChoice = model.ToolChoice{Mode: model.ToolNamed, Name: "get_weather"}
	})
	for _, part := range []string{"0.25", "1234", "END-OF-IT", "Be brief.", "Tells the weather."} {
		has(t, body, part, true)
	}
	if n := strings.Count(body, `"get_weather"`); n < 2 {
		t.Errorf("the chosen tool is named %d times: %s", n, body)
	}
	if _, ok := p.Exceptions["response_format"]; ok {
		return
	}
	has(t, p.sent(t, func(r *model.Request) {
		r.Tools, r.ResponseFormat = nil, &model.ResponseFormat{Name: "answer", Strict: true, Schema: json.RawMessage(`{"type":"object","properties":{"word_of_suite":{"type":"string"}},"required":["word_of_suite"],"additionalProperties":false}`)}
	}), "word_of_suite", true)
}

// options passes members of the provider's own request on.
func (p Provider) options(t *testing.T) {
	has(t, p.sent(t, func(r *model.Request) { r.ProviderOptions = json.RawMessage(`{"suite_option":{"a":[1,"x"]}}`) }), `"suite_option":{"a":[1,"x"]}`, true)
	opened := p.Open(t, "text")
	for _, options := range []string{`{"` + p.Own + `":1}`, `[1]`, `{"a":`} {
		_, _, err := collect(t, opened.Model, p.request(func(r *model.Request) { r.ProviderOptions = json.RawMessage(options) }))
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.KindInvalid {
			t.Errorf("options %s: error %v, want one of kind %s", options, err, model.KindInvalid)
		}
	}
	if n := len(opened.Requests()); n != 0 {
		t.Errorf("%d requests with options that are wrong", n)
	}
}
