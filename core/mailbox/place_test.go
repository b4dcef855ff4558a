package mailbox

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store/memory"
)

func TestTheNameOfADecisionSaysItsPlace(t *testing.T) {
	tests := []struct {
		name string
		turn uint64
		call int
		ok   bool
	}{
		{recordname.Decision(core.ID{1}, 42, 0, 7), 42, 0, true},
		{recordname.Decision(core.ID{1}, 999_999_999_999, 31, 7), 999_999_999_999, 31, true},
		{"D#run#42#255#d", 42, 255, true},
		{"D#run#42#256#d", 42, 255, false},
		{"D#run#42#x#d", 42, 0, false},
		{"D#run#x#1#d", 0, 1, false},
		{"D#run#42#1", 0, 0, false},
	}
	for _, tt := range tests {
		if turn, call, ok := decisionPlace(tt.name); turn != tt.turn || call != tt.call || ok != tt.ok {
			t.Errorf("%s is of turn %d and call %d, %v; want %d, %d, %v", tt.name, turn, call, ok, tt.turn, tt.call, tt.ok)
		}
	}
}

// An announcement came with a claim, or behind it, unless it stood there: a claim that gives
// a run up brings that of the run it closes.
func TestWhichAnnouncementsCameWithAClaim(t *testing.T) {
	claimed := thread.Head{
		Version: 5, Closing: 5, Run: thread.Run{ID: core.ID{1}},
		Outbox: thread.Outbox{{ID: core.ID{1}, Kind: thread.OutboxDeadLettered}, {ID: core.ID{1}, Kind: thread.OutboxWaiting}, {ID: core.ID{2}, Kind: thread.OutboxDeadLettered}},
	}
	before := claimed
	before.Closing = 4
	tests := []struct {
		name    string
		claimed thread.Head
		id      core.ID
		kind    thread.OutboxKind
		want    bool
	}{
		{"the run that the claim gave up", claimed, core.ID{1}, thread.OutboxDeadLettered, true},
		{"one that was given up before", before, core.ID{1}, thread.OutboxDeadLettered, false},
		{"another run that was given up", claimed, core.ID{2}, thread.OutboxDeadLettered, false},
		{"what the run says besides", claimed, core.ID{1}, thread.OutboxWaiting, false},
		{"what came later", claimed, core.ID{2}, thread.OutboxWaiting, true},
		{"without a claim", thread.Head{}, core.ID{1}, thread.OutboxDeadLettered, false},
	}
	for _, tt := range tests {
		if got := announcedSince(&tt.claimed, thread.OutboxEntry{ID: tt.id, Kind: tt.kind}); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Who tries again puts the same bytes: an audit of what was read has no time.
func TestOnlyTheAuditOfWhatEndedHasATime(t *testing.T) {
	for want, audit := range map[string]thread.Audit{
		`{"schema":1,"run":"02000000-0000-0000-0000-000000000000","read":3,"status":"acked"}`:   {ID: core.ID{1}, Run: core.ID{2}, Read: 3, Status: core.DispatchAcked},
		`{"schema":1,"run":"02000000-0000-0000-0000-000000000000","status":"cancelled","at":9}`: {ID: core.ID{1}, Run: core.ID{2}, Status: core.DispatchCancelled},
	} {
		record, err := auditRecord(thread.Records{}, audit, 9, 1, 2)
		if diff := cmp.Diff(want, string(record.Payload)); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
	}
}

// deaf is a waker that accepts every wake-up and delivers none.
type deaf struct{}

func (deaf) Wake(context.Context, core.WakeUp, time.Duration) error { return nil }

func TestNothingIsMeteredWhereNoUsageIsKept(t *testing.T) {
	for keep, want := range map[time.Duration]bool{0: false, time.Hour: true} {
		s, err := New(Options{Env: env.System(), Store: memory.New(), Waker: deaf{}, KeepUsage: keep})
		if err != nil || s.writer.metered != want {
			t.Errorf("usage is kept for %s: metered %v, %v; want %v", keep, s.writer.metered, err, want)
		}
	}
}
