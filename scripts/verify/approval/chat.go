package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/scripts/verify/lives"
)

// chat is one thread of an AI SDK client.
type chat struct {
	host *lives.Host
	id   string
	text string // what the tool is to do

	message string // id of the assistant's message
	call    call
	last    struct { // decision
		approved bool
		want     want
	}
}

// call is the tool call that waits.
type call struct{ id, name, approval string }

// want is what a decision must lead to.
type want struct {
	state      string // of the tool part: output-available, output-denied
	executions int    // in its output
	text       string // of the response
}

// chunk is one item of the stream, as far as it is looked at.
type chunk struct {
	Type         string `json:"type"`
	MessageID    string `json:"messageId"`
	ToolCallID   string `json:"toolCallId"`
	ToolName     string `json:"toolName"`
	ApprovalID   string `json:"approvalId"`
	Delta        string `json:"delta"`
	ErrorText    string `json:"errorText"`
	FinishReason string `json:"finishReason"`
	Output       struct {
		Executions int `json:"executions"`
	} `json:"output"`
}

// ask sends the message and reads that the call waits.
func (c *chat) ask(ctx context.Context) error {
	chunks, err := c.send(ctx, c.request())
	if err != nil {
		return err
	}
	for _, k := range chunks {
		switch k.Type {
		case "start":
			c.message = k.MessageID
		case "tool-input-available":
			c.call.id, c.call.name = k.ToolCallID, k.ToolName
		case "tool-approval-request":
			c.call.approval = k.ApprovalID
		case "tool-output-available", "tool-output-error", "error":
			return fmt.Errorf("%s: chunk %+v, want only a request for approval", c.id, k)
		}
	}
	end := chunks[len(chunks)-1]
	if c.call.name != "danger" || c.call.approval == "" || end.Type != "finish" || end.FinishReason != "tool-calls" {
		return fmt.Errorf("%s: the call is %+v and the last chunk %+v, want a request for approval of danger and finish(tool-calls)", c.id, c.call, end)
	}
	return nil
}

// decide sends the decision on a request for approval and reads what follows.
func (c *chat) decide(ctx context.Context, approved bool, w want) error {
	c.last.approved, c.last.want = approved, w
	part := map[string]any{
		"type": "tool-danger", "toolCallId": c.call.id, "state": "approval-responded", "input": map[string]string{"text": c.text},
		"approval": map[string]any{"id": c.call.approval, "approved": approved},
	}
	chunks, err := c.send(ctx, c.request(map[string]any{"id": c.message, "role": "assistant", "parts": []any{map[string]string{"type": "step-start"}, part}}))
	if err != nil {
		return err
	}
	var got want
	var message, text string
	for _, k := range chunks {
		switch k.Type {
		case "start":
			message = k.MessageID
		case "text-delta":
			text += k.Delta
		case "tool-output-available", "tool-output-denied", "tool-output-error":
			got.state, got.executions = strings.TrimPrefix(k.Type, "tool-"), k.Output.Executions
		}
	}
	got.text = text
	end := chunks[len(chunks)-1]
	if got != w || message != c.message || end.Type != "finish" || end.FinishReason != "stop" {
		return fmt.Errorf("%s: message %s is %+v and the last chunk is %+v; want message %s, %+v and finish(stop)", c.id, message, got, end, c.message, w)
	}
	return nil
}

// stillWaits reads the history: it must ask for the same approval.
func (c *chat) stillWaits(ctx context.Context) error {
	history, err := c.stored(ctx)
	if err != nil {
		return err
	}
	for _, part := range []string{`"state":"approval-requested"`, `"approval":{"id":"` + c.call.approval + `"}`} {
		if !strings.Contains(history, part) {
			return fmt.Errorf("%s: the history has no %s:\n%s", c.id, part, history)
		}
	}
	return nil
}

// stored is the thread as a page reads it.
func (c *chat) stored(ctx context.Context) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.host.URL+"/v1/ai-sdk/threads/"+c.id+"/messages", nil)
	if err != nil {
		return "", err
	}
	body, err := lives.Do(r)
	return string(body), err
}

// request is the body of a chat request: the user's message, and what follows it.
func (c *chat) request(more ...any) map[string]any {
	question := map[string]any{"id": c.id + "-m1", "role": "user", "parts": []any{map[string]string{"type": "text", "text": "approve: " + c.text}}}
	return map[string]any{"id": c.id, "trigger": "submit-message", "messages": slices.Concat([]any{question}, more)}
}

// send posts a chat request and reads the stream to its end.
func (c *chat) send(ctx context.Context, request map[string]any) (chunks []chunk, err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.host.URL+"/v1/ai-sdk/chat", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	stream, err := lives.Do(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.id, err)
	}
	frames := strings.Split(strings.TrimSpace(string(stream)), "\n\n")
	for _, frame := range frames[:len(frames)-1] {
		data, ok := strings.CutPrefix(frame, "data: ")
		if !ok {
			continue // a comment
		}
		var k chunk
		if err := json.Unmarshal([]byte(data), &k); err != nil {
			return nil, fmt.Errorf("%s: frame %s: %w", c.id, frame, err)
		}
		chunks = append(chunks, k)
	}
	if len(chunks) == 0 || frames[len(frames)-1] != "data: [DONE]" {
		return nil, fmt.Errorf("%s: the stream has no end:\n%s", c.id, stream)
	}
	return chunks, nil
}
