package mailbox_test

import (
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// written is a thread with a log of two runs: the first is steered, the second
// supersedes something and has two messages.
func written(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	one, two := core.ID{1}, core.ID{2}
	message := func(run core.ID, role core.Role) thread.Entry {
		return thread.Entry{Run: run, Message: &core.Message{Role: role}}
	}
	entries := []thread.Entry{
		message(one, core.RoleUser), message(one, core.RoleAssistant), message(one, core.RoleTool), message(one, core.RoleUser), {Run: one, Step: 1},
		message(two, core.RoleUser), message(two, core.RoleUser), message(two, core.RoleAssistant),
		{Run: core.ID{3}, Superseded: &thread.Range{From: 6, To: 8}}, message(core.ID{3}, core.RoleUser), message(core.ID{3}, core.RoleUser),
	}
	w.submit(t, input("begin", ""))
	head := w.claim(t)
	_, _, err := w.Commit(t.Context(), key, head, thread.CommitStep{Fence: head.Claim.Fence, Outcome: thread.Done, Seq: uint64(len(entries))},
		func(thread.Head, thread.Result) (records []store.Record, err error) {
			for i, e := range entries {
				payload, err := thread.Records{}.EncodeEntry(&e)
				if err != nil {
					return nil, err
				}
				records = append(records, store.Record{Name: store.LogName(uint64(i + 1)), Fence: head.Claim.Fence, Payload: payload})
			}
			return records, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestOnlyWhereARunsInputBeginsCanBeSuperseded(t *testing.T) {
	w := written(t)
	tests := []struct {
		name string
		at   uint64
		ok   bool
	}{
		{"nothing", 0, true},
		{"the thread's first input", 1, true},
		{"a turn", 2, false},
		{"a result", 3, false},
		{"steered input", 4, false},
		{"a step record", 5, false},
		{"input that is superseded already", 6, true},
		{"the second message of an input", 7, false},
		{"the record that supersedes", 9, false},
		{"the input behind it", 10, true},
		{"the second message behind it", 11, false},
		{"what nobody has said yet", 12, false},
		{"far behind the log", 1 << 60, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := input("again", "")
			s.Opening.Supersede, s.Key.Value = tt.at, tt.name
			before, err := w.Head(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			receipt, err := w.Submit(t.Context(), s)
			if !tt.ok {
				after, _ := w.Head(t.Context(), key)
				if core.CodeOf(err) != core.CodeInvalid || after.Version != before.Version {
					t.Errorf("the error is %v at version %d after %d, want invalid and no write", err, after.Version, before.Version)
				}
				if want := "want the first message of one, among the 11 records of thread t1"; err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("the error is %q, want %q in it", err, want)
				}
				s.Opening.Supersede = 0 // the Key was not used up
			}
			if err != nil && tt.ok {
				t.Fatal(err)
			}
			again, err := w.Submit(t.Context(), s)
			if err != nil || again.Duplicate != tt.ok || tt.ok && again.RunID != receipt.RunID {
				t.Errorf("the next try returns %+v, %v", again, err)
			}
			if _, err := w.Cancel(t.Context(), key, again.RunID); err != nil { // to make room
				t.Fatal(err)
			}
		})
	}
	answers := logged(t, by(runOne, core.RoleAssistant, "a"))
	s := input("again", "")
	s.Opening.Supersede = 1
	if _, err := answers.Submit(t.Context(), s); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("a thread that begins with an answer: %v, want invalid", err)
	}
	said := logged(t, said(runOne, core.ID{1}, "a"), said(runOne, core.ID{1}, "b"))
	for at, code := range map[uint64]core.Code{1: "", 2: core.CodeInvalid} {
		s.Opening.Supersede = at
		if _, err := said.Submit(t.Context(), s); core.CodeOf(err) != code {
			t.Errorf("message %d of an input: %v, want code %q", at, err, code)
		}
	}
	alone := logged(t, by(runOne, core.RoleAssistant, "a"), by(runTwo, core.RoleUser, "b"))
	s.Opening.Supersede = 2
	if _, err := alone.Submit(t.Context(), s); err != nil {
		t.Errorf("the last record: %v", err)
	}
	if _, err := w.Submit(t.Context(), mailbox.Submission{
		Thread: core.ThreadKey{Tenant: "t", Thread: "t2"}, Opening: mailbox.Opening{AgentID: "demo", Supersede: 1}, Messages: []core.Message{core.UserMessage("hi")},
	}); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("in a thread that does not exist: %v, want invalid", err)
	}
}

// The same request is the same whatever became of the thread meanwhile, and what
// it supersedes is part of it.
func TestSupersedeIsPartOfWhatAKeyStandsFor(t *testing.T) {
	w := written(t)
	s := input("again", "")
	s.Opening.Supersede, s.Key.Value = 6, "k"
	first := w.submit(t, s)
	if again := w.submit(t, s); again.RunID != first.RunID || !again.Duplicate {
		t.Errorf("the second try returns %+v, the first %+v", again, first)
	}
	s.Opening.Supersede = 1
	if _, err := w.Submit(t.Context(), s); core.CodeOf(err) != core.CodeConflict {
		t.Errorf("the key with another position: %v, want conflict", err)
	}
}
