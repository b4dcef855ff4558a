package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// where says how what is missing is installed.
var where = map[string]string{
	"sam": "the SAM CLI is not on PATH (command sam): https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/install-sam-cli.html",
	"aws": "the AWS CLI is not on PATH (command aws), which deletes tables: https://docs.aws.amazon.com/cli/latest/userguide/getting-started-install.html",
	"go":  "the go command is not on PATH, which builds the functions: https://go.dev/dl",
}

// need looks for commands, and names all that are missing.
func need(commands ...string) error {
	var missing []error
	for _, c := range commands {
		if _, err := exec.LookPath(c); err != nil {
			missing = append(missing, errors.New(where[c]))
		}
	}
	return errors.Join(missing...)
}

// call runs a command on the terminal.
func (s *stack) call(name string, arguments ...string) error {
	command := exec.Command(name, arguments...)
	command.Stdin, command.Stdout, command.Stderr = s.in, s.out, s.log
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, arguments[0], err)
	}
	return nil
}

// deploy builds and deploys. The first time sam asks for the parameters, and writes
// them to samconfig.toml.
func (s *stack) deploy(again bool) error {
	if err := need("sam", "go"); err != nil {
		return err
	}
	if err := s.call("sam", "build", "--build-in-source"); err != nil {
		return err
	}
	arguments := []string{"deploy"}
	if s.name != "" {
		arguments = append(arguments, "--stack-name", s.name)
	}
	if !again {
		arguments = append(arguments, "--guided", "--capabilities", "CAPABILITY_IAM")
	}
	return s.call("sam", arguments...)
}

// deployed is an error where no stack is known.
func (s *stack) deployed() error {
	if s.name == "" {
		return errors.New("there is no samconfig.toml that names a stack: make deploy writes it, or name one by -stack")
	}
	return need("sam")
}

// logs follows the logs of a function, such as Step, or of all.
func (s *stack) logs(function string) error {
	if err := s.deployed(); err != nil {
		return err
	}
	arguments := []string{"logs", "--stack-name", s.name, "--tail"}
	if function != "" {
		arguments = append(arguments, "--name", strings.TrimSuffix(function, "Function")+"Function")
	}
	return s.call("sam", arguments...)
}

// destroy deletes the stack. Its tables are no part of that: the template retains them.
func (s *stack) destroy() error {
	if err := s.deployed(); err != nil {
		return err
	}
	if s.data {
		if err := need("aws"); err != nil {
			return err
		}
	}
	tables, err := s.tables()
	if err != nil {
		return err
	}
	if s.data {
		return s.destroyData(tables)
	}
	if err := s.call("sam", "delete", "--stack-name", s.name); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "What was said is kept in the tables %s, which go on costing their storage. To delete them too: aws dynamodb delete-table --table-name NAME\n", strings.Join(tables, " and "))
	return nil
}

// destroyData deletes the stack and the tables, once its name was typed.
func (s *stack) destroyData(tables []string) error {
	fmt.Fprintf(s.out, "This deletes the stack %s and all that was ever said, in the tables %s. Type the stack's name to go on: ", s.name, strings.Join(tables, " and "))
	typed, _ := bufio.NewReader(s.in).ReadString('\n') // what was typed counts, also without a line end
	if strings.TrimSpace(typed) != s.name {
		return errors.New("that is not its name: nothing was deleted")
	}
	if err := s.call("sam", "delete", "--stack-name", s.name, "--no-prompts"); err != nil {
		return err
	}
	for _, table := range tables {
		err := s.call("aws", "dynamodb", "update-table", "--table-name", table, "--no-deletion-protection-enabled")
		if err == nil {
			err = s.call("aws", "dynamodb", "wait", "table-exists", "--table-name", table)
		}
		if err == nil {
			err = s.call("aws", "dynamodb", "delete-table", "--table-name", table)
		}
		if err != nil {
			return fmt.Errorf("table %s is kept: %w", table, err)
		}
	}
	return nil
}

// tables reads the names of the stack's tables from its outputs.
func (s *stack) tables() (names []string, err error) {
	command := exec.Command("sam", "list", "stack-outputs", "--stack-name", s.name, "--output", "json")
	command.Stderr = s.log
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("outputs of the stack %s: %w", s.name, err)
	}
	var outputs []struct{ OutputKey, OutputValue string }
	if err := json.Unmarshal(out, &outputs); err != nil {
		return nil, fmt.Errorf("outputs of the stack %s: %w", s.name, err)
	}
	for _, o := range outputs {
		if strings.HasSuffix(o.OutputKey, "TableName") {
			names = append(names, o.OutputValue)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("the stack %s has no output that names a table: is it one of this template?", s.name)
	}
	return names, nil
}
