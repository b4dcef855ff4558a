package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/scripts/user/stack/restore"
	"golang.org/x/term"
)

func main() {
	s := &stack{
		restoring: func(r *restore.Restore) restorer { return r },
		code:      store.Schemas{}.Stored(), terminal: term.IsTerminal(int(os.Stdin.Fd())),
		in: os.Stdin, out: os.Stdout, log: os.Stderr,
	}
	s.purges = s.purgeBucket
	err := s.run(os.Args[1:])
	var exit *exec.ExitError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.As(err, &exit): // the CLI has printed the reason
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "stack:", err)
		os.Exit(1)
	}
}

// stack is a deployed stack, and the terminal.
type stack struct {
	name     string        // that of the environment, or -stack
	env      environment   // that -env or -stack selects
	all      environments  // of samconfig.toml
	data     bool          // destroy deletes tables and bucket, too
	yes      bool          // deploy does not ask
	code     store.Schemas // of the code to deploy
	terminal bool          // in can answer questions
	in       io.Reader     // commands read it, too
	answers  *bufio.Reader // of in; nil: nothing was asked yet
	out, log io.Writer

	restoring func(r *restore.Restore) restorer // replaced in tests
	purges    func(bucket string) error         // replaced in tests
}

// task is one of the commands.
type task struct {
	arguments string                        // for the usage
	fits      func(arguments []string) bool // whether it takes these
	run       func(s *stack, arguments []string) error
}

// tasks are the commands by name.
var tasks = map[string]task{
	"deploy":  {"[OPTIONS OF SAM DEPLOY]", options, (*stack).deploy},
	"output":  {"NAME...", func(arguments []string) bool { return len(arguments) > 0 }, (*stack).output},
	"logs":    {"[FUNCTION]", atMost(1), (*stack).logs},
	"destroy": {"", atMost(0), (*stack).destroy},
	"restore": {"MOMENT", one, (*stack).restore},
	"purge":   {"BUCKET", one, (*stack).purge},
}

// options reports whether arguments start with an option, or are empty.
func options(arguments []string) bool {
	return len(arguments) == 0 || strings.HasPrefix(arguments[0], "-")
}

// one accepts one argument.
func one(arguments []string) bool { return len(arguments) == 1 && arguments[0] != "" }

// atMost accepts up to n arguments.
func atMost(n int) func([]string) bool {
	return func(arguments []string) bool { return len(arguments) <= n }
}

// usage lists the tasks.
func usage() string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(tasks)) {
		lines = append(lines, strings.TrimSpace(name+" "+tasks[name].arguments))
	}
	return "usage: stack [-env NAME] [-stack NAME] [-yes] [-data] " + strings.Join(lines, " | ")
}

// run executes the arguments.
func (s *stack) run(arguments []string) error {
	flags := flag.NewFlagSet("stack", flag.ContinueOnError)
	flags.SetOutput(s.log)
	flags.Usage = func() {
		fmt.Fprintln(s.log, usage())
		flags.PrintDefaults()
	}
	env := flags.String("env", "", "`name` of the environment in samconfig.toml (default: default)")
	flags.StringVar(&s.name, "stack", "", "`name` of the stack (default: that of the environment)")
	flags.BoolVar(&s.yes, "yes", false, "deploy: do not ask")
	flags.BoolVar(&s.data, "data", false, "destroy: also delete the tables and the payload bucket with their data")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	name, rest := flags.Arg(0), flags.Args()
	if len(rest) > 0 {
		rest = rest[1:]
	}
	task, ok := tasks[name]
	if !ok || !task.fits(rest) {
		flags.Usage()
		return fmt.Errorf("unknown command %q: want one of %s, with the arguments of the usage", flags.Args(), strings.Join(slices.Sorted(maps.Keys(tasks)), ", "))
	}
	if err := s.choose(*env, name == "deploy"); err != nil {
		return err
	}
	return task.run(s, rest)
}
