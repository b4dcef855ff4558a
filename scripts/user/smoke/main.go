package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/reveille-run/reveille/core"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "smoke:", err)
		os.Exit(1)
	}
}

// run does every check of the deployment that the arguments name.
func run(ctx context.Context, args []string, getenv func(string) string, out, usage io.Writer) error {
	var s smoke
	flags := flag.NewFlagSet("smoke", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.StringVar(&s.url, "url", "", "`address` of the deployment, such as its output StreamUrl")
	flags.StringVar(&s.agent, "agent", "", "the agent; empty is the default one")
	flags.StringVar(&s.chat, "chat", "hello", "a `message` that the agent answers")
	flags.StringVar(&s.tool, "tool", "echo: smoke", "a `message` on which it calls a tool")
	flags.StringVar(&s.approval, "approval", "approve: smoke", "a `message` on which it calls a tool that a person must approve")
	flags.StringVar(&s.long, "long", "slow: 30", "a `message` whose answer takes some seconds")
	flags.StringVar(&s.trigger.url, "trigger", "", "`address` of a trigger: the output ApiUrl, or that of a local host, and /v1/triggers/NAME")
	flags.StringVar(&s.trigger.event, "event", "", "`file` of the JSON that is sent there")
	flags.Func("scheme", "how the request is signed, with SMOKE_TRIGGER_SECRET: `github`, standard or slack", func(v string) error {
		s.trigger.scheme = v
		return nil
	})
	flags.Func("header", "a further `NAME: VALUE` of that request, such as X-GitHub-Event: issues; repeatable", s.trigger.addHeader)
	limit := flags.Duration("timeout", 2*time.Minute, "of each check")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if !strings.HasPrefix(s.url, "http://") && !strings.HasPrefix(s.url, "https://") {
		return fmt.Errorf("-url is %q, want the address of a deployment, with http:// or https://", s.url)
	}
	s.url = strings.TrimRight(s.url, "/")
	s.trigger.secret = getenv("SMOKE_TRIGGER_SECRET")
	if err := s.trigger.check(); err != nil {
		return err
	}
	identify, err := identity(s.url, getenv)
	if err != nil {
		return err
	}
	s.client = client{url: s.url, http: &http.Client{}, identify: identify, used: map[core.ID]core.Usage{}}
	s.prefix = fmt.Sprintf("smoke-%d-", time.Now().UnixMilli())
	return s.each(ctx, *limit, out)
}
