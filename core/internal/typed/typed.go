// Package typed runs agents for answers that a program reads: the model receives the JSON
// Schema of a type, and the run ends with a value of it. Package reveille shows it to
// programs as Answer.
package typed

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/finalanswer"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
)

// Format returns the form of answers that decode into a T, a struct. Its schema is
// inferred like that of a tool's arguments, see tool.New. [Run] puts it into a
// submission's Frontend. The error is core.CodeInvalid and names the part of T that has no
// schema.
func Format[T any]() (core.AnswerFormat, error) {
	// The schema follows from the Go type alone, so that two programs with one type ask for
	// the same form.
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

// Run is [host.Host.Play] for an answer that a program reads: the run ends when its
// model has answered with a T, a struct, and not before. The form is stored with the run, so
// that every process that takes its steps asks for the same. An answer that does not fit
// goes back to the model with the error, up to the agent's MaxRepairs times; after that, and
// if the model refuses or is truncated, the run ends with a [*host.RunError] whose code is
// invalid_output.
//
// If T or *T has a method Check() error, it is called on each answer that fits the form, and
// its error goes back to the model too. The text of the error is stored in the thread, but
// that of a panic of Check is only logged. The RunError unwraps to the last error of Check.
// Check must return immediately and depend on the answer alone. It is called where this
// process takes the step that answers while Run waits: always if the process has its own
// queue, and in a host unless the run has to queue. An answer that another process took is
// checked when the run has ended: if that fails, the RunError has code invalid_output too
// and unwraps to Check's error, and the run stays as it is.
//
// Optional fields of T (omitempty, omitzero) are required and nullable for a provider that
// enforces the form; such a null is read as an absent field.
//
// A nil error means a T. Any other end of a run is a [*host.RunError] with its termination: also
// that of a run that waits (suspended), and of one that a stop policy, a gate, a cancel or an
// interrupt ended. An Answer that the submission's Frontend already has replaces the form of
// T.
func Run[T any](ctx context.Context, h *host.Host, s mailbox.Submission) (T, host.Result, error) {
	var none T
	frontend := core.Frontend{}
	if s.Opening.Frontend != nil {
		frontend = *s.Opening.Frontend
	}
	if frontend.Answer == nil {
		format, err := Format[T]()
		if err != nil {
			return none, host.Result{}, err
		}
		frontend.Answer = &format
	}
	s.Opening.Frontend = &frontend
	// While the run is played, read checks the answers that this process takes. Afterwards
	// it has the last of them, or decodes the answer that another process took.
	var read reading[T]
	result, err := h.Play(ctx, s, nil, read.check)
	if err != nil {
		return none, result, err
	}
	if end := result.Termination; end.Type != core.TerminationNatural {
		return none, result, &host.RunError{Agent: result.Run.AgentID, Run: result.Run.ID, Termination: end}
	}
	answer, err := read.of(finalanswer.DropNulls(&model.ResponseFormat{Schema: frontend.Answer.Schema}, answerOf(result)))
	if err != nil {
		end := core.Termination{Type: core.TerminationError, Code: string(run.CodeInvalidOutput), Detail: "the answer, which this process did not take, cannot be used"}
		return none, result, &host.RunError{Agent: result.Run.AgentID, Run: result.Run.ID, Termination: end, Cause: err}
	}
	return answer, result, nil
}

// reading decodes answers. It keeps the last one, so that each is checked once although both
// the step and Run read it.
type reading[T any] struct {
	mu     sync.Mutex // guards the fields below
	known  bool
	text   string
	answer T
	err    error
}

// check is a check. A step may call it from another goroutine.
func (r *reading[T]) check(text string) error {
	_, err := r.of(text)
	return err
}

// of decodes an answer and calls its Check, or returns the last outcome if the answer is the
// last one.
func (r *reading[T]) of(text string) (T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known && r.text == text {
		return r.answer, r.err
	}
	var answer T
	err := env.Protect(func() error {
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			return err
		}
		if checked, ok := any(&answer).(interface{ Check() error }); ok {
			return checked.Check()
		}
		return nil
	})
	r.known, r.text, r.answer, r.err = true, text, answer, err
	return answer, err
}

// answerOf returns the part of the run's last turn that is its answer; empty: the run has no
// turn.
func answerOf(r host.Result) string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if m := &r.Messages[i]; m.Role == core.RoleAssistant {
			return finalanswer.Of(m)
		}
	}
	return ""
}
