package run_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/cutturn"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
)

// What was shown is never sent again, and the turn that is committed is what was
// shown: a client that reconnects finds its position in it.
func TestARetryGoesOnFromWhatWasShown(t *testing.T) {
	usage := func(in, out int) model.Delta {
		return model.Delta{Type: model.DeltaUsage, Usage: core.Usage{Input: in, Output: out}}
	}
	echo := model.Delta{Type: model.DeltaReasoning, Echo: json.RawMessage(`"signed"`)}
	phase := model.Delta{Type: model.DeltaText, Echo: json.RawMessage(`"phase"`)}
	const note = "user: " + cutturn.Note
	tests := []struct {
		name   string
		calls  [][]model.Delta
		events []string // of the first turn, behind step_start: type, position, content
		asked  []string // by each call: its messages after "hi"
		turn   string   // as committed
	}{
		{
			name:  "nothing was shown",
			calls: [][]model.Delta{{usage(5, 0)}, {}, {say("hello"), usage(5, 1), stopped}},
			events: []string{
				"inference_retry", "inference_retry",
				"text_delta 1.1.0-5-f hello", "inference_complete 1.1.1-0-i",
			},
			asked: []string{"", "", ""},
			turn:  `text "hello" usage 10 1 end_turn`,
		},
		{
			name:  "text, twice",
			calls: [][]model.Delta{{say("on"), say("e "), usage(5, 1)}, {say("two "), usage(6, 1)}, {say("thr"), say("ee"), usage(7, 1), stopped}},
			events: []string{
				"text_delta 1.1.0-2-f on", "text_delta 1.1.0-4-f e ", "inference_retry",
				"text_delta 1.1.0-8-f two ", "inference_retry",
				"text_delta 1.1.0-11-f thr", "text_delta 1.1.0-13-f ee", "inference_complete 1.1.1-0-i",
			},
			asked: []string{"", "assistant: one |" + note, "assistant: one two |" + note},
			turn:  `text "one two three" usage 18 3 end_turn`,
		},
		{
			name: "arguments with blanks, which are stored without",
			calls: [][]model.Delta{{
				begin(0, "c", "echo"), argue(0, " {\n\t\"text\" "), argue(0, ": \r"), argue(0, `"a\"  b\`), argue(0, `\ "} `), called,
			}},
			events: []string{
				"tool_call_start 1.1.0-0-d c echo", `tool_call_delta 1.1.0-7-g c {"text"`, "tool_call_delta 1.1.0-8-g c :",
				`tool_call_delta 1.1.0-16-g c "a\"  b\`, `tool_call_delta 1.1.0-20-g c \ "}`,
				`tool_call_ready 1.1.0-20-h c echo {"text":"a\"  b\\ "}`, "inference_complete 1.1.1-0-i",
			},
			asked: []string{""},
			turn:  `call c echo {"text":"a\"  b\\ "} tool_use`,
		},
		{
			name:  "text, then a call",
			calls: [][]model.Delta{{say("I ")}, {say("ask."), begin(0, "c", "echo"), argue(0, `{"text":"a"}`), called}},
			events: []string{
				"text_delta 1.1.0-2-f I ", "inference_retry",
				"text_delta 1.1.0-6-f ask.", "tool_call_start 1.1.1-0-d c echo", `tool_call_delta 1.1.1-12-g c {"text":"a"}`,
				`tool_call_ready 1.1.1-12-h c echo {"text":"a"}`, "inference_complete 1.1.2-0-i",
			},
			asked: []string{"", "assistant: I |" + note},
			turn:  `text "I ask." call c echo {"text":"a"} tool_use`,
		},
		{
			name:  "a failure behind the stop takes nothing away",
			calls: [][]model.Delta{{say("all"), {Type: model.DeltaStop, Stop: core.StopSequence}, usage(5, 1)}},
			events: []string{
				"text_delta 1.1.0-3-f all", "inference_complete 1.1.1-0-i",
			},
			asked: []string{""},
			turn:  `text "all" usage 5 1 stop_sequence`,
		},
		{
			name: "complete calls stand, and the turn ends with them",
			calls: [][]model.Delta{{
				say("ok"), begin(0, "a", "echo"), argue(0, `{"text":`), argue(0, `"a"}`), begin(1, "b", "echo"), argue(1, `{"text":"b"}`), usage(5, 2),
			}},
			events: []string{
				"text_delta 1.1.0-2-f ok",
				"tool_call_start 1.1.1-0-d a echo", `tool_call_delta 1.1.1-8-g a {"text":`, `tool_call_delta 1.1.1-12-g a "a"}`,
				"tool_call_start 1.1.2-0-d b echo", `tool_call_delta 1.1.2-12-g b {"text":"b"}`,
				`tool_call_ready 1.1.1-12-h a echo {"text":"a"}`, `tool_call_ready 1.1.2-12-h b echo {"text":"b"}`, "inference_complete 1.1.3-0-i",
			},
			asked: []string{""},
			turn:  `text "ok" call a echo {"text":"a"} call b echo {"text":"b"} usage 5 2 tool_use`,
		},
		{
			name: "beside a complete call an open one is void, and what follows has its own positions",
			calls: [][]model.Delta{{
				begin(0, "a", "echo"), begin(1, "b", "echo"), argue(0, `{"text`), argue(1, ` {"text":"b"}`), argue(0, `":"a`),
			}},
			events: []string{
				"tool_call_start 1.1.0-0-d a echo", "tool_call_start 1.1.1-0-d b echo",
				`tool_call_delta 1.1.0-6-g a {"text`, `tool_call_delta 1.1.1-12-g b {"text":"b"}`, `tool_call_delta 1.1.0-10-g a ":"a`,
				"tool_call_cancel a echo",
				`tool_call_ready 1.2.0-12-h b echo {"text":"b"}`, "inference_complete 1.2.1-0-i",
			},
			asked: []string{""},
			turn:  `call b echo {"text":"b"} tool_use`,
		},
		{
			name:  "an open call behind text is void, the text goes on",
			calls: [][]model.Delta{{say("a b"), begin(0, "", "echo"), argue(0, `{"te`)}, {say(" c"), begin(0, "", "echo"), argue(0, `{"text":"x"}`), called}},
			events: []string{
				"text_delta 1.1.0-3-f a b", "tool_call_start 1.1.1-0-d ID_1_0 echo", `tool_call_delta 1.1.1-4-g ID_1_0 {"te`,
				"inference_retry", "tool_call_cancel ID_1_0 echo",
				"text_delta 1.2.0-5-f  c", "tool_call_start 1.2.1-0-d ID_1_1 echo", `tool_call_delta 1.2.1-12-g ID_1_1 {"text":"x"}`,
				`tool_call_ready 1.2.1-12-h ID_1_1 echo {"text":"x"}`, "inference_complete 1.2.2-0-i",
			},
			asked: []string{"", "assistant: a b|" + note},
			turn:  `text "a b c" call ID_1_1 echo {"text":"x"} tool_use`,
		},
		{
			name:  "an open call alone is void, also one whose arguments were to come, and its id is not used again",
			calls: [][]model.Delta{{begin(0, "c", "echo")}, {begin(0, "c", "echo"), argue(0, `{"text":"x"}`), called}},
			events: []string{
				"tool_call_start 1.1.0-0-d c echo", "inference_retry", "tool_call_cancel c echo",
				"tool_call_start 1.2.0-0-d ID_1_1 echo", `tool_call_delta 1.2.0-12-g ID_1_1 {"text":"x"}`,
				`tool_call_ready 1.2.0-12-h ID_1_1 echo {"text":"x"}`, "inference_complete 1.2.1-0-i",
			},
			asked: []string{"", ""},
			turn:  `call ID_1_1 echo {"text":"x"} tool_use`,
		},
		{
			name:  "a thought that was cut is kept, without an echo",
			calls: [][]model.Delta{{think("hm")}, {think("so"), echo, say("yes"), stopped}},
			events: []string{
				"reasoning_delta 1.1.0-2-e hm", "inference_retry",
				"reasoning_delta 1.1.1-2-e so", "reasoning_encrypted_value 1.1.1-2-o", "text_delta 1.1.2-3-f yes", "inference_complete 1.1.3-0-i",
			},
			asked: []string{"", ""},
			turn:  `reasoning "hm" reasoning "so" echo "signed" text "yes" end_turn`,
		},
		{
			name:  "a thought alone loses the echo that the next call does not know",
			calls: [][]model.Delta{{think("hm"), echo}, {say("yes"), stopped}},
			events: []string{
				"reasoning_delta 1.1.0-2-e hm", "reasoning_encrypted_value 1.1.0-2-o", "inference_retry",
				"text_delta 1.2.1-3-f yes", "inference_complete 1.2.2-0-i", // behind a void echo, as behind a void call
			},
			asked: []string{"", ""},
			turn:  `reasoning "hm" text "yes" end_turn`,
		},
		{
			name:  "a whole thought before text goes back, half a one behind it does not",
			calls: [][]model.Delta{{think("hm"), echo, say("y"), think("or")}, {say("es"), stopped}},
			events: []string{
				"reasoning_delta 1.1.0-2-e hm", "reasoning_encrypted_value 1.1.0-2-o", "text_delta 1.1.1-1-f y", "reasoning_delta 1.1.2-2-e or", "inference_retry",
				"text_delta 1.1.3-2-f es", "inference_complete 1.1.4-0-i",
			},
			asked: []string{"", `assistant: (hm "signed") y|` + note},
			turn:  `reasoning "hm" echo "signed" text "y" reasoning "or" text "es" end_turn`,
		},
		{
			name:  "a text that its provider has marked is a block, and stays one where the call behind it is void",
			calls: [][]model.Delta{{say("a"), phase, say("b"), phase, begin(0, "", "echo")}, {say("c"), stopped}},
			events: []string{
				"text_delta 1.1.0-1-f a", "text_delta 1.1.1-1-f b", "tool_call_start 1.1.2-0-d ID_1_0 echo", "inference_retry", "tool_call_cancel ID_1_0 echo",
				"text_delta 1.2.2-1-f c", "inference_complete 1.2.3-0-i",
			},
			asked: []string{"", "assistant: ab|" + note},
			turn:  `text "a" echo "phase" text "b" echo "phase" text "c" end_turn`,
		},
		{
			name:   "the marks of texts are not shown",
			calls:  [][]model.Delta{{say("a"), phase, say("b"), phase, stopped}},
			events: []string{"text_delta 1.1.0-1-f a", "text_delta 1.1.1-1-f b", "inference_complete 1.1.2-0-i"},
			asked:  []string{""},
			turn:   `text "a" echo "phase" text "b" echo "phase" end_turn`,
		},
		{
			name:  "a thought that has not begun leaves nothing",
			calls: [][]model.Delta{{think("")}, {say("yes"), stopped}},
			events: []string{
				"inference_retry", "text_delta 1.1.0-3-f yes", "inference_complete 1.1.1-0-i",
			},
			asked: []string{"", ""},
			turn:  `text "yes" end_turn`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &cutting{calls: append(tt.calls, []model.Delta{say("end"), stopped}), failure: &model.Error{Kind: model.KindInterrupted, Message: "cut"}, began: time.Now()}
				o := options{env: drawing(100 * time.Millisecond), agents: spec(t, m, agent.Spec{})}
				w := newWorld(t, o)
				m.world = w
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				short := strings.NewReplacer("call_"+receipt.RunID.String()[24:], "ID", receipt.RunID.String()+".", "")
				var got []string
				live := map[string]bool{}
				w.finish(t, key, func(e core.Event) error {
					live[e.Position] = true
					if e.Step == 1 {
						got = append(got, short.Replace(strings.Join(strings.Fields(fmt.Sprint(e.Type, " ", e.Position)), " ")+withoutPosition(e)))
					}
					return nil
				})
				from := 2 // run_start, step_start
				to := from
				for to < len(got) && !strings.HasPrefix(got[to], "inference_complete") {
					to++
				}
				if diff := cmp.Diff(tt.events, got[from:min(to+1, len(got))]); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
				var asked []string
				for _, r := range m.requests[:len(tt.asked)] {
					asked = append(asked, behindTheQuestion(r))
				}
				if diff := cmp.Diff(tt.asked, asked); diff != "" {
					t.Errorf("asked (-want +got):\n%s", diff)
				}
				turn := w.turnOf(t)
				if got := short.Replace(describe(*turn.Message)); got != tt.turn {
					t.Errorf("the turn is %s\nwant %s", got, tt.turn)
				}
				if turn.Attempt != 1 {
					return // clients hold positions of a void call, and are told that the step was restarted
				}
				replayer := history.NewReplayer(core.Run{ID: receipt.RunID}, func(e core.Event) error {
					if e.Type != core.EventRunStart && !live[e.Position] {
						t.Errorf("%s stands at %s in a replay, and stood elsewhere", e.Type, e.Position)
					}
					return nil
				})
				if err := replayer.Add(turn); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// withoutPosition is what an event says.
func withoutPosition(e core.Event) (line string) {
	for _, part := range []string{e.CallID, e.Name, e.Delta, string(e.Arguments)} {
		if part != "" {
			line += " " + part
		}
	}
	return line
}

func behindTheQuestion(r model.Request) string {
	var lines []string
	for _, m := range r.Messages[1:] {
		line := string(m.Role) + ": "
		for _, b := range m.Content {
			if b.Type == core.BlockReasoning {
				line += fmt.Sprintf("(%s %s) ", b.Text, b.Echo)
				continue
			}
			line += b.Text
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "|")
}

func describe(m core.Message) string {
	var parts []string
	for _, b := range m.Content {
		parts = append(parts, fmt.Sprintf("%s %q", b.Type, b.Text))
		if b.Echo != nil {
			parts = append(parts, "echo "+string(b.Echo))
		}
	}
	for _, c := range m.ToolCalls {
		parts = append(parts, fmt.Sprintf("call %s %s %s", c.ID, c.Name, c.Arguments))
	}
	if m.Usage != nil {
		parts = append(parts, fmt.Sprintf("usage %d %d", m.Usage.Input, m.Usage.Output))
	}
	return strings.Join(append(parts, string(m.StopReason)), " ")
}

// A call that is cut off takes a new fence: where the claim is lost by then, the
// step ends without another call of the model.
func TestAClaimThatIsLostWhileACallIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &cutting{calls: [][]model.Delta{{begin(0, "c", "echo")}}, failure: &model.Error{Kind: model.KindInterrupted, Message: "cut"}, began: time.Now()}
		w := newWorld(t, options{env: drawing(0), agents: spec(t, m, agent.Spec{})})
		m.world = w
		w.submit(t, key, "hi", mailbox.ModeQueue)
		head := w.take(t, key)
		_, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, func(e core.Event) error {
			if e.Type == core.EventToolCallStart {
				w.takeOver(t)
			}
			return nil
		})
		if !errors.Is(err, thread.ErrFenced) || len(m.at) != 1 {
			t.Errorf("after %d calls the step ends with %v; want 1 and a lost claim", len(m.at), err)
		}
	})
}

// A stop without a reason is one all the same.
func TestAStopWithoutAReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{model: replies([]model.Delta{say("ok"), {Type: model.DeltaStop}})})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if got := describe(*w.turnOf(t).Message); got != `text "ok" other` {
			t.Errorf("the turn is %s", got)
		}
	})
}
