package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// templateFile is the template that is built and deployed.
const templateFile = "template.yaml"

// parameter is a parameter of the template.
type parameter struct {
	Type           string   `yaml:"Type"`
	Default        *string  `yaml:"Default"`
	AllowedValues  []string `yaml:"AllowedValues"`
	AllowedPattern string   `yaml:"AllowedPattern"`
	MinValue       *int     `yaml:"MinValue"`
	MaxValue       *int     `yaml:"MaxValue"`
	NoEcho         bool     `yaml:"NoEcho"`
}

// parameters are those of the template by name.
type parameters map[string]parameter

// readTemplate reads the parameters of the template.
func readTemplate() (parameters, error) {
	text, err := os.ReadFile(templateFile)
	if err != nil {
		return nil, fmt.Errorf("read the template: %w. Run the command in the folder of %s", err, templateFile)
	}
	var template struct {
		Parameters parameters `yaml:"Parameters"`
	}
	if err := yaml.Unmarshal(text, &template); err != nil {
		return nil, fmt.Errorf("%s: %w", templateFile, err)
	}
	for _, name := range computed {
		if _, ok := template.Parameters[name]; ok {
			return nil, fmt.Errorf("%s has the parameter %s, so it is older than this command, which writes that value itself: take the template of the same version of Reveille", templateFile, name)
		}
	}
	return template.Parameters, nil
}

// defaults are the values of a new stack without parameters.
func (p parameters) defaults() map[string]string {
	values := map[string]string{}
	for name, parameter := range p {
		if parameter.Default != nil {
			values[name] = *parameter.Default
		}
	}
	return values
}

// check returns an error that names each unknown parameter, each value that is not allowed and
// each missing one. CloudFormation checks the same after the build.
func (p parameters) check(place string, values map[string]string) error {
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		parameter, ok := p[name]
		if !ok {
			wrong = append(wrong, fmt.Errorf("%s: %s has no parameter %s: correct its name or delete it", place, templateFile, name))
			continue
		}
		if err := parameter.check(name, values[name]); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", place, err))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if _, said := values[name]; !said && p[name].Default == nil {
			wrong = append(wrong, fmt.Errorf("%s: parameter %s is missing, and it has no default", place, name))
		}
	}
	return errors.Join(wrong...)
}

// check returns an error if the value is not allowed. The error hides a value without echo.
func (p parameter) check(name, value string) error {
	shown := strconv.Quote(value)
	if p.NoEcho {
		shown = "a hidden value"
	}
	if len(p.AllowedValues) > 0 && !slices.Contains(p.AllowedValues, value) {
		return fmt.Errorf("parameter %s is %s, want one of %s", name, shown, strings.Join(p.AllowedValues, ", "))
	}
	if p.Type == "Number" {
		n, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("parameter %s is %s, want an integer", name, shown)
		}
		if p.MinValue != nil && n < *p.MinValue || p.MaxValue != nil && n > *p.MaxValue {
			return fmt.Errorf("parameter %s is %s, want %s", name, shown, p.bounds())
		}
	}
	if p.AllowedPattern == "" {
		return nil
	}
	pattern, err := regexp.Compile("^(?:" + p.AllowedPattern + ")$")
	if err != nil {
		return nil // a pattern of Java that Go does not know: CloudFormation decides
	}
	items := []string{value}
	if p.Type == "CommaDelimitedList" {
		items = strings.Split(value, ",")
	}
	for _, item := range items {
		if !pattern.MatchString(item) {
			return fmt.Errorf("parameter %s is %s, want the pattern %s", name, shown, p.AllowedPattern)
		}
	}
	return nil
}

// bounds names the limits of a number.
func (p parameter) bounds() string {
	switch {
	case p.MinValue == nil:
		return fmt.Sprintf("at most %d", *p.MaxValue)
	case p.MaxValue == nil:
		return fmt.Sprintf("at least %d", *p.MinValue)
	}
	return fmt.Sprintf("%d to %d", *p.MinValue, *p.MaxValue)
}
