package host_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
)

// sets is a patch that gives a key a JSON value.
func sets(key, value string) state.Patch {
	return state.Patch{{Op: "add", Path: key, Value: json.RawMessage(value)}}
}

// changed is a thread whose state came to revision 3 by run a, to 5 and 9 by run b, which
// supersedes a message of a, and to 11 by a key that clients are not shown.
func changed(t *testing.T) *host.Host {
	m := newMade(t)
	m.log('a', thread.Entry{Step: 1, At: 70, Message: message("a1", core.RoleUser, 1), Patch: sets("/thread/k", "1"), Revision: 3})
	m.says("a2")
	m.log('b', thread.Entry{At: 80, Superseded: &thread.Range{From: 2, To: 2}, Patch: sets("/run/r", `"b"`), Revision: 5})
	m.log('b', thread.Entry{Step: 1, Revision: 7}) // it has changed nothing
	m.log('b', thread.Entry{Step: 2, At: 90, Patch: sets("/thread/k", "2"), Revision: 9})
	m.log('b', thread.Entry{Step: 3, At: 95, Patch: sets("/thread/reveille.x", "2"), Revision: 11})
	m.head.Supersedes = 3
	return m.process()
}

func TestTheStateAtARevision(t *testing.T) {
	p := changed(t)
	a, b := idOf('a', 0), idOf('b', 0)
	for _, test := range []struct {
		revision uint64
		want     host.StateView
		refused  string
	}{
		{revision: 0, want: host.StateView{Document: json.RawMessage(`{"thread":{},"run":{}}`)}},
		{revision: 1, refused: "thread t1: revision 1 not found: the first change leads past it"},
		{revision: 2, refused: "thread t1: revision 2 not found: the first change leads past it"},
		{revision: 3, want: host.StateView{Revision: 3, Run: a, Document: json.RawMessage(`{"thread":{"k":1},"run":{}}`)}},
		{revision: 4, refused: "thread t1: revision 4 not found: a change leads from revision 3 past it"},
		{revision: 5, want: host.StateView{Revision: 5, Run: b, Document: json.RawMessage(`{"thread":{"k":1},"run":{"r":"b"}}`)}},
		{revision: 7, refused: "thread t1: revision 7 not found: a change leads from revision 5 past it"},
		{revision: 8, refused: "thread t1: revision 8 not found: a change leads from revision 5 past it"},
		{revision: 9, want: host.StateView{Revision: 9, Run: b, Document: json.RawMessage(`{"thread":{"k":2},"run":{"r":"b"}}`)}},
		{revision: 11, want: host.StateView{Revision: 11, Run: b, Document: json.RawMessage(`{"thread":{"k":2},"run":{"r":"b"}}`)}},
		{revision: 12, refused: "thread t1: revision 12 has not been reached, the newest is 11"},
	} {
		got, err := p.State(t.Context(), local, "t1", &test.revision)
		if test.refused != "" {
			if core.CodeOf(err) != core.CodeNotFound || err.Error() != test.refused {
				t.Errorf("revision %d: %v, want %s", test.revision, err, test.refused)
			}
			continue
		}
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("revision %d: %v (-want +got):\n%s", test.revision, err, diff)
		}
	}
	if got, err := p.State(t.Context(), local, "t1", nil); err != nil || got.Revision != 11 || got.Run != b {
		t.Errorf("the state is %+v, %v", got, err)
	}
}

// A thread that has no records has the empty state, at revision 0 alone.
func TestTheStateOfAnEmptyThread(t *testing.T) {
	p := newMade(t).process()
	zero, one := uint64(0), uint64(1)
	for _, revision := range []*uint64{nil, &zero} {
		got, err := p.State(t.Context(), local, "t1", revision)
		if diff := cmp.Diff(host.StateView{Document: json.RawMessage(`{"thread":{},"run":{}}`)}, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	_, err := p.State(t.Context(), local, "t1", &one)
	if want := "thread t1: revision 1 has not been reached, the newest is 0"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	page, err := p.StatePatches(t.Context(), local, "t1", host.StateQuery{})
	if diff := cmp.Diff(host.Page[host.StateChange]{Items: []host.StateChange{}}, page); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestTheChangesOfAState(t *testing.T) {
	p := changed(t)
	a, b := idOf('a', 0), idOf('b', 0)
	first := host.StateChange{Revision: 3, Run: a, Step: 1, At: 70, Patch: json.RawMessage(`[{"op":"add","path":"/thread/k","value":1}]`)}
	second := host.StateChange{Revision: 5, Run: b, At: 80, Patch: json.RawMessage(`[{"op":"add","path":"/run/r","value":"b"}]`), NewRun: true, Reverts: true}
	third := host.StateChange{Revision: 9, Run: b, Step: 2, At: 90, Patch: json.RawMessage(`[{"op":"add","path":"/thread/k","value":2}]`)}
	cursor := func(seq uint64, run core.ID) string { return fmt.Sprintf("%d#%s", seq, run) }
	unnamed := second
	unnamed.NewRun = false // a cursor that knows no run
	for _, test := range []struct {
		name string
		q    host.StateQuery
		want host.Page[host.StateChange]
	}{
		{"all", host.StateQuery{}, host.Page[host.StateChange]{Items: []host.StateChange{first, second, third}}},
		{"as many as there are", host.StateQuery{Limit: 3}, host.Page[host.StateChange]{Items: []host.StateChange{first, second, third}}},
		{"one", host.StateQuery{Limit: 1}, host.Page[host.StateChange]{Items: []host.StateChange{first}, Next: cursor(2, a)}},
		{"the next", host.StateQuery{Limit: 1, After: cursor(2, a)}, host.Page[host.StateChange]{Items: []host.StateChange{second}, Next: cursor(4, b)}},
		{"the last", host.StateQuery{Limit: 1, After: cursor(4, b)}, host.Page[host.StateChange]{Items: []host.StateChange{third}}},
		{"behind all", host.StateQuery{After: cursor(6, b)}, host.Page[host.StateChange]{Items: []host.StateChange{}}},
		{"behind no run", host.StateQuery{Limit: 1, After: cursor(2, core.ID{})}, host.Page[host.StateChange]{Items: []host.StateChange{unnamed}, Next: cursor(4, b)}},
		{"since a revision", host.StateQuery{Since: 3}, host.Page[host.StateChange]{Items: []host.StateChange{second, third}}},
		{"since the last", host.StateQuery{Since: 9}, host.Page[host.StateChange]{Items: []host.StateChange{}}},
		{"a cursor comes before a revision", host.StateQuery{Since: 99, After: cursor(4, b)}, host.Page[host.StateChange]{Items: []host.StateChange{third}}},
	} {
		got, err := p.StatePatches(t.Context(), local, "t1", test.q)
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", test.name, err, diff)
		}
	}
	_, err := p.StatePatches(t.Context(), local, "t1", host.StateQuery{Since: 4})
	if want := "thread t1: revision 4 not found: a change leads from revision 3 past it"; err == nil || err.Error() != want || core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("%v, want %s", err, want)
	}
	for _, limit := range []int{-1, 201} {
		if _, err := p.StatePatches(t.Context(), local, "t1", host.StateQuery{Limit: limit}); core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}

// quoted is a JSON text that makes a patch of /thread/k so many bytes long.
func quoted(bytes int) string {
	return `"` + strings.Repeat("x", bytes-len(`[{"op":"add","path":"/thread/k","value":""}]`)) + `"`
}

// A page of changes holds 3,000,000 bytes of patches, or one that is larger.
func TestChangesOfAStateArePagedByBytes(t *testing.T) {
	for name, test := range map[string]struct {
		sizes []int
		pages []int
	}{
		"all fit":       {[]int{1_000_000, 2_000_000}, []int{2}},
		"one byte more": {[]int{1_000_000, 2_000_001}, []int{1, 1}},
		"one too large": {[]int{3_000_001, 100}, []int{1, 1}},
		"the third":     {[]int{1_500_000, 1_500_000, 100}, []int{2, 1}},
	} {
		m := newMade(t)
		for i, size := range test.sizes {
			m.log('a', thread.Entry{Step: i + 1, Patch: sets("/thread/k", quoted(size)), Revision: uint64(i + 1)})
		}
		p := m.process()
		q, got := host.StateQuery{}, []int(nil)
		for {
			page, err := p.StatePatches(t.Context(), local, "t1", q)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, len(page.Items))
			if q.After = page.Next; q.After == "" {
				break
			}
		}
		if diff := cmp.Diff(test.pages, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A page looks at 5,000 records, however few of them have changed anything.
func TestAPageOfChangesLooksAtSoManyRecords(t *testing.T) {
	noRun := "5000#" + core.ID{}.String()
	for _, test := range []struct {
		records uint64
		next    string
	}{
		{5000, ""}, {5001, noRun}, {10001, noRun},
	} {
		m := newMade(t)
		for range test.records {
			m.log('a', thread.Entry{})
		}
		p := m.process()
		got, err := p.StatePatches(t.Context(), local, "t1", host.StateQuery{})
		if diff := cmp.Diff(host.Page[host.StateChange]{Items: []host.StateChange{}, Next: test.next}, got); diff != "" || err != nil {
			t.Errorf("of %d records: %v (-want +got):\n%s", test.records, err, diff)
		}
		if test.next == "" {
			continue
		}
		got, err = p.StatePatches(t.Context(), local, "t1", host.StateQuery{After: "5001#" + idOf('a', 0).String()})
		want := host.Page[host.StateChange]{Items: []host.StateChange{}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("of %d records, from the second page: %v (-want +got):\n%s", test.records, err, diff)
		}
	}
}

// A document of 3,000,000 bytes is shown, a larger one is not.
func TestAStateThatIsTooLargeIsNotShown(t *testing.T) {
	const around = len(`{"thread":{"k":""},"run":{}}`)
	for size, code := range map[int]core.Code{3_000_000: "", 3_000_001: core.CodeTooLarge} {
		m := newMade(t)
		m.log('a', thread.Entry{Step: 1, Patch: sets("/thread/k", `"`+strings.Repeat("x", size-around)+`"`), Revision: 1})
		got, err := m.process().State(t.Context(), local, "t1", nil)
		if core.CodeOf(err) != code || code == "" && len(got.Document) != size || code != "" && got.Document != nil {
			t.Errorf("%d bytes: %d are shown, %v", size, len(got.Document), err)
		}
	}
}

// timeline is a thread with one run b of four steps: one that failed, one with two calls
// of which the second ended first, one without calls, and one whose round is open.
func timeline(t *testing.T) *host.Host {
	m := newMade(t)
	m.says("a1")
	m.log('b', thread.Entry{Superseded: &thread.Range{From: 1, To: 1}, Patch: sets("/thread/k", "1"), Revision: 1})
	m.head.Supersedes = 2
	m.says("b3")
	m.log('b', thread.Entry{Step: 1, At: 100, Failed: &thread.Failure{Kind: "other", Text: "away", Calls: 2, At: 150}, Totals: &thread.Totals{Steps: 1, ErrorSteps: 1}})
	turn := func(id string, step int, at int64, calls ...string) *core.Message {
		m := message(id, core.RoleAssistant, 2)
		m.Step, m.CreatedAt, m.Model, m.StopReason, m.Usage = step, at, "m", core.StopToolUse, &core.Usage{Input: 7}
		for _, c := range calls {
			m.ToolCalls = append(m.ToolCalls, core.ToolCall{ID: c, Name: "echo", Arguments: json.RawMessage(`{}`)})
		}
		return m
	}
	result := func(id, call string, at int64) *core.Message {
		m := message(id, core.RoleTool, 2)
		m.ToolResult, m.CreatedAt = &core.ToolResult{CallID: call, Status: core.ResultOK, Name: "echo"}, at
		return m
	}
	two := turn("b5", 2, 260, "x", "y")
	two.Content = append([]core.Block{{Type: core.BlockReasoning, Text: "I "}}, two.Content...)
	two.Content = append(two.Content, core.Block{Type: core.BlockReasoning, Text: "think"})
	m.log('b', thread.Entry{Step: 2, At: 200, Message: two, Duration: 50, Retried: 3, Window: &core.Window{}, Patch: sets("/thread/k", "2"), Revision: 2})
	m.log('b', thread.Entry{Step: 2, Message: result("b6", "x", 300), Duration: 30, Decision: "d1"})
	m.log('b', thread.Entry{Step: 2, Message: result("b7", "y", 290), Duration: 1})
	m.log('b', thread.Entry{Step: 2, Patch: sets("/thread/k", "3"), Revision: 3, Totals: &thread.Totals{Steps: 2}})
	m.log('b', thread.Entry{Step: 3, At: 400, Message: turn("b9", 3, 410), Totals: &thread.Totals{Steps: 3}, Revision: 99}) // it has changed nothing
	m.log('b', thread.Entry{Step: 3, Closing: true, Patch: sets("/thread/k", "4"), Revision: 4, Totals: &thread.Totals{Steps: 9}})
	m.log('b', thread.Entry{Step: 4, At: 500, Message: turn("b11", 4, 510, "p", "q", "r", "s", "u", "v")})
	m.at(17, 'b', thread.Entry{Message: result("b17", "v", 600)})
	m.head.Run = thread.Run{
		ID: idOf('b', 0), Dispatch: idOf('b', 1), Cursor: thread.CursorTools, Step: 4, Base: 12,
		Calls: []thread.CallStatus{thread.CallNew, thread.CallRunning, thread.CallSuspended, thread.CallResuming, thread.CallCancelling, thread.CallDone},
	}
	m.log('c', thread.Entry{Message: message("c12", core.RoleUser, 1)})
	m.head.Seq--
	return m.process(m.run('b', 2, nil), m.run('e', 0, nil), m.run('l', 99, nil))
}

func TestTheTimelineOfARun(t *testing.T) {
	p := timeline(t)
	run := idOf('b', 0)
	all, err := p.Steps(t.Context(), local, run, host.StepQuery{})
	if err != nil || len(all.Steps) != 4 || all.Next != 0 || all.Run.ID != run || all.Run.AgentID != "demo" {
		t.Fatalf("%+v, %v", all, err)
	}
	call := func(id, status string) core.ToolCall {
		return core.ToolCall{ID: id, Name: "echo", Arguments: json.RawMessage(`{}`)}
	}
	result := func(id string) *core.ToolResult {
		return &core.ToolResult{CallID: id, Name: "echo", Status: core.ResultOK}
	}
	want := []host.Step{
		{Number: 1, Began: 100, Ended: 150, Retries: 2, Failed: &thread.Failure{Kind: "other", Text: "away", Calls: 2, At: 150}, Totals: &thread.Totals{Steps: 1, ErrorSteps: 1}},
		{
			Number: 2, Attempts: []thread.Attempt{{Began: 210, Ended: 260, Model: "m"}}, MessageID: "b5", Began: 200, Said: 260, Ended: 300, Model: "m", Stop: core.StopToolUse, Usage: &core.Usage{Input: 7}, Duration: 50, Retries: 3,
			Window: &core.Window{}, Text: "xx", Reasoning: "I think", Revision: 3, Totals: &thread.Totals{Steps: 2},
			Calls: []host.StepCall{
				{ToolCall: call("x", ""), Status: "ok", Result: result("x"), Began: 270, Ended: 300, Duration: 30, Decision: "d1"},
				{ToolCall: call("y", ""), Status: "ok", Result: result("y"), Began: 289, Ended: 290, Duration: 1},
			},
		},
		{Number: 3, Attempts: []thread.Attempt{{Began: 410, Ended: 410, Model: "m"}}, MessageID: "b9", Began: 400, Said: 410, Ended: 410, Model: "m", Stop: core.StopToolUse, Usage: &core.Usage{Input: 7}, Text: "xx", Totals: &thread.Totals{Steps: 3}},
		{
			Number: 4, Attempts: []thread.Attempt{{Began: 510, Ended: 510, Model: "m"}}, MessageID: "b11", Began: 500, Said: 510, Model: "m", Stop: core.StopToolUse, Usage: &core.Usage{Input: 7}, Text: "xx",
			Calls: []host.StepCall{
				{ToolCall: call("p", ""), Status: "new"}, {ToolCall: call("q", ""), Status: "running"}, {ToolCall: call("r", ""), Status: "suspended"},
				{ToolCall: call("s", ""), Status: "resuming"}, {ToolCall: call("u", ""), Status: "cancelling"},
				{ToolCall: call("v", ""), Status: "ok", Result: result("v"), Ended: 600},
			},
		},
	}
	if diff := cmp.Diff(want, all.Steps); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, test := range []struct {
		name string
		q    host.StepQuery
		want []int
		next uint64
	}{
		{"as many as there are", host.StepQuery{Limit: 4}, []int{1, 2, 3, 4}, 0},
		{"three", host.StepQuery{Limit: 3}, []int{1, 2, 3}, 11},
		{"one", host.StepQuery{Limit: 1}, []int{1}, 5},
		{"the second", host.StepQuery{Limit: 1, After: 5}, []int{2}, 9},
		{"from within a round", host.StepQuery{Limit: 1, After: 6}, []int{3}, 11},
		{"before the run", host.StepQuery{Limit: 1, After: 1}, []int{1}, 5},
		{"the last", host.StepQuery{After: 11}, []int{4}, 0},
		{"behind the last", host.StepQuery{After: 12}, nil, 0},
	} {
		page, err := p.Steps(t.Context(), local, run, test.q)
		var got []int
		for _, s := range page.Steps {
			got = append(got, s.Number)
		}
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil || page.Next != test.next || page.Steps == nil || page.Run.ID != run {
			t.Errorf("%s: next %d, %v (-want +got):\n%s", test.name, page.Next, err, diff)
		}
	}
	for _, name := range []byte("el") { // one without records, one whose records are gone
		page, err := p.Steps(t.Context(), local, idOf(name, 0), host.StepQuery{})
		if err != nil || page.Steps == nil || len(page.Steps) != 0 {
			t.Errorf("run %c: %+v, %v", name, page, err)
		}
	}
}

// The head may be of a later step, or of another round than the page's last: then it says
// nothing of the calls.
func TestOnlyTheOpenRoundTellsOfItsCalls(t *testing.T) {
	for name, change := range map[string]func(*thread.Run){
		"another run":  func(r *thread.Run) { r.ID = idOf('z', 0) },
		"infers":       func(r *thread.Run) { r.Cursor = thread.CursorInfer },
		"another step": func(r *thread.Run) { r.Step = 2 },
		"more calls":   func(r *thread.Run) { r.Calls = append(r.Calls, thread.CallRunning) },
		"none is open": func(r *thread.Run) { *r = thread.Run{} },
	} {
		m := newMade(t)
		turn := message("b1", core.RoleAssistant, 1)
		turn.Step, turn.ToolCalls = 1, []core.ToolCall{{ID: "x", Name: "echo", Arguments: json.RawMessage(`{}`)}}
		m.log('b', thread.Entry{Step: 1, Message: turn})
		m.head.Run = thread.Run{ID: idOf('b', 0), Cursor: thread.CursorTools, Step: 1, Base: 2, Calls: []thread.CallStatus{thread.CallRunning}}
		change(&m.head.Run)
		page, err := m.process(m.run('b', 1, nil)).Steps(t.Context(), local, idOf('b', 0), host.StepQuery{})
		if err != nil || len(page.Steps) != 1 || page.Steps[0].Calls[0].Status != "new" {
			t.Errorf("%s: %+v, %v", name, page.Steps, err)
		}
	}
}

// A page of steps holds 3,000,000 bytes of records, or one step that is larger. Only a step
// is weighed, not its results.
func TestStepsArePagedByBytes(t *testing.T) {
	size := func(text int) int {
		m := message("b1", core.RoleAssistant, text)
		m.Step = 1
		return (&thread.Entry{Run: m.RunID, Step: 1, Message: m}).JSONSize()
	}
	empty := size(1) - 1
	for name, test := range map[string]struct {
		sizes []int
		want  []int
	}{
		"all fit":       {[]int{1_000_000, 2_000_000}, []int{2}},
		"one byte more": {[]int{1_000_000, 2_000_001}, []int{1, 1}},
		"one too large": {[]int{3_000_001, 500}, []int{1, 1}},
	} {
		m := newMade(t)
		for i, size := range test.sizes {
			turn := message("b"+string(rune('1'+i)), core.RoleAssistant, size-empty)
			turn.Step = i + 1
			m.log('b', thread.Entry{Step: i + 1, Message: turn})
		}
		p := m.process(m.run('b', 1, nil))
		q, got := host.StepQuery{}, []int(nil)
		for {
			page, err := p.Steps(t.Context(), local, idOf('b', 0), q)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, len(page.Steps))
			if q.After = page.Next; q.After == 0 {
				break
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
