package agent

import (
	"encoding/json"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/tool"
)

// FinalAnswer is the tool by which a model answers in the form that it is asked for,
// where its provider has no such form: its arguments are the answer. No tool runs.
const FinalAnswer = "final_answer"

// FinalAnswerTool describes it to the model.
func FinalAnswerTool(f *model.ResponseFormat) model.ToolDefinition {
	return model.ToolDefinition{
		Name:        FinalAnswer,
		Description: "Gives the final answer: its arguments are the answer itself. Call it alone, when you know the answer, and write nothing besides.",
		Parameters:  f.Schema,
	}
}

// Formats reports whether the provider makes the model answer in the form.
func (m *BoundModel) Formats(f *model.ResponseFormat) bool {
	checker, ok := m.Model.(model.Checker)
	return !ok || checker.Check(model.Request{Model: m.Name, ResponseFormat: f}) == nil
}

// CheckAnswer returns an error with code invalid that says what is wrong with a text
// that has to be JSON of the form.
func CheckAnswer(f *model.ResponseFormat, text string) error {
	if strings.TrimSpace(text) == "" {
		return core.Errorf(core.CodeInvalid, "answer is empty")
	}
	return tool.CheckJSON("answer", f.Schema, json.RawMessage(text))
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
