package run

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// scripted is a committer whose heads a test makes up.
type scripted struct {
	asked []thread.Change
	built []store.Record                       // for the newest change
	head  thread.Head                          // that is read
	apply func(n int, head *thread.Head) error // of the nth change; nil: all succeed
}

// Commit implements Committer.
func (c *scripted) Commit(_ context.Context, _ core.ThreadKey, head thread.Head, change thread.Change,
	build func(thread.Head, thread.Result) ([]store.Record, error)) (thread.Head, thread.Result, error) {
	c.asked = append(c.asked, change)
	if c.apply != nil {
		if err := c.apply(len(c.asked), &head); err != nil {
			return head, thread.Result{}, err
		}
	}
	head.Version++
	if build != nil {
		var err error
		if c.built, err = build(head, thread.Result{}); err != nil {
			return head, thread.Result{}, err
		}
	}
	return head, thread.Result{}, nil
}

// Head implements Committer.
func (c *scripted) Head(context.Context, core.ThreadKey) (thread.Head, error) {
	return c.head, nil
}

// said is a log, a line each, without times and the names of threads.
type said struct{ lines []string }

// Write implements io.Writer.
func (s *said) Write(line []byte) (int, error) {
	s.lines = append(s.lines, strings.TrimSpace(string(line)))
	return len(line), nil
}

// newScripted makes a step of a run under fence 7 whose head is at version 20.
func newScripted(t *testing.T, c *scripted, log *said) *machine {
	t.Helper()
	e := env.System()
	e.Random = func(b []byte) { clear(b) } // no jitter
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch a.Key {
		case slog.TimeKey, "tenant", "thread", "run":
			return slog.Attr{}
		}
		return a
	}}))
	s, err := New(Options{Env: e, Store: refusing{}, Committer: c, Agents: nobody{}, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	head := thread.Head{Version: 20, Seq: 3, Fence: 7}
	head.Claim.Fence, head.Run.ID, head.Run.Status = 7, core.ID{1}, thread.Running
	return s.newMachine(Work{Key: core.ThreadKey{Tenant: "t", Thread: "t1"}, Head: head}, nil)
}
