package aisdk

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
)

func TestExtraFieldsOfTheBodyAreTheRequest(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"none", `{"id":"t","threadId":"t","agentId":"a","trigger":"submit-message","messageId":"m","messages":[]}`, ``},
		{"some, in the order of their names", `{"tenantHint":"<b>","id":"t","messages":[],"model":{"name": "x"},"empty":null}`,
			`{"ai_sdk":{"empty":null,"model":{"name":"x"},"tenantHint":"<b>"}}`},
		{"a defined one in another case is none", `{"ID":"t","messages":[]}`, ``},
		{"no object", `null`, ``},
	}
	for _, tt := range tests {
		r, err := decodeRequest([]byte(tt.body))
		if err != nil || string(r.extra) != tt.want {
			t.Errorf("%s: the request is %s, %v; want %s", tt.name, r.extra, err, tt.want)
		}
	}
}

// FuzzDecodeRequest checks that any body is either refused with a client's
// error or yields messages that a submission may carry.
func FuzzDecodeRequest(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[]`, `null`, `{"id":1}`, `{"messages":[null]}`, `{"messages":[{"role":"user","parts":[null]}]}`,
		`{"id":"t","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"a"},{"type":"file"}]}]}`,
		`{"threadId":"t","trigger":"submit-message","messages":[{"role":"assistant"},{"id":"m2","role":"user","parts":[{"type":"text","text":"b"}]}]}`,
		`{"messages":[{"role":"assistant","parts":[{"type":"tool-x","state":"approval-responded"}]}]}`,
		`{"messages":[{"role":"assistant","parts":[{"type":"tool-x","toolCallId":"c","state":"approval-responded","approval":{"id":"a","approved":false,"reason":"no"}}]}]}`,
		`{"approval":{"remember":"run"},"messages":[{"role":"assistant","parts":[{"type":"tool-x","toolCallId":"c","state":"approval-responded","approval":{"id":"a","approved":true,"remember":"thread","rememberAs":"rule"}}]}]}`,
		`{"messageId":"a1","messages":[{"id":"a1","role":"assistant","parts":[{"type":"dynamic-tool","toolCallId":"c","state":"output-error","errorText":"e"}]},{"id":"m2","role":"user"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := decodeRequest(body)
		var input []core.Message
		if err == nil {
			err = r.check()
		}
		if err == nil {
			if m, ok := r.continued(); ok {
				all, err := readAnswers(m, r.approval)
				if err != nil && core.CodeOf(err) != core.CodeInvalid {
					t.Fatal(err)
				}
				for _, a := range all {
					if err := a.Decision.Check(); err != nil {
						t.Fatalf("bad decision %+v: %v", a, err)
					}
				}
				return
			}
			input, err = r.input()
		}
		if err != nil {
			if code := core.CodeOf(err); code != core.CodeInvalid && code != core.CodeUnsupported {
				t.Fatalf("code %s: %v", code, err)
			}
			return
		}
		if len(input) == 0 {
			t.Fatal("no error and no input")
		}
		for _, m := range input {
			if m.Role != core.RoleUser || core.CheckName("id", m.ID) != nil || strings.TrimSpace(m.Text()) == "" || !utf8.ValidString(m.Text()) {
				t.Fatalf("bad input %+v", m)
			}
		}
	})
}
