package toolcall

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/schema"
)

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
	if len(s.Action)+len(s.Message)+len(s.Parameters)+len(s.Response) > MaxResult {
		return ErrResultTooLarge
	}
	if s.Parameters != nil && !ValidJSON(s.Parameters) {
		return core.Errorf(core.CodeInvalid, "the suspension's parameters are not JSON")
	}
	if s.Response == nil {
		return nil
	}
	if _, err := schema.Read(s.Response); err != nil {
		return core.Errorf(core.CodeOf(err), "the suspension's response schema: %w", err)
	}
	return nil
}
