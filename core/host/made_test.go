package host_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
)

// made is a thread that a test puts into a store itself, record by record: for what a run
// leaves behind only in rare orders. Its runs are named by a letter.
type made struct {
	t     *testing.T
	store store.Backend
	key   core.ThreadKey
	head  thread.Head
}

func newMade(t *testing.T) *made {
	return &made{t, memory.New(), core.ThreadKey{Tenant: "local", Thread: "t1"}, thread.Head{
		Layout: thread.Layout, Schema: 1, Version: 1, CommitID: core.ID{9}, Incarnation: 1, Fence: 1,
	}}
}

// idOf is the id that a letter stands for, of a time: inputs are shown in the order of time.
func idOf(name byte, at byte) core.ID { return core.ID{5: at, 15: name} }

// message is a message with a text of so many bytes; its id begins with its run's letter.
func message(id string, role core.Role, size int) *core.Message {
	return &core.Message{ID: id, RunID: idOf(id[0], 0), Role: role, Content: []core.Block{{Type: core.BlockText, Text: strings.Repeat("x", size)}}}
}

// put stores a record of the thread.
func (m *made) put(name string, payload []byte, err error) {
	m.t.Helper()
	if err == nil {
		err = m.store.Put(m.t.Context(), m.key, store.Record{Name: name, Fence: 1, Version: 1, Payload: payload})
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// at stores a record of the log at a sequence.
func (m *made) at(seq uint64, run byte, e thread.Entry) {
	m.t.Helper()
	e.Run = idOf(run, 0)
	payload, err := thread.Records{}.EncodeEntry(&e)
	m.put(store.LogName(seq), payload, err)
}

// log stores the next record that the head covers.
func (m *made) log(run byte, e thread.Entry) {
	m.t.Helper()
	m.head.Seq++
	m.at(m.head.Seq, run, e)
}

// says logs messages of a text of 700 bytes each, a record each.
func (m *made) says(ids ...string) {
	m.t.Helper()
	for _, id := range ids {
		m.log(id[0], thread.Entry{Message: message(id, core.RoleUser, 700)})
	}
}

// input stores queued input and returns its id.
func (m *made) input(name, at byte, run byte, messages ...*core.Message) core.ID {
	m.t.Helper()
	id := idOf(name, at)
	q := thread.Queued{Run: idOf(run, 0), Dispatch: id, AgentID: "demo"}
	for _, one := range messages {
		q.Messages = append(q.Messages, *one)
	}
	payload, err := thread.Records{}.EncodeQueued(&q)
	m.put(recordname.Input(id, 0), payload, err)
	return id
}

// run stores the record of a run and what leads to it by its id.
func (m *made) run(name byte, firstSeq uint64, change func(*thread.RunRecord)) store.Pointer {
	m.t.Helper()
	record := thread.RunRecord{Run: core.Run{ID: idOf(name, 0), ThreadID: m.key.Thread, AgentID: "demo", Status: core.RunDone, FirstSeq: firstSeq}}
	if change != nil {
		change(&record)
	}
	payload, err := thread.Records{}.EncodeRun(&record)
	m.put(recordname.Run(record.ID), payload, err)
	value, err := json.Marshal(map[string]any{"thread": m.key.Thread, "run": record.ID, "dispatch": record.Dispatch})
	if err != nil {
		m.t.Fatal(err)
	}
	return store.Pointer{Name: "run:" + record.ID.String(), Value: value}
}

// process commits the head and returns a runtime over the store.
func (m *made) process(pointers ...store.Pointer) *host.Host {
	m.t.Helper()
	outcome, err := m.store.Commit(m.t.Context(), m.key, store.Commit{Head: m.head, Pointers: pointers})
	if err != nil || !outcome.Written {
		m.t.Fatalf("%+v, %v", outcome, err)
	}
	return newRig(m.t).process("w", m.store)
}

// everything is a thread with all that a page may meet: two ranges that were superseded, a
// record without a message, an open round of which the results of the first and the last
// call count, and input of the open run, which has two messages, and of a queued one.
//
//	1 a1   2 a2   3 b3 (superseded)   4 c4   5 d5 d6 (superseded)   7 e7   8 -   9 f9
//	10 f10 (done)   11 - (stored, does not count)   12 f12 (done)   then g1 g2, h1
func everything(t *testing.T) (*made, *host.Host) {
	m := newMade(t)
	m.says("a1", "a2", "b3")
	m.log('c', thread.Entry{Message: message("c4", core.RoleUser, 700), Superseded: &thread.Range{From: 3, To: 3}})
	m.says("d5", "d6")
	m.log('e', thread.Entry{Message: message("e7", core.RoleUser, 700), Superseded: &thread.Range{From: 5, To: 6}, Earlier: []thread.Range{{From: 3, To: 3}}})
	m.head.Supersedes = 7
	m.log('e', thread.Entry{Step: 1})
	turn := message("f9", core.RoleAssistant, 500)
	for _, id := range []string{"x", "y", "z"} {
		turn.ToolCalls = append(turn.ToolCalls, core.ToolCall{ID: id, Name: "echo", Arguments: json.RawMessage(`{}`)})
	}
	m.log('f', thread.Entry{Message: turn, Step: 1})
	for i, id := range []string{"f10", "f11", "f12"} {
		result := message(id, core.RoleTool, 600)
		result.ToolResult = &core.ToolResult{CallID: turn.ToolCalls[i].ID, Status: core.ResultOK}
		m.at(uint64(10+i), 'f', thread.Entry{Message: result, Decision: []string{"d", "", ""}[i]})
	}
	m.head.Run = thread.Run{
		ID: idOf('f', 0), Dispatch: idOf('f', 1), Cursor: thread.CursorTools, Step: 1, Base: 10,
		Calls: []thread.CallStatus{thread.CallDone, thread.CallRunning, thread.CallDone},
	}
	m.head.Inbox = []thread.InboxEntry{{ID: m.input('i', 2, 'f', message("g1", core.RoleUser, 400), message("g2", core.RoleUser, 400))}}
	m.head.Pending = []thread.Dispatch{{ID: m.input('q', 3, 'h', message("h1", core.RoleUser, 400)), Run: idOf('h', 0)}}
	return m, m.process(m.run('f', 9, func(r *thread.RunRecord) { r.Status = core.RunRunning }), m.run('e', 7, nil), m.run('a', 1, nil))
}

// walk reads all pages of a query and returns the ids of each.
func walk(t *testing.T, p *host.Host, q host.MessageQuery) (all [][]string, total []string) {
	t.Helper()
	all = pages(t, p, q)
	for _, one := range all {
		total = append(total, one...)
	}
	return all, total
}

// Whatever the size of its pages, a reader is shown each message once, in order. What is
// visible early does not count for a page's limit, and does for its bytes.
func TestPagesOfAnySizeShowEachMessageOnce(t *testing.T) {
	_, p := everything(t)
	log := []string{"a1", "a2", "c4", "e7", "f9"}
	early := []string{"f10", "f12", "g1", "g2", "h1"}
	want := append(append([]string{}, log...), early...)
	backwards := []string{"h1", "g2", "g1", "f12", "f10", "f9", "e7", "c4", "a2", "a1"}
	for limit := 1; limit <= 12; limit++ {
		all, got := walk(t, p, host.MessageQuery{Limit: limit})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, diff)
		}
		for i, one := range all {
			if n := len(one); n > limit && (i < len(all)-1 || n > limit+len(early)) {
				t.Errorf("limit %d: page %d is %q", limit, i, one)
			}
		}
		all, got = walk(t, p, host.MessageQuery{Limit: limit, Descending: true})
		if diff := cmp.Diff(backwards, got); diff != "" {
			t.Errorf("limit %d backwards (-want +got):\n%s", limit, diff)
		}
		for i, one := range all {
			if n := len(one); n > limit && (i > 0 || n > len(early)) || n == 0 {
				t.Errorf("limit %d backwards: page %d is %q", limit, i, one)
			}
		}
	}
	for bytes := 1; bytes < 9000; bytes += 211 {
		if _, got := walk(t, p, host.MessageQuery{Bytes: bytes}); cmp.Diff(want, got) != "" {
			t.Errorf("pages of %d bytes show %q", bytes, got)
		}
		if _, got := walk(t, p, host.MessageQuery{Bytes: bytes, Descending: true}); cmp.Diff(backwards, got) != "" {
			t.Errorf("pages of %d bytes backwards show %q", bytes, got)
		}
	}
}

// The pages of one thread at literal places.
func TestAPageStandsWhereItsQuerySays(t *testing.T) {
	_, p := everything(t)
	f, e, a := idOf('f', 0), idOf('e', 0), idOf('a', 0)
	const unit = 1 << 40
	early := []string{"f10", "f12", "g1", "g2", "h1"}
	for _, test := range []struct {
		name string
		q    host.MessageQuery
		want []string
		next uint64
		more bool // Earlier
		cut  bool
	}{
		{name: "one", q: host.MessageQuery{Limit: 1}, want: []string{"a1"}, next: 1},
		{name: "up to a superseded range", q: host.MessageQuery{Limit: 2}, want: []string{"a1", "a2"}, next: 2},
		{name: "past a superseded range", q: host.MessageQuery{Limit: 3}, want: []string{"a1", "a2", "c4"}, next: 4},
		{name: "from within a superseded range", q: host.MessageQuery{After: 2, Limit: 1}, want: []string{"c4"}, next: 4},
		{name: "behind a superseded message", q: host.MessageQuery{After: 3, Limit: 1}, want: []string{"c4"}, next: 4},
		{name: "from the second superseded range", q: host.MessageQuery{After: 5, Limit: 1}, want: []string{"e7"}, next: 7},
		{name: "a record without a message", q: host.MessageQuery{After: 7, Limit: 1}, want: append([]string{"f9"}, early...)},
		{name: "the open turn, and what is early", q: host.MessageQuery{After: 8}, want: append([]string{"f9"}, early...)},
		{name: "over its limit", q: host.MessageQuery{After: 8, Limit: 1}, want: append([]string{"f9"}, early...)},
		{name: "what is early alone", q: host.MessageQuery{After: 9}, want: early},
		{name: "behind a result", q: host.MessageQuery{After: 10}, want: early[1:]},
		{name: "behind the last result", q: host.MessageQuery{After: 12}, want: early[2:]},
		{name: "behind one that is early", q: host.MessageQuery{After: 9 + 1*unit}, want: early[1:]},
		{name: "behind four that are early", q: host.MessageQuery{After: 9 + 4*unit}, want: early[4:]},
		{name: "behind all that are early", q: host.MessageQuery{After: 9 + 5*unit}},
		{name: "a log that has grown since", q: host.MessageQuery{After: 8 + 4*unit}, want: append([]string{"f9"}, early...)},
		{name: "early ones by bytes", q: host.MessageQuery{After: 9, Bytes: 2000}, want: early[:2], next: 9 + 2*unit},

		{name: "up to the second superseded range", q: host.MessageQuery{After: 3, Bytes: 1}, want: []string{"c4"}, next: 6},
		{name: "of a run", q: host.MessageQuery{Run: a}, want: []string{"a1", "a2"}},
		{name: "of a run and not before", q: host.MessageQuery{Run: a, After: 1}, want: []string{"a2"}},
		{name: "of a run and not behind it", q: host.MessageQuery{Run: a, After: 2}},
		{name: "of a run of one message", q: host.MessageQuery{Run: e}, want: []string{"e7"}},
		{name: "of the open run", q: host.MessageQuery{Run: f}, want: []string{"f9", "f10", "f12", "g1", "g2"}},
		{name: "of the open run, in ones", q: host.MessageQuery{Run: f, Bytes: 1}, want: []string{"f9"}, next: 9},
		{name: "of the open run, early", q: host.MessageQuery{Run: f, After: 9, Bytes: 1}, want: []string{"f10"}, next: 9 + 1*unit},
		{name: "of the open run, early, the next", q: host.MessageQuery{Run: f, After: 9 + 1*unit, Bytes: 1}, want: []string{"f12"}, next: 9 + 2*unit},
		{name: "of a run backwards", q: host.MessageQuery{Run: a, Descending: true}, want: []string{"a2", "a1"}},
		{name: "of a run backwards, one", q: host.MessageQuery{Run: a, Descending: true, Limit: 1}, want: []string{"a2"}, next: 2},
		{name: "of a run backwards, its first", q: host.MessageQuery{Run: a, Descending: true, Before: 2}, want: []string{"a1"}},
		{name: "of another run backwards", q: host.MessageQuery{Run: e, Descending: true}, want: []string{"e7"}},
		{name: "of the open run backwards", q: host.MessageQuery{Run: f, Descending: true}, want: []string{"g2", "g1", "f12", "f10", "f9"}},

		{name: "backwards", q: host.MessageQuery{Descending: true, Limit: 6}, want: []string{"h1", "g2", "g1", "f12", "f10", "f9"}, next: 8 - 0},
		{name: "backwards over its limit", q: host.MessageQuery{Descending: true, Limit: 1}, want: []string{"h1", "g2", "g1", "f12", "f10"}, next: 10},
		{name: "backwards from the log's end", q: host.MessageQuery{Descending: true, Before: 10, Limit: 2}, want: []string{"f9", "e7"}, next: 5},
		{name: "backwards from beyond its end", q: host.MessageQuery{Descending: true, Before: 11, Limit: 1}, want: []string{"f9"}, next: 8},
		{name: "backwards among the early ones", q: host.MessageQuery{Descending: true, Before: 10 + 2*unit, Bytes: 1}, want: []string{"g1"}, next: 10 + 3*unit},
		{name: "backwards behind the early ones", q: host.MessageQuery{Descending: true, Before: 10 + 5*unit, Bytes: 1}, want: []string{"f9"}, next: 8},
		{name: "backwards from more than there are", q: host.MessageQuery{Descending: true, Before: 10 + 9*unit, Bytes: 1}, want: []string{"f9"}, next: 8},
		{name: "backwards where the log has grown", q: host.MessageQuery{Descending: true, Before: 9 + 2*unit, Bytes: 1}, want: []string{"f9"}, next: 8},
		{name: "backwards where the log has grown by one", q: host.MessageQuery{Descending: true, Before: 9 + 1*unit, Bytes: 1}, want: []string{"f9"}, next: 8},
		{name: "backwards from within a superseded range", q: host.MessageQuery{Descending: true, Before: 6, Limit: 1}, want: []string{"c4"}, next: 3},
		{name: "backwards, wherever it would begin forwards", q: host.MessageQuery{Descending: true, After: 8, Before: 8}, want: []string{"e7", "c4", "a2", "a1"}},
		{name: "backwards before the first", q: host.MessageQuery{Descending: true, Before: 1}},
		{name: "backwards before the second", q: host.MessageQuery{Descending: true, Before: 2}, want: []string{"a1"}},

		{name: "the newest", q: host.MessageQuery{Newest: true}, want: append([]string{"a1", "a2", "c4", "e7", "f9"}, early...)},
		{name: "the newest behind a sequence", q: host.MessageQuery{Newest: true, After: 2}, want: append([]string{"c4", "e7", "f9"}, early...)},
		{name: "the newest behind a superseded one", q: host.MessageQuery{Newest: true, After: 3}, want: append([]string{"c4", "e7", "f9"}, early...)},
		{name: "the newest behind two ranges", q: host.MessageQuery{Newest: true, After: 6}, want: append([]string{"e7", "f9"}, early...)},
		{name: "the newest behind the log", q: host.MessageQuery{Newest: true, After: 9}, want: early},
		{name: "the newest behind a result", q: host.MessageQuery{Newest: true, After: 10}, want: early[1:]},
		{name: "the newest of the log", q: host.MessageQuery{Newest: true, Limit: 1}, want: append([]string{"f9"}, early...), more: true},
		{name: "the newest two of the log", q: host.MessageQuery{Newest: true, Limit: 2}, want: append([]string{"e7", "f9"}, early...), more: true},
		{name: "the newest without half a run", q: host.MessageQuery{Newest: true, Limit: 4}, want: append([]string{"c4", "e7", "f9"}, early...), more: true},
		{name: "the newest by bytes, early ones alone", q: host.MessageQuery{Newest: true, Bytes: 2000}, want: early[2:], more: true, cut: true},
		{name: "the newest by bytes, one", q: host.MessageQuery{Newest: true, Bytes: 1}, want: early[4:], more: true, cut: true},
	} {
		page, err := p.Messages(t.Context(), local, "t1", test.q)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		for _, m := range page.Messages {
			if m.Decided != (m.ID == "f10") || m.Pending != strings.ContainsAny(m.ID, "gh") {
				t.Errorf("%s: %s is decided %t, pending %t", test.name, m.ID, m.Decided, m.Pending)
			}
		}
		if diff := cmp.Diff(test.want, ids(page)); diff != "" || page.Next != test.next || page.Earlier != test.more || page.Cut != test.cut || page.Total != 9 {
			t.Errorf("%s: next %d, earlier %t, cut %t, total %d (-want +got):\n%s", test.name, page.Next, page.Earlier, page.Cut, page.Total, diff)
		}
	}
}
