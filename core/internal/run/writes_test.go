package run

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run/checkpoint"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// What each write asks of the head is all that the head has of it.
func TestWhatAWriteAsksOfTheHead(t *testing.T) {
	var (
		consumed = []thread.InboxRef{{ID: core.ID{1}, Revision: 2, Seq: 8}}
		log      = logPart{codec: new(thread.Records), from: 7, entries: make([]thread.Entry, 3), consumed: consumed, cut: 5, summary: 4, schema: 2}
		round    = callPart{calls: []thread.CallStatus{thread.CallRunning}, tickets: []thread.Ticket{{ID: 3}}, adopted: 3, through: new(uint32(1))}
		done     = []thread.CallStatus{thread.CallDone}
		ends     = runPart{end: &core.Termination{}}
	)
	tests := []struct {
		name  string
		write write
		want  thread.Change
	}{
		{"a turn", &turnWrite{log: log, calls: 2, turnFence: 6, batch: true, lacks: true},
			thread.CommitTurn{Fence: 9, From: 7, Seq: 10, Calls: 2, TurnFence: 6, Batch: true, Consumed: consumed, Summary: 4, Cut: 5, Schema: 2, Lacks: true}},
		{"a step that ends the run", &stepWrite{log: log, run: ends, natural: true, listens: true, done: done, adopted: 1, lacks: true, keep: true, lease: 30, followed: 40},
			thread.CommitStep{
				Fence: 9, From: 7, Outcome: thread.Done, Natural: true, Listens: true, Seq: 10, Calls: done, Consumed: consumed,
				Summary: 4, Cut: 5, Schema: 2, Lease: 30, Lacks: true, Keep: true, Followed: 40,
			}},
		{"a step", &stepWrite{log: log, adopted: 3}, thread.CommitStep{Fence: 9, From: 7, Outcome: thread.Yield, Seq: 10, Consumed: consumed, Summary: 4, Cut: 5, Schema: 3}},
		{"a suspension", &suspendWrite{round: round},
			thread.Suspend{Fence: 9, Calls: round.calls, Tickets: round.tickets, Schema: 3, Through: round.through}},
		{"a wait", &waitWrite{round: round, seq: 11, lacks: true, keep: true, lease: 30, followed: 40},
			thread.CommitStep{
				Fence: 9, From: 11, Seq: 11, Outcome: thread.Wait, Calls: round.calls, Tickets: round.tickets, Round: true, Through: round.through,
				Schema: 3, Lacks: true, Lease: 30, Keep: true, Followed: 40,
			}},
		{"a failure", &failWrite{log: log, listens: true, adopted: 1, through: round.through},
			thread.CommitStep{Fence: 9, From: 7, Outcome: thread.Done, Listens: true, Seq: 10, Summary: 4, Cut: 5, Schema: 2, Through: round.through}},
		{"a failure in a round", &failWrite{log: logPart{codec: new(thread.Records), from: 7}, inRound: true, adopted: 3},
			thread.CommitStep{Fence: 9, From: 7, Outcome: thread.Done, Listens: true, Seq: 7, Schema: 3}},
		{"a close", &closeWrite{log: log, adopted: 3}, thread.CommitClose{Fence: 9, From: 7, Seq: 10, Summary: 4, Cut: 5, Schema: 3}},
		{"a claim that is given back", &nackWrite{
			kind: thread.NackModel, at: 50, closing: true, calls: done, progress: true, adopted: 3, through: round.through, failed: 2, ended: &thread.EndRecord{}, followed: 40,
		}, thread.Nack{
			Fence: 9, Kind: thread.NackModel, AvailableAt: 50, Closing: true, Calls: done, Progress: true, Schema: 3, ModelFailed: 2, RunEnd: true, Through: round.through, Followed: 40,
		}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, tt.write.change(9)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// A draft goes into its write as it is, with the summary that its past has, where the head
// has another.
func TestTheLogOfAWriteIsTheDrafts(t *testing.T) {
	h := &holder{records: thread.Records{Extra: "more"}}
	h.head.Summary, h.head.TailSum = 3, 9
	d := &draft{
		from: 7, entries: []thread.Entry{{Step: 1}}, consumed: []thread.InboxRef{{Seq: 8}}, cut: 5,
		past: &checkpoint.Conversation{Summary: &checkpoint.Summary{UpTo: 6, Schema: 2}},
	}
	want := logPart{codec: &h.records, from: 7, entries: d.entries, consumed: d.consumed, cut: 5, summary: 6, schema: 2, prompts: &d.prompts, sum: 9}
	if diff := cmp.Diff(want, newLogPart(h, d), cmp.AllowUnexported(logPart{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A record that cannot be encoded ends the run, whichever of a plan's it is.
func TestAPlanKeepsThatARecordCannotBeEncoded(t *testing.T) {
	var p plan
	p.add(store.Record{Name: "M#1"}, nil)
	if p.err != nil || len(p.records) != 1 {
		t.Fatalf("the plan is %+v", p)
	}
	broken := errors.New("no JSON")
	p.add(store.Record{Name: "M#2"}, broken)
	p.add(store.Record{Name: "M#3"}, nil)
	end, ok := errors.AsType[*ended](p.err)
	want := core.Termination{Type: core.TerminationError, Code: "encoding", Detail: "what the run made cannot be stored"}
	if !ok || end.termination != want || !errors.Is(p.err, broken) || len(p.records) != 3 {
		t.Errorf("the plan of %d records comes to %v, %+v", len(p.records), p.err, end)
	}
}

// A text is cut where its encoded form is longer than the smallest form of an end has room
// for, and in the middle of no character.
func TestTextsAreCutAsTheyAreEncoded(t *testing.T) {
	tests := []struct {
		name, text, want string
	}{
		{"none", "", ""},
		{"one that has just room", strings.Repeat("x", 1019), strings.Repeat("x", 1019)},
		{"one that is longer by a byte", strings.Repeat("x", 1020), strings.Repeat("x", 1017) + "..."},
		{"one of quotes", strings.Repeat(`"`, 510), strings.Repeat(`"`, 508) + "..."},
		{"one of longer characters", "xy" + strings.Repeat("ä", 509), "xy" + strings.Repeat("ä", 507) + "..."},
	}
	for _, tt := range tests {
		if got := cutText(tt.text); got != tt.want {
			t.Errorf("%s of %d bytes has %d bytes, want %d: %.20s", tt.name, len(tt.text), len(got), len(tt.want), got)
		}
	}
}

// The last form of an end leaves out a record of usage that is larger than every store takes,
// and no other form does.
func TestTheLastFormLeavesOutUsageThatIsTooLarge(t *testing.T) {
	const measured = 100
	add := func(form thread.Form, user int) plan {
		books := accounting.Books{Store: refusing{}, Metering: &accounting.Metering{Keep: time.Hour}}
		accounts := books.Run(accounting.Claim{Run: core.ID{1}})
		p := runPart{codec: new(thread.Records), account: &accounts, env: env.System(), user: strings.Repeat("u", user), form: form, totals: new(thread.Totals)}
		to := plan{run: new(thread.RunRecord)}
		p.addAccount(&to, thread.Head{}, thread.Result{Stretch: &thread.Stretch{Number: 1, Since: 1_000_000}})
		return to
	}
	p := add(thread.FormWhole, measured)
	if len(p.records) != 1 || p.left != 0 {
		t.Fatalf("the plan is %+v", p)
	}
	most := measured + thread.MinPayload - len(p.records[0].Payload)
	tests := []struct {
		name          string
		form          thread.Form
		user          int
		records, left int
	}{
		{"with room for it", thread.FormLeast, most, 1, 0},
		{"larger by a byte", thread.FormLeast, most + 1, 0, thread.MinPayload + 1},
		{"larger in a form that keeps it", thread.FormStateless, most + 1, 1, 0},
	}
	for _, tt := range tests {
		if p := add(tt.form, tt.user); len(p.records) != tt.records || p.left != tt.left || p.err != nil {
			t.Errorf("%s: %d records, %d bytes are left out, %v; want %d and %d", tt.name, len(p.records), p.left, p.err, tt.records, tt.left)
		}
	}
	var log said
	h := &newScripted(t, &scripted{}, &log).holder
	p.complainOfLeft(t.Context(), &h.log)
	p.left = 9000
	p.complainOfLeft(t.Context(), &h.log)
	want := []string{`level=ERROR msg="usage record too large for the store" step=0 bytes=9000`}
	if diff := cmp.Diff(want, log.lines); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
}

// What lists a thread says of a run's end what every reader of the list may know, and where
// the thread of a child stands.
func TestWhatListsTheThreadOfARun(t *testing.T) {
	end := &core.Termination{Type: core.TerminationError, Code: "model", Detail: "the model failed"}
	r := &thread.RunRecord{Run: core.Run{ID: core.ID{1}, AgentID: "demo", Status: core.RunDone, Response: "said", Termination: end}, Parent: &thread.Parent{Thread: "parent"}}
	p := runPart{codec: new(thread.Records), before: r, at: 50}
	var to plan
	p.addTo(&to, thread.Head{Owner: "ann"}, thread.Done, r)
	if len(to.records) != 2 || to.err != nil {
		t.Fatalf("the plan has %d records, %v", len(to.records), to.err)
	}
	got, err := thread.Records{}.DecodeListing(to.records[1].Payload)
	if err != nil {
		t.Fatal(err)
	}
	want := thread.Listing{
		List: recordname.ListOf("ann", r.Parent), At: 50, AgentID: "demo", Excerpt: "said", Parent: "parent",
		Last: &core.LastRun{ID: core.ID{1}, AgentID: "demo", Status: core.RunDone, Termination: &core.Termination{Type: core.TerminationError, Code: "model"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
