package local

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	script "github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/tool"
)

type task struct {
	Task string `json:"task"`
}

// withBoss adds an agent that hands two tasks to runs of the demo agent, side by side: one asks
// for approval, and one speaks for 1.2 s.
func withBoss(parts agent.Parts) agent.Parts {
	parts.Models["boss"] = agent.ModelBinding{Model: script.Turns(
		script.Turn{Calls: []core.ToolCall{script.Call("hand_over", task{"approve: it"}), script.Call("hand_over", task{"slow: 12"})}},
		script.Turn{Text: "Both are done."},
	)}
	parts.Tools = append(parts.Tools, tool.New(tool.Spec{Name: "hand_over", Description: "Hands a task over."},
		func(ctx context.Context, call tool.Call, a task) (tool.Result, error) {
			if end, ok := call.ChildEnd(); ok {
				return tool.ChildResult(end), nil
			}
			run, err := call.Start(ctx, tool.Child{Agent: parts.Specs[0].ID, Messages: []core.Message{core.UserMessage(a.Task)}})
			return tool.AwaitChild(run, core.ResumeReplay), err
		}))
	parts.Specs = append(parts.Specs, agent.Spec{ID: "boss", Model: "boss", AllowedTools: []string{"hand_over"}, ExecutionMode: agent.ParallelStreaming})
	return parts
}

// serveBoss serves the demo with the agent boss.
func serveBoss(t *testing.T) (url string) {
	t.Helper()
	url, _ = serveDeployment(t, filepath.Join(t.TempDir(), "data"), demonstration.With(withBoss))
	return url
}

// frames sends a request and returns the data of the events of its response, which it also
// passes to heard.
func frames(t *testing.T, method, url, body string, header http.Header, heard func(data string)) (all []string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	if request.Header == nil {
		request.Header = http.Header{}
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	id := ""
	lines := bufio.NewScanner(response.Body)
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			id = text
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			if response.StatusCode != http.StatusOK {
				t.Fatalf("%s %s: %d %s", method, url, response.StatusCode, lines.Text())
			}
			continue
		}
		all = append(all, data)
		if heard != nil {
			heard(data)
		}
	}
	request.Header.Set("Last-Event-ID", id)
	return all
}

// childEvents are the events of a native stream, and what they show of child runs: the texts of
// the one that speaks, and the event of the one that asks.
type childEvents struct {
	run      core.ID
	texts    []string
	statuses []string
	asks     core.Event
	done     []string // tools of child runs that were asked about and have their result
	end      core.Termination
	response string
}

func (c *childEvents) hear(data string) {
	var e core.Event
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		c.statuses = append(c.statuses, err.Error())
		return
	}
	switch {
	case e.Type == core.EventRunStart:
		c.run = e.RunID
	case e.Type == core.EventRunFinish:
		c.end, c.response = *e.Termination, e.Response
	case e.Child == nil:
	case e.Type == core.EventToolCallSuspended:
		c.asks = e
	case e.Type == core.EventToolCallDone:
		c.done = append(c.done, e.Name)
	case e.ActivityType == core.ActivityAgentRun:
		var p core.ChildProgress
		if json.Unmarshal(e.Content, &p) == nil {
			c.statuses = append(c.statuses, string(p.Status))
			if p.Text != "" {
				c.texts = append(c.texts, p.Text)
			}
		}
	}
}

// The native protocol shows two child runs side by side. The stream ends when one waits for a
// person and the other is done; the decision names the child run.
func TestChildRunsInANativeStream(t *testing.T) {
	url := serveBoss(t)
	var first, again, last childEvents
	header := http.Header{}
	frames(t, "POST", url+"/v1/runs", `{"thread_id":"t1","agent_id":"boss","messages":[{"role":"user","content":"go"}]}`, header, first.hear)
	words := "w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12"
	if first.end.Type != core.TerminationSuspended || first.asks.Name != "danger" || len(first.texts) < 2 || first.texts[len(first.texts)-1] != words {
		t.Fatalf("%+v", first)
	}
	run := url + "/v1/runs/" + first.run.String()
	// A client that reconnects has missed nothing that has a position, and sees what waits.
	frames(t, "GET", run+"/events/stream", "", http.Header{"Last-Event-Id": header["Last-Event-Id"]}, again.hear)
	if again.end.Type != core.TerminationSuspended || again.asks.Child == nil || *again.asks.Child != *first.asks.Child || again.run != (core.ID{}) {
		t.Errorf("reconnected: %+v", again)
	}
	child := first.asks.Child
	_, read := get(t, run)
	if want := `"children":{"tickets":[{"run_id":"` + child.RunID.String() + `","thread_id":"` + child.ThreadID + `"`; !strings.Contains(read, want) {
		t.Errorf("the run has no %s: %s", want, read)
	}
	_, approvals := get(t, url+"/v1/approvals")
	if want := `"parent":{"thread_id":"t1","run_id":"` + first.run.String() + `"`; !strings.Contains(approvals, want) {
		t.Errorf("the approvals have no %s: %s", want, approvals)
	}
	decide := func(of core.ID) (int, string) {
		return post(t, run+"/decision", fmt.Sprintf(`{"run_id":%q,"tool_call_id":%q,"action":"resume","payload":{"approved":true}}`, of, first.asks.CallID))
	}
	if status, text := decide(first.run); status != 404 {
		t.Errorf("a decision on the run's own call: %d %s", status, text)
	}
	if status, text := decide(child.RunID); status != 202 || !strings.Contains(text, `"run_id":"`+child.RunID.String()+`"`) {
		t.Fatalf("the decision: %d %s", status, text)
	}
	frames(t, "GET", run+"/events/stream", "", nil, last.hear)
	if last.end.Type != core.TerminationNatural || last.response != "Both are done." {
		t.Errorf("then: %+v", last)
	}
}

// The AI SDK shows the question of a child run as a part of the message, and the answer in the
// next request is a decision on it. A client that comes back while a child run works is shown it.
func TestChildRunsInAnAISDKStream(t *testing.T) {
	url := serveBoss(t)
	type chunk struct {
		Type, MessageID, ToolCallID, ToolName, ApprovalID, FinishReason, Delta string
		Dynamic                                                                bool
		Output                                                                 json.RawMessage
	}
	read := func(data string) (c chunk) {
		_ = json.Unmarshal([]byte(data), &c) // [DONE] is not JSON
		return c
	}
	var id string
	var resumed []string
	var asks chunk
	started := false
	all := frames(t, "POST", url+"/v1/ai-sdk/agents/boss/runs", `{"id":"t1","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"go"}]}]}`, nil, func(data string) {
		c := read(data)
		if c.Type == "start" {
			id = c.MessageID
		}
		if c.Type == "tool-approval-request" {
			asks = c
		}
		if !started && strings.Contains(data, `"text":"w1`) { // the run waits, and its child runs work
			started = true
			resumed = frames(t, "GET", url+"/v1/ai-sdk/chat/t1/stream", "", nil, nil)
		}
	})
	text := strings.Join(all, "\n")
	if asks.ApprovalID == "" || read(all[len(all)-2]).FinishReason != "tool-calls" || !strings.Contains(text, `"toolName":"danger","dynamic":true`) {
		t.Fatalf("%s", text)
	}
	if again := strings.Join(resumed, "\n"); !strings.Contains(again, `"messageId":"`+id+`"`) || !strings.Contains(again, `"type":"data-activity-snapshot"`) || !strings.Contains(again, `"finishReason":"tool-calls"`) {
		t.Errorf("resumed: %s", again)
	}
	history := `{"id":"t1","messageId":"` + id + `","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"go"}]},{"id":"` + id + `","role":"assistant","parts":[{"type":"step-start"},` +
		`{"type":"dynamic-tool","toolName":"danger","toolCallId":"` + asks.ToolCallID + `","state":"approval-responded","input":{"text":"it"},"approval":{"id":"` + asks.ApprovalID + `","approved":true}}]}]}`
	_, stored := get(t, url+"/v1/ai-sdk/threads/t1/messages")
	if !strings.Contains(stored, `"approval":{"id":"`+asks.ApprovalID+`"},"toolName":"danger"`) {
		t.Errorf("the history has no question: %s", stored)
	}
	next := frames(t, "POST", url+"/v1/ai-sdk/chat", history, nil, nil)
	text = strings.Join(next, "\n")
	if c := read(next[0]); c.MessageID != id || !strings.Contains(text, `"type":"tool-output-available","toolCallId":"`+asks.ToolCallID+`"`) || !strings.Contains(text, `"finishReason":"stop"`) {
		t.Errorf("%s", text)
	}
}

// AG-UI shows the question of a child run as an interrupt of the run.
func TestChildRunsInAnAGUIStream(t *testing.T) {
	url := serveBoss(t)
	type event struct {
		Type, ActivityType string
		Messages           json.RawMessage
		Outcome            struct {
			Type       string
			Interrupts []struct{ ID string }
		}
	}
	read := func(data string) (e event) {
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Error(err)
		}
		return e
	}
	run := url + "/v1/ag-ui/agents/boss/runs"
	all := frames(t, "POST", run, `{"threadId":"t1","runId":"r1","protocolVersion":"1.0","messages":[{"id":"m1","role":"user","content":"go"}]}`, nil, nil)
	last, before := read(all[len(all)-1]), read(all[len(all)-2])
	if last.Outcome.Type != "interrupt" || len(last.Outcome.Interrupts) != 1 || before.Type != "MESSAGES_SNAPSHOT" || !strings.Contains(strings.Join(all, "\n"), `"text":"w1 `) {
		t.Fatalf("%s", strings.Join(all, "\n"))
	}
	next := frames(t, "POST", run, `{"threadId":"t1","runId":"r2","protocolVersion":"1.0","messages":`+string(before.Messages)+
		`,"resume":[{"interruptId":"`+last.Outcome.Interrupts[0].ID+`","status":"resolved","payload":{"approved":true}}]}`, nil, nil)
	if text := strings.Join(next, "\n"); read(next[len(next)-1]).Type != "RUN_FINISHED" || !strings.Contains(text, "Both are done.") && !strings.Contains(text, `"delta":"Both`) {
		t.Errorf("%s", text)
	}
}
