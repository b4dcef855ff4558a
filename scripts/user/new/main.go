package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
)

func main() {
	err := run(os.Args[1:], version(), os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "new:", err)
		os.Exit(1)
	}
}

// version is the version of this module from which the command was built. It is empty if the
// command was built from a copy of the sources.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Sum == "" { // only a fetched module has a checksum
		return ""
	}
	return info.Main.Version
}

// starter describes the files of a project.
type starter struct {
	folders  []string // in the folder starters
	deployed bool     // the project has functions for AWS
}

// starters are the starters by name.
var starters = map[string]starter{
	"agent": {[]string{"project", "agent"}, true},
	"chat":  {[]string{"project", "agent", "chat"}, true},
	"yaml":  {[]string{"project", "yaml"}, false},
}

// run creates or updates the project of the arguments. built is the version of this program, or
// empty.
func run(args []string, built string, out, usage io.Writer) error {
	p, updating, err := parse(args, usage)
	if err != nil {
		return err
	}
	if p.replace == "" && built == "" {
		return fmt.Errorf("this build of the command has no version that a project could require: add -replace PATH, the path of a copy of %s, or use go run %s/scripts/user/new@latest", reveille, reveille)
	}
	p.version = built
	if p.replace != "" {
		p.version = "v0.0.0" // the version that the replacement replaces
	}
	if updating != nil {
		return p.update(*updating, out)
	}
	if err := p.create(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "Created %s in %s. Change to that folder and run make run. make lists all targets.\n", p.module, p.folder)
	return err
}

// parse reads the command line. The options are those of an update; nil: a project is
// created.
func parse(args []string, usage io.Writer) (*project, *options, error) {
	p, o, update := &project{templates: files}, options{}, false
	flags := flag.NewFlagSet("new", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.Usage = func() {
		fmt.Fprintln(usage, "usage: new [-starter agent|chat|yaml] [-replace PATH] DIR MODULE")
		fmt.Fprintln(usage, "       new -update [-n] [-force] [-conflicts] [-replace PATH] [DIR]")
		flags.PrintDefaults()
	}
	flags.StringVar(&p.replace, "replace", "", "`path` of a copy of "+reveille+" that the project uses instead of a version")
	flags.StringVar(&p.starter, "starter", "", "`name` of the starter: agent; chat, which adds a page; or yaml, whose agents are files (default agent)")
	flags.BoolVar(&update, "update", false, "merge the files of this version into the project in DIR (default: the current folder)")
	flags.BoolVar(&o.dry, "n", false, "with -update: print what would change, and write nothing")
	flags.BoolVar(&o.force, "force", false, "with -update: accept changes that are not committed")
	flags.BoolVar(&o.conflicts, "conflicts", false, "with -update: write conflicts into the files, with markers, instead of FILE.new")
	if err := flags.Parse(args); err != nil {
		return nil, nil, err
	}
	given := strings.Join(slices.Concat([]string{"new"}, args), " ")
	if update {
		if p.folder = "."; flags.NArg() == 1 {
			p.folder = flags.Arg(0)
		}
		if flags.NArg() > 1 || p.starter != "" {
			flags.Usage()
			return nil, nil, fmt.Errorf("%s: -update wants at most a folder, and keeps the starter of the project", given)
		}
		return p, &o, nil
	}
	if p.starter = cmp.Or(p.starter, "agent"); starters[p.starter].folders == nil {
		return nil, nil, fmt.Errorf("unknown starter %q, want agent, chat or yaml", p.starter)
	}
	if o != (options{}) {
		return nil, nil, fmt.Errorf("%s: -n, -force and -conflicts need -update", given)
	}
	if flags.NArg() != 2 {
		flags.Usage()
		return nil, nil, fmt.Errorf("%s: want a folder and a module path, got %d arguments", given, flags.NArg())
	}
	p.folder, p.module = flags.Arg(0), flags.Arg(1)
	return p, nil, nil
}
