package httpapi

import (
	"encoding/json"
	"testing"

	"github.com/reveille-run/reveille/core"
)

// The members of an object: zero values are omitted, JSON has no blanks, and what is not JSON
// is an error.
func TestMembersOfAnObject(t *testing.T) {
	tests := []struct {
		name string
		add  func(m *members)
		want string
	}{
		{"nothing", func(m *members) {
			m.string("a", "")
			m.int("b", 0)
			m.raw("c", nil)
			m.usage("d", nil)
			m.termination("e", nil)
		}, `{`},
		{"values", func(m *members) {
			m.string("a", "x")
			m.int("b", -7)
			m.raw("c", json.RawMessage("{ \"d\" : [ 1, 2 ] }\n"))
		}, `{,"a":"x","b":-7,"c":{"d":[1,2]}`},
		{"usage", func(m *members) {
			m.usage("u", &core.Usage{})
			m.usage("v", &core.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Reasoning: 5})
		}, `{,"u":{},"v":{"input":1,"output":2,"cache_read":3,"cache_write":4,"reasoning":5}`},
		{"terminations", func(m *members) {
			m.termination("t", &core.Termination{})
			m.termination("u", &core.Termination{Type: core.TerminationError, Code: "model", Detail: "a \"b\""})
		}, `{,"t":{"type":""},"u":{"type":"error","code":"model","detail":"a \"b\""}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := members{text: []byte("{")}
			if tt.add(&m); string(m.text) != tt.want || m.err != nil {
				t.Errorf("the text is %s, %v, want %s", m.text, m.err, tt.want)
			}
		})
	}
	m := members{}
	if m.raw("a", json.RawMessage("{")); m.err == nil {
		t.Error("half an object is taken")
	}
}
