package accounting

import (
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/store"
)

func TestReachedSaysTheOneThatMattersMost(t *testing.T) {
	l := account.Limits{RunsADay: 5, TokensADay: 50, SpendADay: core.USD(1e9), ConcurrentRuns: 1}
	slots := map[core.ID]store.Slot{{1}: {}}
	for _, tt := range []struct {
		name  string
		a     store.Admission
		runs  bool
		slots int
		want  account.LimitKind
	}{
		{"all", store.Admission{Runs: 5, Tokens: 50, Spend: core.USD(1e9), Slots: slots}, true, 1, account.SpendADay},
		{"but money", store.Admission{Runs: 5, Tokens: 50, Slots: slots}, true, 1, account.TokensADay},
		{"runs and slots", store.Admission{Runs: 5, Tokens: 49, Slots: slots}, true, 1, account.RunsADay},
		{"slots", store.Admission{Runs: 4, Slots: slots}, true, 1, account.ConcurrentRuns},
		{"none", store.Admission{Runs: 4, Tokens: 49, Spend: core.USD(1e9) - 1}, true, 1, ""},
		{"runs, of one that runs", store.Admission{Runs: 5, Slots: slots}, false, 0, ""},
	} {
		got := account.LimitKind("")
		if over := reached(l, tt.a, tt.runs, tt.slots); over != nil {
			got = over.Limit
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
