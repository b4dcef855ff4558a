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

// Tool is the tool by which a model answers in the form that it is asked for,
// where its provider has no such form: its arguments are the answer. No tool runs.
const Tool = "final_answer"

// Definition returns the tool as it is described to the model.
func Definition(f *model.ResponseFormat) model.ToolDefinition {
	return model.ToolDefinition{
		Name:        Tool,
		Description: "Gives the final answer: its arguments are the answer itself. Call it alone, when you know the answer, and write nothing besides.",
		Parameters:  f.Schema,
	}
}

// Check returns an error with code invalid that says what is wrong with a text
// that has to be JSON of the form, once [DropNulls] has read it.
func Check(f *model.ResponseFormat, text string) error {
	if strings.TrimSpace(text) == "" {
		return core.Errorf(core.CodeInvalid, "answer is empty")
	}
	return toolcall.CheckJSON("answer", f.Schema, json.RawMessage(DropNulls(f, text)))
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

// Of returns the text of a turn that is its answer: what the model said last, behind
// what it may have said before.
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
