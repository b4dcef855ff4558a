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
	case "", core.TicketPerson, core.TicketClient, core.TicketChild, core.TicketTimer:
	default:
		return core.Errorf(core.CodeInvalid, "ticket kind %q does not exist", core.Excerpt(string(s.Kind)))
	}
	if err := checkWake(s); err != nil {
		return err
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

// checkWake checks the members about a time to wake, but for how far ahead it is.
func checkWake(s core.TicketRequest) error {
	timer := s.Kind == core.TicketTimer
	switch {
	case s.WakeAt.IsZero() && timer:
		return core.Errorf(core.CodeInvalid, "a suspension of kind timer needs a WakeAt")
	case s.Keep && !timer:
		return core.Errorf(core.CodeInvalid, "the suspension has Keep, which only the kind timer may have")
	case s.WakeAt.IsZero():
		return nil
	case !timer && s.Kind != "" && s.Kind != core.TicketPerson:
		return core.Errorf(core.CodeInvalid, "a suspension of kind %s has a WakeAt, which only the kinds timer and person may have", s.Kind)
	case s.Timeout != 0:
		return core.Errorf(core.CodeInvalid, "the suspension has a WakeAt and a Timeout, want one of them")
	case s.Mode == core.ResumeAsArguments:
		return core.Errorf(core.CodeInvalid, "the suspension has a WakeAt with resume mode %s: the clock has no arguments", s.Mode)
	}
	return nil
}
