package agui

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
)

func TestInputsAreRead(t *testing.T) {
	tests := []struct {
		name, body string
		said       []string // id: text
		given      []string // call: decision
	}{
		{"the last message", `{"messages":[{"id":"a","role":"user","content":"old"},{"id":"b","role":"assistant","content":"x"},{"id":"c","role":"user","content":"new"}]}`, []string{"c: new"}, nil},
		{"several", `{"messages":[{"id":"a","role":"user","content":"one"},{"id":"s","role":"system","content":"rule"},{"id":"c","role":"user","content":[{"type":"text","text":"t"},{"type":"text","text":"wo"}]}]}`, []string{"a: one", "c: two"}, nil},
		{"no id", `{"messages":[{"role":"user","content":"hi"}]}`, []string{": hi"}, nil},
		{"none", `{"messages":[{"id":"a","role":"user","content":"one"},{"id":"b","role":"reasoning","content":"hm"}]}`, nil, nil},
		{"results", `{"messages":[{"id":"b","role":"assistant"},{"id":"c","role":"tool","toolCallId":"1","content":"ok"},{"id":"d","role":"tool","toolCallId":"2","content":" {\"a\":1}"},` +
			`{"id":"e","role":"tool","toolCallId":"3","content":"42"},{"id":"f","role":"tool","toolCallId":"4","content":"{broken"},{"id":"g","role":"tool","toolCallId":"5","content":"no","error":"it failed"},{"id":"h","role":"tool","content":"nobody's"}]}`,
			nil, []string{`1: resume "ok"`, `2: resume {"a":1}`, `3: resume "42"`, `4: resume "{broken"`, `5: cancel it failed`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in, err := decodeInput([]byte(test.body))
			if err != nil {
				t.Fatal(err)
			}
			messages, err := in.said()
			if err != nil {
				t.Fatal(err)
			}
			var said, given []string
			for _, m := range messages {
				said = append(said, m.ID+": "+m.Text())
			}
			for _, m := range in.given() {
				d := resultOf(m)
				given = append(given, m.ToolCallID+": "+string(d.Action)+" "+string(d.Payload)+d.Reason)
			}
			if diff := cmp.Diff(test.said, said); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.given, given); diff != "" {
				t.Errorf("given (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInputsThatAreNoneAreRefused(t *testing.T) {
	tests := []struct {
		name, body string
		code       core.Code
		says       string
	}{
		{"no JSON", `{"messages":`, core.CodeInvalid, "body is not JSON at byte 12"},
		{"a list", `[]`, core.CodeInvalid, "the value is a JSON array"},
		{"messages no list", `{"messages":{}}`, core.CodeInvalid, "messages is a JSON object"},
		{"a message no object", `{"messages":["x"]}`, core.CodeInvalid, "messages[0]"},
		{"a role no text", `{"messages":[{"role":1}]}`, core.CodeInvalid, "messages[0]"},
		{"content no text", `{"messages":[{"id":"a","role":"user","content":{}}]}`, core.CodeInvalid, "messages[0].content must be a string or a list of parts"},
		{"a picture that is nowhere", `{"messages":[{"id":"a","role":"user","content":[{"type":"image"}]}]}`, core.CodeInvalid, "messages[0].content[0] has no source"},
		{"a picture that somebody else keeps", `{"messages":[{"id":"a","role":"user","content":[{"type":"image","source":{"type":"file","value":"f1"}}]}]}`, core.CodeUnsupported, `messages[0].content[0].source: type "file" is not supported, allowed are data and url`},
		{"a picture that is no base64", `{"messages":[{"id":"a","role":"user","content":[{"type":"image","source":{"type":"data","value":"%","mimeType":"image/png"}}]}]}`, core.CodeInvalid, "messages[0].content[0] has data that is not base64"},
		{"an empty file", `{"messages":[{"id":"a","role":"user","content":[{"type":"binary","mimeType":"image/png","id":"x"}]}]}`, core.CodeInvalid, "messages[0].content[0]: the file is empty, want its bytes or a URL"},
		{"another part", `{"messages":[{"id":"a","role":"user","content":[{"type":"smell"}]}]}`, core.CodeUnsupported, `messages[0].content[0]: type "smell" is not supported, allowed are text, image, audio, video, document and binary`},
		{"instructions with a picture", `{"messages":[{"id":"s","role":"system","content":[{"type":"binary","mimeType":"image/png","data":"YWJj"}]},{"id":"a","role":"user","content":"x"}]}`, core.CodeUnsupported, "messages[0].content[0]: a system message may have only text"},
		{"a message's id", `{"messages":[{"id":"a b","role":"user","content":"x"}]}`, core.CodeInvalid, "message id"},
		{"runId", `{"runId":"a#b"}`, core.CodeInvalid, "runId"},
		{"parentRunId", `{"parentRunId":"a#b"}`, core.CodeInvalid, "parentRunId"},
		{"resume without an id", `{"resume":[{"status":"resolved"}]}`, core.CodeInvalid, "resume[0].interruptId is empty"},
		{"resume of another status", `{"resume":[{"interruptId":"a","status":"done"}]}`, core.CodeInvalid, `resume[0].status is "done", allowed are resolved and cancelled`},
		{"forwardedProps at the limit and one", `{"forwardedProps":"` + strings.Repeat("x", maxForwarded-1) + `"}`, core.CodeTooLarge, "forwardedProps have 12289 bytes"},
	}
	for _, test := range tests {
		in, err := decodeInput([]byte(test.body))
		if err == nil {
			_, err = in.said()
		}
		if err == nil {
			_, err = in.frontend()
		}
		if core.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if _, err := decodeInput([]byte(`{"forwardedProps":"` + strings.Repeat("x", maxForwarded-2) + `"}`)); err != nil {
		t.Errorf("forwardedProps at the limit: %v", err)
	}
}

func TestWhatAFrontendBrings(t *testing.T) {
	in, err := decodeInput([]byte(`{"state":{"a":1},"tools":[{"name":"x","description":"d","parameters":null,"extra":1}],"context":[{"description":"c","value":"v"}],` +
		`"messages":[{"id":"s","role":"developer","content":"rule"}],"forwardedProps":{"k":[1]}}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := in.frontend()
	want := &core.Frontend{
		State: json.RawMessage(`{"a":1}`), Tools: []core.FrontendTool{{Name: "x", Description: "d"}},
		Context: []core.FrontendContext{{Description: "Instructions of the application", Value: "rule"}, {Description: "c", Value: "v"}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, frontend (-want +got):\n%s", err, diff)
	}
	if request, err := in.request(); err != nil || string(request) != `{"ag_ui":{"forwardedProps":{"k":[1]}}}` {
		t.Errorf("request %s, %v", request, err)
	}
	empty, err := decodeInput([]byte(`{"state":{},"tools":[],"context":[],"forwardedProps":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := empty.frontend(); got != nil || err != nil {
		t.Errorf("of nothing: %v, %v", got, err)
	}
	if got, err := empty.request(); got != nil || err != nil {
		t.Errorf("request of nothing: %s, %v", got, err)
	}
}

// FuzzInput looks for bodies that break the reader, or that it reads as what the runtime
// would refuse without naming it.
func FuzzInput(f *testing.F) {
	for _, seed := range []string{
		`{"threadId":"t","runId":"r","messages":[{"id":"a","role":"user","content":"x"}],"state":{"a":[1]},"tools":[{"name":"x"}]}`,
		`{"messages":[{"id":"c","role":"tool","toolCallId":"1","content":[{"type":"text","text":"{}"}]}],"resume":[{"interruptId":"a","status":"resolved","payload":{"approved":true}}]}`,
		`{"messages":[{"role":"system","content":"\u0000"}],"forwardedProps":[1],"context":[{"description":"d","value":"v"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		in, err := decodeInput(body)
		if err != nil {
			if core.CodeOf(err) == core.CodeInternal {
				t.Fatalf("the error has no code: %v", err)
			}
			return
		}
		if messages, err := in.said(); err == nil {
			for _, m := range messages {
				if m.Role != core.RoleUser {
					t.Fatalf("a message of role %q", m.Role)
				}
			}
		}
		for _, m := range in.given() {
			if d := resultOf(m); len(d.Payload) > 0 && !json.Valid(d.Payload) {
				t.Fatalf("the payload %q is no JSON", d.Payload)
			}
		}
		for _, e := range in.Resume {
			if d, ok, err := approvalOf(e.Payload); ok && err == nil && d.Check() != nil {
				t.Fatalf("a decision that is none: %v", d)
			}
		}
		if request, err := in.request(); err == nil && request != nil && !json.Valid(request) {
			t.Fatalf("the request %q is no JSON", request)
		}
		if frontend, err := in.frontend(); err == nil && frontend != nil {
			_ = frontend.Check()
			_ = frontend.Stateless()
		}
	})
}
