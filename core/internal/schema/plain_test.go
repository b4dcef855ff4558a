package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
)

// seeds are schemas, and texts that are none; plain says which are read here.
var seeds = []struct {
	text  string
	plain bool
}{
	{`{"type":"object","properties":{"question":{"type":"string","description":"what to ask"}},"required":["question"],"additionalProperties":false}`, true},
	{`{"type":"object","properties":{}}`, true},
	{`{"type":["null","array"],"items":{"enum":[1,"a",null,true,{"b":[1.5]}]},"required":[]}`, true},
	{`{"title":"t","minimum":-1e3,"maximum":7,"additionalProperties":true,"type":[],"enum":[]}`, true},
	{`true`, true}, {`false`, true}, {` {} `, true}, {`{"properties":{"a":true,"b":false}}`, true},
	{`{"type":"object","properties":{"a":{"pattern":"^a$"}}}`, false},
	{`{"Type":"object"}`, false}, {`{"x-mine":1}`, false}, {`{"default":{}}`, false}, {`{"items":true}`, false}, {`{"items":[{}]}`, false},
	{`{"type":null}`, false}, {`{"type":1}`, false}, {`{"type":["a",1]}`, false}, {`{"required":"a"}`, false}, {`{"minimum":"1"}`, false},
	{`{"properties":null}`, false}, {`{"properties":{"a":1}}`, false}, {`{"description":["a"]}`, false}, {`{"additionalProperties":1}`, false},
	{`{"properties":{"a":{}},"properties":{"b":{}}}`, false}, {`{"type":"object","type":"array"}`, false},
	{`null`, false}, {`1`, false}, {`[]`, false}, {`"a"`, false}, {``, false}, {`{`, false}, {`{}{}`, false}, {`{"a"}`, false}, {`{"minimum":1e999}`, false},
	{strings.Repeat(`{"items":`, 63) + `{}` + strings.Repeat(`}`, 63), true},
	{strings.Repeat(`{"items":`, 64) + `{}` + strings.Repeat(`}`, 64), false},
}

func TestMostSchemasAreReadHere(t *testing.T) {
	for _, seed := range seeds {
		d := json.NewDecoder(strings.NewReader(seed.text))
		v, err := uniqueValue(d)
		_, plain := plainSchema(v)
		if plain = plain && err == nil && !d.More(); plain != seed.plain {
			t.Errorf("%s: plain is %v", seed.text, plain)
		}
	}
}

// FuzzReadSchema compares what is read with what package jsonschema reads.
func FuzzReadSchema(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		want := &jsonschema.Schema{}
		wantErr := json.Unmarshal(text, want)
		got, plain, err := read(text)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("error %v, want %v", err, wantErr)
		}
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			t.Fatal(diff)
		}
		if err != nil {
			return
		}
		if _, err := got.Resolve(nil); plain && err != nil {
			t.Errorf("a plain schema does not resolve: %v", err)
		}
		wantText, wantErr := json.Marshal(want)
		gotText, _, err := write(got)
		if string(gotText) != string(wantText) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("written as %s, %v\nwant       %s, %v", gotText, err, wantText, wantErr)
		}
	})
}

func TestInferredSchemasAreWrittenHere(t *testing.T) {
	type inner struct {
		City string `json:"city,omitempty" jsonschema:"its <name> & \"more\""`
	}
	type everything struct {
		Text    string          `json:"text" jsonschema:"what to say"`
		Count   *int            `json:"count,omitempty"`
		Small   uint8           `json:"small"`
		Ratio   float64         `json:"ratio"`
		Yes     bool            `json:"yes"`
		List    []inner         `json:"list"`
		Map     map[string]int  `json:"map"`
		Any     any             `json:"any"`
		Raw     json.RawMessage `json:"raw"`
		Other   json.RawMessage `json:"other"`
		At      time.Time       `json:"at"`
		Until   time.Time       `json:"until"`
		Nested  inner           `json:"nested"`
		Pointer *inner          `json:"pointer"`
	}
	schema, err := Infer(reflect.TypeFor[everything]())
	if err != nil {
		t.Fatal(err)
	}
	text, plain, err := write(schema)
	if err != nil || !plain {
		t.Fatalf("plain is %v, error %v", plain, err)
	}
	if _, err := schema.Resolve(nil); err != nil {
		t.Error(err)
	}
	want, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != string(want) {
		t.Errorf("%s\nwant %s", text, want)
	}
	for _, other := range []*jsonschema.Schema{
		{Type: "object", Title: "t"}, {Type: "string", Types: []string{"string"}}, {Type: "object", Not: &jsonschema.Schema{}},
		{Properties: map[string]*jsonschema.Schema{"a": {Pattern: "a"}}, PropertyOrder: []string{"a"}},
		{Properties: map[string]*jsonschema.Schema{"a": {}}}, {Properties: map[string]*jsonschema.Schema{"a": {}}, PropertyOrder: []string{"b"}},
		{Properties: map[string]*jsonschema.Schema{"a": {}, "b": {}}, PropertyOrder: []string{"a", "a"}}, {Items: &jsonschema.Schema{Pattern: "a"}},
	} {
		if text, ok := appendSchema(nil, other); ok {
			t.Errorf("%+v is written as %s", other, text)
		}
		want, wantErr := json.Marshal(other)
		if text, _, err := write(other); string(text) != string(want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%s, %v; want %s, %v", text, err, want, wantErr)
		}
	}
}
