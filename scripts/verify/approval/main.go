package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"
)

// patience bounds the whole show.
const patience = 2 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "approval:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	folder, err := os.MkdirTemp("", "reveille-approval")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }() // a temporary folder
	h := &host{binary: filepath.Join(folder, "dev"), data: filepath.Join(folder, "data.db")}
	build := exec.CommandContext(ctx, "go", "build", "-o", h.binary, "./scripts/user/demo")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the host: %w\n%s", err, out)
	}
	defer h.kill()
	if err := h.start(ctx); err != nil {
		return err
	}
	return show(ctx, h)
}

// show is what the command is for.
func show(ctx context.Context, h *host) error {
	shipped, dropped := &chat{host: h, id: "shipped", text: "ship it"}, &chat{host: h, id: "dropped", text: "drop it"}
	for _, c := range []*chat{shipped, dropped} {
		say("%s: a user sends %q", c.id, "approve: "+c.text)
		if err := c.ask(ctx); err != nil {
			return err
		}
		say("%s: the run waits, the stream has ended: tool %s wants approval %s", c.id, c.call.name, c.call.approval)
	}

	h.kill()
	say("the host was killed (SIGKILL)")
	if err := h.start(ctx); err != nil {
		return err
	}
	say("the host was started again on the same file")
	for _, c := range []*chat{shipped, dropped} {
		if err := c.stillWaits(ctx); err != nil {
			return err
		}
		say("%s: a page that is opened now shows that the call waits", c.id)
	}

	if err := shipped.decide(ctx, true, want{state: "output-available", executions: 1, text: "Done: " + shipped.text}); err != nil {
		return err
	}
	say("shipped: approved; the same message continued, danger ran once (executions 1)")
	if err := dropped.decide(ctx, false, want{state: "output-denied", text: "The call of danger was denied."}); err != nil {
		return err
	}
	say("dropped: approved:false; danger did not run")
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
		say("%s: the same decision again got the same response and changed nothing", c.id)
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
		say("%s: danger had run with %q before: %d", c.id, c.text, probe.ran)
	}
	return nil
}

func say(format string, a ...any) { fmt.Printf(format+"\n", a...) }
