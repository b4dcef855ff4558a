package mailbox_test

import (
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// writes lets the claim's holder append entries to the log, as the step says; its fence and
// sequences are filled in.
func (w *world) writes(t *testing.T, head thread.Head, step thread.CommitStep, entries ...thread.Entry) thread.Head {
	t.Helper()
	step.Fence, step.From, step.Seq = head.Claim.Fence, head.Seq, head.Seq+uint64(len(entries))
	head, _, err := w.Commit(t.Context(), key, head, step, func(thread.Head, thread.Result) (records []store.Record, err error) {
		for i, e := range entries {
			records = append(records, store.Record{Name: store.LogName(step.From + uint64(i) + 1), Fence: step.Fence, Payload: encoded(t, e)})
		}
		return records, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// goOn is the step of a holder that keeps its claim, and over that of one whose run ends.
var (
	goOn = thread.CommitStep{Outcome: thread.Yield, Keep: true, Lease: 30_000}
	over = thread.CommitStep{Outcome: thread.Done}
)

// by is an entry of a message; said one of a person's, which the dispatch brought.
func by(run core.ID, role core.Role, id string, calls ...core.ToolCall) thread.Entry {
	return thread.Entry{Run: run, Step: 1, Message: &core.Message{ID: id, RunID: run, Role: role, ToolCalls: calls}}
}

func said(run, dispatch core.ID, id string) thread.Entry {
	m := core.UserMessage(id).WithID(id)
	m.RunID = run
	return thread.Entry{Run: run, Message: &m, Input: dispatch}
}

// summarized stores a summary of the log up to a sequence.
func (w *world) summarized(t *testing.T, upTo, predecessor uint64) {
	t.Helper()
	payload, err := thread.Records{}.EncodeSummary(upTo, &thread.Summary{Predecessor: predecessor, Text: "so far"})
	if err != nil {
		t.Fatal(err)
	}
	w.put(t, store.Record{Name: recordname.Summary(upTo), Payload: payload})
}

// ranAs stores the record of a run.
func (w *world) ranAs(t *testing.T, run thread.RunRecord) {
	t.Helper()
	payload, err := thread.Records{}.EncodeRun(&run)
	if err != nil {
		t.Fatal(err)
	}
	w.put(t, store.Record{Name: recordname.Run(run.ID), Fence: 9, Version: 9, Payload: payload})
}

// at reads the head of another thread of the tenant.
func (w *world) at(t *testing.T, threadID string) thread.Head {
	t.Helper()
	head, err := w.store.Backend.Head(t.Context(), core.ThreadKey{Tenant: "t", Thread: threadID})
	if err != nil {
		t.Fatal(err)
	}
	return head
}
