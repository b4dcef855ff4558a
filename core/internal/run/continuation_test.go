package run_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/cutturn"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

func TestMessagesOfAContinuationAreTheTurns(t *testing.T) {
	m := &heard{says: [][]model.Delta{{say("one "), {Type: model.DeltaStop, Stop: core.StopMaxTokens}}, {say("two"), stopped}}}
	w := newWorld(t, options{agents: demo(t, m, agent.Spec{})})
	receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
	w.step(t, key)
	turn := receipt.RunID.String() + ".1"
	messages := m.requests[1].Messages
	if said, note := messages[1], messages[2]; said.ID != turn || said.RunID != receipt.RunID || note.ID != turn+".continue" || note.RunID != receipt.RunID {
		t.Errorf("said %+v, note %+v", said, note)
	}
}

// A turn that has reached its limit of tokens goes on as one turn, with the same
// tools, parameters, context messages and transforms as the call before: a message that
// is shown once in five steps is part of both, a tool that is hidden of neither.
func TestContinuationKeepsTheTurnsFilters(t *testing.T) {
	limit := model.Delta{Type: model.DeltaStop, Stop: core.StopMaxTokens}
	usage := func(n int) model.Delta { return model.Delta{Type: model.DeltaUsage, Usage: core.Usage{Output: n}} }
	const note = "user " + cutturn.LimitNote
	shown := func(said ...string) []string {
		lines := append([]string{"model large", `prompt "Be kind."`, "user hi"}, said...)
		return append(lines, "system context\n\nonce\n\nsuffix", "tools echo", `{"MaxTokens":5,"StopSequences":["END"]}`)
	}
	tests := []struct {
		name  string
		most  *int
		says  [][]model.Delta
		asked [][]string
		turn  string // the first
		end   string
	}{
		{
			name:  "text",
			says:  [][]model.Delta{{say("one "), usage(2), limit}, {say("two"), usage(1), stopped}},
			asked: [][]string{shown(), shown("assistant one", note)},
			turn:  `text "one two" usage 0 3 end_turn`, end: `done 1 {"type":"natural_end"} "one two"`,
		},
		{
			name:  "twice at most, and the turn says that it was cut short",
			says:  [][]model.Delta{{say("a"), limit}, {say("b"), limit}, {say("c"), limit}},
			asked: [][]string{shown(), shown("assistant a", note), shown("assistant ab", note)},
			turn:  `text "abc" max_tokens`, end: `done 1 {"type":"natural_end","code":"max_tokens"} "abc"`,
		},
		{
			name:  "never, if the agent says so",
			most:  new(0),
			says:  [][]model.Delta{{say("a"), limit}},
			asked: [][]string{shown()},
			turn:  `text "a" max_tokens`, end: `done 1 {"type":"natural_end","code":"max_tokens"} "a"`,
		},
		{
			name:  "a call that was cut off is void",
			says:  [][]model.Delta{{say("I "), begin(0, "c", "look"), argue(0, `{"a`), limit}, {say("see"), stopped}},
			asked: [][]string{shown(), shown("assistant I", note)},
			turn:  `text "I see" end_turn`, end: `done 1 {"type":"natural_end"} "I see"`,
		},
		{
			name:  "a call that was cut off beside no text is asked for anew",
			says:  [][]model.Delta{{begin(0, "c", "look"), argue(0, `{"a`), limit}, {say("no"), stopped}},
			asked: [][]string{shown(), shown()},
			turn:  `text "no" end_turn`, end: `done 1 {"type":"natural_end"} "no"`,
		},
		{
			name:  "a thought alone is left as it is",
			says:  [][]model.Delta{{think("hm"), limit}},
			asked: [][]string{shown()},
			turn:  `reasoning "hm" max_tokens`, end: `done 1 {"type":"natural_end","code":"max_tokens"} ""`,
		},
		{
			name:  "a failure behind the limit goes on from there, too",
			says:  [][]model.Delta{{say("a"), limit}, {say("b"), {Text: "cut"}}, {say("c"), stopped}},
			asked: [][]string{shown(), shown("assistant a", note), shown("assistant ab", "user "+cutturn.Note)},
			turn:  `text "abc" end_turn`, end: `done 1 {"type":"natural_end"} "abc"`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &heard{says: tt.says}
				ends := pluginFunc{"ends", func(r *plugin.Registrar) {
					r.Transform(func(_ context.Context, _ plugin.BeforeInference, request *model.Request) error {
						request.StopSequences = append(slices.Clone(request.StopSequences), "END")
						return nil
					})
				}}
				w := newWorld(t, options{env: drawing(0), agents: demo(t, m, agent.Spec{SystemPrompt: "Be kind.", MaxContinuations: tt.most}, ends, before(func(int) state.Command {
					return state.Combine(
						plugin.AddContextMessage.Schedule(plugin.ContextMessage{Key: "c", Text: "once", Target: plugin.TargetSession, CooldownTurns: 5}),
						plugin.IncludeOnlyTools.Schedule([]string{"echo", "look"}),
						plugin.AddContextMessage.Schedule(plugin.ContextMessage{Key: "a", Text: "context"}),
						plugin.AddContextMessage.Schedule(plugin.ContextMessage{Key: "b", Text: "suffix", Target: plugin.TargetSuffix}),
						plugin.SetInferenceOverride.Schedule(model.Override{UpstreamModel: "large", MaxTokens: 5}), plugin.ExcludeTool.Schedule("look"),
					)
				}))})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, func(core.Event) error { return nil })
				var asked [][]string
				for _, r := range m.requests {
					asked = append(asked, told(r))
				}
				if diff := cmp.Diff(tt.asked, asked); diff != "" {
					t.Errorf("asked (-want +got):\n%s", diff)
				}
				turn := *w.turnOf(t).Message
				if got := describe(turn); got != tt.turn || turn.Model != "large" {
					t.Errorf("the turn is %s of %s\nwant %s of large", got, turn.Model, tt.turn)
				}
				if got := w.end(t, key, receipt); got != tt.end {
					t.Errorf("the run is %s\nwant %s", got, tt.end)
				}
			})
		})
	}
}

// Arguments that a limit has cut off never run, though a call before them does.
func TestCallThatALimitCutsOffDoesNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &heard{says: [][]model.Delta{
			{begin(0, "a", "echo"), argue(0, `{"text":"x"}`), begin(1, "b", "echo"), argue(1, `{"text":`), {Type: model.DeltaStop, Stop: core.StopMaxTokens}},
			text("done"),
		}}
		w := newWorld(t, options{agents: demo(t, m, agent.Spec{})})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		want := []string{
			"user: hi", `assistant: [echo {"text":"x"}][echo "{\"text\":"]`, `tool: {"text":"x"}`,
			`tool: invalid arguments: the arguments: got string, want object`, "assistant: done",
		}
		if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

// A call without arguments, as models make them for tools that take none, is no call
// where it is the last thing before a turn was cut off: its arguments may have been on
// their way. One that another call follows was whole.
func TestCallThatIsCutOffBeforeItsArgumentsDoesNotRun(t *testing.T) {
	const cut = `invalid arguments: the arguments: got string, want object`
	first, last := begin(0, "a", "ping"), begin(1, "b", "ping")
	for _, tt := range []struct {
		stop core.StopReason
		said []model.Delta
		turn string
		want []string // results
	}{
		{core.StopMaxTokens, []model.Delta{first, argue(0, `{}`), last}, `[ping {}][ping ""]`, []string{`"pong"`, cut}},
		{core.StopMaxTokens, []model.Delta{first, last}, `[ping {}][ping ""]`, []string{`"pong"`, cut}},
		{core.StopMaxTokens, []model.Delta{first, argue(0, " ")}, `[ping ""]`, []string{cut}},
		{core.StopContextOverflow, []model.Delta{first}, `[ping ""]`, []string{cut}},
		{core.StopContentFilter, []model.Delta{first}, `[ping ""]`, []string{cut}},
		{core.StopToolUse, []model.Delta{first, last}, `[ping {}][ping {}]`, []string{`"pong"`, `"pong"`}},
		{core.StopEndTurn, []model.Delta{first}, `[ping {}]`, []string{`"pong"`}},
	} {
		t.Run(string(tt.stop)+" "+tt.turn, func(t *testing.T) {
			ping := tool.New(tool.Spec{Name: "ping"}, func(context.Context, tool.Call, struct{}) (tool.Result, error) { return tool.NewResult("pong"), nil })
			m := &heard{says: [][]model.Delta{append(slices.Clone(tt.said), model.Delta{Type: model.DeltaStop, Stop: tt.stop}), text("done")}}
			w := newWorld(t, options{agents: spec(t, m, agent.Spec{MaxContinuations: new(0)}, ping)})
			w.submit(t, key, "hi", mailbox.ModeQueue)
			w.finish(t, key, nil)
			want := []string{"user: hi", "assistant: " + tt.turn}
			for _, r := range tt.want {
				want = append(want, "tool: "+r)
			}
			if diff := cmp.Diff(append(want, "assistant: done"), w.log(t, key)); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}
