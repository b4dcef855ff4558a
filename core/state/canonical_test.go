package state

import (
	"encoding/json"
	"testing"
)

// What is canonical already is returned as it is, without a copy: each value that is
// read back from the log would be decoded and encoded otherwise.
func TestCanonicalJSONIsReturnedItself(t *testing.T) {
	for _, text := range []string{
		`null`, `true`, `0`, `-1.5e+10`, `1E-7`, `""`, `"a\"\\\n\t\b\f\rä€😀/"`, `{}`, `[]`, `[[],{}]`, `[1,"a",null,[2]]`,
		`{"":1,"A":2,"AZ":3,"az09":{"b":[],"c":"x"}}`, `"€"`, `"‧"`, `{"a":1}`, `[{"a":-0.5},{"z":true}]`,
		`[false,1234567890]`, `{"a":1,"a!":2}`,
	} {
		raw := json.RawMessage(text)
		got, err := canonical(raw)
		if err != nil || string(got) != text || &got[0] != &raw[0] {
			t.Errorf("%s becomes another %s, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		`{"b":1,"a":2}`: `{"a":2,"b":1}`, `{"a":1,"a":2}`: `{"a":2}`, `[1, 2]`: `[1,2]`, ` 1`: `1`, `{"\u0061":1}`: `{"a":1}`,
		`"\/"`: `"/"`, "\"\u2028\"": `"\u2028"`, "\"\u2029\"": `"\u2029"`, `"\u00e4"`: `"ä"`, `{ }`: `{}`, `{"a" :1}`: `{"a":1}`,
		`1 `: `1`, `{} `: `{}`, `[1 ,2]`: `[1,2]`, `{"a":1 ,"b":2}`: `{"a":1,"b":2}`, `{"a": 1}`: `{"a":1}`, `["\u0061"]`: `["a"]`,
		`{"!":1,"\n":2}`: `{"\n":2,"!":1}`, `{ ":1,  ":1}`: `{":1,  ":1}`, `{"b":[{"d":1,"c":2}],"a":3}`: `{"a":3,"b":[{"c":2,"d":1}]}`,
	} {
		got, err := canonical(json.RawMessage(text))
		if err != nil || string(got) != want {
			t.Errorf("%s becomes %s, %v, want %s", text, got, err, want)
		}
	}
}

// Text that is not JSON is an error, however much it looks like canonical JSON.
func TestWhatIsNotJSONIsNotCanonical(t *testing.T) {
	for _, text := range []string{``, `{`, `{"a"}`, `{"a"1}`, `{"a":}`, `{"a":1,}`, `{"a":1 "b":2}`, `{1:2}`, `[`, `[1`, `[1 2]`, `[,]`, `[1,]`, `"`, `"a`, `nul`, `01`, `1.`, `-`, `1e`, `1 2`, `{}}`} {
		if got, err := canonical(json.RawMessage(text)); err == nil {
			t.Errorf("%q becomes %q, want an error", text, got)
		}
	}
}
