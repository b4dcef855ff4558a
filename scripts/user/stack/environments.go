package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// samconfig is the file of the environments. The SAM CLI reads it, too.
const samconfig = "samconfig.toml"

// environment has the settings of one environment. An empty field is unset.
type environment struct {
	name            string // as `sam --config-env` takes it
	stack           string // empty: no section of deploy
	region, profile string
	parameters      map[string]string // of template.yaml
	confirms        bool              // the SAM CLI asks when it knows the change set
	deploys         bool              // it has a section of deploy
	capabilities    bool              // the section has its own capabilities
	computed        []string          // old parameters that are not used any more
}

// section is the section whose settings `sam deploy` takes first.
func (e environment) section() string { return "[" + e.name + ".deploy.parameters]" }

// environments are the environments of a file by name.
type environments map[string]environment

// String lists the names.
func (e environments) String() string {
	if len(e) == 0 {
		return "no environments"
	}
	return "the environments " + strings.Join(slices.Sorted(maps.Keys(e)), ", ")
}

// of returns the names of the environments of a stack.
func (e environments) of(stack string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(e)) {
		if e[name].stack == stack {
			names = append(names, name)
		}
	}
	return names
}

// readFile reads samconfig.toml of the current folder. A missing file has no environments.
func readFile() (environments, error) {
	for _, other := range []string{"samconfig.yaml", "samconfig.yml"} {
		if _, err := os.Stat(other); err == nil {
			return nil, fmt.Errorf("%s: this command reads %s only: move the settings to that file and delete this one", other, samconfig)
		}
	}
	text, err := os.ReadFile(samconfig)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return readEnvironments(string(text))
}

// readEnvironments reads the settings as the SAM CLI does with --config-env: those of deploy,
// and for missing ones those of global. No value of another environment is used.
func readEnvironments(text string) (environments, error) {
	var file map[string]any
	if _, err := toml.Decode(text, &file); err != nil {
		var parse toml.ParseError
		if errors.As(err, &parse) {
			return nil, fmt.Errorf("%s, line %d: %s", samconfig, parse.Position.Line, parse.Message)
		}
		return nil, fmt.Errorf("%s: %w", samconfig, err)
	}
	if _, ok := file["version"].(float64); !ok && len(file) > 0 {
		return nil, fmt.Errorf("%s: the SAM CLI refuses a file without a version: write version = 0.1 into its first line", samconfig)
	}
	all := environments{}
	for name, value := range file {
		commands, ok := value.(map[string]any)
		if !ok {
			continue
		}
		env, err := readEnvironment(name, commands)
		if err != nil {
			return nil, err
		}
		all[name] = env
	}
	return all, nil
}

// readEnvironment reads one environment, which has a table for each command of the SAM CLI.
func readEnvironment(name string, commands map[string]any) (environment, error) {
	e := environment{name: name}
	settings, places := map[string]any{}, map[string]string{}
	for _, command := range []string{"global", "deploy"} { // the later one replaces
		place := "[" + name + "." + command + ".parameters]"
		table, ok := commands[command].(map[string]any)
		if !ok {
			continue
		}
		parameters, ok := table["parameters"].(map[string]any)
		if !ok && table["parameters"] != nil {
			return e, fmt.Errorf("%s, %s: must be a table of settings", samconfig, place)
		}
		e.deploys = e.deploys || command == "deploy" && ok
		for key, value := range parameters {
			settings[key], places[key] = value, samconfig+", "+place
		}
	}
	for _, key := range []string{"template", "template_file"} {
		if settings[key] != nil {
			return e, fmt.Errorf("%s: %s is not allowed, because this command always deploys its build of template.yaml: delete the line", places[key], key)
		}
	}
	for key, field := range map[string]*string{"stack_name": &e.stack, "region": &e.region, "profile": &e.profile} {
		value, said := settings[key]
		text, ok := value.(string)
		if said && (!ok || text == "") {
			return e, fmt.Errorf("%s: %s must be a text in quotes, got %v", places[key], key, value)
		}
		*field = text
	}
	if value, said := settings["confirm_changeset"]; said {
		yes, ok := value.(bool)
		if !ok {
			return e, fmt.Errorf("%s: confirm_changeset must be true or false, got %v", places["confirm_changeset"], value)
		}
		e.confirms = yes
	}
	e.capabilities = settings["capabilities"] != nil
	return e, e.readParameters(settings["parameter_overrides"], places["parameter_overrides"])
}

// readParameters reads parameter_overrides.
func (e *environment) readParameters(value any, place string) error {
	if e.stack == "" && value != nil {
		return fmt.Errorf("%s: parameter_overrides without a stack: add stack_name = \"NAME\" to %s", place, e.section())
	}
	parameters, err := readOverrides(value)
	if err != nil {
		return fmt.Errorf("%s, parameter_overrides: %w", place, err)
	}
	for _, name := range computed {
		if _, said := parameters[name]; said {
			delete(parameters, name)
			e.computed = append(e.computed, name)
		}
	}
	e.parameters = parameters
	return nil
}

// computed are former parameters, which `sam deploy --guided` stored in the file.
var computed = []string{"Release", "Schema", "SchemaRaised"}
