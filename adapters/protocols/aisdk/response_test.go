package aisdk_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/protocols/aisdk"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

// laterEvents is a run that waited in step 1, got new input and responds to it in
// step 2, replayed from its first event.
func laterEvents() []core.Event {
	return []core.Event{
		{Type: core.EventRunStart, RunID: runID, Step: 1},
		{Type: core.EventStepStart, Step: 1},
		{Type: core.EventTextDelta, Step: 1, Delta: "May I?"},
		{Type: core.EventToolCallReady, Step: 1, CallID: "c1", Name: "danger"},
		{Type: core.EventInferenceComplete, Step: 1, StopReason: core.StopMaxTokens},
		{Type: core.EventToolCallDone, Step: 1, CallID: "c1", Name: "danger", IsError: true, Status: string(core.ResultCancelled)},
		{Type: core.EventStepEnd, Step: 1},
		{Type: core.EventStepStart, Step: 2},
		{Type: core.EventTextDelta, Step: 2, Delta: "Fine."},
		{Type: core.EventStepEnd, Step: 2},
		{Type: core.EventRunFinish, Step: 2, RunID: runID, Termination: &core.Termination{Type: core.TerminationNatural}},
	}
}

// cancelled is the result of a call about which nobody decided.
var cancelled = core.Message{Role: core.RoleTool, RunID: runID, ToolResult: &core.ToolResult{CallID: "c1", Status: core.ResultCancelled}}

// granted is the result of a call that a person has allowed.
var granted = core.Message{Role: core.RoleTool, RunID: runID, Decided: true, ToolResult: &core.ToolResult{CallID: "c1", Status: core.ResultOK}}

// later is what the client is shown of laterEvents when it has step 1 already.
const later = `{"type":"start","messageId":"01890000-0000-7000-8000-000000000001.2"}
{"type":"start-step"}
{"type":"text-start","id":"txt_0"}
{"type":"text-delta","id":"txt_0","delta":"Fine."}
{"type":"text-end","id":"txt_0"}
{"type":"finish-step"}
{"type":"finish","finishReason":"stop"}
[DONE]
`

// chunks are the frames of a body, a line each.
func chunks(body string) string {
	return strings.ReplaceAll(strings.ReplaceAll(body, "data: ", ""), "\n\n", "\n")
}

// A person who says something instead of deciding goes on with the run that waits.
// Its reply is a message of its own: the client has the one before it.
func TestInputToARunThatWaitsGetsAMessageOfItsOwn(t *testing.T) {
	waiting := func(core.Identity, string) (host.Thread, error) {
		return host.Thread{ID: "t1", ActiveRun: runID, Status: core.RunWaiting}, nil
	}
	asked := `{"id":"` + runText + `","role":"assistant","parts":[{"type":"tool-danger","toolCallId":"c1","state":"approval-requested","approval":{"id":"a"}}]}`
	body := `{"id":"t1","messages":[` + user("m1", "x") + `,` + asked + `,` + user("m2", "no") + `]}`
	stream := func(_ context.Context, _ mailbox.Submission, sink sinkFunc) error {
		return play(sink, laterEvents())
	}
	steps := func(run core.ID) (core.Run, error) { return core.Run{ID: run, ThreadID: "t1", Steps: 1}, nil }
	tests := []struct {
		name  string
		fake  *fake
		calls []string
		whole bool // the run is shown from its start
	}{
		{"it waits", &fake{thread: waiting, run: steps}, []string{"Thread", "Run", "Stream"}, false},
		{"another run waits", &fake{run: steps, thread: func(core.Identity, string) (host.Thread, error) {
			return host.Thread{ID: "t1", ActiveRun: dispatchID, Status: core.RunWaiting}, nil
		}}, []string{"Thread", "Run", "Stream"}, true},
		{"it goes on already, since the request came before", &fake{
			thread: func(core.Identity, string) (host.Thread, error) {
				return host.Thread{ID: "t1", ActiveRun: runID, Status: core.RunRunning}, nil
			},
			run: func(run core.ID) (core.Run, error) { return core.Run{ID: run, ThreadID: "t1", FirstSeq: 1}, nil },
			messages: func(core.Identity, string, host.MessageQuery) (host.MessagePage, error) {
				return host.MessagePage{Messages: []core.Message{
					{Role: core.RoleUser, RunID: runID}, {Role: core.RoleAssistant, RunID: runID, Step: 1}, cancelled, {Role: core.RoleUser, RunID: runID},
				}}, nil
			},
		}, []string{"Thread", "Run", "Messages", "Stream"}, false},
		{"it goes on already, behind a call that was decided by the same request", &fake{
			thread: func(core.Identity, string) (host.Thread, error) {
				return host.Thread{ID: "t1", ActiveRun: runID, Status: core.RunRunning}, nil
			},
			run: func(run core.ID) (core.Run, error) { return core.Run{ID: run, ThreadID: "t1", FirstSeq: 1}, nil },
			messages: func(core.Identity, string, host.MessageQuery) (host.MessagePage, error) {
				return host.MessagePage{Messages: []core.Message{
					{Role: core.RoleUser, RunID: runID}, {Role: core.RoleAssistant, RunID: runID, Step: 1}, granted, {Role: core.RoleUser, RunID: runID},
				}}, nil
			},
		}, []string{"Thread", "Run", "Messages", "Stream"}, false},
		{"it is over", &fake{thread: func(core.Identity, string) (host.Thread, error) { return host.Thread{ID: "t1"}, nil }},
			[]string{"Thread", "Stream"}, true},
		{"the thread is gone", &fake{}, []string{"Thread", "Stream"}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.fake.stream = stream
			rec := do(newServer(t, test.fake), "POST", "/v1/ai-sdk/chat", body)
			got := chunks(rec.Body.String())
			if whole := strings.Contains(got, `"messageId":"`+runText+`"`) && strings.Contains(got, "May I?"); whole != test.whole || !whole && got != later {
				t.Errorf("response %d %s", rec.Code, got)
			}
			if diff := cmp.Diff(test.calls, test.fake.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
	down := &fake{thread: func(core.Identity, string) (host.Thread, error) {
		return host.Thread{}, core.Errorf(core.CodeUnavailable, "table")
	}}
	if rec := do(newServer(t, down), "POST", "/v1/ai-sdk/chat", body); rec.Code != 503 || len(down.submissions) != 0 {
		t.Errorf("the store is down: response %d %s", rec.Code, rec.Body)
	}
}

// A client that sends its newest message alone says nothing of what it was shown;
// the thread does.
func TestANewestMessageAloneIsAnsweredInAMessageOfItsOwn(t *testing.T) {
	const body = `{"id":"t1","messages":[{"id":"m2","role":"user","parts":[{"type":"text","text":"no"}]}]}`
	f := &fake{
		thread: func(core.Identity, string) (host.Thread, error) {
			return host.Thread{ID: "t1", ActiveRun: runID, Status: core.RunWaiting}, nil
		},
		run: func(run core.ID) (core.Run, error) { return core.Run{ID: run, ThreadID: "t1", Steps: 1}, nil },
		stream: func(_ context.Context, _ mailbox.Submission, sink sinkFunc) error {
			return play(sink, laterEvents())
		},
	}
	rec := do(newServer(t, f), "POST", "/v1/ai-sdk/chat", body)
	if diff := cmp.Diff(later, chunks(rec.Body.String())); rec.Code != 200 || diff != "" {
		t.Errorf("status %d, chunks (-want +got):\n%s", rec.Code, diff)
	}
	asked := &fake{thread: f.thread, run: f.run}
	history := strings.Replace(body, `[{`, `[{"id":"a1","role":"assistant","parts":[{"type":"text","text":"Hello."}]},{`, 1)
	if rec := do(newServer(t, asked), "POST", "/v1/ai-sdk/chat", history); rec.Code != 200 {
		t.Errorf("status %d: %s", rec.Code, rec.Body)
	}
	if diff := cmp.Diff([]string{"Stream"}, asked.calls); diff != "" {
		t.Errorf("calls of a request whose history shows that nothing waits (-want +got):\n%s", diff)
	}
}

func TestResumeReplaysTheNewestMessageOfARun(t *testing.T) {
	message := func(role core.Role, run core.ID, step int) core.Message {
		return core.Message{Role: role, RunID: run, Step: step}
	}
	f := &fake{
		thread: func(core.Identity, string) (host.Thread, error) {
			return host.Thread{ID: "t1", ActiveRun: runID, Status: core.RunRunning}, nil
		},
		run: func(run core.ID) (core.Run, error) { return core.Run{ID: run, ThreadID: "t1", FirstSeq: 5}, nil },
		messages: func(_ core.Identity, _ string, q host.MessageQuery) (host.MessagePage, error) {
			if q == (host.MessageQuery{After: 4, Limit: 200}) {
				return host.MessagePage{Next: 7, Messages: []core.Message{message(core.RoleUser, runID, 0), message(core.RoleAssistant, runID, 1)}}, nil
			}
			if q != (host.MessageQuery{After: 7, Limit: 200}) {
				t.Errorf("query %+v", q)
			}
			return host.MessagePage{Messages: []core.Message{
				cancelled, message(core.RoleUser, runID, 0), message(core.RoleAssistant, runID, 2), message(core.RoleUser, runID, 0), message(core.RoleUser, dispatchID, 0),
			}}, nil
		},
		follow: func(_ context.Context, _ core.ID, sink sinkFunc) error { return play(sink, laterEvents()) },
	}
	rec := do(newServer(t, f), "GET", "/v1/ai-sdk/chat/t1/stream", "")
	if diff := cmp.Diff(later, chunks(rec.Body.String())); rec.Code != 200 || diff != "" {
		t.Errorf("status %d, chunks (-want +got):\n%s", rec.Code, diff)
	}
	f.messages = nil
	if rec := do(newServer(t, f), "GET", "/v1/ai-sdk/chat/t1/stream", ""); rec.Code != 404 {
		t.Errorf("without messages: response %d %s", rec.Code, rec.Body)
	}
}

func TestTheSecondMessageOfARunDecides(t *testing.T) {
	f := &fake{run: waitsWith(asks("a")), decided: []core.Event{{Type: core.EventRunStart, RunID: runID, Step: 2}, {Type: core.EventRunFinish, RunID: runID}}}
	body := strings.ReplaceAll(chatWith(approval("a", "true")), runText, runText+".2")
	rec := do(newServer(t, f), "POST", "/v1/ai-sdk/chat", body)
	if want := `data: {"type":"start","messageId":"` + runText + `.2"}` + "\n"; rec.Code != 200 || !strings.HasPrefix(rec.Body.String(), want) {
		t.Errorf("response %d %s", rec.Code, rec.Body)
	}
	if diff := cmp.Diff([][]mailbox.Deciding{{says("a", core.DecisionResume, `{"approved":true}`, "why")}}, f.decisions); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
}

func TestTheEncoderLeavesOutWhatWasShown(t *testing.T) {
	encoder := aisdk.Encoder{Shown: aisdk.Shown{Run: runID, Steps: 1}}
	var got strings.Builder
	for _, e := range laterEvents() {
		for _, frame := range encoder.Encode(e) {
			checkKeys(t, frame)
			got.Write(append(frame, '\n'))
		}
	}
	if diff := cmp.Diff(later, got.String()); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
}
