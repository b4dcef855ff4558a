package registry_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/model"
)

func orderOf(a *registry.Resolved, key core.ThreadKey, run core.ID) string {
	var ids []string
	for _, m := range a.Pool().Order(key, run) {
		ids = append(ids, m.ID)
	}
	return strings.Join(ids, " ")
}

// Home comes first, those for failover last, and who is next to home is drawn as home is:
// when a member fails, its threads go to all the others by their weights.
func TestMembersHaveAnOrder(t *testing.T) {
	spare := agent.PoolMember{Model: "spare", Role: agent.RoleFailoverOnly}
	a := pooled(t, nil, spare, agent.PoolMember{Model: "a"}, agent.PoolMember{Model: "b"}, agent.PoolMember{Model: "c", Weight: 3})
	counts := map[string]int{}
	for i := range 4000 {
		key := core.ThreadKey{Tenant: "t", Thread: fmt.Sprint(i)}
		order := orderOf(a, key, core.ID{})
		if home := a.ModelOf(key, core.ID{}).ID; !strings.HasPrefix(order, home+" ") || !strings.HasSuffix(order, " spare") {
			t.Fatalf("thread %d tries %s; its home is %s", i, order, home)
		}
		counts[order]++
	}
	if len(counts) != 6 {
		t.Fatalf("orders %v, want all six of a, b and c", counts)
	}
	// Where a is home, c is next three times as often as b.
	if b, c := counts["a b c spare"], counts["a c b spare"]; c < 2*b || c > 4*b {
		t.Errorf("behind a come b %d times and c %d times, want one to three", b, c)
	}
	first := pooled(t, func(p *agent.ModelPoolSpec) { p.Routing = agent.RouteFirstHealthy }, spare, agent.PoolMember{Model: "b"}, agent.PoolMember{Model: "a", Weight: 9})
	if got := orderOf(first, core.ThreadKey{Tenant: "t", Thread: "x"}, core.ID{}); got != "b a spare" {
		t.Errorf("the first healthy is looked for in the order %s, want b a spare", got)
	}
	if m := a.Pool().Member("c"); m == nil || m.ID != "c" || a.Pool().Member("x") != nil {
		t.Errorf("member c is %+v", m)
	}
}

func TestAPoolsLevelHoldsOfEveryMember(t *testing.T) {
	fact := func(f model.Facts) agent.ModelBinding { return agent.ModelBinding{Model: mute{}, Facts: f} }
	first := model.Facts{
		ContextWindow: 900, MaxOutputTokens: 200, TokensPerByte: 0.25, Inputs: []string{"image", "audio"},
		Cutoff: "2025-03", Reasoning: model.ReasoningLevels, PromptCache: "marks", NativeFormat: true,
	}
	second := model.Facts{
		ContextWindow: 400, MaxInputTokens: 300, MaxOutputTokens: 500, TokensPerByte: 0.5, Inputs: []string{"document", "image"},
		Cutoff: "2024-11", NativeFormat: true,
	}
	p := parts(agent.Spec{ID: "one", Model: "first"}, agent.Spec{ID: "both", Model: "pool"}, agent.Spec{ID: "three", Model: "more"})
	p.Models["first"], p.Models["second"] = fact(first), fact(second)
	p.Models["third"] = fact(model.Facts{ContextWindow: 700})
	spare := agent.PoolMember{Model: "second", Role: agent.RoleFailoverOnly}
	p.Pools = []agent.ModelPoolSpec{
		{ID: "pool", Members: []agent.PoolMember{{Model: "first"}, spare}},
		{ID: "more", Members: []agent.PoolMember{{Model: "first"}, spare, {Model: "third"}}},
	}
	r := built(t, p)
	for id, want := range map[string]model.Facts{
		"one": first,
		"both": {
			ContextWindow: 400, MaxInputTokens: 300, MaxOutputTokens: 200, TokensPerByte: 0.5, Inputs: []string{"image"},
			Cutoff: "2024-11", NativeFormat: true,
		},
		"three": {ContextWindow: 400, MaxInputTokens: 300, MaxOutputTokens: 200, TokensPerByte: 0.5, Inputs: []string{}, Cutoff: "2024-11"},
	} {
		a, err := r.Resolve(id)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, a.Level()); diff != "" {
			t.Errorf("agent %s:\n%s", id, diff)
		}
	}
	if a, err := r.Resolve("one"); err != nil || len(a.CallableModels()[0].Inputs) != 2 {
		t.Errorf("a model reads %v: its facts have changed, %v", a.CallableModels()[0].Inputs, err)
	}
}

func TestWhatAPoolIsLeftFor(t *testing.T) {
	const s = time.Second
	all := []model.ErrorKind{
		model.KindProvider, model.KindRateLimited, model.KindOverloaded, model.KindTimeout, model.KindInterrupted, model.KindOverflow,
		model.KindInvalid, model.KindUnauthorized, model.KindNotFound, model.KindFiltered, model.KindQuota,
	}
	tests := []struct {
		name  string
		rules agent.PoolSwitch
		asked time.Duration
		want  []model.ErrorKind
		open  bool
	}{
		{"nothing said", agent.PoolSwitch{}, 0, []model.ErrorKind{model.KindRateLimited, model.KindOverloaded, model.KindQuota}, true},
		{"nothing said, a short wait", agent.PoolSwitch{}, 1, []model.ErrorKind{model.KindRateLimited, model.KindOverloaded, model.KindQuota}, true},
		{"no quota, no circuit", agent.PoolSwitch{OnQuota: new(false), OnCircuitOpen: new(false)}, 60 * s, nil, false},
		{"said", agent.PoolSwitch{OnQuota: new(true), OnCircuitOpen: new(true), OnPermanent: new(false)}, 0, []model.ErrorKind{model.KindRateLimited, model.KindOverloaded, model.KindQuota}, true},
		{"what is permanent alone", agent.PoolSwitch{OnQuota: new(false), OnPermanent: new(true)}, 0, []model.ErrorKind{model.KindUnauthorized, model.KindNotFound}, true},
		{"a threshold, and a wait below it", agent.PoolSwitch{QuotaRetryAfterThresholdMS: 5000}, 5*s - 1, []model.ErrorKind{model.KindQuota}, true},
		{"a threshold, and a wait of it", agent.PoolSwitch{QuotaRetryAfterThresholdMS: 5000}, 5 * s, []model.ErrorKind{model.KindRateLimited, model.KindOverloaded, model.KindQuota}, true},
		{"a threshold, and no word of a wait", agent.PoolSwitch{QuotaRetryAfterThresholdMS: 5000}, 0, []model.ErrorKind{model.KindRateLimited, model.KindOverloaded, model.KindQuota}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []model.ErrorKind
			for _, kind := range all {
				if tt.rules.Leaves(kind, tt.asked) {
					got = append(got, kind)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if tt.rules.LeavesOpen() != tt.open {
				t.Errorf("an open circuit is left: %t", !tt.open)
			}
		})
	}
}

func TestHowLongAPoolStaysAway(t *testing.T) {
	for ms, want := range map[int]time.Duration{0: 5 * time.Minute, 90_000: 90 * time.Second} {
		a := pooled(t, func(p *agent.ModelPoolSpec) { p.ReturnAfterMS, p.StickyScope = ms, agent.StickyRun }, agent.PoolMember{Model: "a"}, agent.PoolMember{Model: "b"})
		if p := a.Pool(); p.Returns != want || p.ID == "" || !p.ByRun {
			t.Errorf("the pool is %+v; want it to return after %s", p, want)
		}
	}
}
