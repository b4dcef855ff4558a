package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestACatalogHasAnAge(t *testing.T) {
	at := func(text string) time.Time {
		day, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return day
	}
	const catalog = `{"day":"2026-11-30","models":[`
	for _, tt := range []struct {
		name, catalog string
		now           time.Time
		want          string
	}{
		{"of today", catalog, at("2026-11-30T23:00:00Z"), ""},
		{"30 days", catalog, at("2026-12-30T23:59:59Z"), ""},
		{"31 days", catalog, at("2026-12-31T00:00:00Z"), "is 31 days old, more than 30"},
		{"no day", `{"models":[`, at("2026-11-30T00:00:00Z"), "does not begin with its day"},
	} {
		got, err := old([]byte(tt.catalog), 30, tt.now)
		if err != nil {
			got = err.Error()
		}
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// The file is one that the command has written.
func TestTheCatalogIsGenerated(t *testing.T) {
	const path = "../../../core/model/catalog/catalog.json"
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []*row
	for k, r := range rows {
		if r.Names[0] == k.name {
			all = append(all, r)
		}
	}
	again := t.TempDir() + "/catalog.json"
	if err := write(again, all); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(again)
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); err != nil || diff != "" {
		t.Errorf("the catalog is not what `go generate ./core/model/catalog` writes, %v:\n%s", err, diff)
	}
}

func TestSuccessorsAreOfTheFamily(t *testing.T) {
	m := &merge{all: map[key]*row{}}
	for _, r := range []row{
		{Names: []string{"claude-opus-4-1"}, Retired: "2026-11-30"},
		{Names: []string{"claude-opus-4-8"}},
		{Names: []string{"claude-opus-5-5"}},
		{Names: []string{"claude-haiku-5-5"}},
		{Names: []string{"grok-4-latest"}, Retired: "2026-11-30"},
		{Names: []string{"grok-4.20"}},
		{Names: []string{"grok-4.7"}},
		{Names: []string{"gpt-4o"}, Retired: "2027-01-14", Successor: "gpt-5"},
		{Names: []string{"gpt-5"}, Retired: "2026-12-11", Successor: "gpt-6"},
		{Names: []string{"gpt-6"}},
		{Names: []string{"alone-2"}, Retired: "2026-12-11"},
		{Names: []string{"flash-3"}, Retired: "2026-12-11"},
		{Names: []string{"flash-3-preview"}},
		{Names: []string{"kept"}, Successor: "gpt-6"},
	} {
		r.Provider = "p"
		m.all[key{"p", r.Names[0]}] = &r
	}
	m.succeed()
	for name, want := range map[string]string{
		"claude-opus-4-1": "claude-opus-5-5", "grok-4-latest": "grok-4.7", "gpt-4o": "gpt-6", "gpt-5": "gpt-6", "alone-2": "", "flash-3": "", "kept": "",
	} {
		if got := m.all[key{"p", name}].Successor; got != want {
			t.Errorf("the successor of %s is %q, want %q", name, got, want)
		}
	}
}

func TestTheHigherPriceCountsAndTheSmallerWindow(t *testing.T) {
	usd := func(d dollars) *dollars { return &d }
	litellm := &row{Provider: "openai", Names: []string{"m"}, ContextWindow: 272_000, MaxOutputTokens: 128_000, Reasoning: "levels", levels: map[string]bool{"none": true, "xhigh": true},
		Prices: []price{{rates: rates{Input: 1_000_000, Output: 5_000_000, CacheRead: usd(100_000)}}}}
	catwalk := &row{Provider: "openai", Names: []string{"m"}, ContextWindow: 400_000, levels: map[string]bool{"low": true, "medium": true, "high": true, "xhigh": false, "none": false, "max": true},
		Prices: []price{{rates: rates{Input: 2_000_000, Output: 4_000_000, CacheRead: usd(200_000), CacheWrite: usd(2_500_000)}}}}
	litellm.join(catwalk)
	litellm.finish()
	got := *litellm
	got.levels, got.Source = nil, ""
	want := row{Provider: "openai", Names: []string{"m"}, ContextWindow: 400_000, MaxInputTokens: 272_000, MaxOutputTokens: 128_000, Reasoning: "levels",
		Levels: []string{"none", "low", "medium", "high", "xhigh", "max"}, PromptCache: "automatic", NativeFormat: true,
		Prices: []price{{rates: rates{Input: 2_000_000, Output: 5_000_000, CacheRead: usd(100_000), CacheWrite: usd(2_500_000)}}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{}, price{})); diff != "" {
		t.Error(diff)
	}
}

// A price that changes keeps the earlier one, unless both are of one day.
func TestPricesHaveAHistory(t *testing.T) {
	one := func(input dollars, from string) price { return price{From: from, rates: rates{Input: input}} }
	for _, tt := range []struct {
		name   string
		source string
		before []price
		want   []price
	}{
		{"by hand", "as remembered", []price{one(1, "2025-03-01")}, []price{one(2, "")}},
		{"the same", "litellm 2026-10-01", []price{one(1, ""), one(2, "2026-09-01")}, []price{one(1, ""), one(2, "2026-09-01")}},
		{"changed", "litellm 2026-10-01", []price{one(1, "")}, []price{one(1, ""), one(2, day)}},
		{"again with the same data", "litellm " + day, []price{one(1, ""), one(3, day)}, []price{one(1, ""), one(2, day)}},
	} {
		r := &row{Prices: []price{one(2, "")}}
		r.history(&row{Source: tt.source, Prices: tt.before})
		if diff := cmp.Diff(tt.want, r.Prices, cmp.AllowUnexported(price{})); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
	}
}
