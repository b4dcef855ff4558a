package main

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// where has the installation guides of commands.
var where = map[string]string{
	"sam": "the SAM CLI (command sam) is not on PATH, install it: https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/install-sam-cli.html",
	"aws": "the AWS CLI (command aws) is not on PATH, it reads the deployed stack, install it: https://docs.aws.amazon.com/cli/latest/userguide/getting-started-install.html",
	"go":  "the go command is not on PATH, it builds the functions, install it: https://go.dev/dl",
}

// need returns an error that names all missing commands.
func need(commands ...string) error {
	var missing []error
	for _, c := range commands {
		if _, err := exec.LookPath(c); err != nil {
			missing = append(missing, errors.New(where[c]))
		}
	}
	return errors.Join(missing...)
}

// call runs a command with the terminal of this one.
func (s *stack) call(name string, arguments ...string) error {
	command := exec.Command(name, arguments...)
	command.Stdin, command.Stdout, command.Stderr = s.in, s.out, s.log
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, arguments[0], err)
	}
	return nil
}

// located adds the region and the profile of the environment.
func (s *stack) located(arguments ...string) []string {
	if s.env.region != "" {
		arguments = append(arguments, "--region", s.env.region)
	}
	if s.env.profile != "" {
		arguments = append(arguments, "--profile", s.env.profile)
	}
	return arguments
}

// sam is a command of the SAM CLI on this stack. With --config-env it takes further settings from
// the environment, and none from the environment default.
func (s *stack) sam(command string, arguments ...string) []string {
	all := []string{command}
	if len(s.all) > 0 {
		all = append(all, "--config-env", s.env.name)
	}
	return append(s.located(append(all, "--stack-name", s.name)...), arguments...)
}

// functions are those of the template, without the suffix Function.
var functions = []string{"Api", "Stream", "Step", "Sweep", "Trigger"}

// logs follows the logs of one function, such as Step, or of all.
func (s *stack) logs(arguments []string) error {
	if err := need("sam"); err != nil {
		return err
	}
	call := s.sam("logs", "--tail")
	if len(arguments) > 0 && arguments[0] != "" {
		asked := strings.TrimSuffix(arguments[0], "Function")
		i := slices.IndexFunc(functions, func(name string) bool { return strings.EqualFold(name, asked) })
		if i < 0 {
			return fmt.Errorf("unknown function %q, want one of %s", arguments[0], strings.Join(functions, ", "))
		}
		call = append(call, "--name", functions[i]+"Function")
	}
	return s.call("sam", call...)
}
