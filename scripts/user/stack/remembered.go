package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// samconfig is the file in which the SAM CLI stores the answers of a guided deployment.
const samconfig = "samconfig.toml"

// remembered has the settings of deployments in samconfig.toml. An empty field is unset.
type remembered struct {
	stack           string
	region, profile string
	parameters      string // as `sam deploy --parameter-overrides` takes them, without the computed ones
}

// Lines of samconfig.toml.
var (
	sectionLine = regexp.MustCompile(`^\[([^\[\]]+)\]\s*(?:#.*)?$`)
	settingLine = regexp.MustCompile(`^([A-Za-z0-9_-]+)\s*=\s*(.*)$`)
	quotedText  = regexp.MustCompile(`^("(?:[^"\\]|\\.)*"|'[^']*')\s*(?:#.*)?$`)
)

// readRemembered reads the settings that the SAM CLI uses without --config-env: those of
// deploy, and for missing ones the global ones. It ignores other settings. A value that is
// not a string is an error.
func readRemembered(text string) (r remembered, err error) {
	settings := map[string]string{}
	section := ""
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if m := sectionLine.FindStringSubmatch(line); m != nil {
			section = strings.TrimSpace(m[1])
			continue
		}
		m := settingLine.FindStringSubmatch(line)
		if m == nil || section != "default.deploy.parameters" && section != "default.global.parameters" {
			continue
		}
		switch m[1] {
		case "stack_name", "region", "profile", "parameter_overrides":
		default:
			continue
		}
		value, err := unquote(m[2])
		if err != nil {
			return r, fmt.Errorf("%s, line %d: the value of %s must be a string in quotes on one line, as sam deploy --guided writes it", samconfig, n+1, m[1])
		}
		if _, said := settings[m[1]]; !said || section == "default.deploy.parameters" {
			settings[m[1]] = value
		}
	}
	overrides := settings["parameter_overrides"]
	for _, m := range assignment.FindAllStringSubmatch(overrides, -1) {
		if m[1] == "ParameterKey" {
			return r, fmt.Errorf("%s: parameter_overrides has the form ParameterKey=NAME,ParameterValue=VALUE: write NAME=\"VALUE\" instead", samconfig)
		}
	}
	return remembered{settings["stack_name"], settings["region"], settings["profile"], withoutComputed(overrides)}, nil
}

// unquote returns the value of a TOML string. If it has escapes, they are those of Go.
func unquote(value string) (string, error) {
	m := quotedText.FindStringSubmatch(value)
	if m == nil {
		return "", strconv.ErrSyntax
	}
	if m[1][0] == '\'' {
		return m[1][1 : len(m[1])-1], nil
	}
	return strconv.Unquote(m[1])
}

// assignment is one parameter of an override, such as Auth="iam".
var assignment = regexp.MustCompile(`(\w+)=("(?:[^"\\]|\\.)*"|[^\s"]*)\s*`)

// withoutComputed removes the parameters that each deployment computes.
func withoutComputed(overrides string) string {
	rest := assignment.ReplaceAllStringFunc(overrides, func(one string) string {
		switch name, _, _ := strings.Cut(one, "="); name {
		case "Release", "Schema", "SchemaRaised":
			return ""
		}
		return one
	})
	return strings.TrimSpace(rest)
}
