package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Each row is one part of what a schema of an item weighs. So many items are the most that
// a check may have; without the part it might have more.
func TestEachPartOfASchemaWeighs(t *testing.T) {
	list := func(n int, text string) string { return strings.TrimSuffix(strings.Repeat(text+",", n), ",") }
	named := func(n int, value string) string {
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf(`"%d":%s`, i, value)
		}
		return strings.Join(names, ",")
	}
	long := func(n int) string { return `"` + strings.Repeat("a", n) + `"` }
	for _, tt := range []struct {
		name, item, value string
		most              int
	}{
		{"nothing", `{}`, `null`, 888_888},
		{"properties", `{"properties":{` + named(1000, `true`) + `}}`, `null`, 7928},
		{"properties by patterns", `{"patternProperties":{` + named(1000, `true`) + `}}`, `null`, 7928},
		{"required properties", `{"required":[` + list(1000, `"a"`) + `]}`, `null`, 7928},
		{"dependencies", `{"dependentRequired":{` + named(1000, `[]`) + `}}`, `null`, 7928},
		{"names that one depends on", `{"dependentRequired":{"a":[` + list(1000, `"a"`) + `]}}`, `null`, 998},
		{"names that one depends on in draft 7", `{"dependencies":{"a":[` + list(1000, `"a"`) + `]}}`, `null`, 998},
		{"dependencies of draft 7", `{"dependencies":{` + named(1000, `[]`) + `}}`, `null`, 7928},
		{"allowed values", `{"enum":[` + list(1000, `""`) + `]}`, `null`, 12_799},
		{"a long allowed value", `{"enum":[` + long(10_000) + `]}`, `null`, 6364},
		{"a long only value", `{"const":` + long(10_000) + `}`, `null`, 6364},
		{"the value's items", `{"allOf":[` + list(10, `true`) + `]}`, `[` + list(1000, `0`) + `]`, 721},
		{"the value's properties", `{"allOf":[` + list(10, `true`) + `]}`, `{` + named(1000, `0`) + `}`, 721},
		{"an item that may be the one that is wanted", `{"contains":{"minimum":1}}`, `[0]`, 28_469},
		{"the value's size", `{}`, `[` + list(1000, `0`) + `]`, 1288},
		{"a pattern over a text", `{"pattern":"(a|aa){10}$"}`, long(1000), 1390},
		{"a pattern over a name", `{"patternProperties":{"(a|aa){10}$":true}}`, `{` + long(1000) + `:0}`, 1388},
		{"an alternative", `{"not":{}}`, `null`, 242_424},
		{"the error's value", `{"not":{}}`, long(10_000), 3353},
		{"the error's names", `{"not":{"required":[` + list(7, long(1000)) + `]}}`, `null`, 8762},
		{"the error's allowed value", `{"not":{"enum":[` + long(10_000) + `]}}`, `null`, 3163},
		{"the error's numbers", `{"not":{"minimum":1}}`, `null`, 28_469},
		{"the error's pattern", `{"not":{"pattern":` + long(4000) + `}}`, `null`, 14_897},
		{"the error's alternatives of which any is right", `{"not":{"anyOf":[` + list(100, `true`) + `]}}`, `null`, 1098},
		{"the error's alternatives", `{"not":{"oneOf":[` + list(100, `true`) + `]}}`, `null`, 2701},
		{"the error's place", `{"not":{"$ref":"#/$defs/` + strings.Repeat("a", 1000) + `"}}`, `null`, 24_316},
		{"the error's id", `{"not":{"$id":"https://a.example/` + strings.Repeat("a", 1000) + `"}}`, `null`, 49_689},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Read(json.RawMessage(`{"items":` + tt.item + `,"$defs":{"` + strings.Repeat("a", 1000) + `":{}}}`))
			if err != nil {
				t.Fatal(err)
			}
			var value any
			if err := json.Unmarshal([]byte(tt.value), &value); err != nil {
				t.Fatal(err)
			}
			items := func(n int) any {
				all := make([]any, n)
				for i := range all {
					all[i] = value
				}
				return all
			}
			if err := s.measure(items(tt.most)); err != nil {
				t.Errorf("%d items: %v", tt.most, err)
			}
			if err := s.measure(items(tt.most + 1)); !errors.Is(err, ErrTooComplex) {
				t.Errorf("%d items: %v", tt.most+1, err)
			}
		})
	}
}
