package core_test

import (
	"testing"

	"github.com/reveille-run/reveille/core"
)

func TestUsageOfALongRequest(t *testing.T) {
	call := core.Usage{Input: 200_001, Output: 7, CacheRead: 5, CacheWrite: 4, Reasoning: 3, CacheWriteHour: 2}
	long := call
	long.Long = core.LongUsage{Input: 200_001, Output: 7, CacheRead: 5, CacheWrite: 4, CacheWriteHour: 2}
	for _, tt := range []struct {
		name  string
		above int
		want  core.Usage
	}{
		{"no length", 0, call}, {"as long as the length", 200_001, call}, {"a token more", 200_000, long},
	} {
		if got := call.Above(tt.above); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
	if got := long.Above(0); got != call {
		t.Errorf("counted again: %+v", got)
	}
	sum := long.Add(long).Add(core.Usage{Input: 1})
	want := core.Usage{Input: 400_003, Output: 14, CacheRead: 10, CacheWrite: 8, Reasoning: 6, CacheWriteHour: 4,
		Long: core.LongUsage{Input: 400_002, Output: 14, CacheRead: 10, CacheWrite: 8, CacheWriteHour: 4}}
	if sum != want {
		t.Errorf("the sum is %+v, want %+v", sum, want)
	}
	if got := sum.Minus(long).Minus(core.Usage{Input: 1}); got != long {
		t.Errorf("without one: %+v, want %+v", got, long)
	}
}
