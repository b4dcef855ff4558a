package protocol

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMembers(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{`null`, nil}, {`[{"a":1}]`, nil}, {`"{"`, nil}, {``, nil}, {` `, nil}, {`{}`, nil}, {" {\n} ", nil},
		{`{"a":1}`, []string{`a=1`}},
		{" { \"a\" : -1.5e3 ,\n\t\"b\"\r:\ttrue } ", []string{`a=-1.5e3`, `b=true`}},
		{`{"a":[],"a":{}}`, []string{`a=[]`, `a={}`}},
		{`{"":"}","a\"":"\\","é\u00e9":"\",","b":null}`, []string{`="}"`, `a"="\\"`, `éé="\","`, `b=null`}},
		{`{"a":[{"b":"]}"},[1,"{"]],"c":{"d":{"e":[ ]}, "f" : 2}}`, []string{`a=[{"b":"]}"},[1,"{"]]`, `c={"d":{"e":[ ]}, "f" : 2}`}},
	}
	for _, tt := range tests {
		var got []string
		for name, value := range Members([]byte(tt.text)) {
			got = append(got, string(name)+"="+string(value))
			if cap(value) != len(value) {
				t.Errorf("%s: who appends to the value of %s writes into the next", tt.text, name)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.text, diff)
		}
	}
	for name := range Members([]byte(`{"a":1,"b":2}`)) {
		if string(name) != "a" {
			t.Error("the loop did not end")
		}
		break
	}
}

func TestUnquote(t *testing.T) {
	for raw, want := range map[string]string{`""`: "", `"a"`: "a", `"\u0061\n"`: "a\n", "\"\xff\"": "\ufffd"} {
		if got, ok := Unquote([]byte(raw)); got != want || !ok {
			t.Errorf("%s: %q, %t, want %q", raw, got, ok, want)
		}
	}
	for _, raw := range []string{``, `"`, `1`, `null`, `[]`, `{}`} {
		if got, ok := Unquote([]byte(raw)); ok {
			t.Errorf("%s is %q", raw, got)
		}
	}
}

// FuzzMembers compares the members with those that the decoder finds.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1,"b":[{"c":"\"}"}],"a":null}`, ` { "\ud83d\ude00\\" : { } , "" : -0.1e+2 } `, `[1]`, `{"a":tru`, `{"a"`, `{"a":"`, `{"a":[`, `{`, `{"a":1}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got := map[string]json.RawMessage{}
		for name, value := range Members(text) { // also of what is not JSON: it must end
			got[strings.ToValidUTF8(string(name), "\ufffd")] = value
		}
		var want map[string]json.RawMessage
		if json.Unmarshal(text, &want) != nil {
			return
		}
		if want == nil {
			want = map[string]json.RawMessage{}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A long value costs no memory, and no time beyond a look at its bytes.
func TestMembersAllocateNothing(t *testing.T) {
	text := []byte(`{"messages":[` + strings.Repeat(`{"role":"user","content":"\"]}"},`, 10_000) + `1]}`)
	if got := testing.AllocsPerRun(10, func() {
		for _, value := range Members(text) {
			if len(value) < 200_000 {
				t.Error(len(value))
			}
		}
	}); got > 0 {
		t.Errorf("%g allocations", got)
	}
}
