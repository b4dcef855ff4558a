package thread_test

import (
	"bytes"
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

// The bytes of timers in a head. Older programs read a kept one as a child's ticket, and another
// one as a client's, and keep the time.
func TestTimersInAHead(t *testing.T) {
	for _, tt := range []struct {
		ticket thread.Ticket
		want   string
	}{
		{thread.Ticket{Call: 3, Kind: thread.TicketTimer, ID: 12, WakeAt: 300}, "\x03\x81\x0c\x00\x00\xac\x02"},
		{thread.Ticket{Call: 3, Kind: thread.TicketTimer, ID: 12, WakeAt: 300, Keep: true}, "\x03\x82\x0c\x00\x00\xac\x02"},
		{thread.Ticket{Call: 3, ID: 12, WakeAt: 300}, "\x03\x80\x0c\x00\x00\xac\x02"},
		{thread.Ticket{Call: 3, Kind: thread.TicketChild, ID: 12}, "\x03\x02\x0c\x00\x00"},
	} {
		h := thread.Head{Layout: 1, Schema: 1, Version: 1, Run: thread.Run{ID: id("r")}, Tickets: thread.Tickets{tt.ticket}}
		b := h.AppendBinary(nil)
		if !bytes.Contains(b, []byte("\x01"+tt.want)) {
			t.Errorf("%+v is %x, want %x in it", tt.ticket, b, tt.want)
		}
		if back, err := thread.Decode(b); err != nil || back.Tickets[0] != tt.ticket {
			t.Errorf("%+v is read as %+v, %v", tt.ticket, back.Tickets, err)
		}
	}
}
