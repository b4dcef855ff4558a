package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// where has the installation guides of commands.
var where = map[string]string{
	"sam": "the SAM CLI (command sam) is not on PATH, install it: https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/install-sam-cli.html",
	"aws": "the AWS CLI (command aws) is not on PATH, it deletes tables and bucket, install it: https://docs.aws.amazon.com/cli/latest/userguide/getting-started-install.html",
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

// located adds region and profile, for commands that do not read the settings of deploy.
func (s *stack) located(arguments ...string) []string {
	if s.remembered.region != "" {
		arguments = append(arguments, "--region", s.remembered.region)
	}
	if s.remembered.profile != "" {
		arguments = append(arguments, "--profile", s.remembered.profile)
	}
	return arguments
}

// deploy builds and deploys. The first time, the SAM CLI asks for the parameters and writes
// them to samconfig.toml.
func (s *stack) deploy(options []string) error {
	if err := checkOptions(options); err != nil {
		return err
	}
	if err := need("sam", "go"); err != nil {
		return err
	}
	again := s.remembered.stack != ""
	to, err := s.schemaOf(again)
	if err != nil {
		return err
	}
	if err := s.call("sam", "build", "--build-in-source"); err != nil {
		return err
	}
	with := []string{s.remembered.parameters}
	if guides(options) {
		with = append(with, s.now().UTC().Format(time.RFC3339Nano)) // the answers are unknown, so this is always a new release
	}
	digest, err := release(with...)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "release %s, records of schema %d\n", digest, s.code.Writes)
	arguments := []string{"deploy"}
	if s.name != "" {
		arguments = append(arguments, "--stack-name", s.name)
	}
	if !again {
		arguments = append(arguments, "--guided")
	}
	// One argument, as the CLI writes it to samconfig.toml: values may have spaces.
	overrides := strings.TrimSpace(s.remembered.parameters + " " + computed(digest, to))
	arguments = append(arguments, "--capabilities", "CAPABILITY_IAM", "--parameter-overrides", overrides)
	return s.call("sam", append(arguments, options...)...)
}

// schemaOf reads the schema that the deployed stack has written, if a stack is known. If the
// stack does not respond, it is treated as new: the deployment, which needs the same rights,
// fails if it exists. A new stack has no records, so nothing has to be released gradually.
func (s *stack) schemaOf(again bool) (schema, error) {
	var known outputs
	if again || s.name != "" {
		var err error
		if known, err = s.outputs(); err != nil {
			fmt.Fprintf(s.out, "%v: the stack is treated as a new one\n", err)
		}
	}
	to, err := s.schemaAfter(known)
	if err == nil && to.raised {
		fmt.Fprintf(s.out, "this release is the first to write records of schema %d. It receives all requests immediately, without regard to GradualReleases and ReleaseType, "+
			"because older code cannot work on these threads\n", to.highest)
	}
	return to, err
}

// deployed returns an error if no stack is known.
func (s *stack) deployed() error {
	if s.name == "" {
		return errors.New("samconfig.toml does not name a stack: run make deploy first, or name the stack with -stack")
	}
	return need("sam")
}

// functions are those of the template, without the suffix Function.
var functions = []string{"Api", "Stream", "Step", "Sweep", "Trigger"}

// logs follows the logs of one function, such as Step, or of all.
func (s *stack) logs(function string) error {
	if err := s.deployed(); err != nil {
		return err
	}
	arguments := s.located("logs", "--stack-name", s.name, "--tail")
	if function != "" {
		asked := strings.TrimSuffix(function, "Function")
		i := slices.IndexFunc(functions, func(name string) bool { return strings.EqualFold(name, asked) })
		if i < 0 {
			return fmt.Errorf("unknown function %q, want one of %s", function, strings.Join(functions, ", "))
		}
		arguments = append(arguments, "--name", functions[i]+"Function")
	}
	return s.call("sam", arguments...)
}

// outputs are the outputs of the deployed stack by key.
type outputs map[string]string

func (s *stack) outputs() (outputs, error) {
	command := exec.Command("sam", s.located("list", "stack-outputs", "--stack-name", s.name, "--output", "json")...)
	command.Stderr = s.log
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("read the outputs of the stack %s: %w", s.name, err)
	}
	var all []struct{ OutputKey, OutputValue string }
	if err := json.Unmarshal(out, &all); err != nil {
		return nil, fmt.Errorf("read the outputs of the stack %s: %w", s.name, err)
	}
	known := outputs{}
	for _, o := range all {
		known[o.OutputKey] = o.OutputValue
	}
	return known, nil
}
