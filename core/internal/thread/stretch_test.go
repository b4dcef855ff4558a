package thread_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// metered applies changes in order, each a second after the one before and with 10 ms of
// a handler and a write unit spent on it.
type metered struct {
	t    *testing.T
	head thread.Head
	now  int64
}

func (m *metered) apply(change thread.Change) (ended *thread.Stretch) {
	m.t.Helper()
	m.now += 1000
	next, result, err := thread.Apply(m.head, thread.Transition{
		Now: m.now, CommitID: core.ID{byte(m.now / 1000)}, Change: change, Meter: true, Spent: core.Spent{Handler: 10, Write: 100},
	})
	if err != nil {
		m.t.Fatalf("%T: %v", change, err)
	}
	// As it is stored, and read by the next.
	if m.head, err = thread.Decode(next.AppendBinary(nil)); err != nil {
		m.t.Fatal(err)
	}
	return result.Stretch
}

func (m *metered) want(what string, want thread.Stretch) {
	m.t.Helper()
	if diff := cmp.Diff(want, m.head.Run.Stretch); diff != "" {
		m.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func spent(writes int64) core.Spent { return core.Spent{Handler: 10 * writes, Write: 100 * writes} }

func TestStretchesOfARunThatWaits(t *testing.T) {
	m := &metered{t: t}
	run := core.ID{7}
	m.apply(thread.Enqueue{Dispatch: run, Run: run})
	m.want("queued", thread.Stretch{})
	m.apply(thread.TakeClaim{Worker: "w", Lease: 500})
	m.want("claimed", thread.Stretch{Since: 2000, Spent: spent(1)})
	m.apply(thread.TakeClaim{Worker: "v", Lease: 60_000}) // the first claim was lost
	m.want("taken over", thread.Stretch{Since: 2000, Spent: spent(2)})
	m.apply(thread.CommitTurn{Fence: 2, Seq: 2, Calls: 1, TurnFence: 2})
	ended := m.apply(thread.CommitStep{
		Fence: 2, From: 2, Seq: 2, Outcome: thread.Wait, Calls: []thread.CallStatus{thread.CallSuspended},
		Tickets: []thread.Ticket{{ID: 5}}, Round: true,
	})
	if diff := cmp.Diff(&thread.Stretch{Since: 2000, Spent: spent(4)}, ended); diff != "" {
		t.Errorf("ended by the wait (-want +got):\n%s", diff)
	}
	m.want("waiting", thread.Stretch{Since: 2000, Over: true, Behind: 5})
	if ended := m.apply(thread.Decide{Run: run, Ticket: 5, Decision: 9, Call: 0}); ended != nil {
		t.Errorf("a decision ends %+v", ended)
	}
	m.want("decided", thread.Stretch{Since: 2000, Over: true, Behind: 5})
	m.apply(thread.TakeClaim{Worker: "w", Lease: 60_000})
	m.want("gone on", thread.Stretch{Number: 1, Since: 7000, Spent: spent(1), Behind: 5})
	ended = m.apply(thread.CommitStep{Fence: 3, From: 2, Seq: 3, Outcome: thread.Done, Natural: true, Calls: []thread.CallStatus{thread.CallDone}})
	if diff := cmp.Diff(&thread.Stretch{Number: 1, Since: 7000, Spent: spent(2), Behind: 5}, ended); diff != "" {
		t.Errorf("ended by the end (-want +got):\n%s", diff)
	}
	m.want("over", thread.Stretch{})
}

// Each wait ends a stretch, and the next one has the next number.
func TestStretchesAreNumbered(t *testing.T) {
	m := &metered{t: t}
	run := core.ID{7}
	m.apply(thread.Enqueue{Dispatch: run, Run: run})
	for n := range uint64(3) {
		fence := n + 1
		m.apply(thread.TakeClaim{Worker: "w", Lease: 60_000})
		if got := m.head.Run.Stretch.Number; got != n {
			t.Errorf("claim %d begins stretch %d, want %d", fence, got, n)
		}
		if n == 0 {
			m.apply(thread.CommitTurn{Fence: 1, Seq: 2, Calls: 3, TurnFence: 1})
		}
		calls := []thread.CallStatus{thread.CallDone, thread.CallDone, thread.CallDone}
		calls[n] = thread.CallSuspended
		for i := int(n) + 1; i < 3; i++ {
			calls[i] = thread.CallNew
		}
		ended := m.apply(thread.CommitStep{
			Fence: fence, From: 2, Seq: 2, Outcome: thread.Wait, Calls: calls, Tickets: []thread.Ticket{{Call: uint8(n), ID: 5 + n}}, Round: true,
		})
		if ended == nil || ended.Number != n || m.head.Run.Stretch.Number != n || !m.head.Run.Stretch.Over {
			t.Errorf("wait %d ends %+v, and leaves %+v", fence, ended, m.head.Run.Stretch)
		}
		m.apply(thread.Decide{Run: run, Ticket: 5 + n, Decision: 9 + n, Call: uint8(n)})
	}
}

func TestStretchOfARunWhoseThreadIsDeleted(t *testing.T) {
	m := &metered{t: t}
	run := core.ID{7}
	m.apply(thread.Enqueue{Dispatch: run, Run: run})
	m.apply(thread.TakeClaim{Worker: "w", Lease: 60_000})
	if diff := cmp.Diff(&thread.Stretch{Since: 2000, Spent: spent(2)}, m.apply(thread.Delete{})); diff != "" {
		t.Errorf("ended by the deletion (-want +got):\n%s", diff)
	}
}

// A run that waits has ended its stretch: nothing is recorded of it when it is cancelled,
// but for the claim that closes it.
func TestStretchOfARunThatIsCancelledWhileItWaits(t *testing.T) {
	m := &metered{t: t}
	run := core.ID{7}
	m.apply(thread.Enqueue{Dispatch: run, Run: run})
	m.apply(thread.TakeClaim{Worker: "w", Lease: 60_000})
	m.apply(thread.CommitTurn{Fence: 1, Seq: 2, Calls: 1, TurnFence: 1})
	m.apply(thread.CommitStep{
		Fence: 1, From: 2, Seq: 2, Outcome: thread.Wait, Calls: []thread.CallStatus{thread.CallSuspended}, Tickets: []thread.Ticket{{ID: 5}}, Round: true,
	})
	if ended := m.apply(thread.Cancel{Run: run}); ended != nil {
		t.Errorf("the cancel ends %+v", ended)
	}
	m.apply(thread.TakeClaim{Worker: "w", Lease: 60_000})
	if diff := cmp.Diff(&thread.Stretch{Number: 1, Since: 6000, Spent: spent(2), Behind: 4}, m.apply(thread.CommitClose{Fence: 2, From: 2, Seq: 3})); diff != "" {
		t.Errorf("ended by the close (-want +got):\n%s", diff)
	}
}

// Who does not meter leaves the stretch as it stands, and begins none.
func TestAProgramThatDoesNotMeterCarriesTheStretchThrough(t *testing.T) {
	m := &metered{t: t}
	run := core.ID{7}
	m.apply(thread.Enqueue{Dispatch: run, Run: run})
	m.apply(thread.TakeClaim{Worker: "w", Lease: 60_000})
	next, result, err := thread.Apply(m.head, thread.Transition{Now: 9000, CommitID: core.ID{9}, Change: thread.CommitTurn{Fence: 1, Seq: 2, Calls: 1, TurnFence: 1}})
	if err != nil || result.Stretch != nil {
		t.Fatalf("%+v, %v", result, err)
	}
	m.head = next
	m.want("after another program's commit", thread.Stretch{Since: 2000, Spent: spent(1)})
	m.head.Run.Stretch.Spend(core.Spent{WriteMore: 300, QueueMore: 100})
	m.want("with what the write costs", thread.Stretch{Since: 2000, Spent: core.Spent{Handler: 10, Write: 100, WriteMore: 300, QueueMore: 100}})
}

func TestMeteredSince(t *testing.T) {
	use := func(model string, input, calls int) core.ModelUse {
		return core.ModelUse{Provider: "p", Model: model, Usage: core.Usage{Input: input, Output: 1}, Inferences: calls, Millis: int64(calls) * 10}
	}
	var none *thread.Metered
	first := none.With(use("a", 100, 1))
	base := first.With(use("b", 50, 2))
	after := base.With(use("a", 7, 1)).With(use("c", 3, 1))
	if len(first.Models) != 1 || first.Models[0] != use("a", 100, 1) || len(base.Models) != 2 {
		t.Errorf("what came later has changed %+v or %+v", first, base)
	}
	want := thread.Metered{Models: []core.ModelUse{use("a", 7, 1), use("c", 3, 1)}}
	if diff := cmp.Diff(want, after.Since(base)); diff != "" {
		t.Errorf("since the base (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(*after, after.Since(nil)); diff != "" {
		t.Errorf("since the start (-want +got):\n%s", diff)
	}
}

func TestOnlyToolsThatRanAreCounted(t *testing.T) {
	totals := thread.Totals{Metered: &thread.Metered{}}
	for _, status := range []core.ResultStatus{
		core.ResultOK, core.ResultError, core.ResultUnknown, core.ResultInvalid, core.ResultBlocked, core.ResultDenied, core.ResultSet, core.ResultCancelled, core.ResultNotExecuted,
	} {
		totals.MeterResult(&thread.Entry{Duration: 5, Message: &core.Message{ToolResult: &core.ToolResult{Status: status}}})
	}
	if want := (thread.Metered{Tools: 3, ToolMillis: 15}); totals.Metered.Tools != want.Tools || totals.Metered.ToolMillis != want.ToolMillis {
		t.Errorf("%+v, want %+v", *totals.Metered, want)
	}
	var unmetered thread.Totals
	unmetered.MeterResult(&thread.Entry{Message: &core.Message{ToolResult: &core.ToolResult{Status: core.ResultOK}}})
	if unmetered.Metered != nil {
		t.Errorf("a run that nobody meters has %+v", *unmetered.Metered)
	}
}
