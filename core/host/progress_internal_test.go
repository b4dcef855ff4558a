package host

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

var theChild = core.ID{9}

// progressOf is the progress of a child run in the stream of theRun that h hears.
func progressOf(h Listener) *progress {
	shared := &lineage{stream: newStream(env.System(), theRun, h)}
	return &progress{shared: shared, about: &core.ChildRun{RunID: theChild, ThreadID: "c", AgentID: "helper"}, call: "call_1", status: core.RunRunning}
}

// shown is the last update that h was shown.
func (h *hearer) shown(t *testing.T) (p core.ChildProgress) {
	t.Helper()
	for _, e := range h.events {
		if e.Type == core.EventActivitySnapshot {
			p = core.ChildProgress{}
			if err := json.Unmarshal(e.Content, &p); err != nil {
				t.Fatal(err)
			}
		}
	}
	return p
}

// What each event changes in what a stream shows of a child run.
func TestTheProgressOfAChildRun(t *testing.T) {
	says := func(step int, text string) core.Event {
		return core.Event{Type: core.EventTextDelta, Step: step, Delta: text}
	}
	uses := func(step, tokens int) core.Event {
		return core.Event{Type: core.EventInferenceComplete, Step: step, Usage: &core.Usage{Output: tokens}}
	}
	call := func(kind core.EventType, id string) core.Event {
		return core.Event{Type: kind, CallID: id, Name: "tool_" + id}
	}
	ends := core.Event{Type: core.EventRunFinish, Steps: 3, Usage: &core.Usage{Output: 9}, Termination: &core.Termination{Type: core.TerminationNatural}}
	type content = core.ChildProgress
	for _, tt := range []struct {
		name   string
		events []core.Event
		want   content
	}{
		{"nothing", nil, content{}},
		{"words", []core.Event{says(1, "a"), says(1, "b")}, content{Text: "ab"}},
		{"words of two steps", []core.Event{says(1, "a"), says(2, "b")}, content{Text: "b"}},
		{"2,000 bytes", []core.Event{says(1, strings.Repeat("x", 1999)), says(1, "y")}, content{Text: strings.Repeat("x", 1999) + "y"}},
		{"2,001 bytes", []core.Event{says(1, strings.Repeat("x", 2000)), says(1, "y")}, content{Text: strings.Repeat("x", 1999) + "y"}},
		{"a character that is cut", []core.Event{says(1, "é"+strings.Repeat("x", 1999))}, content{Text: strings.Repeat("x", 1999)}},
		{"a step that begins again", []core.Event{says(2, "a"), call(core.EventToolCallReady, "a"), {Type: core.EventStepRestarted, Step: 2}}, content{}},
		{"a step that begins again after another's words", []core.Event{says(1, "a"), call(core.EventToolCallReady, "a"), {Type: core.EventStepRestarted, Step: 2}}, content{Text: "a"}},
		{"an inference that fails", []core.Event{says(1, "a"), {Type: core.EventInferenceFailed, Step: 1}}, content{}},
		{"tools", []core.Event{call(core.EventToolCallReady, "a"), call(core.EventToolCallReady, "b")}, content{Tools: []string{"tool_a", "tool_b"}}},
		{"a tool that is done", []core.Event{call(core.EventToolCallReady, "a"), call(core.EventToolCallReady, "b"), call(core.EventToolCallDone, "a")}, content{Tools: []string{"tool_b"}}},
		{"a call that waits for a child run", []core.Event{call(core.EventToolCallReady, "a"), call(core.EventToolCallSuspended, "a")}, content{}},
		{"a step that ends", []core.Event{call(core.EventToolCallReady, "a"), {Type: core.EventStepEnd, Step: 2}}, content{Steps: 2}},
		{"an earlier step, shown again", []core.Event{{Type: core.EventStepEnd, Step: 2}, {Type: core.EventStepEnd, Step: 1}}, content{Steps: 2}},
		{"usage", []core.Event{uses(1, 2), uses(2, 3), {Type: core.EventInferenceComplete}}, content{Usage: core.Usage{Output: 5}}},
		{"the end", []core.Event{says(3, "a"), uses(1, 2), call(core.EventToolCallReady, "a"), ends}, content{Text: "a", Steps: 3, Usage: core.Usage{Output: 9}, Termination: ends.Termination}},
		{"the end without usage", []core.Event{uses(1, 2), {Type: core.EventRunFinish}}, content{Usage: core.Usage{Output: 2}}},
		{"anything else", []core.Event{{Type: core.EventStateSnapshot, Step: 1, Delta: "x"}}, content{}},
	} {
		h := &hearer{}
		p := progressOf(h)
		for _, e := range tt.events {
			if err := p.Emit(e); err != nil {
				t.Fatal(err)
			}
		}
		news := len(tt.events) > 0 && tt.name != "anything else"
		if p.changed != news {
			t.Errorf("%s: changed is %t", tt.name, p.changed)
		}
		_ = p.Emit(core.Event{Type: core.EventStepStart}) // which changes nothing
		if p.changed != news {
			t.Errorf("%s: changed is %t after the start of a step", tt.name, p.changed)
		}
		if err := p.show(time.Unix(1, 0)); err != nil || p.changed {
			t.Fatal(err, p.changed)
		}
		tt.want.ChildRun, tt.want.Status = *p.about, core.RunRunning
		if diff := cmp.Diff(tt.want, h.shown(t)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		// The same once more is not shown.
		if err := p.show(time.Unix(2, 0)); err != nil || len(h.events) != 1 || !p.shownAt.Equal(time.Unix(1, 0)) {
			t.Errorf("%s: %d events, %v", tt.name, len(h.events), err)
		}
	}
}

// Of calls, a stream is shown those that wait for a person or a client, each after the first
// update of its run.
func TestTheQuestionsOfAChildRun(t *testing.T) {
	ticket := func(kind core.TicketKind, decision *core.Decision) *core.Ticket {
		return &core.Ticket{CallID: "a", Tool: "ask", Kind: kind, Decision: decision, Suspension: core.Suspension{ID: "s"}}
	}
	for _, tt := range []struct {
		name   string
		ticket *core.Ticket
		shown  bool
	}{
		{"a person's", ticket(core.TicketPerson, nil), true},
		{"of an older program", ticket("", nil), true},
		{"a client's", ticket(core.TicketClient, nil), true},
		{"a child run's", ticket(core.TicketChild, nil), false},
		{"a time's", ticket(core.TicketTimer, nil), false},
		{"decided", ticket(core.TicketPerson, &core.Decision{}), false},
		{"none", nil, false},
	} {
		h := &hearer{}
		p := progressOf(h)
		emit := func(kind core.EventType, ticket *core.Ticket) {
			t.Helper()
			if err := p.Emit(core.Event{Type: kind, RunID: theChild, CallID: "a", Name: "ask", Step: 2, Position: "p", Ticket: ticket}); err != nil {
				t.Fatal(err)
			}
		}
		emit(core.EventToolCallReady, nil)
		emit(core.EventToolCallSuspended, tt.ticket)
		if len(h.events) != 0 || len(p.tools) != 0 {
			t.Errorf("%s: %v is shown before the run, tools are %v", tt.name, h.lines(), p.tools)
		}
		if err := p.show(time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		if err := p.decided(&core.Ticket{CallID: "a", Tool: "ask"}); err != nil || len(p.tools) != 0 {
			t.Errorf("%s: what is not decided runs: %v, %v", tt.name, p.tools, err)
		}
		if err := p.decided(&core.Ticket{CallID: "a", Tool: "ask", Decision: &core.Decision{ID: "yes", Action: core.DecisionResume}}); err != nil || !p.changed || len(p.tools) != 1 {
			t.Errorf("%s: %v, changed %t, tools %v", tt.name, err, p.changed, p.tools)
		}
		emit(core.EventToolCallDone, nil)
		want := []core.EventType{core.EventActivitySnapshot}
		if tt.shown {
			want = append(want, core.EventToolCallSuspended, core.EventToolCallResumed, core.EventToolCallDone)
		}
		var got []core.EventType
		for i, e := range h.events {
			got = append(got, e.Type)
			if e.RunID != theRun || e.Step != 0 || e.Position != "" || e.Child == nil || *e.Child != *p.about || e.Child == p.about {
				t.Errorf("%s: event %d is %+v", tt.name, i, e)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || len(p.tools) != 0 || len(p.held) != 0 {
			t.Errorf("%s: tools %v (-want +got):\n%s", tt.name, p.tools, diff)
		}
	}
}

// The stream's reader sets the pace, and what it refuses is an error.
func TestTheReaderOfAChildRun(t *testing.T) {
	no := errors.New("gone")
	h := &hearer{ready: func(context.Context) error { return no }, failed: no, at: 1}
	p := progressOf(h)
	if err := p.Ready(t.Context()); !errors.Is(err, no) || h.asked != 1 {
		t.Errorf("ready: %v, asked %d times", err, h.asked)
	}
	if p.Wants(core.EventStateSnapshot) {
		t.Error("it wants the state of a child run")
	}
	if err := p.show(time.Unix(1, 0)); err == nil {
		t.Error("the reader's refusal is no error")
	}
}
