package httpapi

import (
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
)

// FuzzParseObject checks that any body is refused with a client's error or
// taken apart without a rest.
func FuzzParseObject(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `{"messages":[]}`, `{"messages":[{"role":"user","content":"a"}]}`, `{"a":1,"a":2}`, `{"messages":null}`,
		`{"mode":"steer","agent_id":"x","messages":[{"id":"m","role":"user","content":[{"type":"text","text":"a"}]}]}`,
		`{"messages":[{"content":[{}]}]} x`, strings.Repeat(`{"messages":[`, 40),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		o, err := parseObject(body)
		if err == nil {
			_, err = o.text("mode")
		}
		if err == nil {
			_, err = o.text("agentId", "agent_id")
		}
		if err == nil {
			_, err = o.messages()
		}
		if err == nil {
			err = o.end()
		}
		if code := core.CodeOf(err); err != nil && code != core.CodeInvalid && code != core.CodeUnsupported {
			t.Fatalf("code %s: %v", code, err)
		}
		if err == nil && len(o.values) != 0 {
			t.Fatalf("left over: %v", o.values)
		}
	})
}
