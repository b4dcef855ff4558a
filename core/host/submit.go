package host

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/mailbox"
)

// Submit enqueues a run in the background. When it returns, the submission is
// durable; its errors are mailbox.Service.Submit's, and core.CodeNotFound for an
// agent that is not registered.
func (r *Host) Submit(ctx context.Context, s mailbox.Submission) (mailbox.Receipt, error) {
	return r.submits.submit(ctx, s)
}

// submitter checks submissions against the registered agents and enqueues them. The checks
// come before the write: a submission for an agent that this program lacks would otherwise
// be accepted and fail in a worker.
type submitter struct {
	agents  *registry.Registry
	mailbox *mailbox.Service
}

// submit is [Host.Submit].
func (t *submitter) submit(ctx context.Context, s mailbox.Submission) (mailbox.Receipt, error) {
	if err := t.known(s); err != nil {
		return mailbox.Receipt{}, err
	}
	return t.mailbox.Submit(ctx, s)
}

// known refuses a submission for an agent that is not registered, or with tools of the
// frontend that the agent does not allow.
func (t *submitter) known(s mailbox.Submission) error {
	if s.Opening.AgentID == "" {
		return nil // Submission.Check has the better error
	}
	resolved, err := t.agents.Resolve(s.Opening.AgentID)
	if err != nil || s.Opening.Frontend == nil {
		return err
	}
	return resolved.CheckFrontend(s.Opening.Frontend)
}

// SubmitTo submits input for a run. It fills in the Submission's Thread, User and Into, and
// an empty AgentID and Mode: the run's agent, and mailbox.ModeSteer. An open run reads the
// input at its next step, even if it waits. For any other run the input opens a new run,
// after those that are queued, so that it is never lost. The receipt names the run that
// reads it.
func (r *Host) SubmitTo(ctx context.Context, id core.Identity, runID core.ID, s mailbox.Submission) (mailbox.Receipt, error) {
	key, _, record, err := r.reads.runRecord(ctx, id, runID)
	if err != nil {
		return mailbox.Receipt{}, err
	}
	s.Thread, s.User, s.Into = key, id.User, runID
	if s.Opening.AgentID == "" {
		s.Opening.AgentID = record.AgentID
	}
	// Input for later cannot be steered: it is queued.
	if s.Mode == "" {
		s.Mode = mailbox.ModeSteer
		if s.Opening.AvailableAt != 0 || s.Opening.Delay != 0 {
			s.Mode = mailbox.ModeQueue
		}
	}
	return r.Submit(ctx, s)
}
