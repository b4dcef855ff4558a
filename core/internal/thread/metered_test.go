package thread_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/wire"
)

// use is a model's use, all of whose figures differ.
func use(provider, model string, n int) core.ModelUse {
	return core.ModelUse{
		Provider: provider, Model: model, Inferences: n, Millis: int64(10 * n),
		Usage: core.Usage{Input: 100 * n, Output: 200 * n, CacheRead: 300 * n, CacheWrite: 400 * n, Reasoning: 500 * n},
	}
}

func TestWhatARunHasUsedIsSummed(t *testing.T) {
	var none *thread.Metered
	first := none.With(use("p", "a", 1)).With(use("q", "a", 2)).With(use("p", "b", 3))
	more := first.With(use("q", "a", 4))
	if diff := cmp.Diff([]core.ModelUse{use("p", "a", 1), use("q", "a", 2), use("p", "b", 3)}, first.Models); diff != "" {
		t.Errorf("the first three, also behind a fourth (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]core.ModelUse{use("p", "a", 1), use("q", "a", 6), use("p", "b", 3)}, more.Models); diff != "" {
		t.Errorf("with a fourth (-want +got):\n%s", diff)
	}
	a := &thread.Metered{Models: []core.ModelUse{use("p", "a", 1)}, Tools: 2, ToolMillis: 30}
	b := &thread.Metered{Models: []core.ModelUse{use("p", "b", 5), use("p", "a", 2)}, Tools: 5, ToolMillis: 7}
	sum := &thread.Metered{Models: []core.ModelUse{use("p", "a", 3), use("p", "b", 5)}, Tools: 7, ToolMillis: 37}
	for _, tt := range []struct{ a, b, want *thread.Metered }{{a, b, sum}, {a, none, a}, {none, a, a}, {none, none, &thread.Metered{}}} {
		if diff := cmp.Diff(tt.want, tt.a.Plus(tt.b)); diff != "" {
			t.Errorf("%+v and %+v (-want +got):\n%s", tt.a, tt.b, diff)
		}
	}
	if a.Tools != 2 || len(a.Models) != 1 {
		t.Errorf("what was added to has changed: %+v", a)
	}
}

func TestWhatARunHasUsedSince(t *testing.T) {
	before := &thread.Metered{Models: []core.ModelUse{use("p", "a", 1), use("p", "b", 2)}, Tools: 2, ToolMillis: 30}
	now := before.Plus(&thread.Metered{Models: []core.ModelUse{use("p", "b", 3), use("q", "a", 4)}, Tools: 5, ToolMillis: 7})
	want := thread.Metered{Models: []core.ModelUse{use("p", "b", 3), use("q", "a", 4)}, Tools: 5, ToolMillis: 7}
	if diff := cmp.Diff(want, now.Since(before)); diff != "" {
		t.Errorf("a model that was not asked again is left out (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(*now, now.Since(nil)); diff != "" {
		t.Errorf("since nothing (-want +got):\n%s", diff)
	}
	var none *thread.Metered
	if diff := cmp.Diff(thread.Metered{}, none.Since(nil)); diff != "" {
		t.Errorf("of nothing (-want +got):\n%s", diff)
	}
	failed := before.With(core.ModelUse{Provider: "p", Model: "a", Inferences: 1})
	if diff := cmp.Diff([]core.ModelUse{{Provider: "p", Model: "a", Inferences: 1}}, failed.Since(before).Models); diff != "" {
		t.Errorf("a call that failed is one (-want +got):\n%s", diff)
	}
	late := before.With(core.ModelUse{Provider: "p", Model: "b", Usage: core.Usage{Output: 1}})
	if diff := cmp.Diff([]core.ModelUse{{Provider: "p", Model: "b", Usage: core.Usage{Output: 1}}}, late.Since(before).Models); diff != "" {
		t.Errorf("tokens of a known call are some (-want +got):\n%s", diff)
	}
}

// A call whose tool has not run is none, and a run that nobody meters counts nothing.
func TestWhichResultsCountAsToolCalls(t *testing.T) {
	tests := map[core.ResultStatus]int{
		"ok": 1, "error": 1, "unknown": 1,
		"invalid": 0, "blocked": 0, "denied": 0, "set": 0, "cancelled": 0, "not_executed": 0,
	}
	for status, want := range tests {
		result := &thread.Entry{Duration: 40, Message: &core.Message{ToolResult: &core.ToolResult{Status: status}}}
		before := &thread.Metered{Tools: 3, ToolMillis: 5}
		totals := thread.Totals{Metered: before}
		totals.MeterResult(result)
		if got := *totals.Metered; got.Tools != 3+want || got.ToolMillis != int64(5+40*want) {
			t.Errorf("%s: %d calls in %d ms, want %d more", status, got.Tools, got.ToolMillis, want)
		}
		if before.Tools != 3 || before.ToolMillis != 5 {
			t.Errorf("%s: a copy of the totals has changed to %+v", status, before)
		}
		none := thread.Totals{}
		if none.MeterResult(result); none.Metered != nil {
			t.Errorf("%s: nobody meters, and it has %+v", status, none.Metered)
		}
	}
}

// Of a write that is known only behind it something is added to the stretch that goes on,
// and to no other.
func TestWhatIsKnownBehindAWriteGoesToTheStretch(t *testing.T) {
	tests := []struct {
		name    string
		stretch thread.Stretch
		want    thread.Stretch
	}{
		{"one that goes on", thread.Stretch{Since: 5, Spent: core.Spent{Write: 3, Queue: 1}}, thread.Stretch{Since: 5, Spent: core.Spent{Write: 3, Queue: 1, WriteMore: 7}, Wasted: 9}},
		{"one that is over", thread.Stretch{Since: 5, Over: true}, thread.Stretch{Since: 5, Over: true}},
		{"none", thread.Stretch{}, thread.Stretch{}},
	}
	for _, tt := range tests {
		s := tt.stretch
		s.Spend(core.Spent{WriteMore: 7})
		s.Waste(9)
		if diff := cmp.Diff(tt.want, s); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestWhatWasSpentIsNeverLessThanNothing(t *testing.T) {
	a := core.Spent{Handler: 1, Write: 2, Read: 3, Queue: 4, WriteMore: 5, QueueMore: 6}
	b := core.Spent{Handler: 10, Write: 20, Read: 30, Queue: 40, WriteMore: 50, QueueMore: 60}
	minus := core.Spent{Handler: -11, Write: -22, Read: -33, Queue: -44, WriteMore: -55, QueueMore: -67}
	if diff := cmp.Diff(core.Spent{Handler: 11, Write: 22, Read: 33, Queue: 44, WriteMore: 55, QueueMore: 66}, a.Plus(b)); diff != "" {
		t.Errorf("the sum (-want +got):\n%s", diff)
	}
	if got := a.Plus(b).Plus(minus); got != (core.Spent{}) {
		t.Errorf("less than that is %+v", got)
	}
}

// The record of a run that has ended has its models, and what only its price depends on.
func TestTheModelsOfARun(t *testing.T) {
	used := core.Usage{Input: 3, Output: 1}
	one, other := core.ModelUse{Provider: "p", Model: "a", Usage: used, Inferences: 2, Millis: 9}, core.ModelUse{Model: "b", Usage: core.Usage{Input: 1}}
	for name, test := range map[string]struct {
		used   *thread.Metered
		stored string
		want   []core.ModelUse
	}{
		"not metered":    {nil, "", nil},
		"none":           {&thread.Metered{Tools: 1}, "", nil},
		"one":            {&thread.Metered{Models: []core.ModelUse{one}}, `[{"provider":"p","model":"a"}]`, []core.ModelUse{{Provider: "p", Model: "a", Usage: used}}},
		"one of another": {&thread.Metered{Models: []core.ModelUse{other}}, `[{"model":"b","usage":{"input":1}}]`, []core.ModelUse{other}},
		"two": {&thread.Metered{Models: []core.ModelUse{one, other}}, `[{"provider":"p","model":"a","usage":{"input":3,"output":1}},{"model":"b","usage":{"input":1}}]`,
			[]core.ModelUse{{Provider: "p", Model: "a", Usage: used}, other}},
	} {
		r := thread.RunRecord{Run: core.Run{Usage: used}, Models: []core.ModelUse{{Model: "left by a refused end"}}}
		r.SetModels(test.used)
		stored := ""
		if b, err := json.Marshal(r.Models); err != nil || r.Models != nil {
			stored = string(b)
		}
		if diff := cmp.Diff(test.stored, stored); diff != "" {
			t.Errorf("%s is stored (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(test.want, r.UsedModels()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	waits := thread.RunRecord{Bases: []thread.Base{{Version: 1}, {Version: 4, Used: &thread.Metered{Models: []core.ModelUse{one}}}}}
	if diff := cmp.Diff([]core.ModelUse{one}, waits.UsedModels()); diff != "" {
		t.Errorf("of a run that waits (-want +got):\n%s", diff)
	}
	if got := (&thread.RunRecord{Bases: []thread.Base{{Version: 1}}}).UsedModels(); got != nil {
		t.Errorf("of a run that waits before its first call: %v", got)
	}
}

// What a listing of a run has of its input takes 200 bytes of JSON at most.
func TestTheStartOfAnInput(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"nothing":           {"", ""},
		"200 bytes":         {strings.Repeat("x", 200), strings.Repeat("x", 200)},
		"one byte more":     {strings.Repeat("x", 201), strings.Repeat("x", 197) + "…"},
		"quotes":            {strings.Repeat(`"`, 100), strings.Repeat(`"`, 100)},
		"one quote more":    {strings.Repeat(`"`, 101), strings.Repeat(`"`, 98) + "…"},
		"accents":           {strings.Repeat("é", 100), strings.Repeat("é", 100)},
		"one accent more":   {strings.Repeat("é", 101), strings.Repeat("é", 98) + "…"},
		"controls":          {strings.Repeat("\x01", 34), strings.Repeat("\x01", 32) + "…"},
		"what is not UTF-8": {"a\xffb", "a\xffb"},
	} {
		got := thread.Short(test.text)
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		if b, err := wire.JSON(got); err != nil || len(b) > 202 {
			t.Errorf("%s takes %d bytes, %v", name, len(b), err)
		}
	}
}
