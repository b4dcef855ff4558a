package httpapi_test

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

func (f *fake) TakeUp(_ context.Context, _ core.Identity, run core.ID) (mailbox.Receipt, error) {
	return mailbox.Receipt{}, core.Errorf(core.CodeNotFound, "run %s not found", run)
}

func (f *fake) Fork(_ context.Context, _ core.Identity, thread, _, _ string) (mailbox.Forked, error) {
	return mailbox.Forked{}, core.Errorf(core.CodeNotFound, "thread %s not found", thread)
}
