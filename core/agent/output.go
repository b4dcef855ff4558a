package agent

import (
	"encoding/json"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/schema"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/tool"
)

// FinalAnswer is the tool by which a model answers in the form that it is asked for,
// where its provider has no such form: its arguments are the answer. No tool runs.
const FinalAnswer = "final_answer"

// finalAnswerTool describes it to the model.
func finalAnswerTool(f *model.ResponseFormat) model.ToolDefinition {
	return model.ToolDefinition{
		Name:        FinalAnswer,
		Description: "Gives the final answer: its arguments are the answer itself. Call it alone, when you know the answer, and write nothing besides.",
		Parameters:  f.Schema,
	}
}

// Format makes a request with a ResponseFormat one that the model can be asked: in its
// provider's own way, where that has one beside the request's tools, or with
// finalAnswerTool behind them. Where no tool may be called, that one must be.
func (m *BoundModel) Format(r *model.Request) {
	if r.ResponseFormat == nil || m.formats(*r) {
		return
	}
	tools := r.Tools
	r.Tools = append(tools[:len(tools):len(tools)], finalAnswerTool(r.ResponseFormat))
	r.ResponseFormat = nil
	if r.ToolChoice.Mode == model.ToolNone {
		r.ToolChoice = model.ToolChoice{Mode: model.ToolNamed, Name: FinalAnswer}
	}
}

// formats reports whether the provider makes the model answer in the form.
func (m *BoundModel) formats(r model.Request) bool {
	if m.learnt && !m.NativeFormat {
		return false
	}
	checker, ok := m.Model.(model.Checker)
	r.Messages = nil
	return !ok || checker.Check(r) == nil
}

// CheckAnswer returns an error with code invalid that says what is wrong with a text
// that has to be JSON of the form, once [DropNulls] has read it.
func CheckAnswer(f *model.ResponseFormat, text string) error {
	if strings.TrimSpace(text) == "" {
		return core.Errorf(core.CodeInvalid, "answer is empty")
	}
	return tool.CheckJSON("answer", f.Schema, json.RawMessage(DropNulls(f, text)))
}

// DropNulls returns an answer as its form means it: what is optional there and may not be
// null was left out, where a model says null. It has to, where its provider enforces the
// form.
func DropNulls(f *model.ResponseFormat, text string) string {
	if !strings.Contains(text, "null") {
		return text
	}
	form, err := schema.Read(f.Schema)
	if err != nil {
		return text // whoever checks the answer says so
	}
	return string(form.DropNulls(json.RawMessage(text)))
}

// AnswerOf returns the text of a turn that is its answer: what the model said last, behind
// what it may have said before.
func AnswerOf(turn *core.Message) string {
	for i := len(turn.Content) - 1; i >= 0; i-- {
		if b := &turn.Content[i]; b.Type == core.BlockText && strings.TrimSpace(b.Text) != "" {
			return b.Text
		}
	}
	return ""
}

func answerFormat(f *core.AnswerFormat) model.ResponseFormat {
	return model.ResponseFormat{Name: f.Name, Schema: f.Schema, Strict: true}
}
