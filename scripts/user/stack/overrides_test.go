package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOverridesAreReadAsSAMReadsThem: each text was read by the SAM CLI 1.170 with the same
// result, unless it is an error here.
func TestOverridesAreReadAsSAMReadsThem(t *testing.T) {
	tests := []struct {
		name  string
		value any
		want  map[string]string
		err   string
	}{
		{name: "none", value: nil, want: map[string]string{}},
		{name: "empty", value: "", want: map[string]string{}},
		{name: "one of each kind", value: `A=1  B="two words" C='single' D="" E=a\ b F="a\"b"`, want: map[string]string{"A": "1", "B": "two words", "C": "single", "D": "", "E": "a b", "F": `a"b`}},
		{name: "a value with an equals sign", value: `Tenants="1=a,2=b"`, want: map[string]string{"Tenants": "1=a,2=b"}},
		{name: "JSON", value: `Limits="{\"default\":{\"runs_a_day\":1000}}"`, want: map[string]string{"Limits": `{"default":{"runs_a_day":1000}}`}},
		{name: "a list", value: []any{`A="1"`, `B=2 C=3`, map[string]any{"D": int64(4)}}, want: map[string]string{"A": "1", "B": "2", "C": "3", "D": "4"}},
		{name: "the same twice", value: []any{"A=1", "A=1"}, want: map[string]string{"A": "1"}},
		{name: "two values", value: []any{"A=1", "A=secret"}, err: "A has two values: keep one of them"},
		{name: "no value", value: "A= B=1", err: `cannot read the text from "A" on: want NAME="VALUE", separated by spaces`},
		{name: "no name", value: "A=1 secret", err: `cannot read the text from "secret" on`},
		{name: "an open quote", value: `A="1`, err: `cannot read the text from "A" on`},
		{name: "many lines", value: "A=1\nB=2", err: `cannot read the text from "A" on`},
		{name: "the long form", value: "ParameterKey=A,ParameterValue=1", err: `the form ParameterKey=NAME,ParameterValue=VALUE is not read: write NAME="VALUE" instead`},
		{name: "a file", value: "file://a.json", err: "file://a.json: other files are not read: write the parameters into samconfig.toml"},
		{name: "a fraction", value: map[string]any{"A": 1.5}, err: "A: 1.5 must be a text, an integer, true, false, or a list of these: write it in quotes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := readOverrides(test.value)
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Fatalf("error %v, want %q in it", err, test.err)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			again, err := overrides(got)
			if err != nil {
				t.Fatal(err)
			}
			read, err := readOverrides(again)
			if diff := cmp.Diff(got, read); diff != "" || err != nil {
				t.Errorf("what is passed is read as %s, %v", diff, err)
			}
		})
	}
}

// TestWhatCannotBePassedIsRefused: the SAM CLI has no escape for a backslash.
func TestWhatCannotBePassedIsRefused(t *testing.T) {
	for _, value := range []string{`a\`, `a\"b`, `a\ b`, `a\'b`} {
		if got, err := overrides(map[string]string{"A": value}); err == nil || !strings.Contains(err.Error(), "parameter A: the SAM CLI cannot pass a backslash before a quote, a space or the end") {
			t.Errorf("%s: %s, %v", value, got, err)
		}
	}
	if got, err := overrides(map[string]string{"A": `a\.b`}); got != `A="a\.b"` || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}
