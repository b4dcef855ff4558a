package tool

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reveille-run/reveille/core"
)

// Suspended returns what makes a call wait for a decision. When one resumes it,
// the tool runs again with [Call.Resume], unless the mode says otherwise. The
// result must have nothing else; [CheckTicketRequest] says what s must be.
func Suspended(s core.TicketRequest) Result { return Result{Suspend: &s} }

// CheckTicketRequest returns an error with code [core.CodeInvalid] that says what is
// wrong with a suspension, or [ErrResultTooLarge] when its texts are larger than
// a result may be. What cannot be stored, or what no payload could satisfy
// because its response schema is none, is found here, before anybody is asked.
func CheckTicketRequest(s core.TicketRequest) error {
	if s.ID != "" {
		if err := core.CheckName("suspension id", s.ID); err != nil {
			return err
		}
	}
	switch s.Mode {
	case "", core.ResumeReplay, core.ResumeAsResult, core.ResumeAsArguments:
	default:
		return core.Errorf(core.CodeInvalid, "resume mode %q does not exist", core.Excerpt(string(s.Mode)))
	}
	switch s.Kind {
	case "", core.TicketPerson, core.TicketClient, core.TicketChild:
	default:
		return core.Errorf(core.CodeInvalid, "ticket kind %q does not exist", core.Excerpt(string(s.Kind)))
	}
	if s.Timeout < 0 {
		return core.Errorf(core.CodeInvalid, "the suspension's timeout is %s, want 0 (none) or more", s.Timeout)
	}
	if len(s.Action)+len(s.Message)+len(s.Parameters)+len(s.ResponseSchema) > MaxResult {
		return ErrResultTooLarge
	}
	if s.Parameters != nil && !validJSON(s.Parameters) {
		return core.Errorf(core.CodeInvalid, "the suspension's parameters are not JSON")
	}
	if s.ResponseSchema == nil {
		return nil
	}
	if err := checkSchema(s.ResponseSchema); err != nil {
		return core.Errorf(core.CodeInvalid, "the suspension's response schema: %w", err)
	}
	return nil
}

func checkSchema(text json.RawMessage) error {
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return notSchema(err)
	}
	_, err := schema.Resolve(nil)
	return err
}

// notSchema is the error of a text that does not decode as a schema. The decoder's own
// would say the Go type that it decodes into, which is long and tells nobody anything.
func notSchema(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:]
		return fmt.Errorf("not a JSON Schema: %s is of type %s", cmp.Or(field, "it"), wrong.Value)
	}
	return fmt.Errorf("not a JSON Schema: %w", err)
}
