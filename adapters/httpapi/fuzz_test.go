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

// FuzzParsePosition checks that a position that is accepted is written one way
// only.
func FuzzParsePosition(f *testing.F) {
	run := core.ID{15: 1}
	for _, seed := range []string{"", "1.3.0-0-a", "1.3.9999-0-m", "+1.3.0-0-a", "1.3.0-0-aa", "1.3.-1-0-a", "99999999999999999999.1.0-0-a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, offset string) {
		p, ok := parsePosition(run.String()+"."+offset, run)
		if ok && (p.step < 0 || p.block < 0 || p.end < 0 || strings.ContainsAny(offset, "+ ") || ranks[p.kind] > 6) {
			t.Fatalf("accepted %q as %+v", offset, p)
		}
	})
}
