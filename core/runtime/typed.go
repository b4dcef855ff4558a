package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
)

// AnswerFormat returns the form of answers that decode into a T, a struct: the schema
// is inferred as that of a tool's arguments, see tool.Typed. It goes into a submission's
// Frontend; [RunTyped] does that. The error says what of T has no schema.
func AnswerFormat[T any]() (core.AnswerFormat, error) {
	of := reflect.TypeFor[T]()
	schema, err := jsonschema.ForType(of, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {}, // any JSON, not an array of bytes
	}})
	if err == nil && schema.Type != "object" {
		err = fmt.Errorf("its schema is of type %q, want a struct", schema.Type)
	}
	var text []byte
	if err == nil {
		text, err = json.Marshal(schema)
	}
	if err != nil {
		return core.AnswerFormat{}, core.Errorf(core.CodeInvalid, "answers of type %s: %w", of, err)
	}
	return core.AnswerFormat{Name: "answer", Schema: text}, nil
}

// RunTyped is [Runtime.RunInput] for an answer that a program reads: the run ends when
// its model has given a T, a struct, and not before. The form is stored with the run, so
// that whichever process takes its steps asks for the same. An answer that is not of it
// goes back to the model with what is wrong, as often as the agent's MaxRepairs says;
// then, and when the model refuses or is cut off, the run ends with a [*RunError] whose
// code is invalid_output.
//
// A run that waits, and one that something else than its model ends, has no answer: the
// error is nil, T zero, and Result.Termination says why, as for RunInput. Where the
// submission's Frontend has an Answer already, that one counts.
func RunTyped[T any](ctx context.Context, r *Runtime, s mailbox.Submission) (T, Result, error) {
	var answer T
	frontend := core.Frontend{}
	if s.Frontend != nil {
		frontend = *s.Frontend
	}
	if frontend.Answer == nil {
		format, err := AnswerFormat[T]()
		if err != nil {
			return answer, Result{}, err
		}
		frontend.Answer = &format
	}
	s.Frontend = &frontend
	result, err := r.RunInput(ctx, s)
	if err != nil || result.Termination.Type != core.TerminationNatural {
		return answer, result, err
	}
	if err := json.Unmarshal([]byte(answerOf(result)), &answer); err != nil {
		return answer, result, core.Errorf(core.CodeInvalid, "decode the answer of run %s: %w", result.Run.ID, err)
	}
	return answer, result, nil
}

// answerOf is the text of the run's last turn that is its answer.
func answerOf(r Result) string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if m := &r.Messages[i]; m.Role == core.RoleAssistant {
			return agent.AnswerOf(m)
		}
	}
	return ""
}
