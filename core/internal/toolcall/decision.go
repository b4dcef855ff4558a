package toolcall

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/schema"
)

// CheckDecision checks what a decision brings against what its ticket asks for.
// core.CodeTooLarge: its payload and reason are larger than MaxResult where they
// become a result, than MaxArguments elsewhere. core.CodeInvalid: the payload of a
// decision that resumes is not what the ticket's response schema says. One that
// replays the call needs no payload: that it resumes says everything. Without a
// schema its payload may be anything, but approved, if an object of a person has
// it, is true. Only a person's answer about a call that replays is to be remembered.
// Arguments need a person, a mode in which the tool runs, and no denial; where the payload
// would replace the arguments they are what the response schema checks.
func CheckDecision(t core.Ticket, d core.Decision) error {
	limit := MaxArguments
	if t.Mode == core.ResumeAsResult {
		limit = MaxResult
	}
	if size := len(d.Payload) + len(d.Reason); size > limit {
		return core.Errorf(core.CodeTooLarge, "payload and reason of the decision have %d bytes, at most %d are allowed", size, limit)
	}
	form, payload := t.Suspension.ResponseSchema, d.Payload
	replays := t.Mode == core.ResumeReplay || t.Mode == ""
	if err := checkArguments(t, d); err != nil {
		return err
	}
	if len(d.Arguments) > 0 && !replays {
		payload = d.Arguments
	}
	if d.Lasts() && !t.AsksPermission() {
		return core.Errorf(core.CodeInvalid, "remember applies to requests for permission, the call waits for something else")
	}
	if !t.Resumes(d) || replays && len(payload) == 0 {
		return nil
	}
	if len(form) == 0 {
		if t.AsksPermission() {
			return checkApproval(payload)
		}
		return nil
	}
	if len(payload) == 0 {
		payload = json.RawMessage("null")
	}
	return CheckJSON("payload", form, payload)
}

// checkArguments refuses a decision whose arguments would not run. Whether they are what the
// tool takes is checked elsewhere.
func checkArguments(t core.Ticket, d core.Decision) error {
	runs := t.Mode == core.ResumeReplay || t.Mode == "" || t.Mode == core.ResumeAsArguments
	switch {
	case len(d.Arguments) == 0:
		return nil
	case len(d.Arguments) > MaxArguments:
		return ErrArgumentsTooLarge
	case !t.ByPerson() || !runs:
		return core.Errorf(core.CodeInvalid, "arguments of a call of kind %q with resume_mode %q cannot be edited, allowed are kind %q with %q or %q",
			t.Kind, t.Mode, core.TicketPerson, core.ResumeReplay, core.ResumeAsArguments)
	case t.Refuses(d):
		return core.Errorf(core.CodeInvalid, "the decision denies the call and has arguments for it")
	case t.Mode == core.ResumeAsArguments && len(d.Payload) > 0:
		return core.Errorf(core.CodeInvalid, "the decision has both arguments and a payload, which is the arguments with resume_mode %q", t.Mode)
	}
	return nil
}

// checkApproval refuses an approval that is neither yes nor no: a client that sends
// {"approved": "false"} does not mean that the tool is to run.
func checkApproval(payload json.RawMessage) error {
	var said struct {
		Approved json.RawMessage `json:"approved"`
	}
	if json.Unmarshal(payload, &said) != nil { // no object: the tool knows what it means
		return nil
	}
	if said.Approved == nil || string(said.Approved) == "true" {
		return nil
	}
	return core.Errorf(core.CodeInvalid, "payload.approved is %s, want true or false", core.Excerpt(string(said.Approved)))
}

// CheckJSON checks a value that no model made, such as the payload of a decision, against a
// JSON Schema; errors call the value by name. A value that does not match is an error with
// code invalid that names the place, a schema that cannot be used one with code internal. A
// check that would take too long is [schema.ErrTooComplex].
func CheckJSON(name string, text, value json.RawMessage) error {
	form, err := schema.Read(text)
	if err != nil {
		return core.Errorf(core.CodeInternal, "schema of %s: %w", name, err)
	}
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return core.Errorf(core.CodeInvalid, "%s is not JSON: %w", name, err)
	}
	return form.Check(name, v)
}
