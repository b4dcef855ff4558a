package host

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/position"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/state"
)

func valuesOf(k string) map[state.KeyPath]json.RawMessage {
	return map[state.KeyPath]json.RawMessage{{Scope: state.ScopeThread, Name: "k"}: json.RawMessage(k)}
}

func record(seq, revision uint64, key, value string) threadlog.Entry {
	e := threadlog.Entry{Seq: seq, Entry: thread.Entry{Run: theRun, Revision: revision}}
	if key != "" {
		e.Patch = state.Patch{{Op: "add", Path: key, Value: json.RawMessage(value)}}
	}
	return e
}

// The state of a stream is that after the records that it has shown, as long as none is
// passed over.
func TestAStreamFoldsTheStateThatItKnows(t *testing.T) {
	for name, test := range map[string]struct {
		records  []threadlog.Entry
		known    bool
		next     uint64
		revision uint64
		document string
	}{
		"as it was read":        {nil, true, 5, 7, `{"thread":{"k":1},"run":{}}`},
		"a change":              {[]threadlog.Entry{record(5, 9, "/thread/k", "2")}, true, 6, 9, `{"thread":{"k":2},"run":{}}`},
		"two changes":           {[]threadlog.Entry{record(5, 9, "/thread/k", "2"), record(6, 11, "/run/r", "3")}, true, 7, 11, `{"thread":{"k":2},"run":{"r":3}}`},
		"no change":             {[]threadlog.Entry{record(5, 0, "", "")}, true, 6, 7, `{"thread":{"k":1},"run":{}}`},
		"one that is not shown": {[]threadlog.Entry{record(5, 9, "/thread/reveille.x", "2")}, true, 6, 9, `{"thread":{"k":1},"run":{}}`},
		"of a call":             {[]threadlog.Entry{record(5, 9, "/call/0/c", "2")}, true, 6, 9, `{"thread":{"k":1},"run":{}}`},
		"one is passed over":    {[]threadlog.Entry{record(6, 9, "/thread/k", "2")}, false, 5, 7, ""},
		"it stays unknown":      {[]threadlog.Entry{record(6, 9, "/thread/k", "2"), record(5, 9, "/thread/k", "2")}, false, 5, 7, ""},
	} {
		s := newStream(env.System(), theRun, &hearer{})
		s.place.next = 5
		s.setState(state.Snapshot{}.With(7, valuesOf("1")), theRun)
		if !s.knowsState() {
			t.Errorf("%s: it is not known where it was read", name)
		}
		for _, r := range test.records {
			if err := s.state.apply(r); err != nil {
				t.Fatal(name, err)
			}
		}
		if got := s.state; (got.fold != nil) != test.known || got.next != test.next || got.revision != test.revision {
			t.Errorf("%s: known %t, next %d, revision %d", name, got.fold != nil, got.next, got.revision)
		}
		if s.place.next = test.next; s.knowsState() != test.known {
			t.Errorf("%s: known at %d: %t", name, test.next, s.knowsState())
		}
		if s.place.next++; s.knowsState() {
			t.Errorf("%s: known at %d", name, s.place.next)
		}
		if test.known {
			if document, _ := s.state.fold.Snapshot().Document(history.Visible); string(document) != test.document {
				t.Errorf("%s: %s, want %s", name, document, test.document)
			}
		}
	}
	var unread shownState
	if err := unread.apply(record(0, 9, "/thread/k", "2")); err != nil || unread.fold != nil || unread.revision != 0 {
		t.Errorf("a state that was never read: %+v, %v", unread, err)
	}
	s := newStream(env.System(), theRun, &hearer{})
	s.place.next = 5
	s.setState(state.Snapshot{}.With(7, valuesOf("1")), theRun)
	bad := record(5, 9, "", "")
	bad.Patch = state.Patch{{Op: "remove", Path: "/thread/gone"}}
	if err := s.state.apply(bad); err == nil {
		t.Error("a patch that does not fit is folded")
	}
	s.begin(core.Run{ID: theRun})
	s.setState(state.Snapshot{}.With(7, valuesOf("1")), theRun)
	if err := s.showRecord(bad); err == nil || s.place.next != 5 {
		t.Errorf("such a record is shown: %v, next %d", err, s.place.next)
	}
}

// An empty state needs no event where the stream starts, but does where something was
// shown, or a void step may have shown it.
func TestWhenTheStateIsShown(t *testing.T) {
	for name, test := range map[string]struct {
		state       shownState
		known       bool // the fold
		values      map[state.KeyPath]json.RawMessage
		want        string
		owed, again bool // afterwards
	}{
		"not known":              {shownState{owed: true, again: true}, false, nil, "", true, true},
		"at the start":           {shownState{owed: true}, true, valuesOf("1"), `state:{"thread":{"k":1},"run":{}}`, false, false},
		"empty at the start":     {shownState{owed: true}, true, nil, "", false, false},
		"empty again":            {shownState{owed: true, again: true}, true, nil, `state:{"thread":{},"run":{}}`, false, false},
		"empty later":            {shownState{}, true, nil, `state:{"thread":{},"run":{}}`, false, false},
		"later":                  {shownState{}, true, valuesOf("1"), `state:{"thread":{"k":1},"run":{}}`, false, false},
		"again, though not owed": {shownState{again: true}, true, nil, `state:{"thread":{},"run":{}}`, false, false},
	} {
		h := &hearer{wants: wantsState}
		s := newStream(env.System(), theRun, h)
		s.begin(core.Run{ID: theRun})
		h.events, s.state = nil, test.state
		if test.known {
			s.state.fold, s.state.revision = state.Snapshot{}.With(3, test.values).Fold(), 9
		}
		if err := s.showState(); err != nil || h.brief() != test.want || s.state.owed != test.owed || s.state.again != test.again {
			t.Errorf("%s: %q, %v, owed %t, again %t", name, h.brief(), err, s.state.owed, s.state.again)
		}
		if test.want != "" && h.events[0].Revision != 9 {
			t.Errorf("%s: revision %d", name, h.events[0].Revision)
		}
	}
}

// A stream owes the state where it begins, and after a step that was void and may have
// shown changes of it.
func TestWhenAStreamOwesTheState(t *testing.T) {
	for name, test := range map[string]struct {
		started, again bool
		want           bool
	}{
		"it begins":           {false, false, true},
		"after inline steps":  {true, false, false},
		"after a void step":   {true, true, true},
		"it begins with such": {false, true, true},
	} {
		s := newStream(env.System(), theRun, &hearer{wants: wantsState})
		s.audience.started, s.state.again = test.started, test.again
		s.begin(core.Run{ID: theRun, FirstSeq: 4})
		if s.state.owed != test.want || s.needsState() != test.want || s.place.next != 4 || s.place.first != 4 {
			t.Errorf("%s: owed %t, needed %t, at %+v", name, s.state.owed, s.needsState(), s.place)
		}
		s.state.owed, s.place.next = false, 9
		s.begin(core.Run{ID: theRun, FirstSeq: 6})
		if s.state.owed || s.place.next != 9 || s.place.first != 6 {
			t.Errorf("%s: begun again owed %t, at %+v", name, s.state.owed, s.place)
		}
	}
	s := newStream(env.System(), theRun, &hearer{})
	s.begin(core.Run{ID: theRun})
	if s.needsState() {
		t.Error("a listener that does not want the state needs it")
	}
}

// What was heard of a turn is cut from what is shown of it later, by its place; what has no
// place, or comes after, is shown whole, and another attempt is announced.
func TestWhatWasHeardIsNotShownAgain(t *testing.T) {
	at := func(attempt uint64, step, end int) string {
		return position.Position{Run: theRun, Step: step, Attempt: attempt, End: end, Kind: 'f'}.String()
	}
	said := func(attempt uint64, step, end int, text string) core.Event {
		return core.Event{Type: core.EventTextDelta, RunID: theRun, Step: step, Delta: text, Position: at(attempt, step, end)}
	}
	for name, test := range map[string]struct {
		heard []core.Event
		later []core.Event
		want  string
	}{
		"nothing was heard":   {nil, []core.Event{said(1, 1, 3, "abc")}, "abc"},
		"all was heard":       {[]core.Event{said(1, 1, 3, "abc")}, []core.Event{said(1, 1, 3, "abc")}, "abc"},
		"a part was":          {[]core.Event{said(1, 1, 2, "ab")}, []core.Event{said(1, 1, 4, "abcd")}, "ab cd"},
		"the next step":       {[]core.Event{said(1, 1, 2, "ab")}, []core.Event{said(1, 2, 2, "cd")}, "ab cd"},
		"without a place":     {[]core.Event{said(1, 1, 2, "ab")}, []core.Event{{Type: core.EventTextDelta, Delta: "x"}}, "ab x"},
		"another attempt":     {[]core.Event{said(1, 1, 2, "ab")}, []core.Event{said(2, 1, 3, "xyz"), said(2, 1, 4, "!")}, "ab step_restarted xyz !"},
		"an older attempt":    {[]core.Event{said(3, 1, 2, "ab")}, []core.Event{said(2, 1, 3, "xyz"), said(2, 1, 4, "!")}, "ab step_restarted xyz !"},
		"it does not go back": {[]core.Event{said(1, 1, 4, "abcd"), said(1, 1, 2, "ab")}, []core.Event{said(1, 1, 5, "abcde")}, "abcd e"},
	} {
		h := &hearer{}
		s := newStream(env.System(), theRun, h)
		if err := s.showUnsaid(test.heard); err != nil {
			t.Fatal(err)
		}
		for _, e := range test.later {
			if err := s.emit(e); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(test.want, h.brief()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for _, e := range h.events {
			if e.Type == core.EventStepRestarted && (e.Step != 1 || e.RunID != theRun) {
				t.Errorf("%s: step %d of run %s is void", name, e.Step, e.RunID)
			}
		}
	}
}
