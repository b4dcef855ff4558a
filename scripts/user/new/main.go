package main

import (
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

// run creates the project of the arguments. built is the version of this program, or
// empty.
func run(args []string, built string, out, usage io.Writer) error {
	p, err := parse(args, usage)
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
	if err := p.create(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "Created %s in %s. Change to that folder and run make run. make lists all targets.\n", p.module, p.folder)
	return err
}

// parse reads the command line.
func parse(args []string, usage io.Writer) (*project, error) {
	p := &project{}
	flags := flag.NewFlagSet("new", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.Usage = func() {
		fmt.Fprintln(usage, "usage: new [-starter agent|chat|yaml] [-replace PATH] DIR MODULE")
		flags.PrintDefaults()
	}
	flags.StringVar(&p.replace, "replace", "", "`path` of a copy of "+reveille+" that the project uses instead of a version")
	flags.StringVar(&p.starter, "starter", "agent", "`name` of the starter: agent; chat, which adds a page; or yaml, whose agents are files")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if _, ok := starters[p.starter]; !ok {
		return nil, fmt.Errorf("unknown starter %q, want agent, chat or yaml", p.starter)
	}
	if flags.NArg() != 2 {
		flags.Usage()
		given := slices.Concat([]string{"new"}, args)
		return nil, fmt.Errorf("%s: want a folder and a module path, got %d arguments", strings.Join(given, " "), flags.NArg())
	}
	p.folder, p.module = flags.Arg(0), flags.Arg(1)
	return p, nil
}
