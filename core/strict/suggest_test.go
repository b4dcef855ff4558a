package strict

import "testing"

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
		if got := nearest(test.name, names); got != test.want {
			t.Errorf("nearest to %q is %q, want %q", test.name, got, test.want)
		}
	}
}
