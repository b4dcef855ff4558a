package host_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
)

const missedRun = "01890000-0000-7000-8000-000000000001"

func TestAReaderThatComesBackIsGivenWhatItMisses(t *testing.T) {
	delta := func(attempt, text, end string) core.Event {
		return core.Event{Type: core.EventTextDelta, Step: 1, Delta: text, Position: missedRun + ".1." + attempt + ".0-" + end + "-f"}
	}
	finish := core.Event{Type: core.EventRunFinish, Position: missedRun + ".1.1.9999-0-m"}
	snapshot := core.Event{Type: core.EventStateSnapshot}
	for name, tt := range map[string]struct {
		last     string
		finishes bool
		events   []core.Event
		want     []core.Event
	}{
		"nothing yet":        {"", false, []core.Event{snapshot, delta("1", "abc", "3")}, []core.Event{snapshot, delta("1", "abc", "3")}},
		"an event before":    {missedRun + ".1.0.0-0-a", false, []core.Event{snapshot, delta("1", "abc", "3")}, []core.Event{snapshot, delta("1", "abc", "3")}},
		"a part of a delta":  {missedRun + ".1.1.0-2-f", false, []core.Event{snapshot, delta("1", "abc", "3")}, []core.Event{delta("1", "c", "3")}},
		"the delta":          {missedRun + ".1.1.0-3-f", false, []core.Event{delta("1", "abc", "3")}, nil},
		"what is void":       {missedRun + ".1.1.0-2-f", false, []core.Event{delta("2", "abc", "3")}, []core.Event{{Type: core.EventStepRestarted, Step: 1}, delta("2", "abc", "3")}},
		"the restart":        {host.RestartPosition(core.ID{1, 0x89, 6: 0x70, 8: 0x80, 15: 1}, 1), false, []core.Event{snapshot, delta("2", "abc", "3")}, []core.Event{snapshot, delta("2", "abc", "3")}},
		"the end":            {missedRun + ".1.1.9999-0-m", false, []core.Event{finish}, nil},
		"the end, by a POST": {missedRun + ".1.1.9999-0-m", true, []core.Event{finish}, []core.Event{finish}},
	} {
		var m host.Missed
		if tt.last != "" {
			if err := m.Have(tt.last); err != nil || m.Run().String() != missedRun || !m.Active() {
				t.Fatalf("%s: of run %s, %v", name, m.Run(), err)
			}
		}
		m.Finishes = tt.finishes
		var got []core.Event
		for _, e := range tt.events {
			got = append(got, m.Rest(e)...)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAnEventOfAnotherRunFitsNoReader(t *testing.T) {
	var m, none host.Missed
	if err := m.Have(missedRun + ".1.0.0-0-a"); err != nil {
		t.Fatal(err)
	}
	if err := m.Fits(core.Event{RunID: m.Run()}); err != nil {
		t.Error(err)
	}
	if err := m.Fits(core.Event{RunID: core.ID{2}}); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("an event of another run: %v", err)
	}
	if err := none.Have("7"); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("what is no position: %v", err)
	}
	if none.Fits(core.Event{RunID: core.ID{2}}) != nil {
		t.Error("a reader that has nothing is refused")
	}
}
