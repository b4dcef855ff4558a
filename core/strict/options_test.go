package strict_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/strict"
)

// tagged has what tags say of fields.
type tagged struct {
	Name  string          `json:"name" strict:"also=title"`
	Delay *int64          `json:"delay,omitempty" strict:"also=delay_ms,also=delayMs,min=0,max=100"`
	Rank  uint8           `json:"rank,omitempty" strict:"min=1"`
	Data  json.RawMessage `json:"data,omitzero"`
	Free  any             `json:"free,omitempty"`
	List  []int           `json:"list,omitempty"`
	Bytes []byte          `json:"bytes,omitempty"`
	Own   *wrapped        `json:"own,omitempty"`
	Plain wrapped         `json:"plain,omitzero"`
	Gone  optional        `json:"gone,omitzero" strict:"null"`
}

// optional decodes null itself.
type optional struct{ null bool }

func (o *optional) UnmarshalJSON(data []byte) error {
	o.null = string(data) == "null"
	return nil
}

func TestAFieldMayHaveSeveralNames(t *testing.T) {
	for _, text := range []string{`{"name":"a","delay":7}`, `{"title":"a","delay_ms":7}`, `{"title":"a","delayMs":7}`} {
		var got tagged
		if err := strict.Decode([]byte(text), &got); err != nil || got.Name != "a" || *got.Delay != 7 {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	check(t, strict.Decode([]byte(`{"title":"a","name":"b"}`), &tagged{}), "name is given twice, as title too", "name", 13)
	check(t, strict.Decode([]byte(`{"title":"a","title":"b"}`), &tagged{}), "title is given twice", "title", 13)
	check(t, strict.Decode([]byte(`{"title":1}`), &tagged{}), "title is 1, want a string", "title", 9)
	check(t, strict.Decode([]byte(`{"nam":1}`), &tagged{}), `unknown field "nam", did you mean "name"?`, "nam", 1)
}

func TestBoundsOfANumber(t *testing.T) {
	for text, want := range map[string]string{
		`{"delay":0,"rank":1}`:     "<nil>",
		`{"delay":100,"rank":255}`: "<nil>",
		`{"delay":null}`:           "<nil>",
		`{"delay":-1}`:             "delay is -1, want a whole number from 0 to 100",
		`{"delay":101}`:            "delay is 101, want a whole number from 0 to 100",
		`{"delay":"1"}`:            `delay is "1", want a whole number from 0 to 100`,
		`{"delay":7.0}`:            `delay is 7.0, want a whole number from 0 to 100`,
		`{"rank":0}`:               "rank is 0, want a whole number from 1 to 255",
		`{"rank":256}`:             "rank is 256, want a whole number from 1 to 255",
		`{"rank":-1}`:              "rank is -1, want a whole number from 1 to 255",
	} {
		if err := strict.Decode([]byte(text), &tagged{}); fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestWholeFloats(t *testing.T) {
	o := strict.Options{WholeFloats: true}
	type numbers struct {
		I int64
		U uint64
		S int8
	}
	for text, want := range map[string]numbers{
		`{"I":7.0,"U":7e3,"S":1.2e1}`:                                         {7, 7000, 12},
		`{"I":-7.0,"U":0.0,"S":-128.0}`:                                       {-7, 0, -128},
		`{"I":9007199254740991.0,"U":9007199254740991.0}`:                     {I: 9007199254740991, U: 9007199254740991},
		`{"I":9223372036854775807,"U":18446744073709551615}`:                  {I: 9223372036854775807, U: 18446744073709551615},
		`{"I":-9223372036854775808,"U":9007199254740993,"S":-0.0000000000e9}`: {I: -9223372036854775808, U: 9007199254740993},
	} {
		var got numbers
		if err := o.Decode([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{`{"I":7.5}`, `{"I":9007199254740992.0}`, `{"U":-7.0}`, `{"U":18446744073709551616}`, `{"S":128.0}`, `{"I":1e400}`, `{"I":"7"}`} {
		if err := o.Decode([]byte(text), &numbers{}); err == nil || !strings.Contains(err.Error(), "want a whole number") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestNull(t *testing.T) {
	var got tagged
	const all = `{"name":null,"delay":null,"rank":null,"data":null,"free":null,"list":null,"bytes":null,"own":null,"plain":null,"gone":null}`
	if err := strict.Decode([]byte(all), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tagged{Data: []byte("null"), Gone: optional{true}}, got, cmp.AllowUnexported(wrapped{}, optional{})); diff != "" {
		t.Error(diff)
	}
	if err := strict.Decode([]byte(`null`), &got); err != nil {
		t.Errorf("as a whole: %v", err)
	}
	o := strict.Options{NoNull: true}
	for text, want := range map[string]string{
		`null`:           "value is null, want an object",
		`{"name":null}`:  "name is null, want a string",
		`{"delay":null}`: "delay is null, want a whole number from 0 to 100",
		`{"rank":null}`:  "rank is null, want a whole number from 1 to 255",
		`{"data":null}`:  "<nil>",
		`{"free":null}`:  "<nil>",
		`{"list":null}`:  "list is null, want a list",
		`{"bytes":null}`: "bytes is null, want a string of base64",
		`{"own":null}`:   "own is null, want an object",
		`{"plain":null}`: "plain is null, want an object",
		`{"gone":null}`:  "<nil>",
	} {
		if err := o.Decode([]byte(text), &tagged{}); fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestRequired(t *testing.T) {
	type nested struct {
		Items []tagged          `json:"items,omitempty"`
		Named map[string]tagged `json:"named,omitempty"`
	}
	o := strict.Options{Required: true, Name: "body"}
	check(t, o.Decode([]byte(` {}`), &tagged{}), "name is required", "name", 1)
	check(t, o.Decode([]byte(`{"items":[{"name":""},{"rank":1}]}`), &nested{}), "items[1].name is required", "items[1].name", 22)
	check(t, o.Decode([]byte(`{"named":{"a":{}}}`), &nested{}), "named.a.name is required", "named.a.name", 14)
	check(t, o.Decode([]byte(`{"nam":""}`), &tagged{}), `unknown field "nam" in body, did you mean "name"?`, "nam", 1)
	if err := o.Decode([]byte(`{"title":"a"}`), &tagged{}); err != nil {
		t.Error(err)
	}
}

func TestName(t *testing.T) {
	o := strict.Options{Name: "body"}
	check(t, o.Decode([]byte(`[]`), &tagged{}), "body is a list, want an object", "", 0)
	check(t, o.Decode([]byte(` `), &tagged{}), "body is empty, want an object", "", 0)
	check(t, o.Decode([]byte(`{"xyz":1}`), &tagged{}), `unknown field "xyz" in body, allowed are name, delay, rank, data, free, list, bytes, own, plain, gone`, "xyz", 1)
	check(t, o.Decode([]byte(`{"x":1}`), &struct{}{}), `unknown field "x" in body, none is allowed`, "x", 1)
	check(t, o.Decode([]byte(`{"own":{"x":1}}`), &tagged{}), `unknown field "x" in own, allowed are weight, share`, "own.x", 8)
}

func TestRawLooksForRepeatedNamesEverywhere(t *testing.T) {
	for _, text := range []string{`{"data":{"a":[0,{"b":1, "b":2}]}}`, `{"free":{"a":[0,{"b":1, "b":2}]}}`} {
		if err := strict.Decode([]byte(text), &tagged{}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		path := text[2:6] + ".a[1].b"
		check(t, strict.Options{Raw: true}.Decode([]byte(text), &tagged{}), path+" is given twice", path, 24)
	}
	check(t, strict.Options{Raw: true}.Decode([]byte(`[{"a":{"x":1,"x":1}}]`), new(json.RawMessage)), "[0].a.x is given twice", "[0].a.x", 13)
	if err := (strict.Options{Raw: true}).Decode([]byte(`{"a":[{"a":1},{"a":1}],"b":"a"}`), new(any)); err != nil {
		t.Error(err)
	}
}

func TestSize(t *testing.T) {
	o := strict.Options{Name: "file", MaxBytes: 10}
	if err := o.Decode([]byte(`"12345678"`), new(string)); err != nil {
		t.Error(err)
	}
	check(t, o.Decode([]byte(`"123456789"`), new(string)), "file has 11 bytes, at most 10 are allowed", "", 0)
}

// nest is a value of lists, or of objects, in each other.
func nest(open, end string, depth int) string {
	return strings.Repeat(open, depth-1) + strings.TrimSuffix(open, `"a":`) + strings.Repeat(end, depth)
}

type node struct {
	A *node `json:"a"`
}

func TestDepth(t *testing.T) {
	type raw struct {
		A json.RawMessage `json:"a"`
	}
	for _, depth := range []int{64, 100} {
		o := strict.Options{MaxDepth: depth}
		if depth == 64 {
			o.MaxDepth = 0
		}
		for name, into := range map[string]func() any{
			"struct": func() any { return new(node) }, "any": func() any { return new(any) }, "raw": func() any { return new(raw) },
			"map": func() any { return new(map[string]any) },
		} {
			if err := o.Decode([]byte(nest(`{"a":`, `}`, depth)), into()); err != nil {
				t.Errorf("%s, %d deep: %v", name, depth, err)
			}
			err := o.Decode([]byte(nest(`{"a":`, `}`, depth+1)), into())
			if want := fmt.Sprintf("is nested more than %d deep at byte %d", depth, 5*depth+1); err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s, %d deep: %v, want %s", name, depth+1, err, want)
			}
		}
		if err := o.Decode([]byte(nest(`[`, `]`, depth)), new(any)); err != nil {
			t.Errorf("lists, %d deep: %v", depth, err)
		}
		check(t, o.Decode([]byte(nest(`[`, `]`, depth+1)), new(any)), fmt.Sprintf("value is nested more than %d deep at byte %d", depth, depth+1), "", depth)
		o.Raw = true
		if err := o.Decode([]byte(nest(`[`, `]`, depth)), new(any)); err != nil {
			t.Errorf("lists, %d deep: %v", depth, err)
		}
	}
	// Deeper than encoding/json goes, and no JSON at all.
	check(t, strict.Decode([]byte(strings.Repeat("[", 100_000)), new(any)), "value is nested more than 64 deep at byte 65", "", 64)
}

func TestDepthWithoutALimitIsAsDeepAsEncodingJSONGoes(t *testing.T) {
	o := strict.Options{MaxDepth: -1}
	if err := o.Decode([]byte(nest(`[`, `]`, 10_000)), new(any)); err != nil {
		t.Error(err)
	}
	check(t, o.Decode([]byte(nest(`[`, `]`, 10_001)), new(any)), "value is nested more than 10000 deep at byte 10001", "", 10_000)
}

func TestCheckDepth(t *testing.T) {
	for text, want := range map[string]int{
		`[[],[],{},{},[{}]]`: 14, `[[],[],{},{},[]]`: -1, `{"a[[[":"\"[[[","b":[[`: 21, `"[[[`: -1, `"\`: -1, `[]]]]][[[[`: -1, `"a\\"[[[`: 7, "": -1,
	} {
		err := strict.Options{Name: "body", MaxDepth: 2}.CheckDepth([]byte(text))
		if want < 0 && err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if want >= 0 {
			check(t, err, fmt.Sprintf("body is nested more than 2 deep at byte %d", want+1), "", want)
		}
	}
}

func TestStopEndsDecoding(t *testing.T) {
	list := []byte(`[` + strings.Repeat(`{},`, 999) + `{}]`)
	for asked, want := range map[int]bool{0: false, 3: false, 4: true} { // 1,000 parts are asked about four times
		calls := 0
		err := strict.Options{Stop: func() error {
			if calls++; calls > asked {
				return errors.ErrUnsupported
			}
			return nil
		}}.Decode(list, new([]struct{}))
		if (err == nil) != want || err != nil && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("stopped after %d: %v", asked, err)
		}
	}
}

func TestATagThatMakesNoSense(t *testing.T) {
	for name, err := range map[string]error{
		"no such key": strict.Decode([]byte(`{"A":1}`), new(struct {
			A int `strict:"most=1"`
		})),
		"no number": strict.Decode([]byte(`{"A":1}`), new(struct {
			A int `strict:"min=a"`
		})),
		"null of a number": strict.Decode([]byte(`{"A":1}`), new(struct {
			A int `strict:"null"`
		})),
		"not of a number": strict.Decode([]byte(`{"A":"a"}`), new(struct {
			A string `strict:"min=1"`
		})),
	} {
		if err == nil || !strings.Contains(err.Error(), "whose field A has the tag") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
