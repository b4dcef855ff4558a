package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// happenings are what happens, in order, each with its time since the start.
type happenings struct {
	mu    sync.Mutex
	start time.Time
	lines []string
}

func (h *happenings) note(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, fmt.Sprintf("%s %s", time.Since(h.start), fmt.Sprintf(format, args...)))
}

// slowStore makes each write of the store take 5 ms, and notes them.
func (h *happenings) slowStore(w *world) {
	w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		time.Sleep(5 * time.Millisecond)
		outcome, err := w.store.Backend.Commit(ctx, key, c)
		what := "step"
		if c.Head.Run.Cursor == thread.CursorTools {
			what = "turn"
		}
		h.note("%s committed", what)
		return outcome, err
	}
	w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
		time.Sleep(5 * time.Millisecond)
		h.note("put %s", r.Name)
		return w.store.Backend.Put(ctx, key, r)
	}
}

// reads is a tool that only reads, for 5 ms; look takes 7 ms, so that chance does not decide
// who of two is first.
func (h *happenings) reads(name string) toolFunc {
	return toolFunc{name: name, readOnly: true, run: func(_ context.Context, c tool.Call) (tool.Result, error) {
		h.note("%s starts", c.Name)
		if time.Sleep(5 * time.Millisecond); name == "look" {
			time.Sleep(2 * time.Millisecond)
		}
		return tool.NewResult(c.Name + " ran"), nil
	}}
}

func (h *happenings) acts(name string) toolFunc {
	t := h.reads(name)
	t.readOnly = false
	return t
}

// A tool that only reads runs beside the commit of its turn, and its result is stored after
// it: a step has one round trip less. The tools of all cases but look, and each write, take 5 ms.
func TestToolThatOnlyReadsRunsBesideTheCommitOfItsTurn(t *testing.T) {
	record := func(seq int) string { return store.LogName(uint64(seq)) }
	tests := []struct {
		name  string
		modes []agent.ExecutionMode
		calls []string
		want  []string
	}{
		{"one that acts", allModes, []string{"act"}, []string{"5ms turn committed", "5ms act starts", "15ms step committed"}},
		{"one that reads", allModes, []string{"read"}, []string{"0s read starts", "5ms turn committed", "10ms step committed"}},
		{
			"two that read, in sequence", []agent.ExecutionMode{agent.Sequential}, []string{"read", "look"},
			[]string{"0s read starts", "5ms turn committed", "10ms put " + record(3), "10ms look starts", "22ms step committed"},
		},
		{
			"two that read, side by side", parallelModes, []string{"read", "look"},
			[]string{"0s look starts", "0s read starts", "5ms turn committed", "10ms put " + record(3), "15ms step committed"},
		},
		{
			"one that reads after one that acts, in sequence", []agent.ExecutionMode{agent.Sequential}, []string{"act", "read"},
			[]string{"5ms act starts", "5ms turn committed", "15ms put " + record(3), "15ms read starts", "25ms step committed"},
		},
		{
			"one that reads after one that acts, side by side", parallelModes, []string{"act", "read"},
			[]string{"0s read starts", "5ms act starts", "5ms turn committed", "10ms put " + record(4), "15ms step committed"},
		},
	}
	for _, tt := range tests {
		for _, mode := range tt.modes {
			t.Run(tt.name+", "+string(mode), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h := &happenings{}
					var pairs []string
					for _, name := range tt.calls {
						pairs = append(pairs, name, "{}")
					}
					w := newWorld(t, options{mode: mode, model: replies(calls(pairs...), text("ok")), tools: []tool.Tool{h.reads("read"), h.reads("look"), h.acts("act")}})
					w.submit(t, key, "hi", mailbox.ModeQueue)
					head := w.take(t, key)
					h.start = time.Now()
					h.slowStore(w)
					if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(sameTimes(tt.want), sameTimes(h.lines)); diff != "" {
						t.Errorf("happened (-want +got):\n%s", diff)
					}
				})
			})
		}
	}
}

var (
	parallelModes = []agent.ExecutionMode{agent.ParallelStreaming, agent.ParallelBatchApproval}
	allModes      = append([]agent.ExecutionMode{agent.Sequential}, parallelModes...)
)

// sameTimes sorts what happened at one time.
func sameTimes(lines []string) []string {
	lines = slices.Clone(lines)
	at := func(line string) time.Duration {
		first, _, _ := strings.Cut(line, " ")
		d, _ := time.ParseDuration(first)
		return d
	}
	slices.SortFunc(lines, func(a, b string) int {
		if d := at(a) - at(b); d != 0 {
			return int(d)
		}
		return strings.Compare(a, b)
	})
	return lines
}

// Calls that have to wait for the commit start after it.
func TestCallsThatWaitForTheCommitOfTheirTurn(t *testing.T) {
	effect := plugin.Effect[string]{Name: "e"}
	tests := []struct {
		name    string
		mode    agent.ExecutionMode
		tool    func(*toolFunc)
		turn    []string
		o       options
		prepare func(w *world, t *testing.T)
		beside  []string // calls that start before the commit
		after   []string // or after it
	}{
		{name: "nothing speaks against it", beside: []string{"read"}},
		{name: "at most once", tool: func(f *toolFunc) { f.atMostOnce = true }, after: []string{"read"}},
		{name: "arguments that are wrong", tool: func(f *toolFunc) { f.wrong = errors.New("no") }},
		{name: "an approval", tool: func(f *toolFunc) { f.approval = "may it?" }},
		{
			name: "effects of hooks", after: []string{"read"},
			o: options{plugins: []plugin.Plugin{pluginFunc{"p", func(r *plugin.Registrar) {
				effect.Handle(r, func(context.Context, plugin.HandlerContext, string) error { return nil })
				r.Hook(core.PhaseBeforeInference, func(context.Context, plugin.Context) (state.Command, error) { return effect.Emit("x"), nil })
			}}}},
		},
		{name: "a stop policy", o: options{stop: []agent.StopPolicy{stopAtOnce}}},
		{name: "a stop policy that fails", o: options{stop: []agent.StopPolicy{agent.StopFunc(func(agent.StopView) *core.Termination { panic("broken") })}}},
		{name: "a replay", o: options{choices: &chosen{replays: true}}, after: []string{"read"}},
		{
			name: "a gate that blocks", o: options{plugins: []plugin.Plugin{gates(func(plugin.GateCall) (plugin.Verdict, error) { return plugin.Block("no"), nil })}},
		},
		{
			name: "a gate that blocks the second", mode: agent.ParallelStreaming, turn: []string{"read", "{}", "act", "{}", "read", "{}"}, beside: []string{"read"},
			o: options{plugins: []plugin.Plugin{gates(func(c plugin.GateCall) (plugin.Verdict, error) {
				if c.CallIndex == 1 {
					return plugin.Block("no"), nil
				}
				return plugin.Allow, nil
			})}},
		},
		{name: "a gate that asks", o: options{plugins: []plugin.Plugin{asking("read")}}},
		{
			name: "a gate that fails", o: options{plugins: []plugin.Plugin{gates(func(plugin.GateCall) (plugin.Verdict, error) { return plugin.Verdict{}, errors.New("broken") })}},
		},
		{
			name: "a hook that fails",
			o: options{plugins: []plugin.Plugin{pluginFunc{"p", func(r *plugin.Registrar) {
				r.OnBeforeTool(func(context.Context, plugin.BeforeTool) (state.Command, error) {
					return state.Command{}, errors.New("broken")
				})
			}}}},
		},
		{
			name: "a lost claim", after: []string{"read"},
			prepare: func(w *world, t *testing.T) {
				w.take(t, key)
				if err := w.box.Reclaim(t.Context(), []core.ThreadKey{key}); err != nil {
					t.Fatal(err)
				}
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &happenings{start: time.Now()}
				read := h.reads("read")
				if tt.tool != nil {
					tt.tool(&read)
				}
				if tt.turn == nil {
					tt.turn = []string{"read", "{}"}
				}
				tt.o.mode, tt.o.model, tt.o.tools = tt.mode, replies(calls(tt.turn...), text("ok")), []tool.Tool{read, h.acts("act")}
				w := newWorld(t, tt.o)
				w.submit(t, key, "hi", mailbox.ModeQueue)
				if tt.prepare != nil {
					tt.prepare(w, t)
				}
				head := w.take(t, key)
				h.slowStore(w)
				if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); err != nil {
					t.Fatal(err)
				}
				var beside, after []string
				committed := false
				for _, line := range h.lines {
					_, what, _ := strings.Cut(line, " ")
					name, starts := strings.CutSuffix(what, " starts")
					switch {
					case what == "turn committed":
						committed = true
					case starts && committed:
						after = append(after, name)
					case starts:
						beside = append(beside, name)
					}
				}
				if !committed {
					t.Errorf("the turn was not committed: %q", h.lines)
				}
				if diff := cmp.Diff([][]string{tt.beside, tt.after}, [][]string{beside, after}); diff != "" {
					t.Errorf("calls before and after the commit (-want +got):\n%s\n%q", diff, h.lines)
				}
			})
		})
	}
}

// What a call finds before its turn is committed counts only if it is: of a refused turn
// nothing is stored or shown, its tool's context ends, and the next claim infers again.
func TestCallBesideARefusedCommitIsDropped(t *testing.T) {
	refusals := []struct {
		name   string
		refuse func(w *world, receipt mailbox.Receipt) error // while the tool runs; an error is the commit's, else it is tried
		lost   bool                                          // the claim
		runs   int                                           // of the tool in all
		end    string
	}{
		{
			name: "a lost claim", lost: true, runs: 2, end: `done 2 {"type":"natural_end"} "ok"`,
			refuse: func(w *world, _ mailbox.Receipt) error {
				return w.box.Reclaim(context.Background(), []core.ThreadKey{key})
			},
		},
		{
			name: "a cancel", runs: 1, end: `done 0 {"type":"cancelled"} ""`,
			refuse: func(w *world, r mailbox.Receipt) error {
				_, err := w.box.Cancel(context.Background(), key, r.RunID)
				return err
			},
		},
		{
			name: "a record that is too large", runs: 1, end: `done 0 {"type":"error","code":"too_large","detail":"what the run made is too large to be stored"} ""`,
			refuse: func(*world, mailbox.Receipt) error { return fmt.Errorf("%w: the turn", store.ErrTooLarge) },
		},
	}
	for _, mode := range allModes {
		for _, tt := range refusals {
			t.Run(tt.name+", "+string(mode), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h, kept := &happenings{start: time.Now()}, []string(nil)
					runs, ended := 0, 0
					read := toolFunc{name: "read", readOnly: true, run: func(ctx context.Context, c tool.Call) (tool.Result, error) {
						if runs++; runs > 1 {
							return tool.NewResult("second"), nil
						}
						c.Progress(1, 2, "reading")
						if _, err := c.Once(ctx, "part", func(context.Context) (json.RawMessage, error) { return json.RawMessage("1"), nil }); err == nil {
							kept = append(kept, "part")
						}
						if _, err := c.Children.StartChild(ctx, c, tool.Child{}); err == nil {
							kept = append(kept, "child")
						}
						<-ctx.Done()
						ended++
						return tool.NewResult("first"), nil
					}}
					w := newWorld(t, options{
						mode: mode, model: replies(calls("read", "{}"), text("ok")), tools: []tool.Tool{read},
						children: childrenFunc(func(context.Context, tool.Call, tool.Child) (core.ID, error) { return core.ID{1}, nil }),
					})
					receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
					head := w.take(t, key)
					w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
						if c.Head.Run.Cursor != thread.CursorTools {
							return w.store.Backend.Commit(ctx, key, c)
						}
						time.Sleep(5 * time.Millisecond)
						if err := tt.refuse(w, receipt); err != nil {
							return store.Outcome{}, err // also when it is tried again
						}
						w.store.OnCommit = nil
						return w.store.Backend.Commit(ctx, key, c)
					}
					w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
						h.note("put %s", r.Name)
						return w.store.Backend.Put(ctx, key, r)
					}
					var shown events
					_, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, shown.sink)
					if errors.Is(err, thread.ErrFenced) != tt.lost {
						t.Errorf("the step ended with %v, its claim was lost: %v", err, tt.lost)
					}
					if runs != 1 || ended != 1 || len(kept) > 0 || len(h.lines) > 0 {
						t.Errorf("%d runs, %d of them ended, kept %q, stored %q; want one that ended and left nothing", runs, ended, kept, h.lines)
					}
					for _, line := range shown.lines {
						if strings.HasPrefix(line, "tool_call_done") || strings.HasPrefix(line, "activity") {
							t.Errorf("the reader was shown %q of a call that does not count", line)
						}
					}
					w.finish(t, key, nil)
					if got := w.end(t, key, receipt); got != tt.end || runs != tt.runs {
						t.Errorf("the run is %s after %d runs of its tool, want %s after %d", got, runs, tt.end, tt.runs)
					}
				})
			})
		}
	}
}
