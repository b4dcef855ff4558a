package strict_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core/strict"
)

// manyNames is an object of n members, but for its brackets; the names are as long as
// they differ late.
func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%07x":0,`, i)
	}
	return b.String()
}

// A megabyte of whatever was worst for a decoder costs what a megabyte costs: in
// quadratic time each of these would take minutes.
func TestDecodeTakesLinearTime(t *testing.T) {
	const n = 80_000
	names := manyNames(n)
	lists := strings.Repeat(`[`, 63)
	tests := []struct {
		name, text string
		into       any
		refused    string
	}{
		{"names of a map", `{` + names + `"x":0}`, new(map[string]int), ""},
		{"names of a map, the last twice", `{` + names + `"k0000000":0}`, new(map[string]int), "is given twice"},
		{"names in raw JSON, the last twice", `{"data":{` + names + `"k0000000":0},"name":""}`, new(tagged), "is given twice"},
		{"unknown names", `{` + names + `"x":0}`, new(tagged), "unknown field"},
		{"names that are nearly known", `{` + strings.ReplaceAll(names, `"k`, `"nam`) + `"x":0}`, new(tagged), "unknown field"},
		{"a long name", `{"` + strings.Repeat("name", 250_000) + `":0}`, new(tagged), "unknown field"},
		{"a string of escapes", `{"name":"` + strings.Repeat(`\\`, 500_000) + `"}`, new(tagged), ""},
		{"a string of quotes", `{"name":"` + strings.Repeat(`\"`, 500_000) + `"}`, new(tagged), ""},
		{"strings of an escape", `[` + strings.Repeat(`"\\",`, 200_000) + `""]`, new([]string), ""},
		{"raw strings of an escape", `[` + strings.Repeat(`"\\",`, 200_000) + `""]`, new(json.RawMessage), ""},
		{"spaces", `{"name":` + strings.Repeat(" ", 1_000_000) + `"a"}`, new(tagged), ""},
		{"a long number", `{"rank":` + strings.Repeat("1", 1_000_000) + `}`, new(tagged), "want a whole number"},
		{"lists", `[` + strings.Repeat(`[],`, 300_000) + `[]]`, new([][]int), ""},
		{"deep lists", `[` + strings.Repeat(lists+strings.Repeat(`]`, 63)+`,`, 8_000) + `0]`, new([]any), ""},
		{"deep brackets", strings.Repeat(`[`, 1_000_000), new(any), "nested more than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, o := range []strict.Options{{}, {Raw: true, NoNull: true, WholeFloats: true}} {
				began := time.Now()
				err := o.Decode([]byte(tt.text), tt.into)
				if took := time.Since(began); took > 5*time.Second { // 0.1 s
					t.Errorf("%d bytes took %s", len(tt.text), took)
				}
				if tt.refused == "" && err != nil || tt.refused != "" && o.Raw && (err == nil || !strings.Contains(err.Error(), tt.refused)) {
					t.Errorf("%.200v, want %q", err, tt.refused)
				}
			}
		})
	}
}

// Memory grows with the text, too: by its bytes, and a place for each name.
func TestDecodeAllocatesLittle(t *testing.T) {
	small := []byte(`{"name":"a","delay":7,"rank":3}`)
	if got := testing.AllocsPerRun(100, func() {
		var into tagged
		if err := strict.Decode(small, &into); err != nil {
			t.Fatal(err)
		}
	}); got > 6 {
		t.Errorf("%v allocations for a small object", got)
	}
	names := []byte(`{"data":{` + manyNames(80_000) + `"x":0},"name":""}`)
	if got := testing.AllocsPerRun(3, func() {
		if err := strict.Decode(names, new(tagged)); err != nil {
			t.Fatal(err)
		}
	}); got > 10 {
		t.Errorf("%v allocations for raw JSON with 80,000 names", got)
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, tt := range []struct{ name, text string }{
		{"small", `{"name":"a","delay":7,"rank":3}`},
		{"long", `{"name":"` + strings.Repeat("some text ", 10_000) + `"}`},
		{"list", `{"name":"a","list":[` + strings.Repeat("1,", 999) + `1]}`},
	} {
		b.Run(tt.name+"/strict", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(tt.text)))
			for b.Loop() {
				if err := strict.Decode([]byte(tt.text), new(tagged)); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(tt.name+"/encoding-json", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(tt.text)))
			for b.Loop() {
				if err := json.Unmarshal([]byte(tt.text), new(tagged)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
