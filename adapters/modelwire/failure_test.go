package modelwire

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	tests := []struct {
		name, seconds, millis string
		want                  time.Duration
	}{
		{"none", "", "", 0},
		{"seconds", "7", "", 7 * time.Second},
		{"fraction", "0.25", "", 250 * time.Millisecond},
		{"date", "Sat, 21 Nov 2026 10:00:30 GMT", "", 30 * time.Second},
		{"date in the past", "Sat, 21 Nov 2026 09:00:00 GMT", "", 0},
		{"far date", "Sat, 21 Nov 2099 09:00:00 GMT", "", 24 * time.Hour},
		{"negative", "-3", "", 0},
		{"huge", "1e300", "", 24 * time.Hour},
		{"not a number", "NaN", "", 0},
		{"nonsense", "soon", "", 0},
		{"milliseconds", "7", "1500", 1500 * time.Millisecond},
		{"bad milliseconds", "7", "x", 7 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := http.Header{}
			h.Set("Retry-After", test.seconds)
			h.Set("Retry-After-Ms", test.millis)
			if got := RetryAfter(h, now); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
