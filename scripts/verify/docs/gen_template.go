package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// template is what the tables read from template.yaml.
type template struct {
	Parameters, Outputs yaml.Node // mappings, whose order counts
}

type parameter struct {
	Default       *string  `yaml:"Default"`
	AllowedValues []string `yaml:"AllowedValues"`
	MinValue      *string  `yaml:"MinValue"`
	MaxValue      *string  `yaml:"MaxValue"`
	Description   string   `yaml:"Description"`
}

func readTemplate(root string) (t template, err error) {
	text, err := os.ReadFile(filepath.Join(root, "template.yaml"))
	if err != nil {
		return t, err
	}
	var sections map[string]yaml.Node
	if err := yaml.Unmarshal(text, &sections); err != nil {
		return t, fmt.Errorf("template.yaml: %w", err)
	}
	t = template{sections["Parameters"], sections["Outputs"]}
	if len(t.Parameters.Content) == 0 || len(t.Outputs.Content) == 0 {
		return t, errors.New("template.yaml has no Parameters or no Outputs")
	}
	return t, nil
}

// parameterTable lists the parameters of template.yaml.
func parameterTable(root string) (string, error) {
	t, err := readTemplate(root)
	if err != nil {
		return "", err
	}
	var rows [][]string
	for i := 0; i+1 < len(t.Parameters.Content); i += 2 {
		name := t.Parameters.Content[i].Value
		var p parameter
		if err := t.Parameters.Content[i+1].Decode(&p); err != nil {
			return "", fmt.Errorf("template.yaml: parameter %s: %w", name, err)
		}
		if p.Description == "" {
			return "", fmt.Errorf("template.yaml: parameter %s has no description", name)
		}
		preset := "required"
		if p.Default != nil {
			preset = code(*p.Default, "empty")
		}
		meaning := described(p.Description)
		switch {
		case len(p.AllowedValues) > 0:
			meaning += " Allowed: `" + strings.Join(p.AllowedValues, "`, `") + "`."
		case p.MinValue != nil && p.MaxValue != nil:
			meaning += " Allowed: " + *p.MinValue + " to " + *p.MaxValue + "."
		case p.MinValue != nil || p.MaxValue != nil:
			return "", fmt.Errorf("template.yaml: parameter %s has one limit, want both", name)
		}
		rows = append(rows, []string{code(name, ""), preset, meaning})
	}
	return table([]string{"Parameter", "Default", "Meaning"}, rows), nil
}

// modes are the values of Auth for which a parameter is, at the start of its description.
var modes = regexp.MustCompile(`^[a-z]+(?:, [a-z]+)*: `)

// described returns a description as a sentence, with its modes as code.
func described(text string) string {
	of := modes.FindString(text)
	if of == "" {
		return sentence(text)
	}
	names := strings.Split(strings.TrimSuffix(of, ": "), ", ")
	return "`" + strings.Join(names, "`, `") + "`: " + sentence(text[len(of):])
}

// outputTable lists the outputs of template.yaml.
func outputTable(root string) (string, error) {
	t, err := readTemplate(root)
	if err != nil {
		return "", err
	}
	var rows [][]string
	for i := 0; i+1 < len(t.Outputs.Content); i += 2 {
		name := t.Outputs.Content[i].Value
		var o struct {
			Description string `yaml:"Description"`
		}
		if err := t.Outputs.Content[i+1].Decode(&o); err != nil {
			return "", fmt.Errorf("template.yaml: output %s: %w", name, err)
		}
		if o.Description == "" {
			return "", fmt.Errorf("template.yaml: output %s has no description", name)
		}
		rows = append(rows, []string{code(name, ""), sentence(o.Description)})
	}
	return table([]string{"Output", "Meaning"}, rows), nil
}
