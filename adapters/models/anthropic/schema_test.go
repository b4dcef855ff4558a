package anthropic

import (
	"encoding/json"
	"testing"

	"github.com/reveille-run/reveille/core/model"
)

func TestSchemasAreClosed(t *testing.T) {
	tests := []struct{ name, schema, want string }{
		{"an object", `{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}},"required":["b"]}`,
			`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}},"required":["b"],"additionalProperties":false}`},
		{"one that is closed", `{"additionalProperties":false,"type":"object"}`, `{"additionalProperties":false,"type":"object"}`},
		{"one that may be null", `{"type":["null","object"]}`, `{"type":["null","object"],"additionalProperties":false}`},
		{"one without a type", `{"properties":{}}`, `{"properties":{},"additionalProperties":false}`},
		{"inside of others", `{"type":"array","items":{"anyOf":[{"type":"object"},{"$ref":"#/$defs/a"},true]},"$defs":{"a":{"type":"object"}}}`,
			`{"type":"array","items":{"anyOf":[{"type":"object","additionalProperties":false},{"$ref":"#/$defs/a"},true]},"$defs":{"a":{"type":"object","additionalProperties":false}}}`},
		{"a property of a keyword's name", `{"type":"object","properties":{"minimum":{"type":"number"},"additionalProperties":{"type":"string"}},"additionalProperties":false}`,
			`{"type":"object","properties":{"minimum":{"type":"number"},"additionalProperties":{"type":"string"}},"additionalProperties":false}`},
		{"bounds", `{"type":"integer","minimum":1,"description":"a <b>","maximum":9}`, `{"type":"integer","description":"a <b> (minimum: 1, maximum: 9)"}`},
		{"bounds without a description", `{"maxLength":5,"type":"string"}`, `{"type":"string","description":"(maxLength: 5)"}`},
		{"what is none", `{"enum":["object","minimum"],"const":{"minimum":1}}`, `{"enum":["object","minimum"],"const":{"minimum":1}}`},
		{"nothing", `{}`, `{}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := closed(json.RawMessage(test.schema))
			if err != nil || string(got) != test.want {
				t.Errorf("%s, %v\nwant %s", got, err, test.want)
			}
		})
	}
}

func TestASchemaOfOpenObjectsIsRefused(t *testing.T) {
	m, err := open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = m.Check(model.Request{Model: "claude-opus-4-5", ResponseFormat: &model.ResponseFormat{
		Name: "a", Schema: json.RawMessage(`{"type":"object","properties":{"x":{"allOf":[{},{"type":"object","additionalProperties":{"type":"string"}}]}}}`),
	}})
	const want = `anthropic: response_format.schema.properties.x.allOf[1].additionalProperties is {"type":"string"}, which is not supported by this API: an object has the properties that it names`
	if err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
	for _, schema := range []string{
		`{"properties":{"x":{"additionalProperties":true}}}`, `{"items":{"additionalProperties":true}}`,
		`{"$defs":{"x":{"additionalProperties":true}}}`, `{"additionalProperties":true}`, `{"oneOf":[{"additionalProperties":true}]}`,
	} {
		if got, err := closed(json.RawMessage(schema)); err == nil {
			t.Errorf("%s becomes %s", schema, got)
		}
	}
}
