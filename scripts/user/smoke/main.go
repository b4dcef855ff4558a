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

// run executes all checks against the deployment that the arguments name.
func run(ctx context.Context, args []string, getenv func(string) string, out, usage io.Writer) error {
	var s smoke
	flags := flag.NewFlagSet("smoke", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.Usage = func() {
		fmt.Fprintln(usage, "usage: smoke -url ADDRESS [FLAGS]")
		flags.PrintDefaults()
	}
	flags.StringVar(&s.url, "url", "", "`address` of the deployment, such as its output StreamUrl (required)")
	flags.StringVar(&s.agent, "agent", "", "`id` of the agent (default: the default agent)")
	flags.StringVar(&s.chat, "chat", "hello", "`message` to which the agent responds with text")
	flags.StringVar(&s.tool, "tool", "echo: smoke", "`message` that makes the agent call a tool")
	flags.StringVar(&s.approval, "approval", "approve: smoke", "`message` that makes the agent call a tool that needs approval")
	flags.StringVar(&s.long, "long", "slow: 30", "`message` whose response takes some seconds")
	flags.StringVar(&s.trigger.url, "trigger", "", "`address` of a trigger: the output ApiUrl, or the address of a local host, with /v1/triggers/NAME")
	flags.StringVar(&s.trigger.event, "event", "", "JSON `file` with the event for the trigger")
	flags.Func("scheme", "`scheme` of the signature with SMOKE_TRIGGER_SECRET: github, standard, slack or hmac", func(v string) error {
		s.trigger.scheme = v
		return nil
	})
	flags.Func("hmac", "`object` webhook.hmac of the trigger, for -scheme hmac", func(v string) (err error) {
		s.trigger.hmac, err = readForm(v)
		return err
	})
	flags.Func("header", "additional header `NAME: VALUE` of that request, such as X-GitHub-Event: issues; repeatable", s.trigger.addHeader)
	limit := flags.Duration("timeout", 2*time.Minute, "time limit of each check")
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
