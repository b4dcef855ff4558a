package run

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

// An end takes its next form under the next fence alone: where there is none, the failure is
// that of the fence, and nothing is written again.
func TestAFormWithoutAFence(t *testing.T) {
	reset := errors.New("reset")
	tests := []struct {
		name    string
		failure error
		form    thread.Form
		refused error
		again   bool
		err     error
		left    thread.Form
		log     []string
	}{
		{"the next form", store.ErrTooLarge, thread.FormBare, nil, true, nil, thread.FormCut, []string{
			`level=ERROR msg="run's end too large, stored in a smaller form" step=0 form=cut error="record is over the size limit"`,
		}},
		{"without a fence", store.ErrTooLarge, thread.FormBare, reset, false, reset, thread.FormCut, []string{
			`level=ERROR msg="run's end too large, stored in a smaller form" step=0 form=cut error="record is over the size limit"`,
		}},
		{"behind the last form", store.ErrTooLarge, thread.FormLeast, nil, false, store.ErrTooLarge, thread.FormLeast, nil},
		{"another failure", reset, thread.FormBare, nil, false, reset, thread.FormBare, nil},
		{"a head that is too large", thread.ErrTooLarge, thread.FormBare, nil, false, thread.ErrTooLarge, thread.FormBare, nil},
	}
	for _, tt := range tests {
		var log said
		c := &scripted{apply: func(_ int, head *thread.Head) error {
			head.Claim.Fence++
			return tt.refused
		}}
		m := newScripted(t, c, &log)
		m.form = tt.form
		again, err := m.shrinks(t.Context(), tt.failure, thread.FormLeast)
		if again != tt.again || !errors.Is(err, tt.err) || m.form != tt.left || len(c.asked) != len(tt.log) {
			t.Errorf("%s: again %t, %v, in the form %s behind %d writes; want %t, %v, %s and %d", tt.name, again, err, m.form, len(c.asked), tt.again, tt.err, tt.left, len(tt.log))
		}
		if diff := cmp.Diff(tt.log, log.lines); diff != "" {
			t.Errorf("%s: the log (-want +got):\n%s", tt.name, diff)
		}
	}
}

// What the last form cuts are the texts of messages. A record of another kind stays as it is.
func TestTheLastFormCutsMessagesAlone(t *testing.T) {
	m := newScripted(t, &scripted{}, &said{})
	m.form = thread.FormLeast
	large := strings.Repeat("x", thread.MinPayload)
	entries := func() []thread.Entry {
		return []thread.Entry{
			{Patch: state.Patch{{Op: "add", Path: "/thread/a", Value: []byte(`"` + large + `"`)}}},
			{Message: &core.Message{Role: core.RoleTool, ToolResult: &core.ToolResult{Message: large}}},
		}
	}
	m.draft.entries = entries()
	m.cutMessages()
	if diff := cmp.Diff(entries(), m.draft.entries); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What a run has answered is the newest of its own turns that the window has.
func TestTheLastTurnOfARun(t *testing.T) {
	ours, other := core.ID{1}, core.ID{2}
	said := func(run core.ID, role core.Role, text string) core.Message {
		return core.Message{RunID: run, Role: role, Content: []core.Block{{Type: core.BlockText, Text: text}}}
	}
	tests := []struct {
		name     string
		messages []core.Message
		want     string
	}{
		{"nothing", nil, ""},
		{"a turn alone", []core.Message{said(ours, core.RoleAssistant, "a")}, "a"},
		{"input alone", []core.Message{said(ours, core.RoleUser, "hi")}, ""},
		{"behind a result", []core.Message{said(ours, core.RoleAssistant, "a"), said(ours, core.RoleTool, "r")}, "a"},
		{"the newest", []core.Message{said(ours, core.RoleAssistant, "a"), said(ours, core.RoleAssistant, "b")}, "b"},
		{"another run's", []core.Message{said(other, core.RoleAssistant, "a"), said(ours, core.RoleUser, "hi")}, ""},
		{"behind another run", []core.Message{said(ours, core.RoleAssistant, "a"), said(other, core.RoleUser, "hi")}, ""},
	}
	for _, tt := range tests {
		if got := lastText(tt.messages, ours); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Whatever a write leaves out is logged, however small.
func TestWhatAWriteLeavesOutIsLogged(t *testing.T) {
	for left, want := range map[int][]string{
		0: nil, 1: {`level=ERROR msg="usage record too large for the store" step=0 bytes=1`},
	} {
		var log said
		h := &newScripted(t, &scripted{}, &log).holder
		(&plan{left: left}).complainOfLeft(t.Context(), &h.log)
		if diff := cmp.Diff(want, log.lines); diff != "" {
			t.Errorf("%d bytes (-want +got):\n%s", left, diff)
		}
	}
}

// The last form cuts the text of a message, and nothing else that tells whose it is.
func TestWhatTheLastFormKeepsOfAMessage(t *testing.T) {
	m := newScripted(t, &scripted{}, &said{})
	m.form = thread.FormLeast
	long := core.Message{
		ID: "a", Role: core.RoleAssistant, Content: []core.Block{{Type: core.BlockReasoning, Text: "hm"}, {Type: core.BlockText, Text: strings.Repeat("x", thread.MinPayload)}},
		ToolCalls: []core.ToolCall{{ID: "c"}}, RunID: core.ID{1}, Step: 2, Usage: &core.Usage{Input: 3}, Model: "m", Provider: "p", StopReason: core.StopOther, CreatedAt: 50, Repair: true,
	}
	m.draft.entries = []thread.Entry{{Step: 2, Message: &long, Window: &core.Window{First: 1}}}
	m.cutMessages()
	want := []thread.Entry{{Step: 2, Message: &core.Message{
		ID: "a", Role: core.RoleAssistant, Content: []core.Block{{Type: core.BlockText, Text: strings.Repeat("x", 1018) + "..."}},
		RunID: core.ID{1}, Step: 2, StopReason: core.StopOther, CreatedAt: 50, Repair: true,
	}}}
	if diff := cmp.Diff(want, m.draft.entries); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A record of what RunEnd has changed says nothing of the state in a form that has no changes.
func TestTheRecordOfWhatRunEndHasChanged(t *testing.T) {
	ended := &thread.EndRecord{At: 50, Patch: state.Patch{{Op: "add", Path: "/thread/a", Value: []byte("1")}}, Revision: 9, Command: &state.Command{}}
	for form, want := range map[thread.Form]string{
		thread.FormCut:       `{"schema":1,"at":50,"patch":[{"op":"add","path":"/thread/a","value":1}],"revision":9,"command":{},"form":2}`,
		thread.FormStateless: `{"schema":1,"at":50,"command":{},"form":3}`,
	} {
		r, err := endRecord(thread.Records{}, ended, form, core.ID{1}, 21)
		if diff := cmp.Diff(want, string(r.Payload)); diff != "" || err != nil || r.Name != recordname.End(core.ID{1}, 21) {
			t.Errorf("in the form %s it is %s, %v (-want +got):\n%s", form, r.Name, err, diff)
		}
	}
	if ended.Revision != 9 || len(ended.Patch) != 1 || ended.Form != 0 {
		t.Errorf("what was to be recorded has become %+v", ended)
	}
}

// estimating is a store that says what a commit costs by the number of its records.
type estimating struct{ refusing }

func (estimating) EstimateCommit(c store.Commit) core.Spent {
	return core.Spent{WriteMore: int64(len(c.Records))}
}

// What a write stores of a run's accounts: of its end all that the stretch has cost, this write
// included; of a turn that no log will have what it was asked for, in every form and unless the
// log has it since.
func TestWhatAWriteStoresOfTheAccounts(t *testing.T) {
	books := accounting.Books{Store: estimating{}, Metering: &accounting.Metering{Keep: time.Hour}}
	begun := func() accounting.Run {
		r := books.Run(accounting.Claim{Run: core.ID{1}})
		r.StartTurn(7)
		return r
	}
	asked := new(accounting.Spent)
	asked.Name("", strings.Repeat("m", thread.MinPayload))
	asked.Call()
	head := thread.Head{Version: 21, Seq: 7}
	head.Run.ID = core.ID{1}

	accounts := begun()
	p := runPart{codec: new(thread.Records), account: &accounts, env: env.System(), totals: new(thread.Totals), form: thread.FormLeast, unlogged: asked, logEnd: 7}
	to := plan{run: new(thread.RunRecord), records: make([]store.Record, 3)}
	p.addAccount(&to, head, thread.Result{})
	if len(to.records) != 4 || to.records[3].Name != recordname.Wasted(core.ID{1}, 21) || to.left != 0 || to.err != nil {
		t.Errorf("a turn of no log: the plan has %d records, and leaves out %d bytes, %v", len(to.records), to.left, to.err)
	}
	p.form, p.unlogged = thread.FormWhole, nil
	to = plan{run: new(thread.RunRecord), records: make([]store.Record, 3)}
	p.addAccount(&to, head, thread.Result{Stretch: &thread.Stretch{Since: 1_000_000, Spent: core.Spent{WriteMore: 10}}})
	var used account.Record
	if err := (thread.Records{}).Decode("usage", to.records[3].Payload, &used); err != nil || used.Spent.WriteMore != 13 {
		t.Errorf("an end: the stretch has cost %+v, %v; want 13 units", used.Spent, err)
	}

	for seq, want := range map[uint64]int{7: 1, 8: 0} {
		accounts := begun()
		w := nackWrite{account: &accounts, run: core.ID{1}, unlogged: asked}
		var to plan
		head.Seq = seq
		if w.records(&to, head, thread.Result{}); len(to.records) != want || to.err != nil {
			t.Errorf("a claim that is given back where the log ends at %d: %d records, %v, want %d", seq, len(to.records), to.err, want)
		}
	}
}

// What lists a thread says of its run what that has used, and how it ended without the words.
func TestWhatListsARun(t *testing.T) {
	usage := core.Usage{Input: 3, Output: 2}
	for _, detail := range []string{"", "the model failed"} {
		end := &core.Termination{Type: core.TerminationError, Code: "model", Detail: detail}
		r := &thread.RunRecord{Run: core.Run{ID: core.ID{1}, AgentID: "demo", Status: core.RunDone, Steps: 4, Usage: usage, Termination: end}}
		p := runPart{codec: new(thread.Records), before: r, at: 50}
		var to plan
		p.addTo(&to, thread.Head{}, thread.Done, r)
		got, err := thread.Records{}.DecodeListing(to.records[1].Payload)
		if err != nil {
			t.Fatal(err)
		}
		want := &core.LastRun{ID: core.ID{1}, AgentID: "demo", Status: core.RunDone, Steps: 4, Usage: usage, Termination: &core.Termination{Type: core.TerminationError, Code: "model"}}
		if diff := cmp.Diff(want, got.Last); diff != "" || end.Detail != detail {
			t.Errorf("the end becomes %+v (-want +got):\n%s", end, diff)
		}
	}
}

// What only looks like a failed action is none, wherever it stands, and of a value that cannot
// be read as a whole nothing is.
func TestWhatIsNoFailedAction(t *testing.T) {
	const action = `{"action":{"key":"a","phase":"before_inference"},"error":"wrong"}`
	var log said
	h := &newScripted(t, &scripted{}, &log).holder
	warnOfFailedActions(t.Context(), &h.log, []thread.Entry{{Patch: state.Patch{
		{Op: "add", Path: "/run/other", Value: []byte(action)},
		{Op: "add", Path: failedActions, Value: []byte("[" + action + `,"none"]`)},
	}}})
	if diff := cmp.Diff([]string(nil), log.lines); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
}
