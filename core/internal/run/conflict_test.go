package run_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// A change that is for one revision only is for the state that its call began with.
// When a sibling has changed that meanwhile, whatever key it was, gates and
// BeforeToolExecute are asked again; a tool is not, and its call comes to an error. What
// its own hooks changed before it stands in no tool's way; a change that was made for
// a state before theirs is the call's error.
func TestABatchForOneRevisionInARound(t *testing.T) {
	tests := []struct {
		mode    agent.ExecutionMode
		point   string // at which the change is for one revision
		want    []string
		asked   []string
		dropped int
	}{
		{agent.Sequential, "gate", []string{"gate0 saw 0", "before0", "tool0", "gate1 saw 3", "before1", "tool1"}, []string{"gate0", "gate1"}, 0},
		{agent.Sequential, "before", []string{"gate0", "before0 saw 1", "tool0", "gate1", "before1 saw 4", "tool1"}, []string{"before0", "before1"}, 0},
		{agent.Sequential, "tool", []string{"gate0", "before0", "tool0 saw 2", "gate1", "before1", "tool1 saw 5"}, []string{"tool0", "tool1"}, 0},
		{agent.Sequential, "stale", []string{"gate0", "before0", "gate1", "before1"}, []string{"stale0", "stale1"}, 0},
		{agent.ParallelStreaming, "gate", []string{"gate0 saw 0", "before0", "tool0", "gate1 saw 3", "before1", "tool1"}, []string{"gate0", "gate1", "gate1"}, 0},
		{agent.ParallelStreaming, "before", []string{"gate0", "before0 saw 1", "tool0", "gate1", "before1 saw 4", "tool1"}, []string{"before0", "before1", "before1"}, 0},
		{agent.ParallelStreaming, "tool", []string{"gate0", "before0", "tool0 saw 2", "gate1", "before1"}, []string{"tool0", "tool1"}, 1},
		{agent.ParallelBatchApproval, "before", []string{"gate0", "before0 saw 1", "tool0", "gate1", "before1 saw 4", "tool1"}, []string{"before0", "before1", "before1"}, 0},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s/%s", tt.mode, tt.point), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				list := state.List[string]("list", state.ScopeThread)
				var mu sync.Mutex // hooks and tools run side by side
				var asked, last []string
				change := func(point string, call int, s state.Snapshot) state.Command {
					name := fmt.Sprint(point, call)
					if point == "tool" && tt.point == "stale" { // for the state before its own hooks
						point, name = "stale", fmt.Sprint("stale", call)
					}
					if point != tt.point {
						return list.Update(name)
					}
					mu.Lock()
					defer mu.Unlock()
					asked = append(asked, name)
					seen, err := list.Read(s)
					if err != nil {
						t.Error(err)
					}
					command := list.Update(fmt.Sprintf("%s saw %d", name, len(seen)))
					if command.Batch = command.Batch.On(s); point == "stale" {
						command.Batch.Base = new(s.Revision() - 1)
					}
					return command
				}
				adds := toolFunc{name: "adds", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
					afterSiblings(c)
					result := tool.NewResult("ok")
					result.Command = change("tool", int(c.Key()[len(c.Key())-1]-'0'), c.Snapshot)
					return result, nil
				}}
				var log bytes.Buffer
				w := newWorld(t, options{
					mode: tt.mode, model: replies(calls("adds", "{}", "adds", "{}"), text("ok")), tools: []tool.Tool{adds},
					logger: slog.New(slog.NewTextHandler(&log, nil)),
					plugins: []plugin.Plugin{pluginFunc{"changes", func(r *plugin.Registrar) {
						r.Key(list)
						r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
							return plugin.Allow.With(change("gate", c.CallIndex, c.Snapshot)), nil
						})
						r.OnBeforeTool(func(_ context.Context, c plugin.BeforeTool) (state.Command, error) {
							return change("before", c.CallIndex, c.Snapshot), nil
						})
						r.Hook(core.PhaseStepEnd, func(_ context.Context, c plugin.Context) (state.Command, error) {
							now, err := list.Read(c.Snapshot)
							last = now
							return state.Command{}, err
						})
					}}},
				})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.step(t, key)
				if diff := cmp.Diff(tt.want, last); diff != "" {
					t.Errorf("the list (-want +got):\n%s", diff)
				}
				slices.Sort(asked)
				if diff := cmp.Diff(tt.asked, asked); diff != "" {
					t.Errorf("asked (-want +got):\n%s", diff)
				}
				if n := strings.Count(log.String(), "level=WARN") + strings.Count(log.String(), "level=ERROR"); n != tt.dropped {
					t.Errorf("%d complaints, want %d:\n%s", n, tt.dropped, &log)
				}
			})
		})
	}
}

// A sibling's tool may have changed the key, too: the hooks behind it run again on
// what it left. A tool never does: of two that changed one key the later one counts.
func TestExclusiveConflictsWithASiblingsTool(t *testing.T) {
	tests := []struct {
		name  string
		calls []string // which tool each call runs
		hook  int      // the call whose BeforeToolExecute changes the key; -1: none
		want  []string
		ran   string
	}{
		{"a hook behind a tool", []string{"writes", "echo"}, 1, []string{"tool0", "hook1"}, "2 hooks, 1 tools"},
		{"a hook before a tool", []string{"echo", "writes"}, 0, []string{"tool1"}, "1 hooks, 1 tools"},
		{"a hook of the tool's own call", []string{"writes", "echo"}, 0, []string{"hook0", "tool0"}, "1 hooks, 1 tools"},
		{"two tools", []string{"writes", "writes"}, -1, []string{"tool1"}, "0 hooks, 2 tools"},
	}
	for _, tt := range tests {
		for _, mode := range []agent.ExecutionMode{agent.ParallelStreaming, agent.ParallelBatchApproval} {
			t.Run(fmt.Sprintf("%s/%s", mode, tt.name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var mu sync.Mutex // both run side by side
					hooked, ran := 0, 0
					var last []string
					writes := toolFunc{name: "writes", run: func(_ context.Context, c tool.Call) (result tool.Result, err error) {
						afterSiblings(c)
						mu.Lock()
						defer mu.Unlock()
						ran++
						result = tool.NewResult("ok")
						result.Command, err = adds(c.Snapshot, "tool"+c.Key()[len(c.Key())-1:])
						return result, err
					}}
					var turn []string
					for _, name := range tt.calls {
						turn = append(turn, name, `{"text":"a"}`)
					}
					w := newWorld(t, options{mode: mode, model: replies(calls(turn...), text("ok")), tools: []tool.Tool{writes}, plugins: []plugin.Plugin{
						pluginFunc{"adds", func(r *plugin.Registrar) {
							r.Key(seenBy)
							r.OnBeforeTool(func(_ context.Context, c plugin.BeforeTool) (state.Command, error) {
								if c.CallIndex != tt.hook {
									return state.Command{}, nil
								}
								mu.Lock()
								defer mu.Unlock()
								hooked++
								return adds(c.Snapshot, fmt.Sprint("hook", c.CallIndex))
							})
							r.OnStepEnd(func(_ context.Context, c plugin.StepEnd) (_ state.Command, err error) {
								last, err = seenBy.Read(c.Snapshot)
								return state.Command{}, err
							})
						}},
					}})
					w.submit(t, key, "hi", mailbox.ModeQueue)
					w.step(t, key)
					if diff := cmp.Diff(tt.want, last); diff != "" {
						t.Errorf("the list (-want +got):\n%s", diff)
					}
					if got := fmt.Sprintf("%d hooks, %d tools", hooked, ran); got != tt.ran {
						t.Errorf("%s ran, want %s", got, tt.ran)
					}
				})
			})
		}
	}
}
