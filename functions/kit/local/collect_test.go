package local

import (
	"runtime/debug"
	"testing"
)

func TestCollectorIsLeftToWhoeverSetsItUp(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	for _, tt := range []struct {
		name    string
		environ []string
		want    int
	}{
		{"nothing is said", []string{"HOME=/", "GOGC="}, 200},
		{"GOGC is set", []string{"GOGC=50"}, 100},
	} {
		t.Run(tt.name, func(t *testing.T) {
			debug.SetGCPercent(100)
			if got := collectRarely(tt.environ); got != tt.want {
				t.Errorf("%d percent are returned, want %d", got, tt.want)
			}
			if got := debug.SetGCPercent(100); got != tt.want {
				t.Errorf("the collector runs at %d percent, want %d", got, tt.want)
			}
		})
	}
}

// The cache and the garbage that it allows take 64 MiB, or what is set.
func TestCacheSizeCountsTheGarbage(t *testing.T) {
	for _, tt := range []struct{ memory, percent, want int }{
		{0, 200, 22_369_600}, {0, 100, 33_554_400}, {0, 0, 67_108_800}, {0, -1, 67_108_800}, {128 << 20, 400, 26_843_500}, {1000, 900, 100},
	} {
		if got := cacheSize(tt.memory, tt.percent); got != tt.want {
			t.Errorf("%d bytes with %d percent: %d bytes, want %d", tt.memory, tt.percent, got, tt.want)
		}
	}
}
