package httpapi

import (
	"reflect"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
)

// FuzzBodies checks that any body is refused with a client's error or decoded, into the
// struct of every route.
func FuzzBodies(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `{"messages":[]}`, `{"messages":[{"role":"user","content":"a"}]}`, `{"a":1,"a":2}`, `{"messages":null}`,
		`{"mode":"steer","agent_id":"x","messages":[{"id":"m","role":"user","content":[{"type":"text","text":"a"},{"type":"file","data":"YQ=="}]}]}`,
		`{"messages":[{"content":[{}]}]} x`, strings.Repeat(`{"messages":[`, 40), `{"payload":{"text":"a","b":1}}`, `{"title":null,"metadata":{}}`,
		`{"at":"m1"}`, `{"tool_call_id":"c","action":"resume","payload":null}`, `{"priority":7.0,"delay_ms":1e3}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, route := range allRoutes() {
			if route.Body == nil {
				continue
			}
			err := bodies.Decode(body, reflect.New(reflect.TypeOf(route.Body)).Interface())
			if code := core.CodeOf(err); err != nil && code != core.CodeInvalid && code != core.CodeUnsupported {
				t.Fatalf("%s: code %s: %v", route.Name, code, err)
			}
		}
	})
}
