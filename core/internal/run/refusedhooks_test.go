package run_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
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

// countsDecided are the times of a run that happens now; it notes for which kinds of instants
// it was said how many suspensions were decided.
type countsDecided struct {
	*chosen
	kinds map[run.InstantKind]int
}

func (c countsDecided) Time(at run.Instant) int64 {
	if at.Decided > 0 {
		c.kinds[at.Kind]++
	}
	if at.Kind == run.InstantAsked || at.Kind == run.InstantResultRound {
		return at.Round
	}
	return time.Now().UnixMilli()
}

// A gate that blocks a call behind a decision may change what a sibling has changed meanwhile.
// Where one of the two would be lost it is asked again, at the time when the round began;
// where its change does not apply that is left out. The run stays blocked.
func TestAGateThatBlocksBehindWhatASiblingHasChanged(t *testing.T) {
	value := state.Key[string, string]{Name: "value", Scope: state.ScopeRun, Apply: func(_, set string) string { return set }}
	taken := state.Key[string, string]{Name: "taken", Scope: state.ScopeRun, Commutative: true, Apply: func(had, set string) string {
		if had != "" {
			panic("taken")
		}
		return set
	}}
	tests := []struct {
		key   state.Key[string, string]
		asked []string
		left  string
		warns int
	}{
		{value, []string{`ask at 0s with ""`, `ask at 0s with ""`, `ask at 0s with "other"`}, "gate", 0},
		{taken, []string{`ask at 0s with ""`, `ask at 0s with ""`}, "other", 1},
	}
	for _, tt := range tests {
		t.Run(tt.key.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				var asked []string
				began, left := time.Now(), ""
				kinds := map[run.InstantKind]int{}
				w := newWorld(t, options{
					mode: agent.ParallelStreaming, model: replies(calls("other", "{}", "ask", "{}", "sleeps", `"9s"`)),
					choices: countsDecided{&chosen{}, kinds}, logger: slog.New(slog.NewTextHandler(&log, nil)),
					tools: []tool.Tool{sleeps, toolFunc{name: "ask"}, toolFunc{name: "other", run: func(context.Context, tool.Call) (tool.Result, error) {
						return tool.NewResult("other").With(tt.key.Update("other")), nil
					}}},
					plugins: []plugin.Plugin{pluginFunc{"guard", func(r *plugin.Registrar) {
						r.Key(tt.key)
						r.Gate(func(_ context.Context, c plugin.GateCall) (v plugin.Verdict, err error) {
							switch {
							case c.CallIndex != 1:
								return v, nil
							case len(asked) == 0:
								v = suspends("ask")
							default:
								v = plugin.Block("enough").With(tt.key.Update("gate"))
							}
							had, err := tt.key.Read(c.Snapshot)
							asked = append(asked, fmt.Sprintf("%s at %s with %q", c.Call.Name, c.Now.Sub(began), had))
							return v, err
						})
						r.OnRunEnd(func(_ context.Context, c plugin.RunEnd) (_ state.Command, err error) {
							left, err = tt.key.Read(c.Snapshot)
							return state.Command{}, err
						})
					}}},
				})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				time.AfterFunc(time.Second, func() { w.mustDecide(t, 1, approve) })
				w.finish(t, key, nil)
				want := []string{`ok: "other"`, "blocked: blocked: enough after about-ask", `ok: "slept"`, `done 1 {"type":"blocked","detail":"enough"} ""`, tt.left}
				if diff := cmp.Diff(want, append(w.results(t), w.end(t, key, receipt), left)); diff != "" {
					t.Errorf("results, end and the key (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.asked, asked); diff != "" {
					t.Errorf("questions (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(map[run.InstantKind]int{run.InstantAsked: 1}, kinds); diff != "" {
					t.Errorf("instants of which it was said what was decided before (-want +got):\n%s", diff)
				}
				if n := strings.Count(log.String(), "change of a call conflicts with its siblings"); n != tt.warns {
					t.Errorf("%d complaints, want %d:\n%s", n, tt.warns, &log)
				}
			})
		})
	}
}

// What a gate asks for counts with its call also where what it wants to wait for is refused.
func TestAGateWhoseQuestionIsRefusedChangesTheState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last []string
		w := newWorld(t, options{plugins: []plugin.Plugin{pluginFunc{"asks", func(r *plugin.Registrar) {
			r.Key(seenBy)
			r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
				return plugin.Suspend(core.TicketRequest{Mode: "some day"}).With(seenBy.Update([]string{"gate"})), nil
			})
			r.OnStepEnd(func(_ context.Context, c plugin.StepEnd) (_ state.Command, err error) {
				last, err = seenBy.Read(c.Snapshot)
				return state.Command{}, err
			})
		}}}})
		w.submit(t, key, "echo: a", mailbox.ModeQueue)
		w.finish(t, key, nil)
		want := []string{`error: execution failed: resume mode "some day" does not exist`, "gate"}
		if diff := cmp.Diff(want, append(w.results(t), last...)); diff != "" {
			t.Errorf("results and the list (-want +got):\n%s", diff)
		}
	})
}

// A result that was to travel with a commit, which is refused for its size, is stored as an
// error that keeps its times, and what a gate has said.
func TestAResultThatIsMadeSmallerKeepsItsTimes(t *testing.T) {
	tests := []struct {
		name    string
		verdict plugin.Verdict
		blocked string
		took    int64
	}{
		{"a tool's", plugin.Allow, "", 3000},
		{"a gate's", plugin.Block("enough"), "enough", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, options{
					model: replies(calls("long", "{}")),
					tools: []tool.Tool{toolFunc{name: "long", run: func(context.Context, tool.Call) (tool.Result, error) {
						time.Sleep(3 * time.Second)
						return tool.NewResult("long"), nil
					}}},
					plugins: []plugin.Plugin{pluginFunc{"piles", func(r *plugin.Registrar) {
						r.Key(seenBy)
						r.Gate(func(context.Context, plugin.GateCall) (plugin.Verdict, error) {
							return tt.verdict.With(seenBy.Update([]string{strings.Repeat("x", 20_000)})), nil
						})
					}}},
				})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				head := w.take(t, key)
				w.limit(10_000)
				began := time.Now().UnixMilli()
				if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); err != nil {
					t.Fatal(err)
				}
				e := w.entry(t, 3)
				got := fmt.Sprintf("%s %q %q at %d, said at %d after %d", e.Message.ToolResult.Status, e.Message.ToolResult.Message, e.Blocked, e.At-began, e.Message.CreatedAt-began, e.Duration)
				want := fmt.Sprintf(`error "result cannot be stored: it is too large" %q at 0, said at %d after %d`, tt.blocked, tt.took, tt.took)
				if got != want {
					t.Errorf("the result is %s\nwant %s", got, want)
				}
			})
		})
	}
}

// What gates and hooks asked for counts with the error that takes the place of a result which
// was to travel with a refused commit, in the result's place of the line; unless it is too
// large itself.
func TestHooksCountWithAResultThatIsMadeSmaller(t *testing.T) {
	tests := []struct {
		size  int // of what the gate changes
		mode  agent.ExecutionMode
		place uint16
		hooks bool
	}{
		{10, agent.Sequential, 0, true},
		{10, agent.ParallelStreaming, 1, true},
		{20_000, agent.ParallelStreaming, 0, false},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%d %s", tt.size, tt.mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var last []string
				w := newWorld(t, options{
					mode: tt.mode, model: replies(calls("long", "{}")),
					tools: []tool.Tool{toolFunc{name: "long", run: func(context.Context, tool.Call) (tool.Result, error) {
						result := tool.NewResult(strings.Repeat("r", 15_000))
						result.Command = seenBy.Update([]string{"tool"})
						return result, nil
					}}},
					plugins: []plugin.Plugin{pluginFunc{"asks", func(r *plugin.Registrar) {
						r.Key(seenBy)
						r.Gate(func(context.Context, plugin.GateCall) (plugin.Verdict, error) {
							return plugin.Allow.With(seenBy.Update([]string{strings.Repeat("x", tt.size)})), nil
						})
						r.OnRunEnd(func(_ context.Context, end plugin.RunEnd) (_ state.Command, err error) {
							last, err = seenBy.Read(end.Snapshot)
							return state.Command{}, err
						})
					}}},
				})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.limit(10_000)
				w.finish(t, key, nil)
				want := []string(nil)
				if tt.hooks {
					want = []string{"xxxxxxxxxx"}
				}
				e := w.entry(t, 3)
				if diff := cmp.Diff(want, last); diff != "" || e.Place != tt.place || (e.Hooks != nil) != tt.hooks || e.Intents != nil {
					t.Errorf("it has place %d, hooks %v, intents %v, and the list is (-want +got):\n%s", e.Place, e.Hooks, e.Intents, diff)
				}
				if got := w.results(t); !slices.Equal(got, []string{"error: result cannot be stored: it is too large"}) {
					t.Errorf("results %q", got)
				}
			})
		})
	}
}

// Of results that were not stored none is put again behind one by which the claim is found
// to be lost.
func TestResultsThatAreStoredAgainByALostClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{
			mode: agent.ParallelStreaming, model: replies(calls("sleeps", `"1s"`, "sleeps", `"1s"`, "sleeps", `"1m"`)), tools: []tool.Tool{sleeps},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		head := w.take(t, key)
		var fenced []string
		w.store.OnPut = func(_ context.Context, _ core.ThreadKey, r store.Record) error {
			if time.Since(clock(head.Claim.Lease)) > -30*time.Second+time.Minute {
				fenced = append(fenced, r.Name)
				return store.ErrFenced
			}
			return store.ErrThrottled
		}
		_, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
		if diff := cmp.Diff([]string{store.LogName(3)}, fenced); diff != "" || err == nil {
			t.Errorf("the step ended with %v; puts of the lost claim (-want +got):\n%s", err, diff)
		}
	})
}

// Marks that stand under a claim that was lost before their write was known start no tool.
func TestMarksOfALostClaimStartNoTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		w := newWorld(t, options{model: replies(calls("once", "{}"), text("ok")), tools: []tool.Tool{counted("once", true, &ran)}})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		head := w.take(t, key)
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			outcome, err := w.store.Backend.Commit(ctx, key, c)
			if len(c.Head.Run.Calls) == 0 || c.Head.Run.Calls[0] != thread.CallRunning {
				return outcome, err
			}
			w.store.OnCommit = nil
			w.takeOver(t)
			return store.Outcome{}, errReset
		}
		_, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
		if got := w.stands(t); err == nil || ran != 0 || got != "running [running]" {
			t.Errorf("the step ended with %v after %d runs of the tool, and the round is %s", err, ran, got)
		}
	})
}
