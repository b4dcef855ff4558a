package strict_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/agent/internal/strict"
)

type common struct {
	ID string `json:"id"`
}

type inner struct {
	Weight int      `json:"weight,omitempty"`
	Share  *float64 `json:"share"`
}

type outer struct {
	common
	Members []inner                    `json:"members"`
	Rounds  *int                       `json:"rounds"`
	On      bool                       `json:"on"`
	Free    map[string]json.RawMessage `json:"free"`
	Own     wrapped                    `json:"own"`
	Hidden  int                        `json:"-"`
}

// wrapped decodes itself by another Decode.
type wrapped struct{ value inner }

func (w *wrapped) UnmarshalJSON(data []byte) error { return strict.Decode(data, &w.value) }

func TestDecodeSaysWhatIsWrongWhere(t *testing.T) {
	tests := []struct{ name, text, path, want string }{
		{"a near field", `{"member":[]}`, "member", `unknown field "member", did you mean "members"?`},
		{"a field in capitals", `{"Rounds":1}`, "Rounds", `unknown field "Rounds", did you mean "rounds"?`},
		{"no such field", `{"x":1}`, "x", `unknown field "x", allowed are: id, members, rounds, on, free, own`},
		{"a field that is not JSON's", `{"Hidden":1}`, "Hidden", `unknown field "Hidden", allowed are: id, members, rounds, on, free, own`},
		{"further in", `{"members":[{},{"wieght":1}]}`, "members[1].wieght", `unknown field "wieght" in members[1], did you mean "weight"?`},
		{"twice", `{"id":"a","rounds":1,"id":"b"}`, "id", `id is given twice`},
		{"twice in a map", `{"free":{"a":1,"a":2}}`, "free.a", `free.a is given twice`},
		{"a string for a number", `{"rounds":"3"}`, "rounds", `rounds is "3", want an integer`},
		{"a fraction", `{"members":[{"weight":1.5}]}`, "members[0].weight", `members[0].weight is 1.5, want an integer`},
		{"a string for a fraction", `{"members":[{"share":"x"}]}`, "members[0].share", `members[0].share is "x", want a number`},
		{"a number for a string", `{"id":5}`, "id", `id is 5, want a string`},
		{"a word for a truth", `{"on":"yes"}`, "on", `on is "yes", want true or false`},
		{"an object for a list", `{"members":{}}`, "members", `members is {}, want a list`},
		{"a list for an object", `{"free":[]}`, "free", `free is [], want an object`},
		{"a number as a whole", `5`, "", `value is 5, want an object`},
		{"in what decodes itself", `{"own":{"share":1,"weight":"x"}}`, "own.weight", `own.weight is "x", want an integer`},
		{"unknown in what decodes itself", `{"own":{"shape":1}}`, "own.shape", `unknown field "shape" in own, did you mean "share"?`},
		{"what decodes itself as a whole", `{"own":[]}`, "own", `own is [], want an object`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := strict.Decode([]byte(test.text), &outer{})
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
			var at *strict.Error
			if !errors.As(err, &at) || at.Path != test.path {
				t.Errorf("%+v, want the path %q", at, test.path)
			}
		})
	}
}

// own decodes itself, and says what is wrong in its own ways.
type own struct{}

func (o *own) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case `"plain"`:
		return errors.New("it is too plain")
	case `"list"`:
		return strict.Decode([]byte(`[{"weight":"x"}]`), new([]inner))
	case `"member"`:
		return strict.Decode([]byte(`{"weight":"x"}`), new(inner))
	}
	return nil
}

// lists and object are what the standard library says of their kinds.
type (
	list   []int
	object struct{ A int }
	level  int
)

func (l *list) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, (*[]int)(l)) }

func (o *object) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, (*struct{ A int })(o))
}

func (l *level) UnmarshalText(text []byte) error {
	if string(text) != "high" {
		return errors.New("there is no such level")
	}
	*l = 3
	return nil
}

type holder struct {
	Own    own
	List   list
	Object object
	Map    kv
	Level  level
	Small  float32
	hidden int
	Empty  []inner
}

type kv map[string]int

func (m *kv) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, (*map[string]int)(m)) }

func TestDecodeOfWhatDecodesItself(t *testing.T) {
	tests := []struct{ text, path, want string }{
		{`{"Own":"plain"}`, "Own", `it is too plain`},
		{`{"Own":"list"}`, "Own[0].weight", `Own[0].weight is "x", want an integer`},
		{`{"Own":"member"}`, "Own.weight", `Own.weight is "x", want an integer`},
		{`{"List":5}`, "List", `List is 5, want a list`},
		{`{"Object":5}`, "Object", `Object is 5, want an object`},
		{`{"Map":5}`, "Map", `Map is 5, want an object`},
		{`{"Level":"low"}`, "Level", `there is no such level`},
		{`{"Small":"x"}`, "Small", `Small is "x", want a number`},
		{`{"hidden":1}`, "hidden", `unknown field "hidden", allowed are: Own, List, Object, Map, Level, Small, Empty`},
		{`{"Empty":[5]}`, "Empty[0]", `Empty[0] is 5, want an object`},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			err := strict.Decode([]byte(test.text), &holder{hidden: 1})
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
			var at *strict.Error
			if !errors.As(err, &at) || at.Path != test.path {
				t.Errorf("%+v, want the path %q", at, test.path)
			}
		})
	}
	whole := strict.Decode([]byte(`"member"`), new(own))
	if fmt.Sprint(whole) != `weight is "x", want an integer` {
		t.Errorf("as a whole: %v", whole)
	}
	var got holder
	if err := strict.Decode([]byte(`{"Level":"high","Empty":null,"Object":null}`), &got); err != nil || got.Level != 3 || got.Empty != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestUnknownTellsAnUnknownFieldFromTheRest(t *testing.T) {
	unknown := strict.Decode([]byte(`{"x":1}`), &outer{})
	if !strict.Unknown(unknown) || !strict.Unknown(fmt.Errorf("reading: %w", unknown)) {
		t.Errorf("%v is not unknown", unknown)
	}
	for _, err := range []error{nil, errors.New("other"), strict.Decode([]byte(`{"id":5}`), &outer{}), strict.Decode([]byte(`{`), &outer{})} {
		if strict.Unknown(err) {
			t.Errorf("%v is unknown", err)
		}
	}
}

func TestDecodeRefusesWhatIsNotOneValue(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", ` `, `there is nothing to decode`},
		{"two values", `{} {}`, `more than one JSON value`},
		{"half a value", `{"id":`, `not JSON: unexpected EOF`},
		{"no JSON", `{id}`, `not JSON: invalid character 'i' looking for beginning of object key string`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, fmt.Sprint(strict.Decode([]byte(test.text), &outer{}))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeReadsTheValue(t *testing.T) {
	var got outer
	err := strict.Decode([]byte(`{"id":"a","members":[{"weight":2,"share":null}],"rounds":3,"on":true,"free":{"k":{"x":1}},"own":{"weight":9}}`), &got)
	if err != nil {
		t.Fatal(err)
	}
	if got.ID != "a" || got.Members[0].Weight != 2 || *got.Rounds != 3 || !got.On || string(got.Free["k"]) != `{"x":1}` || got.Own.value.Weight != 9 {
		t.Errorf("got %+v", got)
	}
}

func TestNearestIsWhatWasProbablyMeant(t *testing.T) {
	names := []string{"max_rounds", "max_tokens", "model", "id", "plugins"}
	tests := []struct{ name, want string }{
		{"max_round", "max_rounds"}, {"maxRounds", "max_rounds"}, {"modle", "model"}, {"plugin", "plugins"},
		{"MODEL", "model"}, {"zq", ""}, {"temperature", ""}, {"", ""}, {"max_tokns", "max_tokens"},
		// at most a third of the letters, and at most three
		{"i", ""}, {"ix", "id"}, {"xd", "id"}, {"xid", "id"}, {"mox", ""}, {"modex", "model"}, {"moxxx", ""}, {"mdoel", "model"}, {"xodexx", ""},
		{"tax_xxunds", "max_rounds"}, {"taxyxxunds", ""}, {"max_rounds_of", "max_rounds"}, {"max_rounds_all", ""}, {"x_rounds", "max_rounds"}, {"_rounds", ""},
		{"rounds", ""}, {"lugins", "plugins"}, {"plugxins", "plugins"}, {"pluginsx", "plugins"},
	}
	for _, test := range tests {
		if got := strict.Nearest(test.name, names); got != test.want {
			t.Errorf("nearest to %q is %q, want %q", test.name, got, test.want)
		}
	}
}
