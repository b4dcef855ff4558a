package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core/store"
)

func main() {
	s := &stack{
		code: store.Schemas{}.Stored(), now: time.Now,
		in: os.Stdin, out: os.Stdout, log: os.Stderr,
	}
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
	name       string // from samconfig.toml or -stack; empty: it was never deployed from this folder
	data       bool   // destroy deletes tables and bucket, too
	remembered remembered
	code       store.Schemas // of the code to deploy
	now        func() time.Time
	in         io.Reader
	out, log   io.Writer
}

// run executes the arguments.
func (s *stack) run(args []string) error {
	flags := flag.NewFlagSet("stack", flag.ContinueOnError)
	flags.SetOutput(s.log)
	flags.Usage = func() {
		fmt.Fprintln(s.log, "usage: stack [-stack NAME] [-data] deploy [OPTIONS OF SAM DEPLOY] | logs [FUNCTION] | destroy")
		flags.PrintDefaults()
	}
	flags.StringVar(&s.name, "stack", "", "`name` of the stack (default: the stack in samconfig.toml)")
	flags.BoolVar(&s.data, "data", false, "destroy: also delete the tables and the payload bucket with their data")
	if err := flags.Parse(args); err != nil {
		return err
	}
	text, err := os.ReadFile(samconfig)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if s.remembered, err = readRemembered(string(text)); err != nil {
		return err
	}
	if s.name == "" {
		s.name = s.remembered.stack
	}
	switch task, rest := flags.Arg(0), flags.NArg()-1; {
	case task == "deploy" && (rest == 0 || strings.HasPrefix(flags.Arg(1), "-")):
		return s.deploy(flags.Args()[1:])
	case task == "logs" && rest <= 1:
		return s.logs(flags.Arg(1))
	case task == "destroy" && rest == 0:
		return s.destroy()
	}
	flags.Usage()
	return fmt.Errorf("unknown command %q: want deploy, logs or destroy", flags.Args())
}
