package mailbox_test

import (
	"slices"
	"strings"
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

// What is listed of a run that is over, of the open one, and of one that ended in the queue.
func TestWhatTheMailboxSaysOfADispatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, names := mixed(t)
		page := w.list(t, mailbox.ListQuery{})
		byName := map[string]core.Dispatch{}
		for _, d := range page.Dispatches {
			byName[names[d.ID]] = d
		}
		open := byName["open"]
		if head := w.head(t); open.ID != head.Run.Dispatch || open.RunID != head.Run.ID {
			t.Errorf("the open run is listed as %s of %s", open.RunID, open.ID)
		}
		d := byName["natural"]
		want := core.Dispatch{ID: d.ID, RunID: d.RunID, Kind: core.DispatchRun, Status: core.DispatchAcked, RunStatus: core.RunDone, AgentID: "demo",
			Termination: &core.Termination{Type: core.TerminationNatural}, CreatedAt: 5, CompletedAt: 9}
		if diff := cmp.Diff(want, d); diff != "" || d.RunID.IsZero() {
			t.Errorf("a run that is over (-want +got):\n%s", diff)
		}
		d = byName["cancelled"]
		want = core.Dispatch{ID: d.ID, RunID: d.RunID, Kind: core.DispatchRun, Status: core.DispatchCancelled, RunStatus: core.RunDone, AgentID: "demo",
			Termination: &core.Termination{Type: core.TerminationCancelled}, CreatedAt: d.CreatedAt}
		if diff := cmp.Diff(want, d); diff != "" || d.RunID.IsZero() {
			t.Errorf("one that ended in the queue (-want +got):\n%s", diff)
		}
	})
}

// An entry whose input is lost is listed without what it said; one that was read is listed
// once, whatever a refused write has left.
func TestEndedInputIsListedByWhatIsConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, names := mixed(t)
		var read, cancelled core.ID
		for id, name := range names {
			switch name {
			case "read":
				read = id
			case "cancelled":
				if _, ok, _ := w.store.Get(t.Context(), key, recordname.Input(id, 0)); ok {
					cancelled = id
				}
			}
		}
		w.audit(t, recordname.Ended(read), 1, thread.AuditRecord{Run: core.ID{7}, Status: core.DispatchCancelled})
		w.loses(recordname.Input(cancelled, 0))
		want := slices.Clone(everything)
		want[10] = "input cancelled: cancelled for cancelled"
		if diff := cmp.Diff(want, lines(w.list(t, mailbox.ListQuery{}), names)); diff != "" {
			t.Errorf("dispatches (-want +got):\n%s", diff)
		}
	})
}

// What is damaged is named, and nothing is listed in its place.
func TestAMailboxThatIsDamaged(t *testing.T) {
	for _, tt := range []struct {
		name   string
		record func(r mailbox.Receipt) string
		ended  bool
		want   string
	}{
		{"queued input", func(r mailbox.Receipt) string { return recordname.Input(r.DispatchID, 0) }, false, "queued input %[2]s: "},
		{"the input of what has ended", func(r mailbox.Receipt) string { return recordname.Input(r.DispatchID, 0) }, true, "queued input %[2]s: "},
		{"the name of an audit", func(mailbox.Receipt) string { return "A#x#ended" }, false, "audit A#x#ended: "},
		{"the record of a run", func(mailbox.Receipt) string { return recordname.Run(core.ID{1}) }, true, "R#01000000-0000-0000-0000-000000000000: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			r := w.submit(t, input("one", ""))
			if tt.ended {
				w.commit(t, thread.Cancel{Run: r.RunID})
			}
			w.ranAs(t, thread.RunRecord{Run: core.Run{ID: core.ID{1}, Dispatch: core.ID{2}, Status: core.RunDone}})
			if tt.record(r) == "A#x#ended" {
				w.put(t, store.Record{Name: "A#x#ended", Fence: 9, Version: 9, Payload: []byte(`{"schema":1}`)})
			}
			w.store.OnRecord = func(_ storetest.Operation, found store.Record) store.Record {
				if found.Name == tt.record(r) {
					found.Payload = []byte("{")
				}
				return found
			}
			_, err := w.List(t.Context(), key, w.head(t), mailbox.ListQuery{})
			if want := strings.ReplaceAll(tt.want, "%[2]s", r.DispatchID.String()); core.CodeOf(err) != core.CodeCorrupt || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%v, want code corrupt of %s", err, want)
			}
		})
	}
}

// What a page leaves out is not read for it.
func TestAFilteredPageReadsNoInputForNothing(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("one", ""))
	w.claim(t)
	r := w.submit(t, input("two", ""))
	w.failing(recordname.Input(r.DispatchID, 0), store.ErrThrottled)
	if page := w.list(t, mailbox.ListQuery{Status: core.DispatchClaimed}); len(page.Dispatches) != 1 {
		t.Errorf("listed are %+v", page.Dispatches)
	}
}
