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
			collectRarely(tt.environ)
			if got := debug.SetGCPercent(100); got != tt.want {
				t.Errorf("the collector runs at %d percent, want %d", got, tt.want)
			}
		})
	}
}
