package catalog_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model/catalog"
)

func day(text string) time.Time {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return t
}

func Example() {
	known := catalog.Default()
	cost, ok := known.Cost("scripted", "scripted", core.Usage{Input: 1000, Output: 200, CacheRead: 400}, day("2026-01-31"))
	fmt.Println(ok, cost)
	// Output: true 0.00104
}

const file = `{"models":[{"provider":"p","names":["m","m-1"],"prices":[
	{"from":"2026-01-01","input":3,"output":15,"cache_read":0.3,"cache_write":3.75,"source":"s"},
	{"from":"2026-02-01","input":0.000000001,"output":0,"source":"s"},
	{"from":"2026-03-01","input":2,"output":4,"source":"s"},
	{"from":"2026-04-01","input":1,"output":17.179869184,"source":"s"}]},
	{"provider":"p","names":["free"],"prices":[{"from":"2026-01-01","input":0,"output":0,"source":"s"}]},
	{"provider":"p","names":["unknown"]}]}`

func TestPriceIsOfItsDay(t *testing.T) {
	known, err := new(catalog.Catalog).With([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		at   time.Time
		want string
	}{
		{"m", day("2025-12-31"), "no"},
		{"m", day("2026-01-01"), "3"},
		{"m-1", day("2026-02-01").Add(-time.Nanosecond), "3"},
		{"m", day("2026-02-01").In(time.FixedZone("west", -3600)), "0.000000001"},
		{"free", day("2026-02-01"), "0"},
		{"unknown", day("2026-02-01"), "no"},
		{"other", day("2026-02-01"), "no"},
		{"", day("2026-02-01"), "no"},
	}
	for _, test := range tests {
		got := "no"
		if cost, ok := known.Cost("p", test.name, core.Usage{Input: 1_000_000}, test.at); ok {
			got = cost.String()
		}
		if got != test.want {
			t.Errorf("input of %q at %s: %s, want %s", test.name, test.at, got, test.want)
		}
	}
}

func TestCost(t *testing.T) {
	known, err := new(catalog.Catalog).With([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		at    string
		usage core.Usage
		want  core.USD
	}{
		{"2026-01-01", core.Usage{}, 0},
		{"2026-01-01", core.Usage{Input: 1}, 3_000},
		{"2026-01-01", core.Usage{Input: 10, Output: 2, Reasoning: 1}, 60_000},
		{"2026-01-01", core.Usage{Input: 10, CacheRead: 4, CacheWrite: 5}, 3_000 + 4*300 + 5*3_750},
		{"2026-01-01", core.Usage{Input: 2_000_001, CacheRead: 1_000_000}, 3_000_003_000 + 300_000_000},
		{"2026-01-01", core.Usage{Input: 5, CacheRead: 9, CacheWrite: 9}, 5 * 300}, // never more than the input
		{"2026-01-01", core.Usage{Input: -5, Output: -1, CacheRead: -2}, 0},
		{"2026-01-01", core.Usage{Output: math.MaxInt64}, math.MaxInt64},
		{"2026-03-01", core.Usage{Input: 10, CacheRead: 4, CacheWrite: 5, CacheWriteHour: 2}, 20_000}, // no price of a cache
		{"2026-04-01", core.Usage{Output: 1 << 30 * 1_000_000}, math.MaxInt64},                        // 2^64 billionths
		{"2026-02-01", core.Usage{Input: 1}, 1},                                                       // a millionth of a billionth, rounded up
		{"2026-02-01", core.Usage{Input: 1_000_000, CacheRead: 500_000}, 1},
		{"2026-02-01", core.Usage{Input: 1_000_001}, 2},
	}
	for _, test := range tests {
		if got, _ := known.Cost("p", "m", test.usage, day(test.at)); got != test.want {
			t.Errorf("%+v from %s costs %d, want %d", test.usage, test.at, got, test.want)
		}
	}
}

// A long request has rates of its own, and so have tokens that the cache keeps for an hour.
func TestTheCostOfLongRequests(t *testing.T) {
	known, err := new(catalog.Catalog).With([]byte(`{"models":[{"provider":"p","source":"s","names":["m"],"prices":[
		{"input":1,"output":10,"cache_read":0.1,"cache_write":2,"cache_write_hour":4,"above":{"tokens":100,"input":3,"cache_write_hour":8}}]},
		{"provider":"p","source":"s","names":["hour"],"prices":[{"input":1,"output":1,"cache_write_hour":4,"above":{"tokens":100,"input":3}}]},
		{"provider":"p","source":"s","names":["newest"],"prices":[{"input":1,"output":1,"above":{"tokens":100}},{"from":"2026-01-01","input":1,"output":1,"above":{"tokens":200}}]},
		{"provider":"p","source":"s","names":["no more"],"prices":[{"input":1,"output":1,"above":{"tokens":100}},{"from":"2026-01-01","input":1,"output":1}]},
		{"provider":"p","source":"s","names":["flat"],"prices":[{"input":1,"output":10,"cache_write":2}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	long := func(u core.Usage) core.Usage { return u.Above(1) }
	const eighth = 1_152_921_504_000_000 // tokens, of which eight cost the largest amount at one dollar
	most := core.Usage{Input: 4 * eighth, Output: eighth, CacheRead: eighth, CacheWrite: 2 * eighth, CacheWriteHour: eighth}
	for _, tt := range []struct {
		name, model string
		usage       core.Usage
		want        core.USD
	}{
		{"short", "m", core.Usage{Input: 10, Output: 1, CacheRead: 2, CacheWrite: 3, CacheWriteHour: 1}, 5*1000 + 2*100 + 2*2000 + 4000 + 10_000},
		{"long", "m", long(core.Usage{Input: 10, Output: 1, CacheRead: 2, CacheWrite: 3, CacheWriteHour: 1}), 5*3000 + 2*100 + 2*2000 + 8000 + 10_000},
		{"both", "m", core.Usage{Input: 10}.Add(long(core.Usage{Input: 10})), 10*1000 + 10*3000},
		{"more for an hour than was written", "m", core.Usage{Input: 10, CacheWrite: 3, CacheWriteHour: 9}, 7*1000 + 3*4000},
		{"an hour of long ones without a price of its own", "hour", long(core.Usage{Input: 10, CacheWrite: 3, CacheWriteHour: 3}), 7*3000 + 3*4000},
		{"more than all amounts", "m", most.Add(long(most)), math.MaxInt64},
		{"no price of an hour", "flat", core.Usage{Input: 10, CacheWrite: 3, CacheWriteHour: 3}, 7*1000 + 3*2000},
		{"no price of long ones", "flat", long(core.Usage{Input: 10, Output: 1}), 10*1000 + 10_000},
	} {
		if got, _ := known.Cost("p", tt.model, tt.usage, day("2026-01-01")); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
	for name, want := range map[string]int{"m": 100, "newest": 200, "no more": 0, "flat": 0} {
		if facts, _ := known.Find("p", name); facts.LongInput != want {
			t.Errorf("a request of %s is long above %d tokens, want %d", name, facts.LongInput, want)
		}
	}
}

func TestAFileOfOnesOwnReplacesModels(t *testing.T) {
	known, err := catalog.Default().With([]byte(file))
	if err == nil {
		known, err = known.With([]byte(`{"models":[{"provider":"p","names":["m"]}]}`))
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"p/m": false, "p/m-1": true, "scripted/scripted": true, "openai/gpt-4o-mini": true} {
		provider, name, _ := strings.Cut(name, "/")
		if _, ok := known.Cost(provider, name, core.Usage{}, day("2026-01-02")); ok != want {
			t.Errorf("%s has a price: %v, want %v", name, ok, want)
		}
	}
}

func TestAFileOfTheLargestForm(t *testing.T) {
	known, err := new(catalog.Catalog).With([]byte(`{"day":"2026-11-30","sources":"mine","models":[{"provider":"p","names":["m"],"source":"s",
		"retired":"2026-12-01","successor":"n","prices":[{"input":1,"output":2,"above":{"tokens":1}},
		{"from":"2026-01-01","input":2,"output":2}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if day, successor := known.Retired("p", "m"); day != "2026-12-01" || successor != "n" {
		t.Errorf("retired on %q, successor %q", day, successor)
	}
	for at, want := range map[string]string{"1999-12-31": "1", "2026-01-01": "2"} {
		if cost, _ := known.Cost("p", "m", core.Usage{Input: 1_000_000}, day(at)); cost.String() != want {
			t.Errorf("at %s a million tokens cost %s, want %s", at, cost, want)
		}
	}
}

func TestMistakesInAFileAreNamed(t *testing.T) {
	price := func(fields string) string {
		return `{"models":[{"provider":"p","names":["m"],"prices":[{` + fields + `}]}]}`
	}
	tests := []struct{ file, want string }{
		{``, `model catalog: file is empty, want an object`},
		{" \n", `model catalog: file is empty, want an object`},
		{`null`, `model catalog: has no models, want {"models": [...]}`},
		{`{}`, `model catalog: has no models, want {"models": [...]}`},
		{`{"models":null}`, `model catalog: has no models, want {"models": [...]}`},
		{`[]`, `model catalog: file is a list, want an object`},
		{`{"models":1}`, `model catalog: models is 1, want a list`},
		{`{"models":[{"provider":"p","names":["m"],"context_window":"1"}]}`, `model catalog: models[0].context_window is "1", want a whole number`},
		{`{"models":[]} {}`, `model catalog: file is not JSON at byte 15: invalid character '{' after top-level value`},
		{`{"modles":[]}`, `unknown field "modles" in file, did you mean "models"?`},
		{`{"models":[{"names":["m"]}]}`, `model 0 (provider "", names ["m"]) wants a provider and names`},
		{`{"models":[{"provider":"p"}]}`, "wants a provider and names"},
		{`{"models":[{"provider":"p","names":["m",""]}]}`, "wants a provider and names"},
		{`{"models":[{"provider":"p","names":["m","m"]}]}`, `"m" of p is there twice`},
		{`{"models":[{"provider":"p","names":["m"]},{"provider":"q","names":["m"]},{"provider":"p","names":["n","m"]}]}`, `"m" of p is there twice`},
		{`{"models":[{"provider":"p","names":["m"],"context_window":-1}]}`, "model catalog: m: context_window is -1, want 0 (not known) or more"},
		{price(`"from":"2026-1-1","input":1,"output":2,"source":"s"`), `m: a price is from "2026-1-1", want a day such as 2026-01-31`},
		{price(`"from":"2026-01-01","input":1`), `the price from "2026-01-01" wants input and output; what is free costs 0`},
		{price(`"from":"2026-01-01","output":1`), "wants input and output"},
		{price(`"from":"2026-01-01","input":1,"output":1,"inputs":2`), `unknown field "inputs" in models[0].prices[0], did you mean "input"?`},
		{price(`"from":"2026-01-01","input":1,"output":2`), `m: the price from "2026-01-01" names no source`},
		{price(`"from":"2026-01-01","source":"s","input":-1,"output":1`), "is below zero"},
		{price(`"from":"2026-01-01","source":"s","input":1,"output":-1`), "is below zero"},
		{price(`"source":"s","input":1,"output":-0.000000001`), "is below zero"},
		{price(`"from":"2026-01-01","source":"s","input":1,"output":1,"cache_read":-1`), "is below zero"},
		{price(`"from":"2026-01-01","source":"s","input":1,"output":1,"cache_write":-1`), "is below zero"},
		{price(`"source":"s","input":1,"output":1,"cache_write_hour":-1`), "is below zero"},
		{price(`"source":"s","input":1,"output":1,"above":{"tokens":1,"output":-1}`), `the price from "" above 1 tokens is below zero`},
		{price(`"source":"s","input":1,"output":1,"above":{"input":2}`), `the price from "" is above 0 tokens, want 1 or more`},
		{price(`"source":"s","input":1,"output":1,"above":[{"tokens":5}]`), `models[0].prices[0].above is a list, want an object`},
		{price(`"source":"s","input":1,"output":1,"above":{"tokens":1,"from":"2026-01-01"}`), `unknown field "from" in models[0].prices[0].above`},
		{price(`"source":"s","input":1,"output":1},{"source":"s","input":1,"output":1`), `m: the price from "" follows the one from "", want ascending days`},
		{`{"models":[{"provider":"p","names":["m"],"retired":"soon"}]}`, `m: retired is "soon", want a day such as 2026-01-31`},
		{`{"models":[{"provider":"p","names":["m"],"reasoning_levels":["low","most"]}]}`, `m: reasoning_levels is "most", allowed are ["none" "minimal" "low" "medium" "high" "xhigh" "max"]`},
		{price(`"from":"2026-01-01","source":"s","output":1,"input":"1"`), `models[0].prices[0].input: "\"1\"" is not an amount of dollars`},
		{price(`"from":"2026-01-02","input":1,"output":1,"source":"s"},{"from":"2026-01-02","input":1,"output":1,"source":"s"`), `m: the price from "2026-01-02" follows the one from "2026-01-02"`},
	}
	for _, test := range tests {
		_, err := new(catalog.Catalog).With([]byte(test.file))
		if core.CodeOf(err) != core.CodeInvalid || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q in it", test.file, err, test.want)
		}
	}
}
