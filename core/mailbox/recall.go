package mailbox

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// decisionPage is how many decisions of a run are looked through at a time. A run has
// few, and only a repeated or mistaken request looks for them.
const decisionPage = 100

// recall looks for the decision among those that were taken and whose tickets
// are gone. The head remembers them by hashes alone; the records say the rest.
// It is thread.ErrDecided that the call or suspension was decided by another, and
// thread.ErrNotFound that nothing is known of it.
func (u *deciding) recall(ctx context.Context, head thread.Head) error {
	runs, err := u.runs(ctx, head)
	if err != nil {
		return err
	}
	for _, run := range runs {
		found, err := u.recallOf(ctx, head, run)
		if err != nil {
			return err
		}
		if found {
			return nil
		}
	}
	if u.other {
		return fmt.Errorf("tool call or suspension %q: %w", core.Excerpt(u.asked.Target), thread.ErrDecided)
	}
	return fmt.Errorf("tool call or suspension %q that waits: %w", core.Excerpt(u.asked.Target), thread.ErrNotFound)
}

// runs are those whose decision it may be: the named one, else the open one and
// the one that wrote to the log last.
func (u *deciding) runs(ctx context.Context, head thread.Head) (runs []core.ID, err error) {
	switch {
	case len(head.Recent) == 0:
		return nil, nil
	case !u.asked.Run.IsZero():
		return []core.ID{u.asked.Run}, nil
	case head.Open():
		runs = append(runs, head.Run.ID)
	}
	if head.Seq == 0 {
		return runs, nil
	}
	last, err := store.ReadLog(ctx, u.store, u.records, u.key, head.Seq, head.Seq)
	if err != nil {
		return nil, err
	}
	if run := last[0].Run; !slices.Contains(runs, run) {
		runs = append(runs, run)
	}
	return runs, nil
}

// recallOf looks through the decisions of one run. A list may lag behind the
// head, which alone proves that a decision was taken.
func (u *deciding) recallOf(ctx context.Context, head thread.Head, run core.ID) (found bool, err error) {
	receipt := Decided{ThreadID: u.key.Thread, RunID: run, DecisionID: u.said.ID, Duplicate: true}
	prefix, after := "D#"+run.String()+"#", ""
	for {
		page, err := u.store.Records(ctx, u.key, prefix, after, decisionPage)
		if err != nil {
			return false, fmt.Errorf("list decisions of run %s: %w", run, err)
		}
		for _, record := range page {
			after = record.Name
			if found, err := u.isThis(ctx, head, record, receipt); found || err != nil {
				return found, err
			}
		}
		if len(page) < decisionPage {
			break
		}
	}
	// No record was listed, but the head may still know the hash: then it was taken, and
	// no more can be said of it. What the decision said cannot be compared any more.
	remembered := func(key uint64) bool { return slices.Contains(head.Recent, key) }
	switch {
	case remembered(thread.DecisionKey(run, u.asked.Target, u.said.ID)):
		receipt.SuspensionID = u.asked.Target
	case remembered(thread.CallDecisionKey(run, u.asked.Target, u.said.ID)):
		receipt.CallID, u.byCall = u.asked.Target, true
	default:
		return false, nil
	}
	u.receipt, u.ticket, u.known = receipt, noTicket, true
	return true, nil
}

// isThis reports whether a stored decision, which the head remembers, is the one
// that is looked for; what it says must then be the same. Of another one on the
// same call or suspension it takes note.
func (u *deciding) isThis(ctx context.Context, head thread.Head, record store.Record, receipt Decided) (bool, error) {
	var stored thread.DecisionRecord
	if err := u.records.Decode("decision", record.Payload, &stored); err != nil {
		return false, fmt.Errorf("%s: %w", record.Name, err)
	}
	turn, index, ok := decisionPlace(record.Name)
	taken := slices.Contains(head.Recent, thread.DecisionKey(receipt.RunID, stored.Suspension, stored.ID))
	// turn > head.Seq: of a turn that never became visible. Once another decision on
	// the target was seen, only the one that is looked for is worth a read of its turn.
	if !ok || !taken || stored.ID != u.said.ID && u.other || turn > head.Seq {
		return false, nil
	}
	calls, err := u.callsOf(ctx, turn)
	if err != nil || index >= len(calls) || stored.Suspension != u.asked.Target && calls[index].ID != u.asked.Target {
		return false, err
	}
	if stored.ID != u.said.ID {
		u.other = true
		return false, nil
	}
	receipt.CallID, receipt.SuspensionID, receipt.Turn, receipt.Index = calls[index].ID, stored.Suspension, turn, index
	u.receipt, u.ticket, u.known = receipt, thread.TicketKey(receipt.RunID, stored.Suspension), true
	return true, u.same(stored)
}

// decisionPlace reads turn and call from a decision's name.
func decisionPlace(name string) (turn uint64, call int, ok bool) {
	parts := strings.Split(name, "#") // D, run, turn, call, decision
	if len(parts) != 5 {
		return 0, 0, false
	}
	turn, err := strconv.ParseUint(parts[2], 10, 64)
	if err != nil {
		return 0, 0, false
	}
	call, err = strconv.Atoi(parts[3])
	return turn, call, err == nil && call >= 0 && call < thread.MaxCalls
}
