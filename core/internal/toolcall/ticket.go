package toolcall

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/schema"
)

// CheckTicketRequest returns an error with code [core.CodeInvalid] about an invalid
// suspension, or [ErrResultTooLarge] when its texts are larger than a result may be. A
// request that cannot be stored, or whose response schema is invalid so that no payload
// could satisfy it, is found here, before an approver sees it.
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
