package host_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// sizeOf is how many bytes the entry of a message has as JSON.
func sizeOf(t *testing.T, m *core.Message) int {
	t.Helper()
	return (&thread.Entry{Run: m.RunID, Message: m}).JSONSize()
}

// toolResult is a result with a text of so many bytes.
func toolResult(id, call string, size int) *core.Message {
	m := message(id, core.RoleTool, size)
	m.ToolResult = &core.ToolResult{CallID: call, Status: core.ResultOK}
	return m
}

// A page holds just as many bytes as it may, and not one more, in each direction, of the
// log and of what is early.
func TestAPageIsFilledToTheByte(t *testing.T) {
	m := newMade(t)
	m.says("a1", "a2", "a3")
	turn := message("b4", core.RoleAssistant, 5)
	turn.ToolCalls = []core.ToolCall{{ID: "x", Name: "echo", Arguments: json.RawMessage(`{}`)}, {ID: "y", Name: "echo", Arguments: json.RawMessage(`{}`)}}
	m.log('b', thread.Entry{Message: turn})
	first, second := toolResult("b5", "x", 300), toolResult("b6", "y", 400)
	m.at(5, 'b', thread.Entry{Message: first})
	m.at(6, 'b', thread.Entry{Message: second})
	m.head.Run = thread.Run{ID: idOf('b', 0), Cursor: thread.CursorTools, Base: 5, Calls: []thread.CallStatus{thread.CallDone, thread.CallDone}}
	p := m.process()
	one, x, y := sizeOf(t, message("a1", core.RoleUser, 700)), sizeOf(t, first), sizeOf(t, second)
	for name, test := range map[string]struct {
		q          host.MessageQuery
		just, less []string // with so many bytes, and with one less
	}{
		"forwards":             {host.MessageQuery{Bytes: 2 * one}, []string{"a1", "a2"}, []string{"a1"}},
		"what is early":        {host.MessageQuery{After: 4, Bytes: x + y}, []string{"b5", "b6"}, []string{"b5"}},
		"backwards":            {host.MessageQuery{Descending: true, Before: 4, Bytes: 2 * one}, []string{"a3", "a2"}, []string{"a3"}},
		"what is early, last":  {host.MessageQuery{Descending: true, Bytes: x + y}, []string{"b6", "b5"}, []string{"b6"}},
		"the newest":           {host.MessageQuery{Newest: true, Bytes: x + y}, []string{"b5", "b6"}, []string{"b6"}},
		"the newest, log too":  {host.MessageQuery{Newest: true, Bytes: x + y + sizeOf(t, turn)}, []string{"b4", "b5", "b6"}, []string{"b5", "b6"}},
		"the newest, more too": {host.MessageQuery{Newest: true, Bytes: x + y + sizeOf(t, turn) + one}, []string{"b4", "b5", "b6"}, []string{"b4", "b5", "b6"}},
	} {
		for less, want := range [][]string{test.just, test.less} {
			q := test.q
			q.Bytes -= less
			page, err := p.Messages(t.Context(), local, "t1", q)
			if diff := cmp.Diff(want, ids(page)); diff != "" || err != nil {
				t.Errorf("%s, %d bytes: %v (-want +got):\n%s", name, q.Bytes, err, diff)
			}
		}
	}
}

// One message that is early is enough for a page: the log's last need not fit beside it.
func TestOneEarlyMessageIsAPage(t *testing.T) {
	m := newMade(t)
	m.says("a1")
	m.head.Pending = []thread.Dispatch{{ID: m.input('q', 3, 'h', message("h1", core.RoleUser, 400)), Run: idOf('h', 0)}}
	page, err := m.process().Messages(t.Context(), local, "t1", host.MessageQuery{Newest: true, Bytes: 800})
	if diff := cmp.Diff([]string{"h1"}, ids(page)); diff != "" || err != nil || !page.Earlier || page.Cut {
		t.Errorf("earlier %t, cut %t, %v (-want +got):\n%s", page.Earlier, page.Cut, err, diff)
	}
}

// The input of a run that no step has opened comes after the log: its cursor counts from
// the log's end.
func TestTheInputOfAQueuedRunComesInPages(t *testing.T) {
	m := newMade(t)
	m.says("a1", "a2")
	m.head.Pending = []thread.Dispatch{{ID: m.input('q', 3, 'h', message("h1", core.RoleUser, 400), message("h2", core.RoleUser, 400)), Run: idOf('h', 0)}}
	p := m.process(m.run('h', 0, func(r *thread.RunRecord) { r.Status = core.RunCreated }))
	const unit = 1 << 40
	for after, want := range map[uint64]struct {
		ids  []string
		next uint64
	}{0: {[]string{"h1"}, 2 + unit}, 1: {[]string{"h1"}, 2 + unit}, 2 + unit: {[]string{"h2"}, 0}, 2 + 2*unit: {nil, 0}} {
		page, err := p.Messages(t.Context(), local, "t1", host.MessageQuery{Run: idOf('h', 0), After: after, Bytes: 1})
		if diff := cmp.Diff(want.ids, ids(page)); diff != "" || err != nil || page.Next != want.next {
			t.Errorf("after %d: next %d, %v (-want +got):\n%s", after, page.Next, err, diff)
		}
	}
}

// A record behind the last result of a step, as only damage leaves it, is no result of it.
func TestAResultOfNoCallIsPassedOver(t *testing.T) {
	m := newMade(t)
	turn := message("b1", core.RoleAssistant, 1)
	turn.Step, turn.ToolCalls = 1, []core.ToolCall{{ID: "x", Name: "echo", Arguments: json.RawMessage(`{}`)}}
	m.log('b', thread.Entry{Step: 1, Message: turn})
	m.log('b', thread.Entry{Step: 1, Message: toolResult("b2", "x", 1)})
	m.log('b', thread.Entry{Step: 1, Message: toolResult("b3", "z", 1)})
	page, err := m.process(m.run('b', 1, nil)).Steps(t.Context(), local, idOf('b', 0), host.StepQuery{})
	if err != nil || len(page.Steps) != 1 || len(page.Steps[0].Calls) != 1 || page.Steps[0].Calls[0].Result.CallID != "x" {
		t.Errorf("%+v, %v", page.Steps, err)
	}
}

// Of a listing that is damaged nothing counts, not even what could be read of it.
func TestNothingOfADamagedListingCounts(t *testing.T) {
	m := newMade(t)
	const damaged = `","at":5,"agent_id":"other","parent":"p","excerpt":"e","asked":7}`
	m.put(recordname.Listing(idOf('b', 0)), []byte(`{"schema":1,"list":"`+recordname.RunsList("")+damaged), nil)
	m.put(recordname.Activity, []byte(`{"schema":1,"list":"`+recordname.ThreadsList("")+damaged), nil)
	p := m.process(m.run('b', 0, nil))
	page, err := p.Runs(t.Context(), local, host.RunQuery{Thread: "t1", Agent: "demo"})
	if err != nil || len(page.Items) != 1 || page.Items[0].ID != idOf('b', 0) {
		t.Errorf("runs %+v, %v", page.Items, err)
	}
	got, err := p.Thread(t.Context(), local, "t1")
	if diff := cmp.Diff(host.Thread{ID: "t1", Created: m.head.Created()}, got); diff != "" || err != nil {
		t.Errorf("thread: %v (-want +got):\n%s", err, diff)
	}
}

// Runs that the list says are another agent's are not read.
func TestRunsOfOtherAgentsAreNotRead(t *testing.T) {
	m := newMade(t)
	m.listing('b', thread.Listing{List: recordname.RunsList(""), At: 5, AgentID: "other"})
	way := newWay(m.store)
	m.process(m.run('b', 0, nil))
	p := newRig(t).process("w", way)
	way.counts()
	page, err := p.Runs(t.Context(), local, host.RunQuery{Agent: "demo"})
	if heads := way.counts()["head"]; err != nil || len(page.Items) != 0 || heads != 0 {
		t.Errorf("%+v, %v, %d heads are read", page.Items, err, heads)
	}
	page, err = p.Runs(t.Context(), local, host.RunQuery{Agent: "other"})
	if heads := way.counts()["head"]; err != nil || heads != 1 {
		t.Errorf("the other agent's: %+v, %v, %d heads are read", page.Items, err, heads)
	}
}
