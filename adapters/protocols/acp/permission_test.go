package acp_test

import (
	"fmt"
	"testing"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
)

func TestAlwaysIsRememberedForTheThread(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer sdk.PermissionOptionKind
		asks   int // how often, for three calls in one session
		runs   int // of the three
	}{
		{"allow once", sdk.PermissionOptionKindAllowOnce, 3, 3},
		{"allow always", sdk.PermissionOptionKindAllowAlways, 1, 3},
		{"reject once", sdk.PermissionOptionKindRejectOnce, 3, 0},
		{"reject always", sdk.PermissionOptionKindRejectAlways, 1, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			e := w.editor("")
			session := e.session()
			for _, text := range []string{"one", "two", "one"} {
				e.answers = make(chan sdk.PermissionOptionKind, 1)
				e.answers <- test.answer
				reason, answer := e.says(session, "approve: "+text)
				want := "Done: " + text
				if test.runs == 0 {
					want = "The call of danger was denied."
				}
				if reason != sdk.StopReasonEndTurn || answer != want {
					t.Errorf("%s, %q, want end_turn, %q", reason, answer, want)
				}
			}
			if got := e.questions(); got != test.asks {
				t.Errorf("asked %d times, want %d", got, test.asks)
			}
			if got := len(w.ran); got != test.runs {
				t.Errorf("the tool ran %d times, want %d", got, test.runs)
			}
			before := e.questions()
			e.answers = make(chan sdk.PermissionOptionKind, 1)
			e.answers <- sdk.PermissionOptionKindRejectOnce
			e.says(e.session(), "approve: one")
			if got := e.questions() - before; got != 1 {
				t.Errorf("another session asked %d times, want 1", got)
			}
		})
	}
}

// Each call of a turn is asked about, one after the other, and each has its own answer.
func TestEveryCallOfATurnIsAskedAbout(t *testing.T) {
	for _, agent := range []string{"sequential", "batch", "streaming"} {
		t.Run(agent, func(t *testing.T) {
			e := newWorld(t).editor(agent)
			session := e.session()
			for _, kind := range []sdk.PermissionOptionKind{sdk.PermissionOptionKindAllowOnce, sdk.PermissionOptionKindRejectOnce, sdk.PermissionOptionKindAllowOnce} {
				e.answers <- kind
			}
			reason, err := e.Prompt(t.Context(), sdk.PromptRequest{SessionId: session, Prompt: []sdk.ContentBlock{sdk.TextBlock("parallel: a, b, c")}})
			if err != nil || reason.StopReason != sdk.StopReasonEndTurn {
				t.Fatalf("%+v, %v", reason, err)
			}
			announced, last := map[sdk.ToolCallId]any{}, map[string]sdk.ToolCallStatus{}
			for _, u := range e.take() {
				switch {
				case u.ToolCall != nil:
					if _, twice := announced[u.ToolCall.ToolCallId]; twice {
						t.Errorf("call %s is announced twice", u.ToolCall.ToolCallId)
					}
					announced[u.ToolCall.ToolCallId] = nil
				case u.ToolCallUpdate != nil && u.ToolCallUpdate.RawInput != nil:
					announced[u.ToolCallUpdate.ToolCallId] = u.ToolCallUpdate.RawInput.(map[string]any)["text"]
				case u.ToolCallUpdate != nil && u.ToolCallUpdate.Status != nil:
					last[fmt.Sprint(announced[u.ToolCallUpdate.ToolCallId])] = *u.ToolCallUpdate.Status
				}
			}
			if diff := cmp.Diff(map[string]sdk.ToolCallStatus{"a": "completed", "b": "failed", "c": "completed"}, last); diff != "" {
				t.Errorf("how the calls ended (-want +got):\n%s", diff)
			}
			var asked []any
			for range e.questions() {
				asked = append(asked, (<-e.asked).ToolCall.RawInput.(map[string]any)["text"])
			}
			if diff := cmp.Diff([]any{"a", "b", "c"}, asked); diff != "" {
				t.Errorf("asked about (-want +got):\n%s", diff)
			}
		})
	}
}

// A call that waits for a time does not ask for anything: the prompt ends, and the call still
// waits. The next prompt cancels it.
func TestACallThatWaitsForATimeIsNotAskedAbout(t *testing.T) {
	w := newWorld(t)
	e := w.editor("")
	session := e.session()
	if reason, text := e.says(session, "call: nap {}"); reason != sdk.StopReasonEndTurn || text != "" {
		t.Errorf("%s, %q, want end_turn without a text", reason, text)
	}
	info, err := w.runtime.Thread(t.Context(), identity, string(session))
	if err != nil {
		t.Fatal(err)
	}
	run, err := w.runtime.ReadRun(t.Context(), identity, info.ActiveRun)
	if err != nil || len(run.Tickets) != 1 || run.Tickets[0].Kind != core.TicketTimer || run.Tickets[0].Decision != nil || e.questions() != 0 {
		t.Errorf("asked %d times, the run is %+v, %v", e.questions(), run, err)
	}
	if reason, text := e.says(session, "hello"); reason != sdk.StopReasonEndTurn || text != "You said: hello" {
		t.Errorf("%s, %q, want end_turn after the answer to the next prompt", reason, text)
	}
}
