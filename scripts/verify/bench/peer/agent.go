package main

import (
	"context"
	"iter"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/genai"
)

const (
	app    = "demo"
	user   = "user"
	answer = "Echo: hello"
)

// newAgent makes an agent with one tool that returns its arguments.
func newAgent(m model.LLM) (agent.Agent, error) {
	echo, err := functiontool.New(functiontool.Config{Name: "echo", Description: "returns its text"},
		func(_ agent.Context, a arguments) (arguments, error) { return a, nil })
	if err != nil {
		return nil, err
	}
	return llmagent.New(llmagent.Config{Name: app, Model: m, Tools: []tool.Tool{echo}})
}

type arguments struct {
	Text string `json:"text"`
}

// scripted does what the scripted model of the local host does: for "echo: hello" it calls
// the tool, and with the result it says a text in two parts. To all else it says the text.
type scripted struct {
	pause time.Duration // before each response
}

// Name implements model.LLM.
func (scripted) Name() string { return "scripted" }

// GenerateContent implements model.LLM.
func (s scripted) GenerateContent(ctx context.Context, request *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	last := request.Contents[len(request.Contents)-1].Parts[0]
	usage := &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 2, CandidatesTokenCount: 2}
	return func(yield func(*model.LLMResponse, error) bool) {
		if s.pause > 0 {
			time.Sleep(s.pause)
		}
		if last.Text == "echo: hello" {
			call := genai.NewContentFromFunctionCall("echo", map[string]any{"text": "hello"}, genai.RoleModel)
			yield(&model.LLMResponse{Content: call, UsageMetadata: usage, TurnComplete: true, FinishReason: genai.FinishReasonStop}, nil)
			return
		}
		for _, part := range []string{answer[:6], answer[6:]} {
			if ctx.Err() != nil || !yield(&model.LLMResponse{Content: genai.NewContentFromText(part, genai.RoleModel), Partial: true}, nil) {
				return
			}
		}
		yield(&model.LLMResponse{Content: genai.NewContentFromText(answer, genai.RoleModel), UsageMetadata: usage, TurnComplete: true, FinishReason: genai.FinishReasonStop}, nil)
	}
}
