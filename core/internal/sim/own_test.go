package sim

import (
	"testing"
	"time"
)

// A call that started before its turn was committed is over when the invocation ends, unless a
// fault still keeps a request of the process.
func TestEarlyCallsAreOverAfterTheirStep(t *testing.T) {
	const now = time.Minute
	tests := []struct {
		name     string
		role     role
		early    string
		hindered time.Duration
		want     string
	}{
		{"it runs on", roleStep, "k", 0, "at 1m0s: thread t0: call k runs on in h1 after its step"},
		{"it runs on, and the fault is over", roleStep, "k", now, "at 1m0s: thread t0: call k runs on in h1 after its step"},
		{"a fault keeps the process", roleStep, "k", now + time.Second, ""},
		{"another call runs on", roleStep, "", 0, ""},
		{"a local host has other work", roleLocal, "k", 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := New(Config{Threads: 1})
			h := w.newHost(tt.role)
			h.name, h.hindered, w.now = "h1", tt.hindered, now
			h.calls = []*called{{th: w.threads[0], early: tt.early}}
			if h.checkEarlyOver(); w.violation != tt.want {
				t.Errorf("%q, want %q", w.violation, tt.want)
			}
		})
	}
}
