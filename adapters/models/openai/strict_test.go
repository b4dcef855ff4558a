package openai

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/reveille"
)

// What a provider enforces has no optional properties: they are required, and may be null.
func TestTheStrictFormOfASchema(t *testing.T) {
	const none = "not strict"
	object := func(properties string) string {
		return `{"type":"object","properties":{` + properties + `},"additionalProperties":false}`
	}
	for _, tt := range []struct{ name, schema, want string }{
		{
			"everything is required", `{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}},"required":["a","b"],"additionalProperties":false}`,
			`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}},"required":["a","b"],"additionalProperties":false}`,
		},
		{
			"something is optional", `{"title":"T","type":"object","required":["a"],"properties":{"b":{"type":"string","description":"x < y"},"a":{"type":"integer"}},"description":"D"}`,
			`{"title":"T","type":"object","required":["b","a"],"properties":{"b":{"type":["string","null"],"description":"x < y"},"a":{"type":"integer"}},"description":"D","additionalProperties":false}`,
		},
		{
			"nothing is required", object(`"a":{"type":"number","minimum":1}`),
			`{"type":"object","properties":{"a":{"type":["number","null"],"minimum":1}},"additionalProperties":false,"required":["a"]}`,
		},
		{
			"objects within lists within objects", `{"type":"object","required":["l"],"properties":{"l":{"type":"array","items":{"type":"object","properties":{"o":{"type":"object","properties":{"x":{"type":"boolean"}}}}}}}}`,
			`{"type":"object","required":["l"],"properties":{"l":{"type":"array","items":{"type":"object","properties":{"o":{"anyOf":[{"type":"object","properties":{"x":{"type":["boolean","null"]}},"required":["x"],"additionalProperties":false},{"type":"null"}]}},"required":["o"],"additionalProperties":false}}},"additionalProperties":false}`,
		},
		{
			"optional lists, choices and what may be null", object(`"l":{"type":"array","items":{"type":"string"}},"e":{"type":"string","enum":["x"]},"c":{"type":"string","const":"x"},"n":{"type":["null","string"]},"m":{"type":["string","null"],"enum":["x"]},"k":{"type":["string","null"],"enum":["x",null]},"t":{"type":["string","integer"]}`),
			`{"type":"object","properties":{"l":{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"null"}]},"e":{"anyOf":[{"type":"string","enum":["x"]},{"type":"null"}]},"c":{"anyOf":[{"type":"string","const":"x"},{"type":"null"}]},"n":{"type":["null","string"]},"m":{"anyOf":[{"type":["string","null"],"enum":["x"]},{"type":"null"}]},"k":{"type":["string","null"],"enum":["x",null]},"t":{"anyOf":[{"type":["string","integer"]},{"type":"null"}]}},"additionalProperties":false,"required":["l","e","c","n","m","k","t"]}`,
		},
		{
			"definitions and alternatives", `{"type":"object","properties":{"a":{"$ref":"#/$defs/n"},"b":{"anyOf":[{"type":"string"},{"$ref":"#"}]}},"required":["b"],"$defs":{"n":{"type":"object","properties":{"x":{"type":"string"}}}}}`,
			`{"type":"object","properties":{"a":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]},"b":{"anyOf":[{"type":"string"},{"$ref":"#"}]}},"required":["a","b"],"$defs":{"n":{"type":"object","properties":{"x":{"type":["string","null"]}},"required":["x"],"additionalProperties":false}},"additionalProperties":false}`,
		},
		{"a pointer to a struct", object(`"p":{"type":["null","object"],"properties":{"x":{"type":"string"}},"additionalProperties":false}`),
			`{"type":"object","properties":{"p":{"type":["null","object"],"properties":{"x":{"type":["string","null"]}},"additionalProperties":false,"required":["x"]}},"additionalProperties":false,"required":["p"]}`},
		{"of nothing", `{"type":"object","properties":{},"additionalProperties":false}`, `{"type":"object","properties":{},"additionalProperties":false}`},

		{"any object", `{"type":"object"}`, none},
		{"an object of any properties", `{"type":"object","properties":{}}`, none},
		{"other properties", `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":true}`, none},
		{"a map", object(`"m":{"type":"object","additionalProperties":{"type":"string"}}`), none},
		{"required, and not named", `{"type":"object","properties":{"a":{"type":"string"}},"required":["b"]}`, none},
		{"any JSON", object(`"a":true`), none},
		{"any JSON, as an object", object(`"a":{}`), none},
		{"a keyword that is not enforced", object(`"a":{"type":"string","minLength":1}`), none},
		{"one in a definition", `{"type":"object","properties":{"a":{"type":"string"}},"$defs":{"x":{"not":{}}}}`, none},
		{"one in an alternative", object(`"a":{"anyOf":[{"type":"string","default":"x"}]}`), none},
		{"one in an item", object(`"a":{"type":"array","items":{"type":"string","maxLength":1}}`), none},
		{"a list of items", object(`"a":{"type":"array","items":[{"type":"string"}]}`), none},
		{"alternatives that are none", object(`"a":{"anyOf":{}}`), none},
		{"a reference to a property", object(`"a":{"type":"string"},"b":{"$ref":"#/properties/a"}`), none},
		{"a reference into a definition", object(`"b":{"$ref":"#/$defs/a/properties/x"}`), none},
		{"alternatives at the root", `{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"type":"object","properties":{"a":{"type":"string"}}}]}`, none},
		{"a root that may be null", `{"type":["object","null"],"properties":{"a":{"type":"string"}}}`, none},
		{"a root without a type", `{"properties":{"a":{"type":"string"}}}`, none},
		{"no schema", `[]`, none},
	} {
		t.Run(tt.name, func(t *testing.T) {
			schema, strict := schemaOf(&model.ResponseFormat{Schema: json.RawMessage(tt.schema), Strict: true})
			want := tt.want
			if want == none {
				want = tt.schema
			}
			if strict != (tt.want != none) || string(schema) != want {
				t.Errorf("strict %t:\n%s", strict, cmp.Diff(want, string(schema)))
			}
			if schema, strict := schemaOf(&model.ResponseFormat{Schema: json.RawMessage(tt.schema)}); strict || string(schema) != tt.schema {
				t.Errorf("where it is not asked for: strict %t, %s", strict, schema)
			}
		})
	}
}

// answered is the answer of an agent in a form, whose model says the text.
func answered(t *testing.T, f model.ResponseFormat, text string) (string, error) {
	t.Helper()
	r, err := reveille.New(reveille.Parts{
		Specs:  []reveille.AgentSpec{{ID: "a", Model: "m", ResponseFormat: &f, MaxRepairs: new(0)}},
		Models: reveille.Models{"m": {Model: scripted.Turns(scripted.Turn{Text: text})}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.Run(t.Context(), reveille.Input{Text: "hi"})
	if err == nil && result.Termination.Type != reveille.TerminationNatural {
		err = errors.New(result.Termination.Detail)
	}
	return result.Text, err
}

// An answer of the strict form is one of the form itself, with all that is null left out.
func TestAnAnswerOfTheStrictFormIsOneOfTheForm(t *testing.T) {
	f := &model.ResponseFormat{Name: "answer", Strict: true, Schema: json.RawMessage(`{"type":"object","required":["city"],"additionalProperties":false,"properties":{"city":{"type":"string"},"note":{"type":"string","enum":["x"]},` +
		`"days":{"type":"array","items":{"type":"object","properties":{"high":{"type":"integer"},"rain":{"type":["null","number"]}}}}}}`)}
	strict, ok := schemaOf(f)
	for _, tt := range []struct{ text, want string }{
		{`{"city":"Oslo","note":null,"days":null}`, `{"city":"Oslo"}`},
		{`{"city":"Oslo","note":"x","days":[{"high":null,"rain":null},{"high":7,"rain":1.50}]}`, `{"city":"Oslo","note":"x","days":[{"rain":null},{"high":7,"rain":1.50}]}`},
	} {
		if _, err := answered(t, model.ResponseFormat{Name: f.Name, Schema: strict}, tt.text); err != nil || !ok {
			t.Errorf("%s is not of the strict form: %v", tt.text, err)
		}
		if got, err := answered(t, *f, tt.text); err != nil || got != tt.want {
			t.Errorf("%s is read as %s, %v, want %s", tt.text, got, err, tt.want)
		}
	}
}

func TestTheStrictFormGoesOutInBothAPIs(t *testing.T) {
	request := model.Request{Model: "m", Messages: []core.Message{core.UserMessage("hi").WithID("1")}}
	responses, err := openResponses(Options{APIKey: "k"}, dialectAuto)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ schema, chat, response string }{
		{
			`{"type": "object", "properties": {"a": {"type": "string"}}}`,
			`"response_format":{"type":"json_schema","json_schema":{"name":"reply","schema":{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"],"additionalProperties":false},"strict":true}}`,
			`"text":{"format":{"type":"json_schema","name":"reply","schema":{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"],"additionalProperties":false},"strict":true}}`,
		},
		{
			`{"type":"object"}`,
			`"response_format":{"type":"json_schema","json_schema":{"name":"reply","schema":{"type":"object"}}}`,
			`"text":{"format":{"type":"json_schema","name":"reply","schema":{"type":"object"},"strict":false}}`,
		},
	} {
		request.ResponseFormat = &model.ResponseFormat{Name: "reply", Schema: json.RawMessage(tt.schema), Strict: true}
		chat, err := encode(request, kins[DialectOpenAI])
		if err != nil || !strings.Contains(string(chat), tt.chat) {
			t.Errorf("%s, %v, want in it %s", chat, err, tt.chat)
		}
		body, err := responses.encode(request)
		if err != nil || !strings.Contains(string(body), tt.response) {
			t.Errorf("%s, %v, want in it %s", body, err, tt.response)
		}
	}
	// A server that is told of the form in words enforces none.
	request.ResponseFormat.Schema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)
	if body, err := encode(request, kins[DialectDeepSeek]); err != nil || !strings.Contains(string(body), `{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}`) {
		t.Errorf("%s, %v", body, err)
	}
}
