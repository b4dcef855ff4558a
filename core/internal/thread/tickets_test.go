package thread_test

import (
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// Keys stand in heads and in the names of records: they are what they are for good.
func TestKeysOfTicketsAndDecisions(t *testing.T) {
	run := core.ID{1}
	tests := []struct {
		name      string
		got, want uint64
	}{
		{"a ticket", thread.TicketKey(run, "s1"), 0x27e79d621c3fff9b},
		{"of another run", thread.TicketKey(core.ID{2}, "s1"), 0xfe46ad9c51ed5ba1},
		{"of another suspension", thread.TicketKey(run, "s2"), 0x392ab048902f23d5},
		{"a decision", thread.DecisionKey(run, "s1", "yes"), 0x65d1bf831a94a473},
		{"one whose names begin elsewhere", thread.DecisionKey(run, "s1y", "es"), 0x67ee33498d4b1617},
		{"one that names a call", thread.CallDecisionKey(run, "c1", "yes"), 0x77e8a586f77d89ad},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: %#x, want %#x", tt.name, tt.got, tt.want)
		}
	}
}
