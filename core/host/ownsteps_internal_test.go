package host

import (
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/position"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/store/memory"
)

// What a stream was shown of a turn before its commit is no longer outstanding when a turn of
// that step, or the failure of it, is shown from the log.
func TestWordsBeforeACommitAreOutstandingUntilIt(t *testing.T) {
	said := func(role core.Role) *core.Message {
		return &core.Message{ID: "m", RunID: theRun, Role: role, Step: 2, Content: []core.Block{{Type: core.BlockText, Text: "words"}}}
	}
	for name, test := range map[string]struct {
		entry thread.Entry
		want  bool // they are outstanding
	}{
		"its turn":               {thread.Entry{Step: 2, Message: said(core.RoleAssistant)}, false},
		"a turn after it":        {thread.Entry{Step: 3, Message: said(core.RoleAssistant)}, false},
		"the failure of it":      {thread.Entry{Step: 2, Failed: &thread.Failure{}}, false},
		"a turn before it":       {thread.Entry{Step: 1, Message: said(core.RoleAssistant)}, true},
		"input of its step":      {thread.Entry{Step: 2, Message: said(core.RoleUser)}, true},
		"the record of its step": {thread.Entry{Step: 2}, true},
	} {
		s := newStream(env.System(), theRun, &hearer{})
		s.begin(core.Run{ID: theRun, AgentID: "demo", FirstSeq: 1})
		s.unsaid = position.Position{Run: theRun, Step: 2, Attempt: 1}
		test.entry.Run = theRun
		if err := s.showRecord(threadlog.Entry{Seq: 1, Entry: test.entry}); err != nil {
			t.Fatal(name, err)
		}
		if got := s.unsaid != (position.Position{}); got != test.want {
			t.Errorf("%s: outstanding %t, want %t", name, got, test.want)
		}
	}
}

// A stream that declares a step void owes its reader the state if it had shown a change, also
// when it has begun before, and declares it void once.
func TestAStreamDeclaresAStepVoid(t *testing.T) {
	for name, test := range map[string]struct {
		partial, changed bool
		want             string
		owed             bool
	}{
		"nothing was shown": {false, true, "", false},
		"words":             {true, false, "step_restarted", false},
		"a change":          {true, true, "step_restarted", true},
	} {
		h := &hearer{}
		s := newStream(env.System(), theRun, h)
		s.audience.started, s.audience.partial, s.audience.changed = true, test.partial, test.changed
		s.unsaid = position.Position{Run: theRun, Step: 1, Attempt: 1}
		for range 2 {
			s.restart()
		}
		if h.brief() != test.want || s.state.owed != test.owed || (s.unsaid == position.Position{}) != test.partial {
			t.Errorf("%s: shown %q, owed %t, outstanding %+v", name, h.brief(), s.state.owed, s.unsaid)
		}
	}
}

// A call with a deadline claims nothing in the last moments, unless the store is its own.
func TestAClaimNeedsTime(t *testing.T) {
	w, _, r := steppingOver(t, memory.New())
	if !w.timeToClaim(t.Context()) {
		t.Error("without a deadline there is no time")
	}
	for left, want := range map[int]bool{50: false, 5000: true} {
		ctx, cancel := r.env.WithTimeout(t.Context(), time.Duration(left)*time.Millisecond)
		defer cancel()
		if got := w.timeToClaim(ctx); got != want {
			t.Errorf("with %d ms left: %t", left, got)
		}
		w.alone = true
		if !w.timeToClaim(ctx) {
			t.Errorf("with %d ms left in memory there is no time", left)
		}
		w.alone = false
	}
}
