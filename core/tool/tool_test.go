package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/tool"
)

type place struct {
	Latitude float64 `json:"latitude"`
}

type forecast struct {
	City  string          `json:"city" jsonschema:"the city's name"`
	Days  int             `json:"days,omitempty"`
	Tags  []string        `json:"tags,omitempty"`
	Near  *place          `json:"near,omitzero"`
	Extra json.RawMessage `json:"extra,omitempty"`
}

// typed is New that fails the test if something is wrong with the tool.
func typed[Args any](t *testing.T, spec tool.Spec, run func(context.Context, tool.Call, Args) (tool.Result, error)) tool.Tool {
	t.Helper()
	made := tool.New(spec, run)
	if err := made.Spec().Check(); err != nil {
		t.Fatal(err)
	}
	return made
}

func weather(t *testing.T) tool.Tool {
	t.Helper()
	return typed(t, tool.Spec{Name: "weather"}, func(_ context.Context, _ tool.Call, args forecast) (tool.Result, error) {
		return tool.NewResult(fmt.Sprintf("sunny in %s for %d days", args.City, args.Days)), nil
	})
}

func TestNewInfersTheParameters(t *testing.T) {
	want := `{"type":"object","properties":{` +
		`"city":{"type":"string","description":"the city's name"},` +
		`"days":{"type":"integer"},` +
		`"tags":{"type":"array","items":{"type":"string"}},` +
		`"near":{"type":["null","object"],"properties":{"latitude":{"type":"number"}},"required":["latitude"],"additionalProperties":false},` +
		`"extra":true},` +
		`"required":["city"],"additionalProperties":false}`
	if diff := cmp.Diff(want, string(weather(t).Spec().Parameters)); diff != "" {
		t.Error(diff)
	}
	none := typed(t, tool.Spec{Name: "now"}, func(context.Context, tool.Call, struct{}) (tool.Result, error) { return tool.Result{}, nil })
	if diff := cmp.Diff(`{"type":"object","properties":{},"additionalProperties":false}`, string(none.Spec().Parameters)); diff != "" {
		t.Error(diff)
	}
}

func TestCheckNamesTheProperty(t *testing.T) {
	tests := []struct {
		name      string
		arguments string
		want      string // empty: valid
	}{
		{"valid", `{"city":"Rome","days":2,"tags":[],"near":{"latitude":1.5},"extra":{"a":[1]}}`, ""},
		{"missing", `{}`, `property "city" is missing`},
		{"absent arguments are an empty object", ``, `property "city" is missing`},
		{"wrong type", `{"city":5}`, `property "city": got integer, want string`},
		{"unknown", `{"city":"Rome","town":1}`, `property "town" is unknown`},
		{"another case", `{"city":"Rome","Days":1}`, `property "Days" is unknown`},
		{"nested", `{"city":"Rome","near":{"latitude":"x"}}`, `property "near.latitude": got string, want number`},
		{"one of two types", `{"city":"Rome","near":1.5}`, `property "near": got number, want null or object`},
		{"item", `{"city":"Rome","tags":["a",true]}`, `property "tags[1]": got boolean, want string`},
		{"null array", `{"city":"Rome","tags":null}`, `property "tags": got null, want array`},
		{"not an object", `"{}"`, `the arguments: got string, want object`},
		{"not JSON", `{"city":`, `not JSON: unexpected end of JSON input`},
		{"too large for the type", `{"city":"Rome","days":1e30}`, `property "days": got number 1e30, want int`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := weather(t).Check(json.RawMessage(test.arguments))
			if test.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
			if core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("code %q, want invalid", core.CodeOf(err))
			}
		})
	}
}

func TestTypedTakesAGivenSchema(t *testing.T) {
	spec := tool.Spec{Name: "pick", Parameters: json.RawMessage(`{"type":"object","properties":{
		"size":{"type":"string","enum":["s","m"]},"color":{"type":"string","maxLength":3},"count":{"$ref":"#/$defs/count"},
		"pair":{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}]},"either":{"anyOf":[{"type":"string"},{"type":"null"}]}},
		"required":["size"],"$defs":{"count":{"type":"integer","minimum":1}}}`)}
	pick := typed(t, spec, func(_ context.Context, _ tool.Call, _ struct {
		Size   string `json:"size"`
		Color  string `json:"color"`
		Count  int    `json:"count"`
		Pair   []any  `json:"pair"`
		Either any    `json:"either"`
	}) (tool.Result, error) {
		return tool.Result{}, nil
	})
	tests := []struct{ name, arguments, want string }{
		{"allowed", `{"size":"m","count":2,"pair":["a",1],"either":null}`, "<nil>"},
		{"not in the enum", `{"size":"xl"}`, `property "size": enum: xl does not equal any of: [s m]`},
		{"too long", `{"size":"m","color":"blue"}`, `property "color": maxLength: "blue" contains 4 Unicode code points, more than 3`},
		{"a definition", `{"size":"m","count":"x"}`, `property "count": got string, want integer`},
		{"a prefix item", `{"size":"m","pair":["a","b"]}`, `property "pair[1]": got string, want integer`},
		{"a combination", `{"size":"m","either":1}`, `the value does not match the schema`},
		{"allowed by the schema, unknown to the function", `{"size":"m","price":1}`, `json: unknown field "price"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, fmt.Sprint(pick.Check(json.RawMessage(test.arguments)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Every keyword that looks at a value itself is explained, at its place.
func TestCheckExplainsEachKeyword(t *testing.T) {
	tests := []struct{ schema, value, want string }{
		{`{"const":"a"}`, `"b"`, `property "v": const: `},
		{`{"multipleOf":5}`, `7`, `property "v": multipleOf: `},
		{`{"minimum":5}`, `4`, `property "v": minimum: `},
		{`{"maximum":5}`, `6`, `property "v": maximum: `},
		{`{"exclusiveMinimum":5}`, `5`, `property "v": exclusiveMinimum: `},
		{`{"exclusiveMaximum":5}`, `5`, `property "v": exclusiveMaximum: `},
		{`{"minLength":2}`, `"a"`, `property "v": minLength: `},
		{`{"pattern":"^b"}`, `"a"`, `property "v": pattern: `},
		{`{"minItems":2}`, `[1]`, `property "v": minItems: `},
		{`{"maxItems":1}`, `[1,2]`, `property "v": maxItems: `},
		{`{"uniqueItems":true}`, `[1,1]`, `property "v": uniqueItems: `},
		{`{"minProperties":1}`, `{}`, `property "v": minProperties: `},
		{`{"maxProperties":1}`, `{"a":1,"b":2}`, `property "v": maxProperties: `},
		{`{"$ref":"#/definitions/d"}`, `1`, `property "v": got integer, want string`},
		{`{"type":"number"}`, `"a"`, `property "v": got string, want number`},
		{`{"additionalProperties":{"not":{"type":"string"}}}`, `{"a":"b"}`, `the value does not match the schema`},
		{`{"patternProperties":{"^a":{}},"additionalProperties":false}`, `{"b":1}`, `the value does not match the schema`},
	}
	for _, test := range tests {
		t.Run(test.schema, func(t *testing.T) {
			parameters := json.RawMessage(`{"type":"object","properties":{"v":` + test.schema + `},"definitions":{"d":{"type":"string"}}}`)
			takes := typed(t, tool.Spec{Name: "t", Parameters: parameters}, func(context.Context, tool.Call, struct{ V any }) (tool.Result, error) { return tool.Result{}, nil })
			err := takes.Check(json.RawMessage(`{"v":` + test.value + `}`))
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %v, want an error that begins with %s", err, test.want)
			}
		})
	}
}

func TestALongExplanationIsCut(t *testing.T) {
	takes := typed(t, tool.Spec{Name: "t"}, func(context.Context, tool.Call, struct{}) (tool.Result, error) { return tool.Result{}, nil })
	const around = len(`property "" is unknown`)
	for _, test := range []struct {
		length int
		want   string
	}{
		{500 - around, `property "` + strings.Repeat("p", 500-around) + `" is unknown`},
		{501 - around, `property "` + strings.Repeat("p", 501-around) + `" is unknow...`},
	} {
		err := takes.Check(json.RawMessage(`{"` + strings.Repeat("p", test.length) + `":1}`))
		if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
			t.Error(diff)
		}
	}
}

// A model makes lists or leaves them out: no list may be null, wherever it is.
func TestNoListOfTheParametersMayBeNull(t *testing.T) {
	lists := typed(t, tool.Spec{Name: "t"}, func(context.Context, tool.Call, struct {
		Grid [][]string          `json:"grid"`
		By   map[string][]string `json:"by"`
	}) (tool.Result, error) {
		return tool.Result{}, nil
	})
	want := `{"type":"object","properties":{"grid":{"type":"array","items":{"type":"array","items":{"type":"string"}}},` +
		`"by":{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}}}},"required":["grid","by"],"additionalProperties":false}`
	if diff := cmp.Diff(want, string(lists.Spec().Parameters)); diff != "" {
		t.Error(diff)
	}
}

func TestSpecCheck(t *testing.T) {
	tests := []struct {
		name string
		spec tool.Spec
		want string
	}{
		{"at most once, with a timeout", tool.Spec{Name: "x", AtMostOnce: true, Timeout: time.Second}, "<nil>"},
		{"a timeout in the past", tool.Spec{Name: "x", Timeout: -time.Second}, `tool "x" has the timeout -1s, want 0 (none) or more`},
		{"the schema of nothing", tool.Spec{Name: "x", Parameters: json.RawMessage(`false`)}, `parameters of tool "x": the schema is false, want one whose type is "object"`},
		{"parameters that are not JSON", tool.Spec{Name: "x", Parameters: json.RawMessage(`{`)}, `parameters of tool "x": not a JSON Schema: unexpected end of JSON input`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, fmt.Sprint(test.spec.Check())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCheckReportsTheSameMistakeEachTime(t *testing.T) {
	made := weather(t)
	for range 100 {
		err := made.Check(json.RawMessage(`{"city":1,"days":"x","tags":2,"near":3,"zone":4,"area":5}`))
		if diff := cmp.Diff(`property "area" is unknown`, fmt.Sprint(err)); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestCheckName(t *testing.T) {
	tests := []struct {
		name string
		ok   bool
	}{
		{"get_weather-2", true},
		{"azAZ09", true},
		{"a`", false},
		{"a{", false},
		{"a@", false},
		{"a[", false},
		{"a/", false},
		{"a:", false},
		{strings.Repeat("a", 64), true},
		{strings.Repeat("a", 65), false},
		{"", false},
		{"a.b", false},
		{"é", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := tool.CheckName(test.name); (err == nil) != test.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}
