package main

import (
	"fmt"
	"maps"
	"slices"
)

// deploy builds the stack of the environment and deploys it with the values of its section. It
// prints what will change and asks before it builds. An environment without a section gets
// one by questions.
func (s *stack) deploy(options []string) error {
	if err := checkOptions(options); err != nil {
		return err
	}
	if err := need("sam", "aws", "go"); err != nil {
		return err
	}
	template, err := readTemplate()
	if err != nil {
		return err
	}
	if s.env.stack == "" {
		if err := s.begin(template); err != nil {
			return err
		}
	}
	if err := template.check(samconfig+", "+s.env.section(), s.env.parameters); err != nil {
		return err
	}
	before, err := s.describe()
	if err != nil {
		return err
	}
	if err := s.checkTables(before); err != nil {
		return err
	}
	to, err := s.schemaAfter(before.outputs)
	if err != nil {
		return err
	}
	s.printChanges(template, before, to)
	asks := s.env.confirms && !slices.Contains(options, "--no-confirm-changeset") || slices.Contains(options, "--confirm-changeset")
	if err := s.confirm(asks); err != nil {
		return err
	}
	return s.release(template, to, options)
}

// checkTables refuses a gradual release that changes the tables: its two versions would work on
// different ones.
func (s *stack) checkTables(before deployedStack) error {
	if !before.exists || s.env.parameters["GradualReleases"] != "true" {
		return nil
	}
	for _, name := range []string{"ThreadsTable", "ConfigTable", "PayloadBucket"} {
		if s.env.parameters[name] != before.parameters[name] {
			return fmt.Errorf("nothing was deployed: %s changes from %q to %q, and two versions must not work on different tables: set GradualReleases=false for this deployment", name, before.parameters[name], s.env.parameters[name])
		}
	}
	return nil
}

// release builds and deploys. Parameters that the section lacks get their defaults: without
// a value, the SAM CLI would keep that of the deployed stack.
func (s *stack) release(template parameters, to schema, options []string) error {
	parameters, err := overrides(s.env.values(template))
	if err != nil {
		return fmt.Errorf("%s, %s: %w", samconfig, s.env.section(), err)
	}
	if err := s.call("sam", "build", "--config-env", s.env.name, "--build-in-source"); err != nil {
		return err
	}
	digest, err := release(parameters)
	if err != nil {
		return err
	}
	if err := writeComputed(digest, to); err != nil {
		return err
	}
	if err := writeFilters(s.out); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "release %s, records of schema %d\n", digest, s.code.Writes)
	arguments := s.sam("deploy", "--parameter-overrides", parameters)
	if !s.env.capabilities {
		arguments = append(arguments, "--capabilities", "CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND") // the second one: a transform and a nested stack
	}
	if s.yes {
		arguments = append(arguments, "--no-confirm-changeset")
	}
	return s.call("sam", append(arguments, options...)...)
}

// values are the parameters to deploy: those of the section, and the defaults of the others.
// A parameter without echo is an exception: if the section lacks it, the stack keeps its value.
func (e environment) values(template parameters) map[string]string {
	values := template.defaults()
	for name, parameter := range template {
		if parameter.NoEcho {
			delete(values, name)
		}
	}
	maps.Copy(values, e.parameters)
	return values
}
