package host_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// Threads are found in the list that is asked for: of a parent its children alone, and in no
// list by the records of their runs.
func TestInWhichListsThreadsAreFound(t *testing.T) {
	m := newMade(t)
	m.listing('b', thread.Listing{List: recordname.ThreadsList(""), At: 9})
	m.listing(0, thread.Listing{List: recordname.ThreadsList(""), At: 5})
	p := m.process()
	for _, test := range []struct {
		q    host.ThreadQuery
		want int
	}{{host.ThreadQuery{}, 1}, {host.ThreadQuery{Parent: "t1"}, 0}} {
		page, err := p.Threads(t.Context(), local, test.q)
		if err != nil || len(page.Items) != test.want {
			t.Errorf("%+v: %+v, %v", test.q, page.Items, err)
		}
	}
}

// A run that only its pointer knows does not exist, nor does one whose thread has no head.
func TestARunWithoutARecord(t *testing.T) {
	m := newMade(t)
	pointer := m.run('b', 0, nil)
	pointer.Name = "run:" + idOf('c', 0).String()
	pointer.Value = bytes.ReplaceAll(pointer.Value, []byte(idOf('b', 0).String()), []byte(idOf('c', 0).String()))
	m.listing('b', thread.Listing{List: recordname.RunsList(""), At: 5})
	before := newRig(t).process("w", m.store)
	if page, err := before.Runs(t.Context(), local, host.RunQuery{}); err != nil || len(page.Items) != 0 {
		t.Errorf("without a head: %+v, %v", page.Items, err)
	}
	p := m.process(pointer)
	if run, err := p.ReadRun(t.Context(), local, idOf('c', 0)); core.CodeOf(err) != core.CodeNotFound || err.Error() != "run "+idOf('c', 0).String()+" not found" {
		t.Errorf("%+v, %v", run, err)
	}
}

// A page that cannot be is refused before anything is read, and what cannot be deleted so is.
func TestPagesThatAreRefused(t *testing.T) {
	p := newMade(t).process()
	run := idOf('b', 0)
	for name, err := range map[string]error{
		"messages":  second(p.Messages(t.Context(), local, "t9", host.MessageQuery{Limit: 201})),
		"steps":     second(p.Steps(t.Context(), local, run, host.StepQuery{Limit: 201})),
		"events":    second(p.Committed(t.Context(), local, run, host.EventQuery{Limit: 201})),
		"patches":   second(p.StatePatches(t.Context(), local, "t9", host.StateQuery{Limit: 201})),
		"approvals": second(p.Approvals(t.Context(), core.Identity{}, host.ApprovalQuery{Limit: 201})),
	} {
		if core.CodeOf(err) != core.CodeInvalid || err.Error() != "limit 201, allowed are 1 to 200" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := p.Approvals(t.Context(), core.Identity{}, host.ApprovalQuery{}); core.CodeOf(err) != core.CodeInvalid || strings.HasPrefix(err.Error(), "list approvals") {
		t.Errorf("approvals of nobody: %v", err)
	}
	if err := p.DeleteThread(t.Context(), local, "t9", "some"); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("a delete of some children: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// Where the newest comes first, too, what was superseded is not shown, wherever it stands.
func TestWhatWasSupersededFirstIsNotShownBackwards(t *testing.T) {
	for name, test := range map[string]struct {
		from, to uint64
		want     []string
	}{"the first": {1, 1, []string{"d4", "c3", "b2"}}, "the second": {2, 2, []string{"d4", "c3", "a1"}}, "the first two": {1, 2, []string{"d4", "c3"}}} {
		m := newMade(t)
		for i, id := range []string{"a1", "b2", "c3", "d4"} {
			e := thread.Entry{Message: message(id, core.RoleUser, 1)}
			if uint64(i) == test.to {
				e.Superseded = &thread.Range{From: test.from, To: test.to}
				m.head.Supersedes = test.to + 1
			}
			m.log(id[0], e)
		}
		p := m.process()
		for _, q := range []host.MessageQuery{{Descending: true}, {Newest: true}, {}} {
			page, err := p.Messages(t.Context(), local, "t1", q)
			got := ids(page)
			if !q.Descending {
				slices.Reverse(got)
			}
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%s, %+v: %v (-want +got):\n%s", name, q, err, diff)
			}
		}
	}
}

// Input is shown in the order of its time, whatever run it is for; what joins a queued run
// is part of it.
func TestInputIsShownInTheOrderOfItsTime(t *testing.T) {
	m := newMade(t)
	m.head.Pending = []thread.Dispatch{
		{ID: m.input('q', 7, 'h', message("h1", core.RoleUser, 4)), Run: idOf('h', 0), Steered: true, Rest: []thread.InboxEntry{{ID: m.input('r', 5, 'h', message("h2", core.RoleUser, 4))}}},
		{ID: m.input('s', 3, 'i', message("i1", core.RoleUser, 4)), Run: idOf('i', 0)},
	}
	page, err := m.process().Messages(t.Context(), local, "t1", host.MessageQuery{})
	if diff := cmp.Diff([]string{"i1", "h2", "h1"}, ids(page)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// Input between a turn and its results, as only damage leaves it, is of no step; a failed
// inference begins one.
func TestWhatBeginsAStep(t *testing.T) {
	m := newMade(t)
	turn := message("b1", core.RoleAssistant, 1)
	turn.Step, turn.ToolCalls = 1, []core.ToolCall{{ID: "x", Name: "echo", Arguments: json.RawMessage(`{}`)}}
	m.log('b', thread.Entry{Step: 1, Message: turn})
	m.log('b', thread.Entry{Step: 1, Message: message("b2", core.RoleUser, 1)})
	m.log('b', thread.Entry{Step: 1, Message: toolResult("b3", "x", 1)})
	m.log('b', thread.Entry{Step: 2, Failed: &thread.Failure{Kind: "other", At: 5}})
	p := m.process(m.run('b', 1, nil))
	page, err := p.Steps(t.Context(), local, idOf('b', 0), host.StepQuery{Limit: 1})
	if err != nil || len(page.Steps) != 1 || page.Next != 4 || page.Steps[0].Calls[0].Status != "ok" {
		t.Errorf("%+v, next %d, %v", page.Steps, page.Next, err)
	}
}

// What a page reads: not the log when no revision is asked for, no record past the run's
// end, and of a run that has a record nothing that would lead to it, nor its input if its
// listing has it.
func TestWhatAPageDoesNotRead(t *testing.T) {
	m := newMade(t)
	m.says("a1", "b2", "b3", "b4")
	m.listing('a', thread.Listing{List: recordname.RunsList(""), At: 5, Asked: "a"})
	m.process(m.run('a', 1, nil))
	way := newWay(m.store)
	p := newRig(t).process("w", way)
	for name, test := range map[string]struct {
		read func() error
		want counts
	}{
		"changes of the state": {func() error { return second(p.StatePatches(t.Context(), local, "t1", host.StateQuery{})) }, counts{"head": 1, "log": 1, "record": 4}},
		"a run's messages": {func() error {
			return second(p.Messages(t.Context(), local, "t1", host.MessageQuery{Run: idOf('a', 0)}))
		}, counts{"head": 2, "get": 1, "log": 1, "pointer": 1, "record": 2}},
		"a run's events": {func() error { return second(p.Committed(t.Context(), local, idOf('a', 0), host.EventQuery{})) }, counts{"head": 1, "get": 1, "log": 1, "pointer": 1, "record": 2}},
		"runs":           {func() error { return second(p.Runs(t.Context(), local, host.RunQuery{})) }, counts{"head": 1, "get": 2, "listed": 1}},
	} {
		way.counts()
		if err := test.read(); err != nil {
			t.Error(name, err)
		}
		wantCounts(t, name, way, test.want)
	}
}

// A page has fifty messages if it is not asked for more.
func TestAPageHasFiftyMessages(t *testing.T) {
	m := newMade(t)
	for range 51 {
		m.says("a1")
	}
	p := m.process()
	for _, q := range []host.MessageQuery{{}, {Descending: true}} {
		if page, err := p.Messages(t.Context(), local, "t1", q); err != nil || len(page.Messages) != 50 || page.Next == 0 {
			t.Errorf("%d messages, next %d, %v", len(page.Messages), page.Next, err)
		}
	}
	if page, err := p.Messages(t.Context(), local, "t1", host.MessageQuery{Newest: true}); err != nil || len(page.Messages) != 51 {
		t.Errorf("the newest: %d messages, %v", len(page.Messages), err)
	}
}
