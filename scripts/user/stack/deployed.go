package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
)

// outputs are the outputs of the deployed stack by key.
type outputs map[string]string

// deployedStack is what CloudFormation knows of a stack.
type deployedStack struct {
	exists     bool
	outputs    outputs
	parameters map[string]string // a parameter without echo has the value ****
}

// describe reads the deployed stack. Only a stack that does not exist is a new one: if
// CloudFormation cannot be asked, the error stops the command.
func (s *stack) describe() (deployedStack, error) {
	command := exec.Command("aws", s.located("cloudformation", "describe-stacks", "--stack-name", s.name, "--output", "json")...)
	var failed bytes.Buffer
	command.Stderr = &failed
	out, err := command.Output()
	if err != nil {
		if strings.Contains(failed.String(), "Stack with id "+s.name+" does not exist") {
			return deployedStack{}, nil
		}
		return deployedStack{}, fmt.Errorf("read the stack %s: aws cloudformation: %s: %w", s.name, strings.TrimSpace(failed.String()), err)
	}
	var response struct {
		Stacks []struct {
			StackStatus string
			Outputs     []struct{ OutputKey, OutputValue string }
			Parameters  []struct{ ParameterKey, ParameterValue string }
		}
	}
	if err := json.Unmarshal(out, &response); err != nil || len(response.Stacks) != 1 {
		return deployedStack{}, fmt.Errorf("read the stack %s: aws cloudformation describe-stacks returned %d stacks, want one: %v", s.name, len(response.Stacks), err)
	}
	found := response.Stacks[0]
	d := deployedStack{true, outputs{}, map[string]string{}}
	if found.StackStatus == "REVIEW_IN_PROGRESS" { // a first change set was never executed
		d.exists = false
	}
	for _, o := range found.Outputs {
		d.outputs[o.OutputKey] = o.OutputValue
	}
	for _, p := range found.Parameters {
		d.parameters[p.ParameterKey] = p.ParameterValue
	}
	return d, nil
}

// output prints the first of these outputs that the stack has.
func (s *stack) output(names []string) error {
	if err := need("aws"); err != nil {
		return err
	}
	known, err := s.outputs()
	if err != nil {
		return err
	}
	for _, name := range names {
		if value := known[name]; value != "" {
			_, err := fmt.Fprintln(s.out, value)
			return err
		}
	}
	return fmt.Errorf("the stack %s has no output %s, it has %s", s.name, strings.Join(names, " or "), strings.Join(slices.Sorted(maps.Keys(known)), ", "))
}

// outputs returns the outputs of the deployed stack. If the stack does not exist, it returns an
// error.
func (s *stack) outputs() (outputs, error) {
	d, err := s.describe()
	if err == nil && !d.exists {
		err = fmt.Errorf("the stack %s does not exist in this account and region: check stack_name, region and profile in %s", s.name, samconfig)
	}
	return d.outputs, err
}
