package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// fitSeeds are a schema, a value and whether it is accepted without package jsonschema.
var fitSeeds = []struct {
	schema, value string
	fits          bool
}{
	{`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`, `{"text":"hello"}`, true},
	{`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`, `{}`, false},
	{`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`, `{"text":"a","b":1}`, false},
	{`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`, `{"text":null}`, false},
	{`{"type":"object","additionalProperties":{"type":"integer"}}`, `{"a":1,"b":2e3}`, true},
	{`{"type":"object","additionalProperties":{"type":"integer"}}`, `{"a":1.5}`, false},
	{`{"type":"object","properties":{"a":{}}}`, `{"b":1}`, false}, // it matches; the member is not looked at here
	{`{"type":"array","items":{"type":["null","boolean"]}}`, `[null,true,false]`, true},
	{`{"type":"array","items":{"type":["null","boolean"]}}`, `[null,0]`, false},
	{`{"type":"array"}`, `[]`, true},
	{`{"type":"array"}`, `[1]`, false},
	{`{"type":[]}`, `1`, false},
	{`{"type":"number","minimum":-1,"maximum":7.5}`, `7.5`, true},
	{`{"type":"number","minimum":-1,"maximum":7.5}`, `-1`, true},
	{`{"type":"number","minimum":-1,"maximum":7.5}`, `-1.01`, false},
	{`{"type":"number","minimum":-1,"maximum":7.5}`, `7.51`, false},
	{`{"minimum":3}`, `"text"`, true},
	{`{"type":"integer"}`, `1e300`, true},
	{`{"type":"string","enum":["a"]}`, `"a"`, false},
	{`{"type":"string","pattern":"a"}`, `"a"`, false},
	{`true`, `{}`, true},
	{`false`, `1`, false},
	{`{"properties":{"a":false}}`, `{"a":1}`, false},
	{`{"items":{}}`, `[` + strings.Repeat("1,", 998) + `1]`, true},
	{`{"items":{}}`, `[` + strings.Repeat("1,", 999) + `1]`, false},
	{`{}`, `"` + strings.Repeat("a", 65536) + `"`, true},
	{`{}`, `"` + strings.Repeat("a", 65537) + `"`, false},
	{`{"additionalProperties":{}}`, `{"` + strings.Repeat("a", 65536) + `":1}`, true},
	{`{"additionalProperties":{}}`, `{"` + strings.Repeat("a", 65537) + `":1}`, false},
}

func TestSmallValuesFitPlainSchemas(t *testing.T) {
	for _, seed := range fitSeeds {
		if got := fit(t, seed.schema, seed.value); got != seed.fits {
			t.Errorf("%.100s fits %.100s: %t, want %t", seed.value, seed.schema, got, seed.fits)
		}
	}
}

// fit reports whether a value fits, and checks that package jsonschema accepts what does.
func fit(t *testing.T, text, value string) bool {
	t.Helper()
	s, err := Read(json.RawMessage(text))
	var v any
	if err != nil || json.Unmarshal([]byte(value), &v) != nil || !s.fits(v) {
		return false
	}
	var root jsonschema.Schema
	if err := json.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	resolved, err := root.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(v); err != nil {
		t.Errorf("%.100s fits %.100s, but %v", value, text, err)
	}
	return true
}

// FuzzFits looks for a value that is accepted here and that package jsonschema refuses.
func FuzzFits(f *testing.F) {
	for _, seed := range fitSeeds {
		f.Add(seed.schema, seed.value)
	}
	for _, seed := range seeds {
		f.Add(seed.text, `{"a":[1,"b",null]}`)
	}
	f.Fuzz(func(t *testing.T, schema, value string) { fit(t, schema, value) })
}
