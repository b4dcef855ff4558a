package limits

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

func TestLimitsAreReadFromTheVariableOrItsFile(t *testing.T) {
	const text = ` {"default":{"runs_a_day":10,"spend_a_day_usd":0.5},"tenants":{"acme":{"concurrent_runs":3}}}`
	file := filepath.Join(t.TempDir(), "limits.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want := account.Tenants{
		Default: account.Limits{RunsADay: 10, SpendADay: core.USD(1e9) / 2},
		Tenants: map[string]account.Limits{"acme": {ConcurrentRuns: 3}},
	}
	for _, setting := range []string{text, file} {
		got, err := Read(settings.Settings{Limits: setting})
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", setting, err, diff)
		}
	}
	if got, err := Read(settings.Settings{}); err != nil || !got.IsZero() {
		t.Errorf("nothing gives %+v, %v", got, err)
	}
	for setting, part := range map[string]string{
		filepath.Join(t.TempDir(), "absent.json"): "absent.json",
		`{"default":{"runs":1}}`:                  `REVEILLE_LIMITS: limits: unknown field "runs" in default, allowed are runs_a_day, tokens_a_day, spend_a_day_usd, concurrent_runs`,
	} {
		if _, err := Read(settings.Settings{Limits: setting}); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v, want %s", setting, err, part)
		}
	}
}

func TestPricesAreReadOverTheBuiltInOnes(t *testing.T) {
	const text = `{"models":[{"provider":"scripted","names":["scripted"],"prices":[{"from":"2026-01-01","input":7,"output":8,"source":"s"}]}]}`
	file := filepath.Join(t.TempDir(), "prices.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for setting, want := range map[string]string{"": "1", text: "7", file: "7"} {
		known, err := Catalog(settings.Settings{Catalog: setting})
		if err != nil {
			t.Fatalf("%s: %v", setting, err)
		}
		million := core.Usage{Input: 1_000_000}
		if cost, ok := known.Cost("scripted", "scripted", million, at); !ok || cost.String() != want {
			t.Errorf("%s: %s, %v, want %s", setting, cost, ok, want)
		}
		if _, ok := known.Cost("openai", "gpt-4o-mini", million, at); !ok {
			t.Errorf("%s: a built-in price is gone", setting)
		}
	}
	for setting, part := range map[string]string{
		filepath.Join(t.TempDir(), "absent.json"): "absent.json",
		`{"models":[{}]}`:                         "environment variable REVEILLE_MODEL_CATALOG: model catalog: model 0",
	} {
		if _, err := Catalog(settings.Settings{Catalog: setting}); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v, want %s", setting, err, part)
		}
	}
}
