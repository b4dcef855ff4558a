package mailbox

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/store"
)

// decisionPage is how many decisions of a run are looked through at a time. A run has few,
// and only a repeated or mistaken request looks for them.
const decisionPage = 100

// recall looks for the decision among those that were stored and whose tickets are gone.
// The head remembers them by hashes only; the records say the rest. thread.ErrDecided: there
// was another decision on the call or suspension. thread.ErrNotFound: nothing is known of
// it.
// A decision that is found fills the receipt, as far as the records name its target.
func (u *deciding) recall(ctx context.Context, head thread.Head) error {
	run, ok, err := u.run(ctx, head)
	if ok {
		ok, err = u.recallOf(ctx, head, run)
	}
	if ok || err != nil {
		return err
	}
	if u.other {
		return fmt.Errorf("tool call or suspension %q: %w", core.Excerpt(u.asked.Target), thread.ErrDecided)
	}
	return fmt.Errorf("tool call or suspension %q that waits: %w", core.Excerpt(u.asked.Target), thread.ErrNotFound)
}

// run is the one that the decision may be of: the named one, else the one that wrote to the
// log last. That is the open run, if it has made a call. ok is false if the head remembers no
// decision: then there is nothing to find.
func (u *deciding) run(ctx context.Context, head thread.Head) (run core.ID, ok bool, err error) {
	switch {
	case len(head.Recent) == 0 || head.Seq == 0:
		return run, false, nil
	case !u.asked.Run.IsZero():
		return u.asked.Run, true, nil
	}
	last, err := threadlog.Read(ctx, u.s.store, u.s.records, u.key, head.Seq, head.Seq)
	if err != nil {
		return run, false, err
	}
	return last[0].Run, true, nil
}

// recallOf looks through the decisions of one run. The list may be older than the head; only
// the head proves that a decision counted.
// It looks at the records first, which say more than the head, then at the head's hashes.
func (u *deciding) recallOf(ctx context.Context, head thread.Head, run core.ID) (found bool, err error) {
	receipt := Decided{ThreadID: u.key.Thread, RunID: run, DecisionID: u.said.ID, Duplicate: true}
	prefix, after := "D#"+run.String(), ""
	for {
		page, err := u.s.store.Records(ctx, u.key, prefix, after, decisionPage)
		if err != nil {
			return false, fmt.Errorf("list decisions of run %s: %w", run, err)
		}
		for _, record := range page {
			after = record.Name
			if found, err := u.matches(ctx, head, record, receipt); found || err != nil {
				return found, err
			}
		}
		if len(page) < decisionPage {
			break
		}
	}
	// No record was listed, but the head may still know the hash: then the decision
	// counted, and nothing else is known of it. Its content can no longer be compared.
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

// matches reports whether a stored decision, which the head remembers, is the one that is
// looked for; its content must then be the same. It notes another one on the same call or
// suspension.
func (u *deciding) matches(ctx context.Context, head thread.Head, record store.Record, receipt Decided) (bool, error) {
	var stored thread.DecisionRecord
	if err := u.s.records.Decode("decision", record.Payload, &stored); err != nil {
		return false, fmt.Errorf("%s: %w", record.Name, err)
	}
	turn, index, ok := decisionPlace(record.Name)
	counted := slices.Contains(head.Recent, stored.Key(receipt.RunID))
	// turn > head.Seq: of a turn that never became visible. Once another decision on the
	// target was seen, only the one that is looked for is worth a read of its turn.
	if !ok || !counted || stored.ID != u.said.ID && u.other || turn > head.Seq {
		return false, nil
	}
	calls, err := u.s.reads.callsOf(ctx, u.key, turn)
	if index >= len(calls) || stored.About(receipt.RunID) != thread.TicketKey(receipt.RunID, u.asked.Target) && calls[index].ID != u.asked.Target {
		return false, err
	}
	if stored.ID != u.said.ID {
		u.other = true
		return false, nil
	}
	receipt.CallID, receipt.SuspensionID, receipt.Turn, receipt.Index = calls[index].ID, stored.Suspension, turn, index
	u.receipt, u.ticket, u.known = receipt, stored.About(receipt.RunID), true
	return true, u.same(stored)
}

// decisionPlace reads turn and call from a decision's name.
// ok is false for a name that is not a decision's.
func decisionPlace(name string) (turn uint64, call int, ok bool) {
	parts := strings.Split(name, "#") // D, run, turn, call, decision
	if len(parts) != 5 {
		return turn, call, false
	}
	turn, err := strconv.ParseUint(parts[2], 10, 64)
	index, failed := strconv.ParseUint(parts[3], 10, 8)
	return turn, int(index), err == nil && failed == nil
}

// writeOver decides over a record that another attempt left, or stored first. Its content
// must be the same; another program may have written it in another schema.
// The second commit has a separate id, and covers the schema of the record instead of
// writing one.
func (u *deciding) writeOver(ctx context.Context, name string, c commit) (thread.Head, thread.Result, error) {
	stored, schema, ok, err := u.s.reads.decision(ctx, u.key, name)
	switch {
	case err != nil:
		return thread.Head{}, thread.Result{}, err
	case !ok:
		return thread.Head{}, thread.Result{}, fmt.Errorf("decision %s of thread %s: %w", name, u.key, store.ErrConflict)
	}
	if err := u.same(stored); err != nil {
		return thread.Head{}, thread.Result{}, err
	}
	u.known = true
	again := commit{w: &u.s.writer, key: u.key, change: c.change, inline: c.inline, covers: schema}
	return again.run(ctx, thread.Head{})
}

// counted reports whether the head shows that the decision was taken on the suspension that the
// receipt names. The decision's record does not show it: an attempt that was refused leaves one,
// too.
func (u *deciding) counted(head thread.Head) bool {
	key := u.decisionKey()
	return slices.Contains(head.Recent, key) || slices.ContainsFunc(head.Tickets, func(t thread.Ticket) bool { return t.Decision == key })
}

// confirm compares a duplicate with the decision that was stored. If that was not taken on its
// ticket, it was a decision on an earlier suspension of the call, or on a later one that another
// attempt has found.
// A derived id is refused if its ticket is not decided: the head remembers the decision of
// an earlier suspension of the same call, and this request may be meant for either.
func (u *deciding) confirm(ctx context.Context, head thread.Head) error {
	for _, t := range head.Tickets {
		if u.derived && t.ID == u.ticket && t.Decision == 0 {
			return core.Errorf(core.CodeConflict, "call %s waits again, and the same decision was taken before: give this one a decision_id", core.Excerpt(u.receipt.CallID))
		}
	}
	if !u.counted(head) {
		return u.recall(ctx, head)
	}
	stored, _, ok, err := u.s.reads.decision(ctx, u.key, u.name())
	switch {
	case err != nil:
		return err
	case ok:
		u.known = true
		return u.same(stored)
	}
	return u.recall(ctx, head)
}

// decision reads a decision's record, and the schema that it was written in. A head that covers
// it must have that schema, or an older program would claim a thread that it cannot read.
func (r reader) decision(ctx context.Context, key core.ThreadKey, name string) (stored thread.DecisionRecord, schema uint16, ok bool, err error) {
	record, ok, err := r.store.Get(ctx, key, name)
	if err != nil || !ok {
		if err != nil {
			err = fmt.Errorf("read decision %s: %w", name, err)
		}
		return stored, 0, false, err
	}
	if schema, err = r.records.Schema(record.Payload); err == nil {
		err = r.records.Decode("decision", record.Payload, &stored)
	}
	if err != nil {
		return stored, 0, false, fmt.Errorf("%s: %w", name, err)
	}
	return stored, schema, true, nil
}

// same refuses a decision with other content than the stored one with its id. The user may be
// another one: the first decision counts. Payloads are
// compared as bytes: both have been compacted (normalized), and a client that retries its
// request sends the same text.
func (u *deciding) same(stored thread.DecisionRecord) error {
	if stored.Action == u.said.Action && stored.Reason == u.said.Reason && bytes.Equal(stored.Payload, u.said.Payload) && bytes.Equal(stored.Arguments, u.said.Arguments) &&
		stored.Remember == u.said.Remember && stored.RememberAs == u.said.RememberAs {
		return nil
	}
	return core.Errorf(core.CodeConflict, "decision id %q was used before with other content", u.said.ID)
}
