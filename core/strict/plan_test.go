package strict_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/strict"
)

// What structs embed is seen as encoding/json sees it.
type (
	First  struct{ A, B, C string }
	Second struct {
		A string
		B string `json:"B"` // before that of First, whose tag says no name
		D string `json:"-"`
	}
	Third struct {
		First
		Second
		C string // before that of First
	}
	Pointing struct{ *First }
	Nested   struct {
		Pointing
		Quoted
	}
	Quoted struct {
		N int `json:",string"`
	}
)

func TestEmbeddedStructs(t *testing.T) {
	const text = "{\r\n\"B\":\t\"b\" ,\r\"C\":\"c\"}"
	var got, want Third
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	err := strict.Decode([]byte(text), &got)
	if diff := cmp.Diff(want, got); diff != "" || err != nil || got.Second.B != "b" || got.C != "c" {
		t.Errorf("%v\n%s", err, diff)
	}
	// Two are called A, and neither is meant.
	check(t, strict.Decode([]byte(`{"A":"a"}`), &got), `unknown field "A", allowed are B, C`, "A", 1)
}

func TestStructsThatAreLeftToEncodingJSON(t *testing.T) {
	var got Nested
	if err := strict.Decode([]byte(`{"A":"a","N":"7"}`), &got); err != nil || got.Pointing.First == nil || got.First.A != "a" || got.N != 7 {
		t.Errorf("%+v, %v", got, err)
	}
	check(t, strict.Decode([]byte(`{"E":"a"}`), &got), `json: unknown field "E"`, "", 0)
}

func TestNumbersOfFewBits(t *testing.T) {
	var few struct {
		I8  int8
		U16 uint16
		I32 int32
	}
	check(t, strict.Decode([]byte(`{"I8":1.5}`), &few), "I8 is 1.5, want a whole number from -128 to 127", "I8", 6)
	check(t, strict.Decode([]byte(`{"U16":"x"}`), &few), `U16 is "x", want a whole number from 0 to 65535`, "U16", 7)
	check(t, strict.Decode([]byte(`{"I32":1.5}`), &few), "I32 is 1.5, want a whole number", "I32", 7)
	check(t, strict.Decode([]byte(`{"I32":-2147483649}`), &few), "I32 is -2147483649, want a whole number from -2147483648 to 2147483647", "I32", 7)
	if err := strict.Decode([]byte(`{"I8":-128,"U16":65535,"I32":-2147483648}`), &few); err != nil || few.I8 != -128 || few.U16 != 65535 || few.I32 != -1<<31 {
		t.Errorf("%+v, %v", few, err)
	}
}
