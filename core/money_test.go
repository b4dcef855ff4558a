package core_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
)

func TestACostMayBeUnknown(t *testing.T) {
	for text, want := range map[string]core.Cost{"0": {Known: true}, "0.25": {USD: 250_000_000, Known: true}, "null": {}} {
		var got core.Cost
		if err := got.UnmarshalJSON([]byte(text)); err != nil || got != want {
			t.Errorf("%s is %+v, %v, want %+v", text, got, err, want)
		}
		if b, err := json.Marshal(core.Run{Cost: &want}); err != nil || !strings.HasSuffix(string(b), `,"cost_usd":`+text+"}") {
			t.Errorf("%+v is %s, %v", want, b, err)
		}
	}
	var got core.Cost
	if err := got.UnmarshalJSON([]byte(`"1"`)); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("a text is %+v, %v", got, err)
	}
}

func TestUSD(t *testing.T) {
	tests := []struct {
		text   string
		amount core.USD
		again  string // empty: as text
	}{
		{"0", 0, ""},
		{"1", 1_000_000_000, ""},
		{"12.5", 12_500_000_000, ""},
		{"0.000000001", 1, ""},
		{"0.00015", 150_000, ""},
		{"-3.25", -3_250_000_000, ""},
		{"2.50", 2_500_000_000, "2.5"},
		{"9223372036.854775807", 9_223_372_036_854_775_807, ""},
	}
	for _, test := range tests {
		var got core.USD
		if err := json.Unmarshal([]byte(test.text), &got); err != nil || got != test.amount {
			t.Errorf("%s is %d, %v, want %d", test.text, got, err, test.amount)
		}
		want := test.again
		if want == "" {
			want = test.text
		}
		if b, err := json.Marshal(got); err != nil || string(b) != want {
			t.Errorf("%d is %s, %v, want %s", got, b, err, want)
		}
	}
	for _, text := range []string{`""`, `"1"`, "1e3", "0.0000000001", "9223372036.854775808", "true"} {
		var got core.USD
		if err := json.Unmarshal([]byte(text), &got); core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("%s is %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-", ".5", "1.", "+1", "1 ", "--1"} {
		if got, err := core.ParseUSD(text); core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("%q is %d, %v", text, got, err)
		}
	}
}
