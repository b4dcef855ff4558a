package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
)

// action is a command that changes something.
type action struct {
	name   string
	thread bool   // it takes a THREAD
	warns  string // what it does, before it asks
	done   string
}

var actions = []action{
	{"quarantine", true, "This takes %s out of the index of due threads, so that no worker is woken for it. Its data stays", "%s is quarantined"},
	{"release", true, "This puts %s into the index of due threads again", "%s is released, and a worker continues it"},
	{"delete", true, "This deletes %s permanently, with its messages", "%s is deleted; workers erase its records"},
	{"replay-events", false, "This sends the parked events to Trigger again. An event that has started a run starts no second one", ""},
}

// actionOf reads the arguments after the flags; nil: there are none, which examines.
func actionOf(args []string, tenant string) (*action, core.ThreadKey, error) {
	var none core.ThreadKey
	if len(args) == 0 {
		return nil, none, nil
	}
	for i := range actions {
		a := &actions[i]
		switch {
		case a.name != args[0]:
		case a.thread && len(args) == 2:
			key := core.ThreadKey{Tenant: tenant, Thread: args[1]}
			if t, thread, ok := strings.Cut(args[1], "/"); ok { // as the lines print it
				key = core.ThreadKey{Tenant: t, Thread: thread}
			}
			return a, key, key.Check()
		case a.thread:
			return nil, none, fmt.Errorf("%s takes one THREAD, such as t1 or acme/t1", a.name)
		case len(args) > 1:
			return nil, none, fmt.Errorf("%s takes no argument", a.name)
		default:
			return a, none, nil
		}
	}
	return nil, none, fmt.Errorf("unknown command %q, want quarantine, release, delete or replay-events", args[0])
}

// act asks and does; a second time it changes nothing.
func (c command) act(ctx context.Context, a arguments, t *target) error {
	if a.action.thread {
		fmt.Fprintf(c.out, a.action.warns+" (%s).\n", a.key, t.name)
	} else {
		fmt.Fprintf(c.out, "%s.\n", a.action.warns)
	}
	if !a.yes {
		fmt.Fprint(c.out, "Type yes to continue: ")
		typed, _ := bufio.NewReader(c.in).ReadString('\n') // an answer without a line end is accepted
		if strings.TrimSpace(typed) != "yes" {
			return errors.New("nothing was changed")
		}
	}
	if !a.action.thread {
		return c.replayEvents(ctx, t)
	}
	box, err := mailbox.New(mailbox.Options{Env: env.System(), Store: t.store, Waker: t.waker(), Logger: slog.New(slog.NewTextHandler(c.failures, nil))})
	if err != nil {
		return err
	}
	do := map[string]func(context.Context, core.ThreadKey) error{"quarantine": box.Quarantine, "release": box.Release, "delete": box.DeleteDamaged}[a.action.name]
	if err := do(ctx, a.key); err != nil {
		return err
	}
	fmt.Fprintf(c.out, a.action.done+"\n", a.key)
	return nil
}

// waker returns the queue of wake-ups. Without one, the sweep or the start of the host finds
// the thread.
func (t *target) waker() mailbox.Waker {
	for _, q := range t.queues {
		if q.check == queueCheck {
			return q.queue
		}
	}
	return noQueue{}
}

type noQueue struct{}

func (noQueue) Wake(context.Context, core.WakeUp, time.Duration) error { return nil }
