package runtime

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// TakeUp goes on with a run that ended with an error, as a run of its own in the
// background; see mailbox.Service.TakeUp.
func (r *Runtime) TakeUp(ctx context.Context, id core.Identity, runID core.ID) (mailbox.Receipt, error) {
	key, _, _, err := r.locate(ctx, id, runID)
	if err != nil {
		return mailbox.Receipt{}, err
	}
	receipt, err := r.mailbox.TakeUp(ctx, key, id.User, runID)
	return receipt, hidden(err, "run", runID.String())
}

// Fork makes the thread to of another, up to the message at; see mailbox.Service.Fork.
func (r *Runtime) Fork(ctx context.Context, id core.Identity, threadID, at, to string) (mailbox.Forked, error) {
	key, _, err := r.visible(ctx, id, threadID)
	if err != nil {
		return mailbox.Forked{}, err
	}
	made, err := r.mailbox.Fork(ctx, mailbox.Forking{Thread: key, User: id.User, At: at, To: to})
	return made, hidden(err, "thread", to)
}
