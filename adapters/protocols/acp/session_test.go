package acp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// told is an update in a line.
func told(u sdk.SessionUpdate) string {
	show := func(v any) string {
		text, _ := json.Marshal(v)
		return string(text)
	}
	switch {
	case u.UserMessageChunk != nil:
		return "user: " + u.UserMessageChunk.Content.Text.Text
	case u.AgentMessageChunk != nil:
		return "agent: " + u.AgentMessageChunk.Content.Text.Text
	case u.AgentThoughtChunk != nil:
		return "thought: " + u.AgentThoughtChunk.Content.Text.Text
	case u.ToolCall != nil:
		return fmt.Sprintf("call %s %s %s %s", u.ToolCall.Title, u.ToolCall.Kind, u.ToolCall.Status, show(u.ToolCall.RawInput))
	case u.ToolCallUpdate != nil:
		return fmt.Sprintf("%s %s", *u.ToolCallUpdate.Status, show(u.ToolCallUpdate.RawOutput))
	}
	return "?"
}

func (e *editor) load(session sdk.SessionId) (lines []string) {
	e.t.Helper()
	e.take()
	if _, err := e.LoadSession(e.t.Context(), sdk.LoadSessionRequest{SessionId: session, Cwd: "/", McpServers: []sdk.McpServer{}}); err != nil {
		e.t.Fatal(err)
	}
	e.loaded = e.take()
	for _, u := range e.loaded {
		lines = append(lines, told(u))
	}
	return lines
}

func TestLoadReplays(t *testing.T) {
	w := newWorld(t)
	e := w.editor("")
	session := e.session()
	e.answers <- sdk.PermissionOptionKindRejectOnce
	var live []string
	for _, text := range []string{"echo: hello", "think: twice", "approve: it"} {
		e.take()
		if _, err := e.Prompt(t.Context(), sdk.PromptRequest{SessionId: session, Prompt: []sdk.ContentBlock{sdk.TextBlock(text)}}); err != nil {
			t.Fatal(err)
		}
		live = append(live, calls(e.take())...)
	}
	again := w.editor("")
	want := []string{
		"user: echo: hello",
		`call echo read pending {"text":"hello"}`,
		`completed {"text":"hello"}`,
		"agent: Echo: hello",
		"user: think: twice",
		"thought: Thinking about twice",
		"agent: I thought about it.",
		"user: approve: it",
		`call danger other pending {"text":"it"}`,
		`failed {"error":"denied"}`,
		"agent: The call of danger was denied.",
	}
	if diff := cmp.Diff(want, again.load(session)); diff != "" {
		t.Errorf("replay (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(live, calls(again.loaded)); diff != "" || len(live) != 2 {
		t.Errorf("ids of calls (-live +replay):\n%s", diff)
	}
	if reason, answer := again.says(session, "and now?"); reason != "end_turn" || answer != "You said: and now?" {
		t.Errorf("the next prompt: %s, %q", reason, answer)
	}
	// A client that has kept what was said asks for none of it.
	third := w.editor("")
	if _, err := third.ResumeSession(t.Context(), sdk.ResumeSessionRequest{SessionId: session, Cwd: "/"}); err != nil {
		t.Fatal(err)
	}
	if got := third.take(); len(got) != 0 {
		t.Errorf("resume showed %d updates", len(got))
	}
	if reason, _ := third.says(session, "hello"); reason != "end_turn" {
		t.Errorf("after resume: %s", reason)
	}
}

// calls are the ids of the calls that are announced.
func calls(updates []sdk.SessionUpdate) (ids []string) {
	for _, u := range updates {
		if u.ToolCall != nil {
			ids = append(ids, string(u.ToolCall.ToolCallId))
		}
	}
	return ids
}

// A session that nothing was said in can be loaded by the client that made it.
func TestAnEmptySessionIsLoaded(t *testing.T) {
	e := newWorld(t).editor("")
	if got := e.load(e.session()); len(got) != 0 {
		t.Errorf("replay %q, want nothing", got)
	}
}

// Nothing is lost with a client: what waits goes on waiting, and the next client, or
// the next prompt, finds it.
func TestAClientThatGoesAwayDuringAPermissionRequest(t *testing.T) {
	w := newWorld(t)
	e := w.editor("")
	session := e.session()
	go func() {
		_, _ = e.Prompt(t.Context(), sdk.PromptRequest{SessionId: session, Prompt: []sdk.ContentBlock{sdk.TextBlock("approve: it")}})
	}()
	within(t, "the question", e.asked)
	e.wire.hangUp()
	if err := within(t, "the end of Serve", e.wire.served); err != nil {
		t.Errorf("Serve: %v", err)
	}
	info, err := w.runtime.Thread(t.Context(), identity, string(session))
	if err != nil || info.Status != core.RunWaiting {
		t.Fatalf("the run is %s, %v, want waiting", info.Status, err)
	}
	again := w.editor("")
	if diff := cmp.Diff([]string{"user: approve: it", `call danger other pending {"text":"it"}`}, again.load(session)); diff != "" {
		t.Errorf("replay (-want +got):\n%s", diff)
	}
	// Another protocol may decide.
	if _, err := w.runtime.DecideThread(t.Context(), identity, string(session), mailbox.Deciding{
		Target: ticketOf(t, w, info.ActiveRun), Decision: core.Decision{Action: core.DecisionResume},
	}); err != nil {
		t.Fatal(err)
	}
	if got := within(t, "the tool", w.ran); got != "it" {
		t.Errorf("the tool ran with %q", got)
	}
	if got := w.ends(session); got != core.TerminationNatural {
		t.Errorf("the run ended %s", got)
	}
}

func ticketOf(t *testing.T, w *world, run core.ID) string {
	t.Helper()
	record, err := w.runtime.ReadRun(t.Context(), identity, run)
	if err != nil || len(record.Tickets) != 1 {
		t.Fatalf("%d tickets, %v", len(record.Tickets), err)
	}
	return record.Tickets[0].Suspension.ID
}

func TestAClientThatGoesAwayWhileItsRunStreams(t *testing.T) {
	w := newWorld(t)
	e := w.editor("")
	session := e.session()
	go func() {
		_, _ = e.Prompt(t.Context(), sdk.PromptRequest{SessionId: session, Prompt: []sdk.ContentBlock{sdk.TextBlock("slow: 5")}})
	}()
	for len(e.take()) == 0 {
		time.Sleep(time.Millisecond)
	}
	e.wire.hangUp()
	if err := within(t, "the end of Serve", e.wire.served); err != nil {
		t.Errorf("Serve: %v", err)
	}
	if got := w.ends(session); got != core.TerminationNatural {
		t.Errorf("the run ended %s, want natural_end", got)
	}
	lines := w.editor("").load(session)
	if diff := cmp.Diff([]string{"user: slow: 5", "agent: w1 w2 w3 w4 w5"}, lines); diff != "" {
		t.Errorf("replay (-want +got):\n%s", diff)
	}
}

// Serve does not wait for a run: it gives it back, and tells the client, if it is there.
func TestServeEndsBeforeTheRunsThatItShows(t *testing.T) {
	for name, end := range map[string]func(*wire){
		"the host stops": func(w *wire) { w.stop() }, "the client leaves": func(w *wire) { w.hangUp() },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			e := w.editor("")
			session := e.session()
			answered := make(chan error, 1)
			go func() {
				_, err := e.Prompt(t.Context(), sdk.PromptRequest{SessionId: session, Prompt: []sdk.ContentBlock{sdk.TextBlock("slow: 600")}})
				answered <- err
			}()
			for len(e.take()) == 0 {
				time.Sleep(time.Millisecond)
			}
			end(e.wire)
			if err := within(t, "the end of Serve", e.wire.served); err != nil {
				t.Errorf("Serve: %v", err)
			}
			err := within(t, "the answer", answered)
			if err == nil {
				t.Error("the prompt was answered as if the run were over")
			}
			if name == "the host stops" && !strings.Contains(err.Error(), "the run continues without this connection") {
				t.Errorf("the client reads %v", err)
			}
			if _, err := w.runtime.CancelThread(t.Context(), identity, string(session)); err != nil {
				t.Fatal(err)
			}
			if got := w.ends(session); got != core.TerminationCancelled {
				t.Errorf("the run ended %s, want cancelled: it was open", got)
			}
		})
	}
}

func TestMaxRoundsIsAStopReason(t *testing.T) {
	e := newWorld(t).editor("short")
	if reason, _ := e.says(e.session(), "echo: hello"); reason != sdk.StopReasonMaxTurnRequests {
		t.Errorf("stop reason %s, want max_turn_requests", reason)
	}
}

func TestALineAtTheLimitIsReadAndOneAboveIsRefused(t *testing.T) {
	s := newTranscript(newWorld(t).serve(""))
	line := `{"jsonrpc":"2.0","id":1,"method":"session/fly","params":{"x":"%s"}}`
	full := fmt.Sprintf(line, strings.Repeat("x", 1<<20-len(line)+2))
	var got struct {
		ID    *int
		Error sdk.RequestError
	}
	s.send(t, full)
	if s.receive(t, &got); got.ID == nil || got.Error.Code != -32601 {
		t.Errorf("at the limit: %+v", got)
	}
	got.ID = nil
	s.send(t, full[:len(full)-3]+"x"+full[len(full)-3:])
	if s.receive(t, &got); got.ID != nil || got.Error.Message != "the message is longer than 1048576 bytes" {
		t.Errorf("above the limit: %+v", got)
	}
	s.send(t, full)
	if s.receive(t, &got); got.ID == nil || got.Error.Code != -32601 {
		t.Errorf("behind it: %+v", got)
	}
}
