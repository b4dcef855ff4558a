package account

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
)

func TestDecodeReadsEachField(t *testing.T) {
	var got Tenants
	err := got.Decode([]byte(`{"default":{"runs_a_day":1,"tokens_a_day":2,"spend_a_day_usd":3.25,"concurrent_runs":4},"tenants":{"a":{},"b":{"runs_a_day":5}}}`))
	want := Tenants{Default: Limits{1, 2, 3_250_000_000, 4}, Tenants: map[string]Limits{"a": {}, "b": {RunsADay: 5}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for tenant, want := range map[string]Limits{"a": {}, "b": {RunsADay: 5, ConcurrentRuns: 64}, "c": {1, 2, 3_250_000_000, 4}} {
		if l := got.Of(tenant); l != want {
			t.Errorf("tenant %s has %+v, want %+v", tenant, l, want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	const allowed = "allowed are runs_a_day, tokens_a_day, spend_a_day_usd, concurrent_runs"
	for text, want := range map[string]string{
		``:                                         "limits: value is empty, want an object",
		`[]`:                                       "limits: value is a list, want an object",
		`{"defaults":{}}`:                          `limits: unknown field "defaults", did you mean "default"?`,
		`{"Default":{}}`:                           `limits: unknown field "Default", did you mean "default"?`,
		`{"default":{},"default":{}}`:              `limits: default is given twice`,
		`{"default":5}`:                            "default is 5, want an object",
		`{"default":{"runs":1}}`:                   `unknown field "runs" in default, ` + allowed,
		`{"tenants":{"a":{"runs":1}}}`:             `unknown field "runs" in tenants.a, ` + allowed,
		`{"tenants":{"a":{},"a":{}}}`:              `tenants.a is given twice`,
		`{"tenants":{"a#b":{}}}`:                   `limits: tenant "a#b"`,
		`{"default":{"runs_a_day":1.5}}`:           "default.runs_a_day is 1.5, want a whole number",
		`{"default":{"runs_a_day":"5"}}`:           `default.runs_a_day is "5", want a whole number`,
		`{"default":{"runs_a_day":null}}`:          "default.runs_a_day is null, want a whole number",
		`{"default":{"runs_a_day":-1}}`:            "limits: default: runs_a_day is -1, allowed: a number from 0 (no limit) on",
		`{"default":{"tokens_a_day":-1}}`:          "limits: default: tokens_a_day is -1, allowed: a number from 0 (no limit) on",
		`{"default":{"spend_a_day_usd":-1}}`:       "limits: default: spend_a_day_usd is -1, allowed: dollars from 0 (no limit) on",
		`{"default":{"spend_a_day_usd":"1"}}`:      `default.spend_a_day_usd: "\"1\"" is not an amount of dollars`,
		`{"default":{"spend_a_day_usd":null}}`:     "default.spend_a_day_usd is null, want a number",
		`{"tenants":null}`:                         "tenants is null, want an object",
		`{"default":{"concurrent_runs":65}}`:       "limits: default: concurrent_runs is 65, allowed: 0 (the default) to 64",
		`{"tenants":{"a":{"concurrent_runs":-1}}}`: `limits: tenant "a": concurrent_runs is -1, allowed: 0 (the default) to 64`,
		`{"default":{}} {}`:                        "value is not JSON at byte 16: invalid character '{' after top-level value",
		`{"default":{}`:                            "is not JSON",
	} {
		err := new(Tenants).Decode([]byte(text))
		if core.CodeOf(err) != core.CodeInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	var got Tenants
	if err := got.Decode([]byte(`{"default":{"concurrent_runs":64}}`)); err != nil || got.Default.ConcurrentRuns != 64 {
		t.Errorf("64 runs at a time: %+v, %v", got, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"default":{"runs_a_day":1,"spend_a_day_usd":0.5},"tenants":{"a":{"concurrent_runs":2}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var got Tenants
		if err := got.Decode(data); err != nil {
			if core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("%v", err)
			}
			return
		}
		if err := got.Check(); err != nil {
			t.Errorf("what was decoded does not pass: %v", err)
		}
	})
}

func TestErrorOfALimitSaysWhichCode(t *testing.T) {
	for limit, want := range map[LimitKind]core.Code{RunsADay: core.CodeTenantLimit, TokensADay: core.CodeTenantLimit, SpendADay: core.CodeTenantSpend, ConcurrentRuns: core.CodeTenantLimit} {
		if got := core.CodeOf(&ReachedError{Limit: limit}); got != want {
			t.Errorf("%s: %s, want %s", limit, got, want)
		}
	}
}
