package acp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// prompts sends a prompt and returns where its answer comes.
func (e *editor) prompts(session sdk.SessionId, text string) <-chan sdk.StopReason {
	answered := make(chan sdk.StopReason, 1)
	go func() {
		got, err := e.Prompt(e.t.Context(), sdk.PromptRequest{SessionId: session, Prompt: []sdk.ContentBlock{sdk.TextBlock(text)}})
		if err != nil {
			e.t.Errorf("%s: %v", text, err)
		}
		answered <- got.StopReason
	}()
	return answered
}

func (e *editor) cancel(session sdk.SessionId) {
	e.t.Helper()
	if err := e.Cancel(e.t.Context(), sdk.CancelNotification{SessionId: session}); err != nil {
		e.t.Fatal(err)
	}
}

// within waits for something that comes soon.
func within[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}

// ends waits until the session's only run is over, and returns how it ended.
func (w *world) ends(session sdk.SessionId) core.TerminationType {
	w.t.Helper()
	for range 4000 {
		page, err := w.runtime.Mailbox(w.t.Context(), identity, string(session), mailbox.ListQuery{})
		if err != nil {
			w.t.Fatal(err)
		}
		if len(page.Dispatches) == 1 && page.Dispatches[0].RunStatus == core.RunDone {
			return page.Dispatches[0].Termination.Type
		}
		time.Sleep(5 * time.Millisecond)
	}
	w.t.Fatalf("the run of session %s does not end", session)
	return ""
}

func TestCancelDuringAPermissionRequest(t *testing.T) {
	w := newWorld(t)
	e := w.editor("")
	session := e.session()
	answered := e.prompts(session, "approve: it")
	within(t, "the question", e.asked)
	e.cancel(session)
	if got := within(t, "the answer", answered); got != sdk.StopReasonCancelled {
		t.Errorf("stop reason %s, want cancelled", got)
	}
	if got := w.ends(session); got != core.TerminationCancelled {
		t.Errorf("the run ended %s, want cancelled", got)
	}
	if got := lastStatus(e.take()); got != "failed" {
		t.Errorf("the call's last status is %q, want failed", got)
	}
	if len(w.ran) != 0 {
		t.Error("the tool ran")
	}
	if reason, answer := e.says(session, "hello"); reason != "end_turn" || answer != "You said: hello" {
		t.Errorf("the next prompt: %s, %q", reason, answer)
	}
}

func lastStatus(updates []sdk.SessionUpdate) (s sdk.ToolCallStatus) {
	for _, u := range updates {
		if u.ToolCallUpdate != nil && u.ToolCallUpdate.Status != nil {
			s = *u.ToolCallUpdate.Status
		}
	}
	return s
}

func TestARunThatStreamsIsCancelled(t *testing.T) {
	w := newWorld(t)
	e := w.editor("")
	session := e.session()
	answered := e.prompts(session, "slow: 600")
	for len(e.take()) == 0 {
		time.Sleep(time.Millisecond)
	}
	e.cancel(session)
	if got := within(t, "the answer", answered); got != sdk.StopReasonCancelled {
		t.Errorf("stop reason %s, want cancelled", got)
	}
	if got := w.ends(session); got != core.TerminationCancelled {
		t.Errorf("the run ended %s, want cancelled", got)
	}
}

// The library handles a request beside the notifications that come behind it.
func TestACancelRightBehindItsPromptIsNotLost(t *testing.T) {
	w := newWorld(t)
	for range 20 {
		s := newTranscript(w.serve(""))
		s.send(t, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`)
		var made struct{ Result struct{ SessionID string } }
		s.receive(t, &made)
		id := made.Result.SessionID
		s.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"slow: 600"}]}}`, id)+"\n"+
			fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, id))
		for {
			var got struct {
				ID     int
				Result struct{ StopReason string }
			}
			if s.receive(t, &got); got.ID == 0 {
				continue
			}
			if got.Result.StopReason != "cancelled" {
				t.Fatalf("stop reason %q, want cancelled", got.Result.StopReason)
			}
			break
		}
	}
}

// What a client gives up with the library's own cancel is a cancel of the turn.
func TestARequestThatIsGivenUpCancelsItsRun(t *testing.T) {
	w := newWorld(t)
	s := newTranscript(w.serve(""))
	s.send(t, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`)
	var made struct{ Result struct{ SessionID string } }
	s.receive(t, &made)
	s.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"slow: 600"}]}}`, made.Result.SessionID))
	var first json.RawMessage
	s.receive(t, &first) // it streams
	s.send(t, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":2}}`)
	if got := w.ends(sdk.SessionId(made.Result.SessionID)); got != core.TerminationCancelled {
		t.Errorf("the run ended %s, want cancelled", got)
	}
}

func TestASessionHasOnePromptAtATime(t *testing.T) {
	e := newWorld(t).editor("")
	session := e.session()
	answered := e.prompts(session, "approve: it")
	within(t, "the question", e.asked)
	_, err := e.Prompt(t.Context(), sdk.PromptRequest{SessionId: session, Prompt: []sdk.ContentBlock{sdk.TextBlock("hello")}})
	if err == nil || !strings.Contains(err.Error(), "the session has a prompt under way") {
		t.Errorf("error %v", err)
	}
	e.answers <- sdk.PermissionOptionKindAllowOnce
	if got := within(t, "the answer", answered); got != sdk.StopReasonEndTurn {
		t.Errorf("stop reason %s, want end_turn", got)
	}
}

func TestAClosedSessionIsCancelledAndForgotten(t *testing.T) {
	e := newWorld(t).editor("")
	session := e.session()
	answered := e.prompts(session, "approve: it")
	within(t, "the question", e.asked)
	if _, err := e.CloseSession(t.Context(), sdk.CloseSessionRequest{SessionId: session}); err != nil {
		t.Fatal(err)
	}
	if got := within(t, "the answer", answered); got != sdk.StopReasonCancelled {
		t.Errorf("stop reason %s, want cancelled", got)
	}
	_, err := e.Prompt(t.Context(), sdk.PromptRequest{SessionId: session, Prompt: []sdk.ContentBlock{sdk.TextBlock("hello")}})
	if err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("error %v, want not found", err)
	}
}
