package host_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

// choosing is a listener that wants some types of events and notes what it is given.
type choosing struct {
	wants  map[core.EventType]bool
	events []core.Event
}

func (c *choosing) Emit(e core.Event) error {
	c.events = append(c.events, e)
	return nil
}

func (*choosing) Ready(context.Context) error { return nil }

func (c *choosing) Wants(t core.EventType) bool { return c.wants[t] }

// about are the events of state and messages, one line each.
func about(events []core.Event) (lines []string) {
	for _, e := range events {
		switch e.Type {
		case core.EventStateSnapshot:
			lines = append(lines, fmt.Sprintf("%d snapshot %s", e.Revision, e.Snapshot))
		case core.EventStateDelta:
			lines = append(lines, fmt.Sprintf("%d patch %s", e.Revision, e.Patch))
		case core.EventMessagesSnapshot:
			line := "messages"
			for _, m := range e.Messages {
				line += fmt.Sprintf(" %s:%s", m.Role, m.Text())
			}
			lines = append(lines, line)
		case core.EventRunStart, core.EventStepEnd:
			lines = append(lines, string(e.Type))
		}
	}
	return lines
}

var runsKey = state.Key[int, int]{Name: "runs", Scope: state.ScopeThread, Apply: func(v, n int) int { return v + n }}

// countRuns is a plugin that counts a thread's runs.
type countRuns struct{}

func (countRuns) ID() string { return "count" }

func (countRuns) Register(r *plugin.Registrar) error {
	r.Key(runsKey)
	r.OnRunStart(func(context.Context, plugin.RunStart) (state.Command, error) { return runsKey.Update(1), nil })
	return nil
}

func withCount(c *host.Options) {
	c.Agents.Plugins = []plugin.Plugin{countRuns{}}
	c.Agents.Specs[0].Plugins = []string{"count"}
}

// A listener is given the state by default, and messages only if it asks for them; one
// that chooses is given what it wants.
func TestAListenerChoosesWhatItIsShownOfTheThread(t *testing.T) {
	tests := []struct {
		name  string
		wants map[core.EventType]bool // nil: it does not choose
		want  []string
	}{
		{"by default", nil, []string{"run_start", `1 snapshot {"thread":{"runs":1},"run":{}}`, `2 patch [{"op":"replace","path":"/thread/runs","value":2}]`, `2 snapshot {"thread":{"runs":2},"run":{}}`, "step_end"}},
		{"nothing", map[core.EventType]bool{}, []string{"run_start", "step_end"}},
		{"messages alone", map[core.EventType]bool{core.EventMessagesSnapshot: true}, []string{"run_start", "messages user:hi assistant:You said: hi", "step_end"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				process := r.process("w", r.store, withCount)
				listen := func(text string) ([]core.Event, core.ID) {
					c := &choosing{wants: tt.wants}
					var listener host.Listener = c
					if tt.wants == nil {
						listener = host.ListenerFunc(c.Emit)
					}
					receipt, err := process.Stream(t.Context(), submission("t1", text), listener)
					if err != nil {
						t.Fatal(err)
					}
					return c.events, receipt.RunID
				}
				listen("hi")
				events, id := listen("ho")
				if diff := cmp.Diff(tt.want, about(events)); diff != "" {
					t.Errorf("live (-want +got):\n%s", diff)
				}
				for i, e := range events {
					if e.Sequence != uint64(i+1) || e.RunID != id || e.Time == 0 || e.Step != 1 {
						t.Errorf("event %d has the envelope %d, %s, %s, %d", i+1, e.Sequence, e.Time, e.RunID, e.Step)
					}
				}
				c := &choosing{wants: tt.wants}
				var listener host.Listener = c
				if tt.wants == nil {
					listener = host.ListenerFunc(c.Emit)
				}
				other := r.process("x", r.store, withCount) // which has nothing of the thread in memory
				if err := other.Follow(t.Context(), local, id, listener); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, about(c.events)); diff != "" {
					t.Errorf("from commits (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A replay of a run that is over begins with the state that the run found, although the
// stored state has gone past it.
func TestAReplayBeginsWithTheStateThatTheRunFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store, withCount)
		var ids []core.ID
		for range 4 {
			receipt, err := process.Stream(t.Context(), submission("t1", "hi"), host.ListenerFunc(func(core.Event) error { return nil }))
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, receipt.RunID)
		}
		c := &choosing{}
		if err := process.Follow(t.Context(), local, ids[1], host.ListenerFunc(c.Emit)); err != nil {
			t.Fatal(err)
		}
		want := []string{"run_start", `1 snapshot {"thread":{"runs":1},"run":{}}`, `2 patch [{"op":"replace","path":"/thread/runs","value":2}]`, `2 snapshot {"thread":{"runs":2},"run":{}}`, "step_end"}
		if diff := cmp.Diff(want, about(c.events)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// bulky is a plugin that counts a thread's runs beside a value of that many bytes.
type bulky int

var bulkKey = state.Key[string, string]{Name: "bulk", Scope: state.ScopeThread, Apply: func(_, s string) string { return s }}

func (bulky) ID() string { return "count" }

func (size bulky) Register(r *plugin.Registrar) error {
	r.Key(runsKey)
	r.Key(bulkKey)
	r.OnRunStart(func(_ context.Context, c plugin.RunStart) (state.Command, error) {
		if bulk, err := bulkKey.Read(c.Snapshot); err != nil || bulk != "" {
			return runsKey.Update(1), err
		}
		return state.Combine(runsKey.Update(1), bulkKey.Update(strings.Repeat("x", int(size)))), nil
	})
	return nil
}

// A state that is large is shown where a stream begins, and then its changes alone: what
// a step sends follows from what it changes. One that a reader could not take at once is
// not shown.
func TestALargeStateIsNotShownAgain(t *testing.T) {
	const around = 40 // bytes of {"thread":{"bulk":"","runs":1},"run":{}}
	tests := []struct {
		name string
		size int // of the state's JSON
		want []string
	}{
		{"64 KiB", 65536, []string{"run_start", "snapshot 65536", "patch", "snapshot 65536", "step_end"}},
		{"64 KiB and a byte", 65537, []string{"run_start", "snapshot 65537", "patch", "step_end"}},
		{"1 MiB", 1048576, []string{"run_start", "snapshot 1048576", "patch", "step_end"}},
		{"1 MiB and a byte", 1048577, []string{"run_start", "patch", "step_end"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				with := func(c *host.Options) {
					c.Agents.Plugins = []plugin.Plugin{bulky(tt.size - around)}
					c.Agents.Specs[0].Plugins = []string{"count"}
				}
				process := r.process("w", r.store, with)
				var got []string
				listener := host.ListenerFunc(func(e core.Event) error {
					switch e.Type {
					case core.EventStateSnapshot:
						got = append(got, fmt.Sprint("snapshot ", len(e.Snapshot)))
					case core.EventStateDelta:
						got = append(got, "patch")
					case core.EventRunStart, core.EventStepEnd:
						got = append(got, string(e.Type))
					}
					return nil
				})
				if _, err := process.Stream(t.Context(), submission("t1", "hi"), listener); err != nil {
					t.Fatal(err)
				}
				got = nil
				receipt, err := process.Stream(t.Context(), submission("t1", "ho"), listener)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("live (-want +got):\n%s", diff)
				}
				got = nil
				if err := r.process("x", r.store, with).Follow(t.Context(), local, receipt.RunID, listener); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("from commits (-want +got):\n%s", diff)
				}
			})
		})
	}
}
