package host

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model/catalog"
)

// TestHandlersShareTheirTime: a second in which two work is half a second of each.
func TestHandlersShareTheirTime(t *testing.T) {
	now := time.Unix(0, 0)
	pass := func(d time.Duration) { now = now.Add(d) }
	h := &handlers{now: func() time.Time { return now }}
	first, leaveFirst := h.start()
	pass(time.Second)
	second, leaveSecond := h.start()
	pass(time.Second)
	if a, b := first(), second(); a != 1500 || b != 500 {
		t.Errorf("the first has %d ms and the second %d, want 1500 and 500", a, b)
	}
	leaveFirst()
	pass(time.Second)
	if b := second(); b != 1500 {
		t.Errorf("the second has %d ms, want 1500", b)
	}
	leaveSecond()
	pass(time.Hour) // nobody works
	third, leaveThird := h.start()
	pass(time.Millisecond)
	if c := third(); c != 1 {
		t.Errorf("the third has %d ms, want 1", c)
	}
	pass(time.Second)
	fourth, leaveFourth := h.start()
	pass(time.Second)
	leaveThird() // what it has worked until now is not the other's
	pass(time.Second)
	if c, d := third(), fourth(); c != 2501 || d != 1500 {
		t.Errorf("the third has %d ms and the fourth %d, want 2501 and 1500", c, d)
	}
	leaveFourth()
}

// What a run costs is the price of its models; one that is not known makes it unknown.
func TestThePriceOfARun(t *testing.T) {
	models, err := (&catalog.Catalog{}).With([]byte(`{"models": [{"provider": "openai", "names": ["m"], "prices": [
		{"from": "2026-01-01", "input": 1, "output": 2, "source": "s"}, {"from": "2026-02-01", "input": 3, "output": 4, "source": "s"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	used := core.Usage{Input: 1000, Output: 100}
	known := core.ModelUse{Provider: "openai", Model: "m", Usage: used}
	unknown := core.ModelUse{Provider: "openai", Model: "other", Usage: used}
	january, february := time.Date(2026, 1, 31, 23, 0, 0, 0, time.UTC).UnixMilli(), time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	for name, test := range map[string]struct {
		run  core.Run
		used []core.ModelUse
		want *core.Cost
	}{
		"of a day":                {core.Run{StartedAt: january}, []core.ModelUse{known}, &core.Cost{USD: 1_200_000, Known: true}},
		"of the next":             {core.Run{StartedAt: february}, []core.ModelUse{known}, &core.Cost{USD: 3_400_000, Known: true}},
		"of two calls":            {core.Run{StartedAt: january}, []core.ModelUse{known, known}, &core.Cost{USD: 2_400_000, Known: true}},
		"one is unknown":          {core.Run{StartedAt: january}, []core.ModelUse{known, unknown}, &core.Cost{}},
		"before the first price":  {core.Run{StartedAt: 1}, []core.ModelUse{known}, &core.Cost{}},
		"without a call":          {core.Run{Status: core.RunDone}, nil, &core.Cost{Known: true}},
		"models are not recorded": {core.Run{Status: core.RunDone, Usage: used}, nil, nil},
		"not ended":               {core.Run{Status: core.RunRunning}, nil, nil},
	} {
		if diff := cmp.Diff(test.want, (&Metering{Models: models}).price()(&test.run, test.used)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if (*Metering)(nil).price() != nil {
		t.Error("runs have a price where nothing is recorded")
	}
	if got := (&Metering{}).price()(&core.Run{}, []core.ModelUse{known}); *got != (core.Cost{}) {
		t.Errorf("without prices a run costs %+v", got)
	}
}
