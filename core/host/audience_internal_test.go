package host

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// hearer notes what it is shown, and wants what is listed.
type hearer struct {
	events []core.Event
	wants  map[core.EventType]bool
	failed error // of Emit, from the event on that fails
	at     int   // the number of the event that fails; 0: none
	ready  func(context.Context) error
	asked  int // how often Ready was called
}

func (h *hearer) Emit(e core.Event) error {
	h.events = append(h.events, e)
	if h.at > 0 && len(h.events) >= h.at {
		return h.failed
	}
	return nil
}

func (h *hearer) Ready(ctx context.Context) error {
	h.asked++
	if h.ready != nil {
		return h.ready(ctx)
	}
	return nil
}

func (h *hearer) Wants(t core.EventType) bool { return h.wants[t] }

// lines are what it was shown: number, type, and what tells events of a type apart.
func (h *hearer) lines() (all []string) {
	for _, e := range h.events {
		line := fmt.Sprint(e.Sequence, " ", e.Type)
		if e.Step > 0 {
			line += fmt.Sprint(" of ", e.Step)
		}
		for _, part := range []string{e.MessageID, e.Delta, e.DecisionID, string(e.Snapshot), string(e.Patch)} {
			if part != "" {
				line += " " + part
			}
		}
		if e.Ticket != nil {
			line += " " + e.Ticket.Suspension.ID
		}
		for _, m := range e.Messages {
			line += " " + m.ID
		}
		all = append(all, line)
	}
	return all
}

func asking(id string) *core.Ticket { return &core.Ticket{Suspension: core.Suspension{ID: id}} }

// Whatever emitters repeat: run_start, the end of a step, results, tickets, decisions and
// changes of the state are shown once, and text as often as it is emitted.
func TestAnAudienceIsShownEachThingOnce(t *testing.T) {
	h := &hearer{wants: map[core.EventType]bool{core.EventStateDelta: true, core.EventStateSnapshot: true}}
	a := newAudience(env.System(), h)
	for _, e := range []core.Event{
		{Type: core.EventRunStart},
		{Type: core.EventStepStart, Step: 1},
		{Type: core.EventTextDelta, Step: 1, Delta: "a"},
		{Type: core.EventTextDelta, Step: 1, Delta: "a"},
		{Type: core.EventToolCallDone, Step: 1, MessageID: "m1"},
		{Type: core.EventToolCallDone, Step: 1, MessageID: "m2"},
		{Type: core.EventToolCallSuspended, Step: 1, Ticket: asking("s1")},
		{Type: core.EventToolCallSuspended, Step: 1, Ticket: asking("s2")},
		{Type: core.EventToolCallResumed, Step: 1, CallID: "c", DecisionID: "d1"},
		{Type: core.EventToolCallResumed, Step: 1, CallID: "c", DecisionID: "d2"},
		{Type: core.EventToolCallResumed, Step: 1, CallID: "e", DecisionID: "d1"},
		{Type: core.EventStateDelta, Step: 1, Revision: 1, Patch: []byte("[1]")},
		{Type: core.EventStateDelta, Step: 1, Revision: 2, Patch: []byte("[2]")},
		{Type: core.EventStateSnapshot, Snapshot: []byte("{}")},
		{Type: core.EventStateSnapshot, Snapshot: []byte("{}")},
		{Type: core.EventStepEnd, Step: 1},
		{Type: core.EventStepEnd, Step: 2},
	} {
		times := 2
		if e.Delta != "" || e.Type == core.EventStepStart || e.Type == core.EventStateSnapshot { // told apart by their positions, before they come here
			times = 1
		}
		for range times {
			if err := a.emit(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := []string{
		"1 run_start", "2 step_start of 1", "3 text_delta of 1 a", "4 text_delta of 1 a",
		"5 tool_call_done of 1 m1", "6 tool_call_done of 1 m2", "7 tool_call_suspended of 1 s1", "8 tool_call_suspended of 1 s2",
		"9 tool_call_resumed of 1 d1", "10 tool_call_resumed of 1 d2", "11 tool_call_resumed of 1 d1",
		"12 state_delta of 1 [1]", "13 state_delta of 1 [2]", "14 state_snapshot {}", "15 state_snapshot {}", "16 step_end of 1", "17 step_end of 2",
	}
	if diff := cmp.Diff(want, h.lines()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A step that is void is forgotten with all that it has shown.
	for _, e := range []core.Event{
		{Type: core.EventStepRestarted, Step: 2},
		{Type: core.EventToolCallDone, Step: 2, MessageID: "m1"},
		{Type: core.EventToolCallSuspended, Step: 2, Ticket: nil},
		{Type: core.EventToolCallSuspended, Step: 2, Ticket: nil},
		{Type: core.EventToolCallResumed, Step: 2, CallID: "c", DecisionID: "d1"},
	} {
		if err := a.emit(e); err != nil {
			t.Fatal(err)
		}
	}
	want = []string{"18 step_restarted of 2", "19 tool_call_done of 2 m1", "20 tool_call_suspended of 2", "21 tool_call_suspended of 2", "22 tool_call_resumed of 2 d1"}
	if diff := cmp.Diff(want, h.lines()[17:]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The messages before the run come once, behind run_start.
func TestAnAudienceIsGreetedOnce(t *testing.T) {
	h := &hearer{wants: map[core.EventType]bool{core.EventMessagesSnapshot: true}}
	a := newAudience(env.System(), h)
	a.earlier = []core.Message{{ID: "m1"}, {ID: "m2"}}
	for _, e := range []core.Event{{Type: core.EventStepStart, Step: 3}, {Type: core.EventRunStart, RunID: core.ID{7}, Step: 3}, {Type: core.EventRunStart}, {Type: core.EventStepStart}} {
		if err := a.emit(e); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"1 step_start of 3", "2 run_start of 3", "3 messages_snapshot of 3 m1 m2", "4 step_start"}
	if diff := cmp.Diff(want, h.lines()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if h.events[2].RunID != (core.ID{7}) {
		t.Errorf("the messages are of run %s", h.events[2].RunID)
	}
	gone := &hearer{wants: map[core.EventType]bool{core.EventMessagesSnapshot: true}, failed: errAway, at: 1}
	a = newAudience(env.System(), gone)
	a.earlier = []core.Message{{ID: "m1"}}
	if err := a.emit(core.Event{Type: core.EventRunStart}); !errors.Is(err, errAway) || len(gone.events) != 1 {
		t.Errorf("a listener that has left: %q, %v", gone.lines(), err)
	}
	for n, want := range map[int]int{0: 1, 1: 2} {
		h := &hearer{wants: map[core.EventType]bool{core.EventMessagesSnapshot: true}}
		a := newAudience(env.System(), h)
		a.earlier = make([]core.Message, n)
		if err := a.emit(core.Event{Type: core.EventRunStart}); err != nil || len(h.events) != want {
			t.Errorf("with %d messages: %q, %v", n, h.lines(), err)
		}
	}
}

// An event that no record dates happens now.
func TestAnAudienceDatesWhatHasNoTime(t *testing.T) {
	e := *env.System()
	h := &hearer{}
	a := newAudience(&e, h)
	before := e.Millis()
	_ = a.emit(core.Event{Type: core.EventRunStart, Time: 5})
	_ = a.emit(core.Event{Type: core.EventStepStart})
	if got := h.events; got[0].Time != 5 || int64(got[1].Time) < before || int64(got[1].Time) > before+60_000 {
		t.Errorf("times %v and %v", got[0].Time, got[1].Time)
	}
}

func TestWhatAnAudienceWants(t *testing.T) {
	optional := []core.EventType{core.EventStateDelta, core.EventStateSnapshot, core.EventMessagesSnapshot}
	plain := newAudience(env.System(), ListenerFunc(func(core.Event) error { return nil }))
	chooses := newAudience(env.System(), &hearer{wants: map[core.EventType]bool{core.EventMessagesSnapshot: true}})
	for i, want := range []struct{ plain, chooses bool }{{true, false}, {true, false}, {false, true}} {
		if plain.wants(optional[i]) != want.plain || chooses.wants(optional[i]) != want.chooses {
			t.Errorf("%s: %t and %t", optional[i], plain.wants(optional[i]), chooses.wants(optional[i]))
		}
	}
	for _, a := range []audience{plain, chooses} {
		if !a.wants(core.EventTextDelta) || !a.wants(core.EventRunStart) {
			t.Error("an event that nobody may leave out is left out")
		}
	}
	// What is not wanted is not noted either.
	h := &hearer{}
	a := newAudience(env.System(), h)
	_ = a.emit(core.Event{Type: core.EventStateDelta, Step: 1, Revision: 1})
	if a.partial || a.changed || len(h.events) > 0 {
		t.Errorf("partial %t, changed %t, shown %v", a.partial, a.changed, h.lines())
	}
}

// After the last event, or the listener's error, nothing is emitted any more.
func TestAnAudienceThatIsGone(t *testing.T) {
	no := errors.New("no")
	for name, test := range map[string]struct {
		last     core.EventType
		at       int
		gone     error
		text     string
		finished bool
	}{
		"run_finish":     {core.EventRunFinish, 0, errOver, "the stream is over", true},
		"run_yield":      {core.EventRunYield, 0, errOver, "the stream is over", false},
		"a listener":     {core.EventStepStart, 1, no, "the listener is gone: no", false},
		"the last event": {core.EventRunFinish, 1, no, "the listener is gone: no", false},
	} {
		h := &hearer{failed: no, at: test.at}
		a := newAudience(env.System(), h)
		if a.over() {
			t.Errorf("%s: over at first", name)
		}
		if err := a.emit(core.Event{Type: test.last}); (err != nil) != (test.at > 0 && test.last != "") && !errors.Is(err, errOver) {
			t.Errorf("%s: %v", name, err)
		}
		if err := a.emit(core.Event{Type: core.EventStepStart}); !errors.Is(err, test.gone) || err.Error() != test.text {
			t.Errorf("%s: then %v, want %s", name, err, test.text)
		}
		if err := a.ready(t.Context()); !errors.Is(err, test.gone) || h.asked > 0 {
			t.Errorf("%s: ready %v, asked %d times", name, err, h.asked)
		}
		if len(h.events) != 1 || !a.over() || a.finished != test.finished {
			t.Errorf("%s: %v, over %t, finished %t", name, h.lines(), a.over(), a.finished)
		}
	}
	a := newAudience(env.System(), ListenerFunc(func(core.Event) error { panic("no") }))
	if err := a.emit(core.Event{Type: core.EventRunStart}); err == nil || !a.over() {
		t.Errorf("a listener that panics: %v", err)
	}
}

// Ready tells the end of the context from that of the listener.
func TestWhoIsNotReady(t *testing.T) {
	no, late := errors.New("no"), errors.New("late")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(late)
	for name, test := range map[string]struct {
		ctx   context.Context
		ready error
		want  error
		over  bool
	}{
		"ready":                 {t.Context(), nil, nil, false},
		"ready at the end":      {ended, nil, nil, false},
		"the listener has gone": {t.Context(), no, no, true},
		"the time is over":      {ended, no, late, false},
	} {
		a := newAudience(env.System(), &hearer{ready: func(context.Context) error { return test.ready }})
		if err := a.ready(test.ctx); !errors.Is(err, test.want) || (err == nil) != (test.want == nil) || a.over() != test.over {
			t.Errorf("%s: %v, over %t", name, err, a.over())
		}
	}
}

// step_restarted announces that what was shown of a step may be shown again, and tells
// whether the state must be.
func TestARestartIsAnnouncedWhereItShows(t *testing.T) {
	for name, test := range map[string]struct {
		events []core.Event
		stored bool
		want   []string
		state  bool
	}{
		"nothing shown":           {nil, false, nil, false},
		"run_start":               {[]core.Event{{Type: core.EventRunStart}}, false, []string{"1 run_start"}, false},
		"a result":                {[]core.Event{{Type: core.EventToolCallDone, Step: 4, MessageID: "m"}}, false, []string{"1 tool_call_done of 4 m"}, false},
		"a snapshot":              {[]core.Event{{Type: core.EventStateSnapshot}}, false, []string{"1 state_snapshot"}, false},
		"text":                    {[]core.Event{{Type: core.EventTextDelta, Step: 4, Delta: "a"}}, false, []string{"1 text_delta of 4 a", "2 step_restarted of 4"}, false},
		"text of the last step":   {[]core.Event{{Type: core.EventTextDelta, Step: 4, Delta: "a"}, {Type: core.EventTextDelta}}, false, []string{"1 text_delta of 4 a", "2 text_delta", "3 step_restarted of 4"}, false},
		"a step's end":            {[]core.Event{{Type: core.EventStepEnd, Step: 1}}, false, []string{"1 step_end of 1", "2 step_restarted of 1"}, false},
		"a change":                {[]core.Event{{Type: core.EventStateDelta, Step: 4}}, false, []string{"1 state_delta of 4", "2 step_restarted of 4"}, true},
		"text that is stored":     {[]core.Event{{Type: core.EventTextDelta, Step: 4, Delta: "a"}}, true, []string{"1 text_delta of 4 a"}, false},
		"a change that is stored": {[]core.Event{{Type: core.EventStateDelta, Step: 4}}, true, []string{"1 state_delta of 4"}, false},
	} {
		h := &hearer{wants: map[core.EventType]bool{core.EventStateDelta: true, core.EventStateSnapshot: true}}
		a := newAudience(env.System(), h)
		for _, e := range test.events {
			if err := a.emit(e); err != nil {
				t.Fatal(err)
			}
		}
		if test.stored {
			a.stored()
		}
		if state := a.restart(core.ID{7}); state != test.state {
			t.Errorf("%s: the state must be shown again: %t", name, state)
		}
		if diff := cmp.Diff(test.want, h.lines()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if n := len(h.events); n > len(test.events) && h.events[n-1].RunID != (core.ID{7}) {
			t.Errorf("%s: of run %s", name, h.events[n-1].RunID)
		}
	}
	h := &hearer{}
	a := newAudience(env.System(), h)
	_ = a.emit(core.Event{Type: core.EventStepStart, Step: 3})
	a.yield(core.ID{7})
	a.yield(core.ID{7})
	if diff := cmp.Diff([]string{"1 step_start of 3", "2 run_yield of 3"}, h.lines()); diff != "" || h.events[1].RunID != (core.ID{7}) {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
