package runtime

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// Submit enqueues a run in the background. When it returns, the submission is
// durable; its errors are mailbox.Service.Submit's, and core.CodeNotFound for an
// agent that is not registered.
func (r *Runtime) Submit(ctx context.Context, s mailbox.Submission) (mailbox.Receipt, error) {
	if err := r.known(s); err != nil {
		return mailbox.Receipt{}, err
	}
	return r.mailbox.Submit(ctx, s)
}

func (r *Runtime) known(s mailbox.Submission) error {
	if s.Opening.AgentID == "" {
		return nil // Submission.Check says so better
	}
	resolved, err := r.agents.Resolve(s.Opening.AgentID)
	if err != nil || s.Opening.Frontend == nil {
		return err
	}
	return resolved.CheckFrontend(s.Opening.Frontend)
}

// SubmitTo submits input for a run: Submission's Thread, User and Into are filled in,
// and AgentID and Mode where they are empty: the run's agent, and mailbox.ModeSteer. An
// open run reads it at its next step, also one that waits; of any other run it becomes
// a run of its own behind what is queued, so that nothing that was said is lost. The
// receipt says which run reads it.
func (r *Runtime) SubmitTo(ctx context.Context, id core.Identity, runID core.ID, s mailbox.Submission) (mailbox.Receipt, error) {
	key, dispatch, head, err := r.locate(ctx, id, runID)
	if err != nil {
		return mailbox.Receipt{}, err
	}
	record, ok, err := r.mailbox.Run(ctx, key, head, runID, dispatch)
	if err == nil && !ok {
		err = core.Errorf(core.CodeNotFound, "run %s not found", runID)
	}
	if err != nil {
		return mailbox.Receipt{}, err
	}
	s.Thread, s.User, s.Into = key, id.User, runID
	if s.Opening.AgentID == "" {
		s.Opening.AgentID = record.AgentID
	}
	if s.Mode == "" {
		s.Mode = mailbox.ModeSteer
		if s.Opening.AvailableAt != 0 || s.Opening.Delay != 0 {
			s.Mode = mailbox.ModeQueue
		}
	}
	return r.Submit(ctx, s)
}
