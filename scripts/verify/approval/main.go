package main

import (
	"context"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/scripts/verify/lives"
)

// patience bounds the whole show.
const patience = 2 * time.Minute

func main() { lives.Show("approval", patience, show) }

// show is what the command is for.
func show(ctx context.Context, h *lives.Host) error {
	shipped, dropped := &chat{host: h, id: "shipped", text: "ship it"}, &chat{host: h, id: "dropped", text: "drop it"}
	for _, c := range []*chat{shipped, dropped} {
		lives.Say("%s: a user sends %q", c.id, "approve: "+c.text)
		if err := c.ask(ctx); err != nil {
			return err
		}
		lives.Say("%s: the run waits, the stream has ended: tool %s wants approval %s", c.id, c.call.name, c.call.approval)
	}

	if err := h.Restart(ctx); err != nil {
		return err
	}
	for _, c := range []*chat{shipped, dropped} {
		if err := c.stillWaits(ctx); err != nil {
			return err
		}
		lives.Say("%s: a page that is opened now shows that the call waits", c.id)
	}

	if err := shipped.decide(ctx, true, want{state: "output-available", executions: 1, text: "Done: " + shipped.text}); err != nil {
		return err
	}
	lives.Say("shipped: approved; the same message continued, danger ran once (executions 1)")
	if err := dropped.decide(ctx, false, want{state: "output-denied", text: "The call of danger was denied."}); err != nil {
		return err
	}
	lives.Say("dropped: approved:false; danger did not run")
	return again(ctx, shipped, dropped)
}

// again sends both decisions again and shows that nothing ran for it.
func again(ctx context.Context, shipped, dropped *chat) error {
	for _, c := range []*chat{shipped, dropped} {
		before, err := c.stored(ctx)
		if err != nil {
			return err
		}
		if err := c.decide(ctx, c.last.approved, c.last.want); err != nil {
			return fmt.Errorf("the same decision again: %w", err)
		}
		after, err := c.stored(ctx)
		if err != nil {
			return err
		}
		if before != after {
			return fmt.Errorf("%s: the same decision again changed the thread from\n%s\nto\n%s", c.id, before, after)
		}
		lives.Say("%s: the same decision again got the same response and changed nothing", c.id)
	}
	// The tool counts its executions by text: what these two read is one more than
	// what ran before them.
	for _, probe := range []struct {
		like *chat
		ran  int
	}{{shipped, 1}, {dropped, 0}} {
		c := &chat{host: probe.like.host, id: probe.like.id + "-probe", text: probe.like.text}
		if err := c.ask(ctx); err != nil {
			return err
		}
		if err := c.decide(ctx, true, want{state: "output-available", executions: probe.ran + 1, text: "Done: " + c.text}); err != nil {
			return err
		}
		lives.Say("%s: danger had run with %q before: %d", c.id, c.text, probe.ran)
	}
	return nil
}
