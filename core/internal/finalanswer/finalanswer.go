// Package finalanswer is about answers in a form: the tool by which a model gives one, and what
// makes a text one.
package finalanswer

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/schema"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/model"
)

// Tool is the tool by which a model answers in the required form, if its provider has no
// such form: its arguments are the answer. No tool runs.
const Tool = "final_answer"

// Definition returns the tool as it is described to the model.
func Definition(f *model.ResponseFormat) model.ToolDefinition {
	return model.ToolDefinition{
		Name:        Tool,
		Description: "Gives the final answer: its arguments are the answer itself. Call it alone, when you know the answer, and write nothing besides.",
		Parameters:  f.Schema,
	}
}

// Check returns an error with code invalid about a text that has to be JSON of the form,
// once [DropNulls] has read it.
func Check(f *model.ResponseFormat, text string) error {
	if strings.TrimSpace(text) == "" {
		return core.Errorf(core.CodeInvalid, "answer is empty")
	}
	return toolcall.CheckJSON("answer", f.Schema, json.RawMessage(DropNulls(f, text)))
}

// DropNulls returns an answer as its form means it: a null in an optional member that may
// not be null means that the member is absent. The model has to write null if its provider
// enforces the form.
func DropNulls(f *model.ResponseFormat, text string) string {
	if !strings.Contains(text, "null") {
		return text
	}
	form, err := schema.Read(f.Schema)
	if err != nil {
		return text // the check of the answer reports it
	}
	return string(form.DropNulls(json.RawMessage(text)))
}

// Of returns the answer of a turn: its last text, without earlier ones.
func Of(turn *core.Message) string {
	for i := len(turn.Content) - 1; i >= 0; i-- {
		if b := &turn.Content[i]; b.Type == core.BlockText && strings.TrimSpace(b.Text) != "" {
			return b.Text
		}
	}
	return ""
}

// FormatOf returns the form that a frontend asks for.
func FormatOf(f *core.AnswerFormat) model.ResponseFormat {
	return model.ResponseFormat{Name: f.Name, Schema: f.Schema, Strict: true}
}

// CheckFormat refuses a form whose schema answers cannot be checked by.
func CheckFormat(f *model.ResponseFormat) error {
	if err := f.Check(); err != nil {
		return err
	}
	if _, err := schema.Read(f.Schema); err != nil {
		return fmt.Errorf("response_format.schema cannot be used: %w", err)
	}
	return nil
}
