package mailbox_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// recalling is a world whose run has gone on behind a decision "d" on s0, in a turn whose
// sequence has two figures.
func recalling(t *testing.T) (*world, thread.Head) {
	t.Helper()
	w := newWorld(t)
	w.submit(t, input("one", ""))
	head := w.claim(t)
	var entries []thread.Entry
	for range 11 {
		entries = append(entries, thread.Entry{Run: head.Run.ID, Step: 1})
	}
	head = w.waits(t, w.writes(t, head, goOn, entries...), asks(0))
	w.decide(t, deciding("c0", "d"))
	w.goesOn(t)
	w.queue.Clear()
	return w, head
}

func TestARecalledDecisionHasItsPlace(t *testing.T) {
	w, head := recalling(t)
	want := mailbox.Decided{ThreadID: "t1", RunID: head.Run.ID, CallID: "c0", SuspensionID: "s0", DecisionID: "d", Duplicate: true, Turn: 12}
	if diff := cmp.Diff(want, w.decide(t, deciding("c0", "d"))); diff != "" {
		t.Errorf("receipt (-want +got):\n%s", diff)
	}
}

// Records that no write of the head covers, or whose names are none of a decision's, say
// nothing of it: the head alone remembers it then.
func TestRecordsThatSayNothingOfADecision(t *testing.T) {
	w, head := recalling(t)
	run, decided := head.Run.ID.String(), thread.DecisionKey(head.Run.ID, "s0", "d")
	same := `{"schema":1,"decision_id":"d","action":"resume","suspension":"s0"}`
	tests := map[string]store.Record{
		"too few parts":                    {Name: "D#" + run + "#12#0", Payload: []byte(same)},
		"no turn":                          {Name: "D#" + run + "#x#0#1", Payload: []byte(same)},
		"no call":                          {Name: "D#" + run + "#12#x#1", Payload: []byte(same)},
		"a call before the first":          {Name: "D#" + run + "#12#-1#1", Payload: []byte(same)},
		"a call that the turn has not":     {Name: recordname.Decision(head.Run.ID, 12, 1, decided), Payload: []byte(same)},
		"a turn that never became visible": {Name: recordname.Decision(head.Run.ID, 99, 0, decided), Payload: []byte(same)},
		"a decision that the head forgets": {Name: recordname.Decision(head.Run.ID, 12, 0, 1), Payload: []byte(`{"schema":1,"decision_id":"e","action":"resume","suspension":"s0"}`)},
		"a decision on another suspension": {Name: recordname.Decision(head.Run.ID, 12, 0, 1), Payload: []byte(`{"schema":1,"decision_id":"d","action":"resume","suspension":"s9"}`)},
	}
	for name, record := range tests {
		t.Run(name, func(t *testing.T) {
			w.store.OnRecords = func(context.Context, core.ThreadKey, string, string, int) ([]store.Record, error) {
				return []store.Record{record}, nil
			}
			got, err := w.Decide(t.Context(), key, deciding("s0", "d"))
			want := mailbox.Decided{ThreadID: "t1", RunID: head.Run.ID, SuspensionID: "s0", DecisionID: "d", Duplicate: true}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v; receipt (-want +got):\n%s", err, diff)
			}
		})
	}
	w.store.OnRecords = func(context.Context, core.ThreadKey, string, string, int) ([]store.Record, error) {
		return []store.Record{{Name: recordname.Decision(head.Run.ID, 12, 0, decided), Payload: []byte("{")}}, nil
	}
	if got, err := w.Decide(t.Context(), key, deciding("s0", "d")); core.CodeOf(err) != core.CodeCorrupt || got != (mailbox.Decided{}) {
		t.Errorf("a damaged record: %+v, %v; want code corrupt", got, err)
	}
}

// A run may have more decisions than are listed at a time.
func TestADecisionIsRecalledFromALaterPage(t *testing.T) {
	for _, before := range []int{99, 100, 101} {
		w, head := recalling(t)
		for i := range before {
			w.put(t, store.Record{Name: recordname.Decision(head.Run.ID, 0, 0, uint64(i)), Payload: []byte(`{"schema":1,"decision_id":"x","action":"resume","suspension":"s9"}`)})
		}
		if got := w.decide(t, deciding("c0", "d")); got.Turn != 12 {
			t.Errorf("behind %d others: %+v, want the decision in turn 12", before, got)
		}
	}
}

// A decision of a run before the one that wrote last is found by its run.
func TestADecisionOfAnEarlierRunIsFoundByItsRun(t *testing.T) {
	w, head := recalling(t)
	w.end(t, w.head(t))
	goesOn(t, w)
	if got, err := w.Decide(t.Context(), key, deciding("c0", "d")); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("without its run: %+v, %v; want not found", got, err)
	}
	of := func(d *mailbox.Deciding) { d.Run = head.Run.ID }
	if got := w.decide(t, deciding("c0", "d", of)); !got.Duplicate || got.Turn != 12 {
		t.Errorf("with its run: %+v, want a duplicate", got)
	}
}

// A thread that remembers no request has no decision to be looked for.
func TestADecisionOnAForkCostsNoSearch(t *testing.T) {
	w := forkable(t)
	if _, err := w.Fork(t.Context(), forking("m1")); err != nil {
		t.Fatal(err)
	}
	reads := 0
	w.store.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
		reads++
		return do(ctx)
	}
	if _, err := w.Decide(t.Context(), forkKey, deciding("c0", "d")); core.CodeOf(err) != core.CodeNotFound || reads != 1 {
		t.Errorf("%v after %d reads, want not found after one", err, reads)
	}
}

// The store says that other bytes lie there, and does not find them: another try gets past
// that.
func TestADecisionThatIsInItsOwnWayAndNotThere(t *testing.T) {
	w, head := waiting(t, asks(0))
	w.store.OnCommit = func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
		name := recordname.Decision(head.Run.ID, 1, 0, thread.DecisionKey(head.Run.ID, "s0", "d"))
		return store.Outcome{}, &store.RefusedError{Name: name, Cause: store.ErrConflict}
	}
	if got, err := w.Decide(t.Context(), key, deciding("c0", "d")); core.CodeOf(err) != core.CodeThrottled || got != (mailbox.Decided{}) {
		t.Errorf("%+v, %v; want code throttled", got, err)
	}
}

// A decision over a record that another attempt left sends no hint either.
func TestAnInlineDecisionOverAnOrphanSendsNoHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, head := waiting(t, asks(0))
		name := recordname.Decision(head.Run.ID, 1, 0, thread.DecisionKey(head.Run.ID, "s0", "d"))
		w.put(t, store.Record{Name: name, Payload: []byte(`{"schema":1,"decision_id":"d","action":"resume","suspension":"s0","more":1}`)})
		if _, _, err := w.DecideInline(t.Context(), key, deciding("c0", "d")); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string(nil), w.queue.Lines()); diff != "" {
			t.Errorf("hints (-want +got):\n%s", diff)
		}
	})
}

// The decision's own record is named when it cannot be read.
func TestADecisionThatCannotBeReadIsNamed(t *testing.T) {
	w, head := waiting(t, asks(0))
	w.decide(t, deciding("c0", "d"))
	name := recordname.Decision(head.Run.ID, 1, 0, thread.DecisionKey(head.Run.ID, "s0", "d"))
	w.failing(name, errors.New("no connection"))
	if _, err := w.Decide(t.Context(), key, deciding("c0", "d")); err == nil || err.Error() != fmt.Sprintf("read decision %s: no connection", name) {
		t.Errorf("%v, want the record's name", err)
	}
	w.failing("", nil)
	because := func(d *mailbox.Deciding) { d.Decision.Reason = "so" }
	if _, err := w.Decide(t.Context(), key, deciding("c0", "d", because)); core.CodeOf(err) != core.CodeConflict {
		t.Errorf("for another reason: %v, want code conflict", err)
	}
}
