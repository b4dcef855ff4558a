package tool

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

func parse(tb testing.TB, text string) (*jsonschema.Schema, *jsonschema.Resolved) {
	tb.Helper()
	s := &jsonschema.Schema{}
	if err := json.Unmarshal([]byte(text), s); err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return s, resolved
}

const (
	closedSchema = `{"type":"object","properties":{"text":{"type":"string"},"n":{"type":"integer"}},"required":["text"],"additionalProperties":false}`
	openSchema   = `{"type":"object","properties":{"list":{"type":"array","items":{"type":["null","number"]}},"any":{}}}`
)

func TestShapeRecognisesPlainArguments(t *testing.T) {
	tests := []struct {
		name, schema, value string
		want                bool
	}{
		{"what is required", closedSchema, `{"text":"a"}`, true},
		{"everything, with white space", closedSchema, " {\n\t\"n\" : -12 , \"text\" : \"say \\\"a\\\" }\" } ", true},
		{"what is required is missing", closedSchema, `{"n":1}`, false},
		{"another property", closedSchema, `{"text":"a","more":1}`, false},
		{"a property's name in another case", closedSchema, `{"Text":"a"}`, false},
		{"another type", closedSchema, `{"text":1}`, false},
		{"a fraction for an integer", closedSchema, `{"text":"a","n":1.5}`, false},
		{"a number whose value must be computed", closedSchema, `{"text":"a","n":1e3}`, false},
		{"the same property twice, once wrong", closedSchema, `{"text":1,"text":"a"}`, false},
		{"an escaped name", openSchema, `{"lis\u0074":1}`, false},
		{"a name that is no ASCII", openSchema, `{"ä":1}`, false},
		{"items of two types", openSchema, `{"list":[null,1,2.5]}`, true},
		{"an item of another type", openSchema, `{"list":[1,"a"]}`, false},
		{"any value", openSchema, `{"any":{"a":[{},[],"x",true,false,null,0.5]},"more":[]}`, true},
		{"nested deeply", openSchema, `{"any":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}`, false},
		{"an infinite number", openSchema, `{"any":1e999}`, false},
		{"no object", closedSchema, `[]`, false},
		{"nothing", closedSchema, ``, false},
		{"cut short", closedSchema, `{"text":"a`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := parse(t, tt.schema)
			if got := shapeOf(s).fits([]byte(tt.value)); got != tt.want {
				t.Errorf("fits(%s) is %v, want %v", tt.value, got, tt.want)
			}
		})
	}
}

func TestSchemasThatSayMoreHaveNoShape(t *testing.T) {
	for _, text := range []string{
		`{"type":"object","minProperties":1}`,
		`{"type":"object","properties":{"a":{"enum":["x"]}}}`,
		`{"type":"array","items":{"type":"string","pattern":"^a"}}`,
		`{"type":"object","additionalProperties":{"type":"string"}}`,
		`{"type":"object","additionalProperties":{"not":{"type":"string"}}}`,
		`{"anyOf":[{"type":"string"}]}`,
		`{"$ref":"#/$defs/a","$defs":{"a":{}}}`,
		`false`,
	} {
		if s, _ := parse(t, text); shapeOf(s) != nil {
			t.Errorf("%s has a shape, want none", text)
		}
	}
}

// FuzzShape: what a shape recognises is valid by the schema.
func FuzzShape(f *testing.F) {
	schemas := []string{
		closedSchema, openSchema, `{}`, `{"type":"integer"}`, `{"required":["a","b"]}`,
		`{"properties":{"a":{"type":"object","properties":{"b":{"type":"boolean"}},"required":["b"]}}}`,
	}
	for _, value := range []string{`{"text":"a","n":1}`, `{"a":{"b":true},"b":[1,{"x":"\\"}]}`, `-1.0`, `12`, `"a"`, `{"list":[null,1]}`} {
		f.Add([]byte(value))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		var decoded any
		if json.Unmarshal(value, &decoded) != nil {
			return
		}
		for _, text := range schemas {
			s, resolved := parse(t, text)
			if !shapeOf(s).fits(value) {
				continue
			}
			if err := resolved.Validate(decoded); err != nil {
				t.Errorf("%s fits the shape of %s, and is not valid: %v", value, text, err)
			}
		}
	})
}
