package accounting_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
)

// priced is a store whose writes cost a unit for each record.
type priced struct{ store.Backend }

// EstimateCommit implements [store.Estimator].
func (priced) EstimateCommit(c store.Commit) core.Spent {
	return core.Spent{WriteMore: int64(len(c.Records)) * 100}
}

// used is so much input of gpt-x, in one call.
func used(input int) *thread.Metered {
	return &thread.Metered{Models: []core.ModelUse{{Provider: "p", Model: "gpt-x", Usage: core.Usage{Input: input}, Inferences: 1}}}
}

// open is a stretch that has spent a second of a handler.
var open = thread.Stretch{Number: 2, Since: 1000, Behind: 5, Spent: core.Spent{Handler: 1000}}

// record is that of a run which had used 10 when the stretch began.
func record(status core.RunStatus, end core.TerminationType) *thread.RunRecord {
	r := &thread.RunRecord{Run: core.Run{ID: theRun, AgentID: "agent", Status: status}, Bases: []thread.Base{{Version: 5, Used: used(10)}}}
	if end != "" {
		r.Termination = &core.Termination{Type: end}
	}
	return r
}

// childOf makes the run of a record one below another.
func childOf(r *thread.RunRecord) *thread.RunRecord {
	r.Parent = &thread.Parent{Thread: "above", Run: core.ID{8}, Root: core.ID{9}}
	return r
}

// sinceBase is what the stretch has used of gpt-x: the call of used is the base's.
func sinceBase(input int) []core.ModelUse {
	return []core.ModelUse{{Provider: "p", Model: "gpt-x", Usage: core.Usage{Input: input}}}
}

func TestWhatAWriteSettles(t *testing.T) {
	after, going := thread.Head{Version: 9}, thread.Head{Version: 9}
	going.Run.ID = theRun
	ends := thread.Result{Stretch: &open}
	tests := []struct {
		name   string
		next   thread.Head
		result thread.Result
		end    accounting.End
		want   account.Record // zero: no stretch is told of
		stored string         // the name of the record that is stored
		bases  []thread.Base
	}{
		{"nothing ends", going, thread.Result{}, accounting.End{Run: record(core.RunRunning, ""), Used: used(25)}, account.Record{}, "", nil},
		{"the run ends", after, ends, accounting.End{Run: record(core.RunDone, core.TerminationNatural), User: "ann", Used: used(25), At: 5000, Records: make([]store.Record, 2)},
			account.Record{
				User: "ann", Agent: "agent", Run: theRun, Stretch: 2, Since: 1000, Until: 5000, End: "natural_end",
				Models: sinceBase(15), Spent: core.Spent{Handler: 1000, WriteMore: 200}, Memory: 128,
			}, "usage", nil},
		{"a child run ends", after, ends, accounting.End{Run: childOf(record(core.RunDone, core.TerminationNatural)), Used: used(25), At: 5000},
			account.Record{
				Agent: "agent", Run: theRun, Root: core.ID{9}, Stretch: 2, Since: 1000, Until: 5000, End: "natural_end",
				Models: sinceBase(15), Spent: core.Spent{Handler: 1000}, Memory: 128,
			}, "usage", nil},
		{"the run waits", going, ends, accounting.End{Run: record(core.RunWaiting, ""), Used: used(25), At: 5000},
			account.Record{
				Agent: "agent", Run: theRun, Stretch: 2, Since: 1000, Until: 5000, End: "waiting",
				Models: sinceBase(15), Spent: core.Spent{Handler: 1000}, Memory: 128,
			}, "usage", []thread.Base{{Version: 5, Used: used(10)}, {Version: 9, Used: used(25)}}},
		{"the thread is deleted", after, ends, accounting.End{Run: record(core.RunRunning, ""), Used: used(25), Deleted: true, At: 5000, Records: make([]store.Record, 2)},
			account.Record{
				Agent: "agent", Run: theRun, Stretch: 2, Since: 1000, Until: 5000, End: "deleted",
				Models: sinceBase(15), Spent: core.Spent{Handler: 1000}, Memory: 128,
			}, "usage", nil},
		{"what it has used is lost", after, ends, accounting.End{Run: record(core.RunDone, core.TerminationError), Used: used(25), Lost: true, Unlogged: spent(4), LogEnd: 3},
			account.Record{
				Agent: "agent", Run: theRun, Stretch: 2, Since: 1000, End: "error", Spent: core.Spent{Handler: 1000}, Memory: 128, Lost: true,
			}, "usage", nil},
		{"where it began is lost", after, ends, accounting.End{Run: &thread.RunRecord{}, Used: used(25)},
			account.Record{Run: theRun, Stretch: 2, Since: 1000, End: "waiting", Spent: core.Spent{Handler: 1000}, Memory: 128, Lost: true}, "usage", nil},
		{"it ends behind a turn of no log", after, ends, accounting.End{Run: record(core.RunDone, core.TerminationCancelled), Used: used(25), Unlogged: spent(4), LogEnd: 3},
			account.Record{
				Agent: "agent", Run: theRun, Stretch: 2, Since: 1000, End: "cancelled",
				Models: []core.ModelUse{{Provider: "p", Model: "gpt-x", Usage: core.Usage{Input: 19}, Inferences: 1}}, Spent: core.Spent{Handler: 1000}, Memory: 128,
			}, "usage", nil},
		{"the log has the turn after all", after, ends, accounting.End{Run: record(core.RunDone, core.TerminationCancelled), Used: used(25), Unlogged: spent(4), LogEnd: 4},
			account.Record{
				Agent: "agent", Run: theRun, Stretch: 2, Since: 1000, End: "cancelled",
				Models: sinceBase(15), Spent: core.Spent{Handler: 1000}, Memory: 128,
			}, "usage", nil},
		{"the claim is given back behind a turn of no log", going, thread.Result{}, accounting.End{Unlogged: spent(4), LogEnd: 3}, account.Record{}, "wasted", nil},
		{"the claim is given back, and the log has the turn", going, thread.Result{}, accounting.End{Unlogged: spent(4), LogEnd: 4}, account.Record{}, "", nil},
		{"no model was asked for the turn", going, thread.Result{}, accounting.End{Unlogged: &accounting.Spent{}, LogEnd: 3}, account.Record{}, "", nil},
		{"the run is over, and no stretch of it is known", after, thread.Result{}, accounting.End{Unlogged: spent(4), LogEnd: 3}, account.Record{}, "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var told account.Record
			b := accounting.Books{Store: priced{memory.New()}, Metering: &accounting.Metering{Keep: time.Hour, Memory: 128, Ended: func(tenant string, r account.Record) {
				if told = r; tenant != "acme" {
					t.Errorf("tenant %q", tenant)
				}
			}}}
			r := b.Run(accounting.Claim{Key: theBill, Run: theRun})
			r.StartTurn(3)
			s, err := r.Settle(tt.next, tt.result, tt.end)
			if err != nil {
				t.Fatal(err)
			}
			name := ""
			switch {
			case s.Record.IsUsage():
				name = "usage"
			case recordname.IsWasted(s.Record.Name, theRun, 9):
				name = "wasted"
			}
			if name != tt.stored || s.Has() != (name != "") {
				t.Errorf("it stores %q, want %q", s.Record.Name, tt.stored)
			}
			if diff := cmp.Diff(tt.bases, s.Bases); diff != "" {
				t.Errorf("bases (-want +got):\n%s", diff)
			}
			if told.Run != (core.ID{}) {
				t.Error("it is told before the write")
			}
			r.Report(s)
			if diff := cmp.Diff(tt.want, told); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWastedCallsAreOfTheWholeStretch(t *testing.T) {
	b := accounting.Books{Store: memory.New(), Metering: &accounting.Metering{Keep: time.Hour}}
	head := thread.Head{Version: 9}
	head.Run.ID, head.Run.Stretch = theRun, open
	wasted := func(r *accounting.Run, version uint64) thread.Metered {
		t.Helper()
		next := head
		next.Version = version
		s, err := r.Settle(next, thread.Result{}, accounting.End{Unlogged: spent(4), LogEnd: 3})
		if err != nil || s.Record.Name != recordname.Wasted(theRun, version) {
			t.Fatalf("it stores %q, %v", s.Record.Name, err)
		}
		r.Report(s)
		if err := b.Store.(store.Backend).Put(t.Context(), theBill, s.Record); err != nil {
			t.Fatal(err)
		}
		var m thread.Metered
		if err := b.Records.Decode("wasted calls", s.Record.Payload, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	first := b.Run(accounting.Claim{Key: theBill, Run: theRun})
	first.StartTurn(3)
	if diff := cmp.Diff(*used(4), wasted(&first, 9)); diff != "" {
		t.Errorf("the first claim (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(8, wasted(&first, 10).Models[0].Usage.Input); diff != "" {
		t.Errorf("the same claim again (-want +got):\n%s", diff)
	}
	second := b.Run(accounting.Claim{Key: theBill, Run: theRun})
	second.StartTurn(3)
	head.Run.Stretch.Wasted = 10
	if err := second.Recall(t.Context(), &head); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(12, wasted(&second, 11).Models[0].Usage.Input); diff != "" {
		t.Errorf("the next claim (-want +got):\n%s", diff)
	}
	head.Run.Stretch.Wasted = 12
	if err := second.Recall(t.Context(), &head); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("a record that is missing is %v", err)
	}
	head.Run.Stretch.Over = true
	if err := second.Recall(t.Context(), &head); err != nil {
		t.Errorf("of a stretch that is over: %v", err)
	}
}

func TestNothingIsSettledWhereUsageIsNotRecorded(t *testing.T) {
	var b accounting.Books
	r := b.Run(accounting.Claim{Key: theBill, Run: theRun})
	r.StartTurn(3)
	s, err := r.Settle(thread.Head{}, thread.Result{Stretch: &open}, accounting.End{Run: record(core.RunDone, core.TerminationNatural), Used: used(25)})
	if err != nil || s.Has() {
		t.Errorf("it stores %q, %v", s.Record.Name, err)
	}
	r.Report(s)
	if totals := r.AddSummary(thread.Totals{}, core.ModelUse{Model: "gpt-x", Inferences: 1}); totals.Metered != nil {
		t.Errorf("a summary adds %+v", totals.Metered)
	}
}

func TestTotalsHaveEachModelWhereUsageIsRecorded(t *testing.T) {
	b := accounting.Books{Metering: &accounting.Metering{}}
	r := b.Run(accounting.Claim{Key: theBill, Run: theRun})
	s := spent(4)
	s.Took(1500 * time.Microsecond)
	s.Next()
	s.Name("p", "gpt-y")
	s.Call()
	totals, err := r.Turn(t.Context(), thread.Totals{Metered: used(10)}, s)
	if err != nil {
		t.Fatal(err)
	}
	totals = r.AddSummary(totals, core.ModelUse{Provider: "q", Model: "gpt-z", Inferences: 1})
	totals = r.AddSummary(totals, core.ModelUse{Model: "not asked"})
	want := thread.Totals{Usage: core.Usage{Input: 4}, Metered: &thread.Metered{Models: []core.ModelUse{
		{Provider: "p", Model: "gpt-x", Usage: core.Usage{Input: 14}, Inferences: 2, Millis: 1},
		{Provider: "p", Model: "gpt-y", Inferences: 1},
		{Provider: "q", Model: "gpt-z", Inferences: 1},
	}}}
	if diff := cmp.Diff(want, totals); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
