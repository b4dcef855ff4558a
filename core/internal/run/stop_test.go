package run_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// A turn that the model did not bring to its end says so in the run's end,
// whoever reads it and whenever.
func TestAnEndThatWasCutShortSaysSo(t *testing.T) {
	tests := []struct {
		stop core.StopReason
		want string
	}{
		{core.StopEndTurn, `{"type":"natural_end"}`},
		{core.StopSequence, `{"type":"natural_end"}`},
		{core.StopOther, `{"type":"natural_end"}`},
		{core.StopMaxTokens, `{"type":"natural_end","code":"max_tokens"}`},
		{core.StopContentFilter, `{"type":"natural_end","code":"content_filter"}`},
		{core.StopContextOverflow, `{"type":"natural_end","code":"context_overflow"}`},
	}
	listens := hooks(core.PhaseRunEnd, func(context.Context, plugin.Context) (state.Command, error) { return state.Command{}, nil })
	for _, tt := range tests {
		for _, o := range []options{{}, {plugins: []plugin.Plugin{listens}}} {
			t.Run(fmt.Sprintf("%s, %d listeners of the end", tt.stop, len(o.plugins)), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					o.agents = demo(t, replies([]model.Delta{say("so far"), {Type: model.DeltaStop, Stop: tt.stop}}), agent.Spec{MaxContinuations: new(0)}, o.plugins...)
					w := newWorld(t, o)
					receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
					var code string
					var last core.StopReason
					w.finish(t, key, func(e core.Event) error {
						switch e.Type {
						case core.EventInferenceComplete:
							last = e.StopReason
						case core.EventRunFinish:
							code = e.Termination.Code
						}
						return nil
					})
					if got, want := w.end(t, key, receipt), `done 1 `+tt.want+` "so far"`; got != want {
						t.Errorf("the run is %s\nwant %s", got, want)
					}
					if r := w.runRecord(t, receipt.RunID); last != tt.stop || r.Termination.Code != code {
						t.Errorf("the stream ends with %s and code %q, the record has %q", last, code, r.Termination.Code)
					}
				})
			})
		}
	}
}

// Stop policies see every turn: one with calls before any of them runs, one of
// text before the run comes to its own end.
func TestStopPoliciesSeeEveryTurn(t *testing.T) {
	stopAt := func(seen *[]string, step int) agent.StopPolicy {
		return agent.StopFunc(func(v agent.StopView) *core.Termination {
			*seen = append(*seen, fmt.Sprintf("turn %d %q with %d calls after %d tokens", v.Step, v.Turn.Text(), len(v.Turn.ToolCalls), v.Usage.Output))
			if v.Step != step {
				return nil
			}
			return &core.Termination{Type: core.TerminationStopped, Code: "enough"}
		})
	}
	usage := func(n int) model.Delta { return model.Delta{Type: model.DeltaUsage, Usage: core.Usage{Output: n}} }
	turns := [][]model.Delta{
		append([]model.Delta{say("I ask."), usage(3)}, calls("counts", "{}")...),
		append([]model.Delta{usage(4)}, text("Done.")...),
	}
	tests := []struct {
		name string
		at   int
		runs int
		seen []string
		log  []string
		end  string
	}{
		{
			name: "with calls", at: 1, runs: 0,
			seen: []string{`turn 1 "I ask." with 1 calls after 3 tokens`},
			log:  []string{"user: hi", "assistant: I ask.[counts {}]", "tool: not executed: enough"},
			end:  `done 1 {"type":"stopped","code":"enough"} "I ask."`,
		},
		{
			name: "of text", at: 2, runs: 1,
			seen: []string{`turn 1 "I ask." with 1 calls after 3 tokens`, `turn 2 "Done." with 0 calls after 7 tokens`},
			log:  []string{"user: hi", "assistant: I ask.[counts {}]", `tool: "counts ran"`, "assistant: Done."},
			end:  `done 2 {"type":"stopped","code":"enough"} "Done."`,
		},
		{
			name: "never", at: 3, runs: 1,
			seen: []string{`turn 1 "I ask." with 1 calls after 3 tokens`, `turn 2 "Done." with 0 calls after 7 tokens`},
			log:  []string{"user: hi", "assistant: I ask.[counts {}]", `tool: "counts ran"`, "assistant: Done."},
			end:  `done 2 {"type":"natural_end"} "Done."`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runs := 0
				var seen []string
				w := newWorld(t, options{
					model: replies(turns...), tools: []tool.Tool{counted("counts", false, &runs)}, stop: []agent.StopPolicy{stopAt(&seen, tt.at)},
				})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if diff := cmp.Diff(tt.seen, seen); diff != "" || runs != tt.runs {
					t.Errorf("the tool ran %d times, want %d; seen (-want +got):\n%s", runs, tt.runs, diff)
				}
				if diff := cmp.Diff(tt.log, w.log(t, key)); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
				if got := w.end(t, key, receipt); got != tt.end {
					t.Errorf("the run is %s\nwant %s", got, tt.end)
				}
			})
		})
	}
}
