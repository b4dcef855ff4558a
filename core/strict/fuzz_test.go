package strict_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reveille-run/reveille/core/strict"
)

// everything has what the types of this project have, and more.
type everything struct {
	common
	Hides
	S    string            `json:"s"`
	B    bool              `json:"b"`
	I    int64             `json:"i"`
	I8   int8              `json:"i8"`
	U    uint64            `json:"u"`
	U16  uint16            `json:"u16"`
	F    float64           `json:"f"`
	F32  float32           `json:"f32"`
	P    *everything       `json:"p"`
	L    []everything      `json:"l"`
	LP   []*int            `json:"lp"`
	M    map[string]string `json:"m"`
	MM   map[word][]int    `json:"mm"`
	MI   map[int]bool      `json:"mi"`
	Any  any               `json:"any"`
	Raw  json.RawMessage   `json:"raw"`
	Text time.Time         `json:"text"`
	Lev  *level            `json:"lev"`
	Arr  [2]string         `json:"arr"`
	By   []byte            `json:"by"`
	Num  json.Number       `json:"num"`
	Q    quoted            `json:"q"`
	Self *list             `json:"self"`
	Dual []dual            `json:"dual"`
}

// dual decodes itself twice, to what it is for encoding/json.
type dual struct {
	A int             `json:"a"`
	R json.RawMessage `json:"r"`
	D []dual          `json:"d"`
}

func (d *dual) UnmarshalStrict(v strict.Value) error {
	type plain dual
	if err := v.Decode(new(any)); err != nil {
		return err
	}
	return v.Decode((*plain)(d))
}

type word string

// Hides has a field that the struct which embeds it hides.
type Hides struct {
	S string `json:"s"`
	E string `json:"e"`
}

var seeds = []string{
	``, `null`, `{}`, `[]`, `0`, `"a"`, ` {"s" : "a\u00e9\ud83d\ude00\"" , "b":true,"i":-9223372036854775808,"u":18446744073709551615,"f":1e-7} `,
	`{"id":"a","e":"b","i8":128,"u16":65536,"f32":1e39}`, `{"i8":-128,"u16":65535,"f32":3.5}`, `{"p":{"p":{"p":null}},"l":[{},{"s":"x"}],"lp":[1,null]}`,
	`{"m":{"a":"b","\u0061":"c"},"mm":{"x":[1,2],"y":null},"mi":{"1":true}}`, `{"any":{"a":[1,{"a":null,"a":1}]},"raw":[ 1 , {"x":1,"x":2}],"text":"2026-01-31T00:00:00Z"}`,
	`{"lev":"high","arr":["a","b","c"],"by":"YWI=","num":1.50,"q":{"n":"5"},"self":[1]}`, "{\"s\":\"\xff\"}", "{\"s\":\"\xff\",\"\xff\":1}", `{"S":"a"}`,
	`{"s":null,"b":null,"i":null,"l":null,"m":null,"any":null,"raw":null,"text":null,"lev":null,"by":null,"num":null,"q":null,"self":null,"arr":null}`,
	`{"i":1.0}`, `{"i":1e2}`, `{"u":-0}`, `{"i":-0}`, `{"f":-0.0}`, `{"s":"a","s":"b"}`, `{"by":[1,2]}`, `[[[[]]]]`, `{"l":[{"l":[{"l":[]}]}]}`, `{"a`, `{"s":"a"} {}`,
	`{"dual":[{"a":1,"r":"x"},null,{"d":[{"d":[]}]}]}`, `{"q":{"n":5}}`, `{"num":"1"}`, `{"num":"x"}`, `{"mi":{"x":true}}`, `{"text":"soon"}`, `{"lev":"low"}`, `{"s":"\\\\\\\\\"\\"}`, `{"\\":1}`,
}

// FuzzDecode checks that what Decode takes encoding/json takes, too, as the same value,
// under all options, and that it takes again what encoding/json makes of that value.
func FuzzDecode(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	same := cmp.Options{cmp.AllowUnexported(everything{}), cmpopts.EquateNaNs()}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, into := range []any{new(everything), new(map[string]everything), new([]everything), new(string), new(any), new(node), new(json.RawMessage)} {
			of := reflect.TypeOf(into).Elem()
			if err := strict.Decode(data, into); err != nil {
				if _, ok := err.(*strict.Error); !ok || err.Error() == "" {
					t.Fatalf("error %T %v", err, err)
				}
				continue
			}
			want := reflect.New(of).Interface()
			if err := json.Unmarshal(data, want); err != nil {
				t.Fatalf("%s: %s is taken, encoding/json says %v", of, data, err)
			}
			if diff := cmp.Diff(want, into, same); diff != "" {
				t.Fatalf("%s: %s (-encoding/json +strict)\n%s", of, data, diff)
			}
			for _, o := range []strict.Options{{NoNull: true}, {Required: true}, {Raw: true}, {MaxDepth: 3}, {MaxBytes: 40}} {
				less := reflect.New(of).Interface()
				if o.Decode(data, less) == nil && !cmp.Equal(want, less, same) {
					t.Fatalf("%s: %s with %+v is %+v", of, data, o, less)
				}
			}
			text, err := json.Marshal(into)
			if err != nil {
				return // a time of the year 10,000
			}
			again := reflect.New(of).Interface()
			if err := strict.Decode(text, again); err != nil && !tooLong(text) {
				t.Fatalf("%s: what encoding/json makes of it, %s, is refused: %v", of, text, err)
			}
		}
	})
}

// tooLong reports whether a text is nested deeper than Decode goes: of a value that
// encoding/json writes with members that were not there.
func tooLong(text []byte) bool {
	deep := strict.Options{}.CheckDepth(text) != nil
	return deep
}

// FuzzFind checks that the offset of an error is that which its path leads to.
func FuzzFind(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var at *strict.Error
		err := strict.Decode(data, new(everything))
		if err == nil || !json.Valid(data) {
			return
		}
		at = err.(*strict.Error)
		if at.Offset < 0 || at.Offset > len(data) {
			t.Fatalf("%s: offset %d", data, at.Offset)
		}
		if offset, found := at.Path.Find(data); !found && at.Offset != offset {
			t.Fatalf("%s: %+v, found is %d", data, at, offset)
		}
	})
}
