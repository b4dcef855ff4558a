package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/doctor"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// command is the terminal and the environment.
type command struct {
	environ       []string
	in            io.Reader
	out, failures io.Writer
}

// arguments are those of the command line.
type arguments struct {
	place        place
	all, json    bool
	yes          bool
	action       *action // nil: examine
	key          core.ThreadKey
	late, window time.Duration
	limits       account.Tenants
}

// run executes the command; ok is false if there is a problem or an error.
func (c command) run(ctx context.Context, args []string) (ok bool) {
	a, err := c.read(args)
	if err == nil {
		ok, err = c.open(ctx, a)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(c.failures, "doctor:", err)
	}
	return ok && err == nil
}

// read reads the command line.
func (c command) read(args []string) (a arguments, err error) {
	s, err := settings.Read(c.environ)
	if err != nil {
		return a, err
	}
	flags := flag.NewFlagSet("doctor", flag.ContinueOnError)
	flags.SetOutput(c.failures)
	flags.Usage = func() {
		fmt.Fprintln(c.failures, "usage: doctor [-data FILE | -stack NAME | -env NAME] [-all] [-json] [FLAGS]")
		fmt.Fprintln(c.failures, "       doctor [FLAGS] quarantine THREAD | release THREAD | delete THREAD | replay-events")
		flags.PrintDefaults()
	}
	flags.StringVar(&a.place.file, "data", "", "data `file` of a stopped local host (REVEILLE_DATA)")
	flags.StringVar(&a.place.stack, "stack", "", "`name` of a deployed stack, whose outputs name tables and queues")
	flags.StringVar(&a.place.environment, "env", "", "`name` of the environment in samconfig.toml that names the stack")
	flags.StringVar(&a.place.parked, "parked", "", "`URL` of the queue of parked events, without -stack")
	flags.StringVar(&a.place.trigger, "trigger", "", "`ARN` of the function Trigger, without -stack")
	tenant := flags.String("tenant", cmp.Or(s.Identity.Tenant, "public"), "`tenant` of THREAD (REVEILLE_TENANT; of a file: local)")
	flags.BoolVar(&a.yes, "yes", false, "do not ask")
	flags.StringVar(&a.place.region, "region", "", "`region` of the stack (default: that of the SAM CLI)")
	flags.StringVar(&a.place.profile, "profile", "", "AWS `profile` of the stack (default: AWS_PROFILE)")
	flags.BoolVar(&a.all, "all", false, "examine all threads, and read their logs")
	flags.BoolVar(&a.json, "json", false, "print one JSON object")
	flags.DurationVar(&a.late, "late", 0, "`time` by which a thread may be late (default 5m)")
	flags.DurationVar(&a.window, "window", 0, "`time` before now for which ended runs are examined (default 24h)")
	if err := flags.Parse(args); err != nil {
		return a, err
	}
	if a.late < 0 || a.window < 0 {
		return a, errors.New("-late and -window must not be negative")
	}
	if a.limits, err = readLimits(s.Limits); err != nil {
		return a, err
	}
	if err := a.place.from(s); err != nil {
		return a, err
	}
	if a.place.file != "" && *tenant == "public" {
		*tenant = "local"
	}
	a.action, a.key, err = actionOf(flags.Args(), *tenant)
	return a, err
}

// readLimits reads REVEILLE_LIMITS: JSON, or the name of a file with it; empty: no limits.
func readLimits(value string) (limits account.Tenants, err error) {
	if value == "" {
		return limits, nil
	}
	text := []byte(value)
	if value[0] != '{' {
		if text, err = os.ReadFile(value); err != nil {
			return limits, fmt.Errorf("REVEILLE_LIMITS: %w", err)
		}
	}
	if err := limits.Decode(text); err != nil {
		return limits, fmt.Errorf("REVEILLE_LIMITS: %w", err)
	}
	return limits, nil
}

// report is the output with -json.
type report struct {
	Place    string        `json:"place"`
	Problems int           `json:"problems"`
	Checks   []doctor.Line `json:"checks"`
}

// open opens the place, and examines or changes it.
func (c command) open(ctx context.Context, a arguments) (ok bool, err error) {
	t, err := a.place.open(ctx, c.failures)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	if a.action == nil {
		return c.examine(ctx, a, t)
	}
	err = c.act(ctx, a, t)
	return err == nil, err
}

// examine prints the results; ok is false if one of them is a problem.
func (c command) examine(ctx context.Context, a arguments, t *target) (ok bool, err error) {
	lines, err := doctor.Examine(ctx, doctor.Options{
		Env: env.System(), Store: t.store, Threads: t.threads, All: a.all, Stopped: t.stopped,
		Late: a.late, Window: a.window, Limits: a.limits,
	})
	if err != nil {
		return false, err
	}
	lines = append(lines, t.queueLines(ctx)...)
	if t.endpoint != "" {
		lines = append(lines, clockLine(ctx, t.endpoint, time.Now))
	}
	r := report{Place: t.name, Checks: lines}
	for _, l := range lines {
		if l.Status == doctor.Problem {
			r.Problems++
		}
	}
	if a.json {
		encoder := json.NewEncoder(c.out)
		encoder.SetEscapeHTML(false)
		return r.Problems == 0, encoder.Encode(r)
	}
	fmt.Fprintln(c.out, r.Place)
	for _, l := range lines {
		fmt.Fprintln(c.out, l)
	}
	fmt.Fprintf(c.out, "%d checks, %d problems\n", len(lines), r.Problems)
	return r.Problems == 0, nil
}
