package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/sim"
	"github.com/reveille-run/reveille/functions/kit/agentfiles"
	"github.com/reveille-run/reveille/functions/kit/settings"
	"github.com/reveille-run/reveille/functions/kit/wiring"
)

// localTenant is the tenant of the local host, unless REVEILLE_TENANT names another.
const localTenant = "local"

// asked has the arguments of the command line.
type asked struct {
	data, tenant, thread string
	run                  core.ID // zero: all runs of the thread
	all                  bool
}

// run executes the command; ok is false if a run differs or an error occurs.
func run(ctx context.Context, code wiring.Deployment, args, environ []string, out, failures io.Writer) (ok bool) {
	s, err := settings.Read(environ)
	var a asked
	if err == nil {
		a, err = read(args, s, failures)
	}
	var reports []sim.Repeated
	unread := 0
	if err == nil {
		reports, unread, err = replayed(ctx, code, a, s, failures)
	}
	differ, skipped := 0, 0
	for _, r := range reports {
		fmt.Fprintln(out, r.Text)
		if r.Skipped {
			skipped++
		}
		if r.Differs {
			differ++
		}
	}
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(failures, "replay:", err)
		}
		return false
	}
	fmt.Fprintf(out, "%d runs, %d differ, %d not replayed\n", len(reports), differ, skipped)
	if unread > 0 {
		fmt.Fprintf(out, "%d threads cannot be replayed\n", unread)
	}
	return differ == 0 && unread == 0
}

// read reads the command line.
func read(args []string, s settings.Settings, usage io.Writer) (asked, error) {
	a := asked{}
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.Usage = func() {
		fmt.Fprintln(usage, "usage: replay [-data FILE] [-tenant TENANT] THREAD [RUN] | -all")
		flags.PrintDefaults()
	}
	tenant := localTenant
	if s.Identity.Tenant != "" {
		tenant = s.Identity.Tenant
	}
	flags.StringVar(&a.data, "data", s.Data, "data `file` of the local host (REVEILLE_DATA)")
	flags.StringVar(&a.tenant, "tenant", tenant, "`tenant` of the thread (REVEILLE_TENANT)")
	flags.BoolVar(&a.all, "all", false, "replay every thread of the tenant")
	if err := flags.Parse(args); err != nil {
		return a, err
	}
	switch rest := flags.Args(); {
	case a.all && len(rest) == 0:
		return a, nil
	case a.all || len(rest) == 0 || len(rest) > 2:
		flags.Usage()
		return a, errors.New("want a THREAD, or -all and no thread")
	case len(rest) == 2:
		var err error
		if a.run, err = core.ParseID(rest[1]); err != nil {
			return a, fmt.Errorf("run %q: %w", rest[1], err)
		}
		fallthrough
	default:
		a.thread = rest[0]
	}
	return a, nil
}

// replayed replays the requested runs. With -all, it counts a thread that cannot be read,
// prints its error to failures, and continues with the others.
func replayed(ctx context.Context, code wiring.Deployment, a asked, s settings.Settings, failures io.Writer) (reports []sim.Repeated, unread int, err error) {
	files, err := agentfiles.Read(s.Agents)
	if err != nil {
		return nil, 0, err
	}
	parts, err := code.With(files.Add).Agents(env.System(), s)
	if err != nil {
		return nil, 0, err
	}
	repeat, err := sim.Replay{}.With(parts)
	if err != nil {
		return nil, 0, files.Locate(err)
	}
	if _, err := os.Stat(a.data); err != nil { // bolt would create the file
		return nil, 0, err
	}
	file, err := bolt.Open(a.data, bolt.Options{})
	if errors.Is(err, bolt.ErrLocked) {
		return nil, 0, fmt.Errorf("%s: %w: stop the local host first", a.data, err)
	}
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	keys := []core.ThreadKey{{Tenant: a.tenant, Thread: a.thread}}
	if a.all {
		if keys, err = file.Threads(ctx, a.tenant); err != nil {
			return nil, 0, err
		}
	}
	for _, key := range keys {
		var of []sim.Repeated
		err := env.Protect(func() (err error) { // a panic in one thread does not stop the others
			of, err = repeat.Thread(ctx, file, key, a.run)
			return err
		})
		reports = append(reports, of...)
		switch {
		case err == nil, core.CodeOf(err) == core.CodeNotFound && a.all: // deleted
		case !a.all || ctx.Err() != nil:
			return reports, unread, err
		default:
			unread++
			fmt.Fprintln(failures, "replay:", err)
		}
	}
	return reports, unread, nil
}
