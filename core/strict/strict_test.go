package strict_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/strict"
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
	Small   uint8                      `json:"small"`
	Named   map[string]inner           `json:"named"`
	Hidden  int                        `json:"-"`
}

// wrapped decodes itself by another Decode.
type wrapped struct{ value inner }

func (w *wrapped) UnmarshalJSON(data []byte) error { return strict.Decode(data, &w.value) }

// check holds an error against its text, path and offset.
func check(t *testing.T, err error, text, path string, offset int) {
	t.Helper()
	if diff := cmp.Diff(text, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
	var at *strict.Error
	if !errors.As(err, &at) || string(at.Path) != path || at.Offset != offset {
		t.Errorf("%+v, want the path %q and the offset %d", at, path, offset)
	}
}

func TestDecodeSaysWhatIsWrongWhere(t *testing.T) {
	const fields = "id, members, rounds, on, free, own, small, named"
	tests := []struct {
		name, text, path, want string
		offset                 int
	}{
		{"a near field", `{"member":[]}`, "member", `unknown field "member", did you mean "members"?`, 1},
		{"a field in capitals", `{"Rounds":1}`, "Rounds", `unknown field "Rounds", did you mean "rounds"?`, 1},
		{"no such field", `{"xyz":1}`, "xyz", `unknown field "xyz", allowed are ` + fields, 1},
		{"a field without a name", `{"":1}`, "", `unknown field "", allowed are ` + fields, 1},
		{"a field that is not JSON's", `{"Hidden":1}`, "Hidden", `unknown field "Hidden", allowed are ` + fields, 1},
		{"an escaped name", `{"\u0078":1}`, "x", `unknown field "x", allowed are ` + fields, 1},
		{"a name with a dot", `{"members":[{"a.b":1}]}`, "members[0].a.b", `unknown field "a.b" in members[0], allowed are weight, share`, 13},
		{"further in", `{"members":[{},{"wieght":1}]}`, "members[1].wieght", `unknown field "wieght" in members[1], did you mean "weight"?`, 16},
		{"twice", `{"id":"a", "rounds":1, "id":"b"}`, "id", `id is given twice`, 23},
		{"twice, once escaped", `{"id":"a","\u0069d":"b"}`, "id", `id is given twice`, 10},
		{"twice in a map", `{"free":{"a":1,"a":2}}`, "free.a", `free.a is given twice`, 15},
		{"in a map", `{"named":{"a":{"weight":[]}}}`, "named.a.weight", `named.a.weight is a list, want a whole number`, 24},
		{"a string for a number", `{"rounds":"3"}`, "rounds", `rounds is "3", want a whole number`, 10},
		{"a fraction", `{"members":[{"weight":1.5}]}`, "members[0].weight", `members[0].weight is 1.5, want a whole number`, 22},
		{"a power", `{"rounds":1e3}`, "rounds", `rounds is 1e3, want a whole number`, 10},
		{"too large", `{"rounds":9223372036854775808}`, "rounds", `rounds is 9223372036854775808, want a whole number from -9223372036854775808 to 9223372036854775807`, 10},
		{"too large for few bits", `{"small":256}`, "small", `small is 256, want a whole number from 0 to 255`, 9},
		{"below zero", `{"small":-1}`, "small", `small is -1, want a whole number from 0 to 255`, 9},
		{"a string for a fraction", `{"members":[{"share":"x"}]}`, "members[0].share", `members[0].share is "x", want a number`, 21},
		{"a fraction without end", `{"members":[{"share":1e999}]}`, "members[0].share", `members[0].share is 1e999, want a number`, 21},
		{"a number for a string", `{"id":5}`, "id", `id is 5, want a string`, 6},
		{"a word for a truth", `{"on":"yes"}`, "on", `on is "yes", want true or false`, 6},
		{"an object for a list", `{"members":{}}`, "members", `members is an object, want a list`, 11},
		{"a list for an object", `{"free":[]}`, "free", `free is a list, want an object`, 8},
		{"true for an object", `{"named":{"a":true}}`, "named.a", `named.a is true, want an object`, 14},
		{"a number as a whole", ` 5`, "", `value is 5, want an object`, 1},
		{"in what decodes itself", `{"own":{"share":1,"weight":"x"}}`, "own.weight", `own.weight is "x", want a whole number`, 27},
		{"unknown in what decodes itself", `{"own":{"shape":1}}`, "own.shape", `unknown field "shape" in own, did you mean "share"?`, 8},
		{"what decodes itself as a whole", `{"own":[]}`, "own", `own is a list, want an object`, 7},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			check(t, strict.Decode([]byte(test.text), &outer{}), test.want, test.path, test.offset)
		})
	}
}

func TestErrorsStayShort(t *testing.T) {
	long := strings.Repeat("a", 100_000)
	for _, text := range []string{`{"` + long + `":1}`, `{"free":{"` + long + `":1,"` + long + `":1}}`, `{"id":` + strings.Repeat("1", 100_000) + `}`, `{"rounds":"` + long + `"}`} {
		if err := strict.Decode([]byte(text), &outer{}); err == nil || len(err.Error()) > 400 {
			t.Errorf("%v", err)
		}
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

func (l level) MarshalText() ([]byte, error) { return []byte("high"), nil }

type holder struct {
	Own    own
	List   list
	Object object
	Map    kv
	Level  level
	Small  float32
	hidden int
	Empty  []inner
	Bytes  []byte
	Pair   [2]int
	Any    any
	Number json.Number
	Quoted quoted
}

type kv map[string]int

// quoted is left to encoding/json.
type quoted struct {
	N int `json:"n,string"`
}

func (m *kv) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, (*map[string]int)(m)) }

func TestDecodeOfWhatDecodesItself(t *testing.T) {
	tests := []struct {
		text, path, want string
		offset           int
	}{
		{`{"Own":"plain"}`, "Own", `Own: it is too plain`, 7},
		{`{"Own":"list"}`, "Own[0].weight", `Own[0].weight is "x", want a whole number`, 18},
		{`{"Own":"member"}`, "Own.weight", `Own.weight is "x", want a whole number`, 17},
		{`{"List":5}`, "List", `List is 5, want a list`, 8},
		{`{"Object":5}`, "Object", `Object is 5, want an object`, 10},
		{`{"Object":{"A":"x"}}`, "Object", `Object: A is a JSON string, want a whole number that fits`, 10},
		{`{"Map":5}`, "Map", `Map is 5, want an object`, 7},
		{`{"Level":"low"}`, "Level", `Level: there is no such level`, 9},
		{`{"Level":3}`, "Level", `Level is 3, want a string`, 9},
		{`{"Small":"x"}`, "Small", `Small is "x", want a number`, 9},
		{`{"Small":1e39}`, "Small", `Small is 1e39, want a number`, 9},
		{`{"hidden":1}`, "hidden", `unknown field "hidden", allowed are Own, List, Object, Map, Level, Small, Empty, Bytes, Pair, Any, Number, Quoted`, 1},
		{`{"Empty":[5]}`, "Empty[0]", `Empty[0] is 5, want an object`, 10},
		{`{"Bytes":[5]}`, "Bytes", `Bytes is a list, want a string of base64`, 9},
		{`{"Bytes":"*"}`, "Bytes", `Bytes: illegal base64 data at input byte 0`, 9},
		{`{"Pair":{}}`, "Pair", `Pair is an object, want a list`, 8},
		{`{"Number":true}`, "Number", `Number is true, want a number`, 10},
		{`{"Quoted":{"n":"1","m":1}}`, "Quoted", `Quoted: json: unknown field "m"`, 10},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			check(t, strict.Decode([]byte(test.text), &holder{hidden: 1}), test.want, test.path, test.offset)
		})
	}
	if whole := strict.Decode([]byte(`"member"`), new(own)); fmt.Sprint(whole) != `weight is "x", want a whole number` {
		t.Errorf("as a whole: %v", whole)
	}
	var got holder
	if err := strict.Decode([]byte(`{"Level":"high","Empty":null,"Object":null}`), &got); err != nil || got.Level != 3 || got.Empty != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestUnknownTellsAnUnknownFieldFromTheRest(t *testing.T) {
	for text, want := range map[string]bool{`{"x":1}`: true, `{"id":5}`: false, `{`: false} {
		err := strict.Decode([]byte(text), &outer{})
		if wrong, ok := errors.AsType[*strict.Error](err); !ok || wrong.Unknown() != want {
			t.Errorf("%v: unknown is not %t", err, want)
		}
	}
}

func TestDecodeRefusesWhatIsNotOneValue(t *testing.T) {
	tests := []struct {
		name, text, want string
		offset           int
	}{
		{"nothing", " \n", `value is empty, want an object`, 0},
		{"two values", `{} {}`, `value is not JSON at byte 4: invalid character '{' after top-level value`, 3},
		{"half a value", `{"id":`, `value is not JSON at byte 7: unexpected end of JSON input`, 6},
		{"no JSON", `{id}`, `value is not JSON at byte 2: invalid character 'i' looking for beginning of object key string`, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			check(t, strict.Decode([]byte(test.text), &outer{}), test.want, "", test.offset)
		})
	}
}

func TestDecodeReadsTheValue(t *testing.T) {
	var got outer
	err := strict.Decode([]byte(` { "id" : "a" , "members":[{"weight":2,"share":null} , { } ],"rounds":3,"on":true,"free":{"k":{"x":1}},
		"own":{"weight":9},"small":255,"named":{"a\"b":{"weight":-9223372036854775808}} } `), &got)
	if err != nil {
		t.Fatal(err)
	}
	rounds := 3
	want := outer{
		common: common{"a"}, Members: []inner{{Weight: 2}, {}}, Rounds: &rounds, On: true, Free: map[string]json.RawMessage{"k": []byte(`{"x":1}`)},
		Own: wrapped{inner{Weight: 9}}, Small: 255, Named: map[string]inner{`a"b`: {Weight: -1 << 63}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outer{}, wrapped{})); diff != "" {
		t.Error(diff)
	}
}

// What is decoded into may hold something: elements of its lists start from zero.
func TestDecodeLeavesNothingOfAListThatWasThere(t *testing.T) {
	share := 1.0
	got := outer{Members: []inner{{Weight: 5, Share: &share}, {Weight: 6}}, Free: map[string]json.RawMessage{"a": []byte(`1`)}, On: true}
	if err := strict.Decode([]byte(`{"members":[{"weight":1}],"free":{"b":2}}`), &got); err != nil {
		t.Fatal(err)
	}
	want := outer{Members: []inner{{Weight: 1}}, Free: map[string]json.RawMessage{"a": []byte(`1`), "b": []byte(`2`)}, On: true}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outer{}, wrapped{})); diff != "" {
		t.Error(diff)
	}
}

func TestBytesAreBase64(t *testing.T) {
	for text, want := range map[string][]byte{`"YWI="`: []byte("ab"), `"YW\u0049="`: []byte("ab"), `""`: {}, `null`: nil} {
		got := holder{Bytes: []byte("before")}
		err := strict.Decode([]byte(`{"Bytes":`+text+`}`), &got)
		if diff := cmp.Diff(want, got.Bytes); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
}

func TestWhatIsDecodedDoesNotShareMemoryWithTheText(t *testing.T) {
	text := []byte(`{"id":"abc","free":{"k":"xyz"}}`)
	var got outer
	if err := strict.Decode(text, &got); err != nil {
		t.Fatal(err)
	}
	clear(text)
	if got.ID != "abc" || string(got.Free["k"]) != `"xyz"` {
		t.Errorf("got %q, %q", got.ID, got.Free["k"])
	}
}

func TestErrorsHaveACode(t *testing.T) {
	other := core.Errorf(core.CodeUnsupported, "no such kind")
	for _, tt := range []struct {
		err  error
		want core.Code
	}{
		{strict.Decode([]byte(`{"x":1}`), &outer{}), core.CodeInvalid},
		{strict.Decode([]byte(`{`), &outer{}), core.CodeInvalid},
		{strict.Decode([]byte(`{"Own":"plain"}`), &holder{}), core.CodeInvalid},
		{fmt.Errorf("reading: %w", strict.Errorf("is %w", other)), core.CodeUnsupported},
		{core.Errorf(core.CodeCorrupt, "%w", strict.Decode([]byte(`5`), &outer{})), core.CodeCorrupt},
		{strict.Options{Stop: func() error { return errors.ErrUnsupported }}.Decode([]byte(`[1]`), new([]int)), core.CodeInternal},
	} {
		if got := core.CodeOf(tt.err); got != tt.want {
			t.Errorf("%v: code %s, want %s", tt.err, got, tt.want)
		}
	}
}

// A type that decodes itself may say what is wrong as Decode does.
type grade int

func (g *grade) UnmarshalJSON([]byte) error { return strict.Errorf("is %d, want a grade", 7) }

func TestErrorf(t *testing.T) {
	var into struct{ Grades []grade }
	check(t, strict.Decode([]byte(`{"Grades":[0]}`), &into), "Grades[0] is 7, want a grade", "Grades[0]", 11)
	check(t, strict.Decode([]byte(`0`), new(grade)), "value is 7, want a grade", "", 0)
}
