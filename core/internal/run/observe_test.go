package run_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

// seen is an observer that notes what it is told.
type seen struct {
	log     []string // what was logged, as world.log has it
	told    []string // everything else
	reports []string // one for each step
}

func (s *seen) Logged(agent string, entries []thread.Entry) {
	for _, e := range entries {
		s.log = append(s.log, logLine(&e))
		if m := e.Message; m != nil && m.Role != core.RoleUser {
			s.told = append(s.told, fmt.Sprintf("%s: %s in %d ms", agent, m.Role, e.Duration))
		}
	}
}

func (s *seen) Stepped(agent string, took time.Duration) {
	s.told = append(s.told, fmt.Sprintf("%s: step in %s", agent, took))
}

func (s *seen) Reported(r run.StepReport) {
	line := fmt.Sprintf("%s: reported %s", r.Run.AgentID, r.Run.Status)
	if end := r.Run.Termination; end != nil {
		line = strings.TrimSpace(line + " " + string(end.Type) + " " + end.Code)
	}
	if r.Late != 0 {
		line += fmt.Sprintf(", late %s", r.Late)
	}
	for _, f := range r.Failures {
		line += " " + f.Kind
	}
	s.reports = append(s.reports, line)
}

func (s *seen) Ended(r core.Run) {
	line := fmt.Sprintf("%s: %s, %d steps", r.AgentID, r.Status, r.Steps)
	if t := r.Termination; t != nil {
		line += " " + string(t.Type) + " " + t.Code
	}
	s.told = append(s.told, line)
}

func TestAnObserverIsToldWhatStepsDo(t *testing.T) {
	cancel := func(t *testing.T, w *world) {
		if _, err := w.box.Cancel(t.Context(), key, core.ID{}); err != nil {
			t.Fatal(err)
		}
		w.finish(t, key, nil)
	}
	tests := []struct {
		name    string
		input   string
		options options
		act     func(t *testing.T, w *world)
		want    []string
	}{
		{"two steps", "echo: a", options{}, nil, []string{
			"demo: assistant in 0 ms", "demo: tool in 0 ms", "demo: step in 0s",
			"demo: assistant in 0 ms", "demo: step in 0s", "demo: done, 2 steps natural_end ",
		}},
		{"a slow model", "slow: 20", options{}, nil, []string{
			"demo: assistant in 2000 ms", "demo: step in 2s", "demo: done, 1 steps natural_end ",
		}},
		{"a wait of an hour", "echo: a", options{plugins: []plugin.Plugin{once("")}}, func(t *testing.T, w *world) {
			time.Sleep(time.Hour)
			w.mustDecide(t, 0, approve)
			w.finish(t, key, nil)
		}, []string{
			"demo: assistant in 0 ms", "demo: waiting, 1 steps",
			"demo: tool in 0 ms", "demo: step in 0s", "demo: assistant in 0 ms", "demo: step in 0s", "demo: done, 2 steps natural_end ",
		}},
		{"cancelled while it waits", "echo: a", options{plugins: []plugin.Plugin{once("")}}, cancel, []string{
			"demo: assistant in 0 ms", "demo: waiting, 1 steps", "demo: tool in 0 ms", "demo: done, 1 steps cancelled ",
		}},
		{"failed behind a round", "echo: a", options{plugins: []plugin.Plugin{hooks(core.PhaseStepEnd, func(context.Context, plugin.Context) (state.Command, error) {
			return state.Command{}, errors.New("no")
		})}}, nil, []string{"demo: assistant in 0 ms", "demo: tool in 0 ms", "demo: done, 1 steps error plugin"}},
		{"failed", "fail", options{}, nil, []string{"demo: done, 0 steps error model"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &seen{}
				tt.options.observer = s
				w := newWorld(t, tt.options)
				w.submit(t, key, tt.input, mailbox.ModeQueue)
				w.finish(t, key, nil)
				if tt.act != nil {
					tt.act(t, w)
				}
				if diff := cmp.Diff(tt.want, s.told); diff != "" {
					t.Errorf("told (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(w.log(t, key), s.log); diff != "" {
					t.Errorf("logged (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Whatever befalls a write, and whichever process takes the run over: each record of the
// log is told once, but for those of a process that died before it could tell.
func TestAnObserverIsToldEachRecordOnce(t *testing.T) {
	for _, m := range mishaps {
		for _, input := range []string{"parallel: a, b", "fail"} {
			t.Run(m.name+" "+input, func(t *testing.T) {
				for n := 1; ; n++ {
					if !observedOnce(t, input, n, m) {
						break
					}
				}
			})
		}
	}
}

// observedOnce lets a mishap happen to the nth write and reports whether there was one.
func observedOnce(t *testing.T, input string, n int, m mishap) (reached bool) {
	synctest.Test(t, func(t *testing.T) {
		s := &seen{}
		o := options{observer: s}
		w := newWorld(t, o)
		w.submit(t, key, input, mailbox.ModeQueue)
		befallen := w.befall(n, m)
		w.work(t, o, nil)
		reached = befallen()
		lost := 0
		log := w.log(t, key)
		for i, line := range log {
			if i-lost >= len(s.log) || s.log[i-lost] != line {
				lost++
			}
		}
		most := 0
		if m.stored && m.dies {
			most = 3 // a turn's two results and its step record
		}
		if lost > most || len(s.log) != len(log)-lost {
			t.Errorf("write %d: told %q of %q", n, s.log, log)
		}
	})
	return reached
}
