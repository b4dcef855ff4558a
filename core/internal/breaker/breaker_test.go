package breaker_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/reveille-run/reveille/core/internal/breaker"
)

func named(name string) breaker.CircuitName { return breaker.CircuitName{Provider: "p", Model: name} }

// Each line is a call: when it begins, how it ends and what the circuit is then, or how
// long it is refused.
func TestACircuit(t *testing.T) {
	const fails, works, void = breaker.CallFailed, breaker.CallSucceeded, breaker.CallVoid
	type call struct {
		at      time.Duration
		outcome breaker.CallOutcome
	}
	five := []call{{0, fails}, {1, fails}, {2, fails}, {3, fails}, {4, fails}}
	opened := "closed, closed, closed, closed, open!"
	tests := []struct {
		name  string
		calls []call
		want  string
	}{
		{"five failures in a row open it", append(five, call{5, works}), opened + ", refused for 29s"},
		{"a success begins anew", []call{{0, fails}, {1, fails}, {2, fails}, {3, fails}, {4, works}, {5, fails}, {6, fails}, {7, fails}, {8, fails}, {9, fails}},
			"closed, closed, closed, closed, closed, closed, closed, closed, closed, open!"},
		{"what says nothing about the model counts nothing", []call{{0, fails}, {1, fails}, {2, fails}, {3, fails}, {4, void}, {5, fails}},
			"closed, closed, closed, closed, closed, open!"},
		{"refused until the cooldown is over", append(five, call{33, fails}, call{34, works}), opened + ", refused for 1s, probe closed!"},
		{"a probe that fails opens it for another cooldown", append(five, call{34, fails}, call{63, works}, call{64, works}), opened + ", probe open!, refused for 1s, probe closed!"},
		{"behind a probe that succeeds it takes five again", append(five, call{34, works}, call{35, fails}, call{36, fails}, call{37, fails}, call{38, fails}, call{39, fails}),
			opened + ", probe closed!, closed, closed, closed, closed, open!"},
		{"a cancelled probe leaves the next call the probe", append(five, call{34, void}, call{34, works}), opened + ", probe half_open, probe closed!"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b breaker.Breakers
			began := time.Unix(1000, 0)
			var got []string
			for _, c := range tt.calls {
				now := began.Add(c.at * time.Second)
				ahead := b.Wait(named("m"), now)
				permit, wait := b.Begin(named("m"), now)
				if ahead != wait {
					t.Errorf("at %ds Wait says %s, Begin %s", c.at, ahead, wait)
				}
				if wait > 0 {
					got = append(got, "refused for "+wait.String())
					continue
				}
				state, changed := b.End(permit, c.outcome, now)
				line := string(state)
				if changed {
					line += "!"
				}
				if permit.Probe {
					line = "probe " + line
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
				t.Error(diff)
			}
			if wait := b.Wait(named("other"), began.Add(5*time.Second)); wait != 0 {
				t.Errorf("another model is refused for %s", wait)
			}
		})
	}
}

// opened returns breakers whose circuit m is open from 0 s on, and a clock.
func opened(t *testing.T) (*breaker.Breakers, func(seconds int) time.Time) {
	t.Helper()
	b, at := new(breaker.Breakers), func(seconds int) time.Time { return time.Unix(1000+int64(seconds), 0) }
	for range 5 {
		permit, _ := b.Begin(named("m"), at(0))
		b.End(permit, breaker.CallFailed, at(0))
	}
	if wait := b.Wait(named("m"), at(0)); wait != 30*time.Second {
		t.Fatalf("behind five failures the circuit refuses calls for %s, want 30s", wait)
	}
	return b, at
}

func TestOneCallProbesAHalfOpenCircuit(t *testing.T) {
	b, at := opened(t)
	for range 3 { // to look uses nothing up
		if wait := b.Wait(named("m"), at(30)); wait != 0 {
			t.Fatalf("behind the cooldown the circuit refuses calls for %s", wait)
		}
	}
	probe, wait := b.Begin(named("m"), at(30))
	if !probe.Probe || wait != 0 {
		t.Fatalf("the first call is %+v, refused for %s; want the probe", probe, wait)
	}
	for _, second := range []int{30, 31, 300} {
		if permit, wait := b.Begin(named("m"), at(second)); permit.Probe || wait != 5*time.Second || b.Wait(named("m"), at(second)) != 5*time.Second {
			t.Errorf("at %ds another call is %+v, refused for %s; want to wait 5s for the probe", second, permit, wait)
		}
	}
	if state, changed := b.End(probe, breaker.CallSucceeded, at(301)); state != breaker.CircuitClosed || !changed {
		t.Errorf("behind the probe the circuit is %s, %t", state, changed)
	}
}

// A call that was under way when the circuit opened says nothing about what is now.
func TestACallFromBeforeTheCircuitOpened(t *testing.T) {
	for _, outcome := range []breaker.CallOutcome{breaker.CallVoid, breaker.CallFailed, breaker.CallSucceeded} {
		t.Run(fmt.Sprint(outcome), func(t *testing.T) {
			var b breaker.Breakers
			at := func(seconds int) time.Time { return time.Unix(1000+int64(seconds), 0) }
			slow, _ := b.Begin(named("m"), at(0))
			for range 5 {
				permit, _ := b.Begin(named("m"), at(1))
				b.End(permit, breaker.CallFailed, at(1))
			}
			if state, changed := b.End(slow, outcome, at(20)); state != breaker.CircuitOpen || changed {
				t.Errorf("the circuit is %s, changed %t; want open as before", state, changed)
			}
			if wait := b.Wait(named("m"), at(21)); wait != 10*time.Second {
				t.Errorf("calls are refused for %s more, want 10s", wait)
			}
		})
	}
}
