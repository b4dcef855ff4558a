package core_test

import (
	"testing"

	"github.com/reveille-run/reveille/core"
)

func TestUsageOfALongRequest(t *testing.T) {
	call := core.Usage{Input: 200_001, Output: 7, CacheRead: 5, CacheWrite: 4, Reasoning: 3, CacheWriteHour: 2}
	long := call
	long.Long = &core.LongUsage{Input: 200_001, Output: 7, CacheRead: 5, CacheWrite: 4, CacheWriteHour: 2}
	for _, tt := range []struct {
		name  string
		above int
		want  core.Usage
	}{
		{"no length", 0, call}, {"as long as the length", 200_001, call}, {"a token more", 200_000, long},
	} {
		if got := call.Above(tt.above); !got.Equal(tt.want) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
	if got := long.Above(0); got != call {
		t.Errorf("counted again: %+v", got)
	}
	sum := long.Add(long).Add(core.Usage{Input: 1})
	want := core.Usage{Input: 400_003, Output: 14, CacheRead: 10, CacheWrite: 8, Reasoning: 6, CacheWriteHour: 4,
		Long: &core.LongUsage{Input: 400_002, Output: 14, CacheRead: 10, CacheWrite: 8, CacheWriteHour: 4}}
	if !sum.Equal(want) {
		t.Errorf("the sum is %+v, want %+v", sum, want)
	}
	if got := sum.Minus(long).Minus(core.Usage{Input: 1}); !got.Equal(long) {
		t.Errorf("without one: %+v, want %+v", got, long)
	}
}

func TestUsagesThatCountTheSame(t *testing.T) {
	long := func(input int) *core.LongUsage { return &core.LongUsage{Input: input} }
	for _, tt := range []struct {
		name string
		a, b core.Usage
		want bool
	}{
		{"none", core.Usage{}, core.Usage{}, true},
		{"other tokens", core.Usage{Input: 3}, core.Usage{Input: 4}, false},
		{"long ones of two calls", core.Usage{Input: 3, Long: long(3)}, core.Usage{Input: 3, Long: long(3)}, true},
		{"other long ones", core.Usage{Input: 3, Long: long(3)}, core.Usage{Input: 3, Long: long(2)}, false},
		{"long ones, and none", core.Usage{Input: 3, Long: long(3)}, core.Usage{Input: 3}, false},
		{"none, and long ones", core.Usage{Input: 3}, core.Usage{Input: 3, Long: long(3)}, false},
		{"none, and empty ones", core.Usage{Input: 3}, core.Usage{Input: 3, Long: long(0)}, true},
	} {
		if got := tt.a.Equal(tt.b); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
	call := core.Usage{Input: 300, Output: 7}.Above(200)
	if call.Long == nil || call.Minus(call) != (core.Usage{}) {
		t.Errorf("without itself a usage is %+v", call.Minus(call))
	}
	sum := call
	if sum = sum.Add(call); call.Long.Input != 300 || sum.Long.Input != 600 {
		t.Errorf("the sum has %d long tokens, its parts %d", sum.Long.Input, call.Long.Input)
	}
}
