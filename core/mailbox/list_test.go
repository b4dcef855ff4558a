package mailbox_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

func (w *world) list(t *testing.T, q mailbox.ListQuery) mailbox.ListPage {
	t.Helper()
	page, err := w.List(t.Context(), key, w.head(t), q)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// lines says of each dispatch of a page what kind it is of, which, how it stands.
func lines(page mailbox.ListPage, names map[core.ID]string) (lines []string) {
	for _, d := range page.Dispatches {
		line := fmt.Sprintf("%s %s: %s", d.Kind, names[d.ID], d.Status)
		if d.RunStatus != "" {
			line += fmt.Sprintf(", %s", d.RunStatus)
		}
		if d.Termination != nil {
			line += fmt.Sprintf(" %s %s", d.Termination.Type, d.Termination.Code)
		}
		if d.Kind == core.DispatchInput {
			line += " for " + names[d.RunID]
		}
		lines = append(lines, line)
	}
	return lines
}

// named submits and remembers dispatch and run by a name.
func (w *world) named(t *testing.T, names map[core.ID]string, name string, s mailbox.Submission) mailbox.Receipt {
	t.Helper()
	time.Sleep(time.Millisecond) // ids of one millisecond come in any order
	r := w.submit(t, s)
	names[r.DispatchID] = name
	if names[r.RunID] == "" {
		names[r.RunID] = name
	}
	return r
}

// recordEnd stores what a step stores of a run that ended.
func (w *world) recordEnd(t *testing.T, r mailbox.Receipt, end core.Termination, finished int64) {
	t.Helper()
	run := thread.RunRecord{Run: core.Run{ID: r.RunID, Dispatch: r.DispatchID, ThreadID: "t1", AgentID: "demo", Status: core.RunDone, Termination: &end, CreatedAt: 5, FinishedAt: finished}}
	payload, err := thread.Records{}.EncodeRun(&run)
	if err != nil {
		t.Fatal(err)
	}
	w.put(t, store.Record{Name: recordname.Run(r.RunID), Fence: w.head(t).Fence, Version: w.head(t).Version, Payload: payload})
}

// mixed is a thread with everything in its mailbox, in a bubble of synctest.
func mixed(t *testing.T) (*world, map[core.ID]string) {
	t.Helper()
	w, names := newWorld(t), map[core.ID]string{}
	ended := func(name string, end core.Termination) {
		r := w.named(t, names, name, input(name, ""))
		w.end(t, w.claim(t))
		w.recordEnd(t, r, end, 9)
	}
	ended("natural", core.Termination{Type: core.TerminationNatural})
	ended("dead", *thread.ReasonDeadLetter.Termination())
	ended("interrupted", *thread.ReasonSuperseded.Termination())
	ended("cancelled while it ran", *thread.ReasonCancelled.Termination())
	ended("failed", core.Termination{Type: core.TerminationError, Code: "model"})

	w.named(t, names, "superseded", input("a", ""))
	w.interrupt(t, "")
	cancelled := w.named(t, names, "cancelled", input("a", ""))
	if _, err := w.Cancel(t.Context(), key, cancelled.RunID); err != nil {
		t.Fatal(err)
	}
	w.named(t, names, "open", input("a", ""))
	head := w.claim(t)
	read := w.named(t, names, "read", input("b", mailbox.ModeSteer))
	w.reads(t, head, read.DispatchID)
	retracted := w.named(t, names, "retracted", input("c", mailbox.ModeSteer))
	if err := w.Retract(t.Context(), key, retracted.DispatchID); err != nil {
		t.Fatal(err)
	}
	w.named(t, names, "steered", input("d", mailbox.ModeSteer))
	w.named(t, names, "queued", input("e", ""))
	later := prior(3, input("f", ""))
	later.Opening.Delay = time.Hour
	w.named(t, names, "later", later)
	return w, names
}

var everything = []string{
	"run open: claimed, running", "input steered: queued for open", "run later: queued, created", "run queued: queued, created",
	"run natural: acked, done natural_end ", "run dead: dead_letter, done error dead_letter", "run interrupted: superseded, done superseded ",
	"run cancelled while it ran: acked, done cancelled ", "run failed: acked, done error model",
	"run superseded: superseded, done superseded ", "run cancelled: cancelled, done cancelled ", "input read: acked for open", "input retracted: cancelled for open",
}

func TestTheMailboxListsWhatIsOpenQueuedAndOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, names := mixed(t)
		page := w.list(t, mailbox.ListQuery{})
		if diff := cmp.Diff(everything, lines(page, names)); diff != "" {
			t.Errorf("dispatches (-want +got):\n%s", diff)
		}
		if page.Next != "" || page.Epoch != 1 {
			t.Errorf("epoch %d, next %q", page.Epoch, page.Next)
		}
		open, later := page.Dispatches[0], page.Dispatches[2]
		head := w.head(t)
		want := core.Dispatch{Kind: core.DispatchRun, Status: core.DispatchClaimed, RunStatus: core.RunRunning, AgentID: "demo",
			Attempts: int(head.Run.Attempts), MaxAttempts: 5, ClaimedBy: "worker", LeaseUntil: head.Claim.Lease}
		ids := cmpopts.IgnoreFields(core.Dispatch{}, "ID", "RunID", "CreatedAt")
		if diff := cmp.Diff(want, open, ids); diff != "" {
			t.Errorf("the open run (-want +got):\n%s", diff)
		}
		three := uint8(3)
		want = core.Dispatch{Kind: core.DispatchRun, Status: core.DispatchQueued, RunStatus: core.RunCreated, AgentID: "demo", MaxAttempts: 5,
			Priority: &three, AvailableAt: later.AvailableAt, Messages: later.Messages}
		if diff := cmp.Diff(want, later, ids); diff != "" || later.AvailableAt == 0 || len(later.Messages) != 1 || later.Messages[0].Text() != "f" {
			t.Errorf("the delayed run (-want +got):\n%s\nat %d: %v", diff, later.AvailableAt, later.Messages)
		}
		for _, d := range page.Dispatches {
			if d.CreatedAt == 0 {
				t.Errorf("%s has no time", names[d.ID])
			}
		}
	})
}

// Pages of any size come to the same list, what is open and queued being on the first
// one in any case.
func TestTheMailboxIsListedInPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, names := mixed(t)
		for _, limit := range []int{1, 2, 5, 6, 13, 200} {
			var got []string
			q := mailbox.ListQuery{Limit: limit}
			for pages := 0; ; pages++ {
				page := w.list(t, q)
				if n := len(page.Dispatches); n > max(limit, 4) || pages > 20 {
					t.Fatalf("limit %d: page %d has %d dispatches", limit, pages, n)
				}
				if got = append(got, lines(page, names)...); page.Next == "" {
					break
				}
				q.After = page.Next
			}
			if diff := cmp.Diff(everything, got); diff != "" {
				t.Errorf("limit %d (-want +got):\n%s", limit, diff)
			}
		}
	})
}

func TestTheMailboxIsFilteredByStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, names := mixed(t)
		for status, want := range map[core.DispatchStatus][]string{
			core.DispatchQueued:     {everything[1], everything[2], everything[3]},
			core.DispatchClaimed:    {everything[0]},
			core.DispatchAcked:      {everything[4], everything[7], everything[8], everything[11]},
			core.DispatchCancelled:  {everything[10], everything[12]},
			core.DispatchSuperseded: {everything[6], everything[9]},
			core.DispatchDeadLetter: {everything[5]},
		} {
			if diff := cmp.Diff(want, lines(w.list(t, mailbox.ListQuery{Status: status}), names)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", status, diff)
			}
		}
	})
}

func TestBadListQueriesAreRefused(t *testing.T) {
	w := newWorld(t)
	for want, q := range map[string]mailbox.ListQuery{
		"limit 201, allowed are 1 to 200": {Limit: 201},
		"limit -1, allowed are 1 to 200":  {Limit: -1},
		`status "done" is unknown, allowed are queued, claimed, acked, cancelled, superseded, dead_letter`: {Status: "done"},
		`cursor "M#1" is not from a page`: {After: "M#1"},
	} {
		if _, err := w.List(t.Context(), key, thread.Head{}, q); core.CodeOf(err) != core.CodeInvalid || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if page := w.list(t, mailbox.ListQuery{Limit: 200}); page.Dispatches == nil || len(page.Dispatches) != 0 || page.Next != "" {
		t.Errorf("a thread that never was: %+v", page)
	}
}

// Between two steps a run's continuation is queued, at the time that it was put off
// to; while it waits there is nothing to deliver.
func TestTheOpenRunIsListedAsItStands(t *testing.T) {
	w := newWorld(t)
	r := w.submit(t, input("one", ""))
	head := w.claim(t)
	w.commit(t, thread.Nack{Fence: head.Claim.Fence, AvailableAt: 4_102_444_800_000})
	d := w.list(t, mailbox.ListQuery{}).Dispatches
	if len(d) != 1 || d[0].ID != r.DispatchID || d[0].Status != core.DispatchQueued || d[0].AvailableAt != 4_102_444_800_000 || d[0].Attempts != 1 || d[0].ClaimedBy != "" {
		t.Errorf("put off: %+v", d)
	}
	waits, _ := waiting(t, asks(1))
	d = waits.list(t, mailbox.ListQuery{}).Dispatches
	if len(d) != 1 || d[0].Status != core.DispatchAcked || d[0].RunStatus != core.RunWaiting || len(d[0].Tickets) != 1 || d[0].Tickets[0].CallID != "c1" {
		t.Errorf("waiting: %+v", d)
	}
	if _, err := waits.Cancel(t.Context(), key, core.ID{}); err != nil {
		t.Fatal(err)
	}
	d = waits.list(t, mailbox.ListQuery{}).Dispatches
	if len(d) != 1 || d[0].Status != core.DispatchQueued || d[0].RunStatus != core.RunDone || d[0].Termination == nil || d[0].Termination.Type != core.TerminationCancelled {
		t.Errorf("closing: %+v", d)
	}
}

// What a refused write has left says that a run ended, or that input did.
func TestTheMailboxBelievesNoOrphans(t *testing.T) {
	w := newWorld(t)
	r := w.submit(t, input("one", ""))
	w.recordEnd(t, r, core.Termination{Type: core.TerminationNatural}, 9)
	w.audit(t, recordname.Ended(r.DispatchID), w.head(t).Version, thread.AuditRecord{Run: r.RunID, Status: core.DispatchCancelled})
	w.audit(t, recordname.Read(core.ID{7}), w.head(t).Version, thread.AuditRecord{Run: r.RunID, Read: 1, Status: core.DispatchAcked})
	names := map[core.ID]string{r.DispatchID: "one"}
	if diff := cmp.Diff([]string{"run one: queued, created"}, lines(w.list(t, mailbox.ListQuery{}), names)); diff != "" {
		t.Errorf("dispatches (-want +got):\n%s", diff)
	}
}

// A thread of many runs that a filter passes over does not make one page read all.
func TestAFilteredPageLeadsOn(t *testing.T) {
	w := newWorld(t)
	w.end(t, func() thread.Head { w.submit(t, input("one", "")); return w.claim(t) }())
	for i := range 1_050 {
		w.recordEnd(t, mailbox.Receipt{RunID: core.ID{1, byte(i >> 8), byte(i)}, DispatchID: core.ID{2, byte(i >> 8), byte(i)}}, core.Termination{Type: core.TerminationNatural}, 1)
	}
	dead := mailbox.Receipt{RunID: core.ID{3}, DispatchID: core.ID{4}}
	w.recordEnd(t, dead, *thread.ReasonDeadLetter.Termination(), 1)
	q := mailbox.ListQuery{Status: core.DispatchDeadLetter}
	page := w.list(t, q)
	if len(page.Dispatches) != 0 || page.Next != recordname.Run(core.ID{1, 999 >> 8, 999 & 0xff}) { // behind 1000 records
		t.Fatalf("the first page has %d dispatches and leads to %q", len(page.Dispatches), page.Next)
	}
	q.After = page.Next
	if page = w.list(t, q); len(page.Dispatches) != 1 || page.Dispatches[0].RunID != dead.RunID || page.Next != "" {
		t.Errorf("the second page is %+v", page)
	}
}

func TestRetractOfAQueuedRunCancelsIt(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("one", ""))
	w.claim(t)
	two := w.submit(t, input("two", ""))
	if err := w.Retract(t.Context(), key, two.DispatchID); err != nil || w.status(t, two) != "done cancelled" {
		t.Errorf("retract: %v, the run is %q", err, w.status(t, two))
	}
	three := w.submit(t, input("three", ""))
	w.before(func() { // it opens while it is taken back
		w.commit(t, thread.Reclaim{})
		w.end(t, w.claim(t))
		w.claim(t)
	})
	if err := w.Retract(t.Context(), key, three.DispatchID); core.CodeOf(err) != core.CodeNotFound || w.status(t, three) != "running" {
		t.Errorf("retract of a run that has opened: %v, it is %q", err, w.status(t, three))
	}
}

// Input that was steered to a run and not read opens next, whatever its priority, and
// what else was steered is that run's inbox.
func TestTheMailboxListsInputThatBecameARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, names := newWorld(t), map[core.ID]string{}
		w.submit(t, input("one", ""))
		head := w.claim(t)
		w.named(t, names, "urgent", prior(0, input("a", "")))
		s1 := w.named(t, names, "steered", input("b", mailbox.ModeSteer))
		names[s1.DispatchID] = "steered"
		w.named(t, names, "steered too", input("c", mailbox.ModeSteer))
		w.end(t, head)
		want := []string{"run steered: queued, created", "input steered too: queued for steered", "run urgent: queued, created"}
		if diff := cmp.Diff(want, lines(w.list(t, mailbox.ListQuery{}), names)); diff != "" {
			t.Errorf("dispatches (-want +got):\n%s", diff)
		}
	})
}

// A record may be newer than the head that was read: of a run that has opened since.
func TestTheMailboxLeavesOutWhatTheHeadDoesNotKnowYet(t *testing.T) {
	w := newWorld(t)
	w.end(t, func() thread.Head { w.submit(t, input("one", "")); return w.claim(t) }())
	run := thread.RunRecord{Run: core.Run{ID: core.ID{1}, Dispatch: core.ID{2}, Status: core.RunRunning}}
	payload, err := thread.Records{}.EncodeRun(&run)
	if err != nil {
		t.Fatal(err)
	}
	w.put(t, store.Record{Name: recordname.Run(core.ID{1}), Fence: 9, Version: 9, Payload: payload})
	if page := w.list(t, mailbox.ListQuery{}); len(page.Dispatches) != 0 {
		t.Errorf("listed is %+v", page.Dispatches)
	}
}
