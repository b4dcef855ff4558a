package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// builtTemplate is the template that `sam build` writes and `sam deploy` deploys.
var builtTemplate = filepath.Join(built, "template.yaml")

// writeComputed writes into the built template the values that this command computes: the
// digest of the release, for each function that publishes versions, and the schema of records.
// It replaces these values and no other byte.
func writeComputed(digest string, to schema) error {
	text, err := os.ReadFile(builtTemplate)
	if err != nil {
		return fmt.Errorf("read the template that sam build wrote: %w", err)
	}
	changed, err := withComputed(text, digest, to)
	if err != nil {
		return fmt.Errorf("%s: %w", builtTemplate, err)
	}
	return os.WriteFile(builtTemplate, changed, 0o600)
}

// spot is a value in a template, and its new text.
type spot struct {
	node *yaml.Node
	text string
}

func withComputed(text []byte, digest string, to schema) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if len(document.Content) == 0 {
		return nil, errors.New("it is empty")
	}
	root := document.Content[0]
	var spots []spot
	for name, value := range map[string]string{"Schema": strconv.Itoa(to.highest), "SchemaRaised": strconv.FormatBool(to.raised)} {
		node := at(root, "Mappings", "Computed", "Release", name)
		if node == nil {
			return nil, fmt.Errorf("Mappings.Computed.Release.%s is missing: take %s of the same version of Reveille as this command", name, templateFile)
		}
		spots = append(spots, spot{node, value})
	}
	published := 0
	if resources := at(root, "Resources"); resources != nil {
		for i := 1; i < len(resources.Content); i += 2 {
			if node := at(resources.Content[i], "Properties", "AutoPublishCodeSha256"); node != nil {
				spots = append(spots, spot{node, digest})
				published++
			}
		}
	}
	if published == 0 {
		return nil, fmt.Errorf("no function has the property AutoPublishCodeSha256, so none would publish a version: take %s of the same version of Reveille as this command", templateFile)
	}
	return replace(text, spots)
}

// at is the value at a path of keys, or nil.
func at(node *yaml.Node, path ...string) *yaml.Node {
	for _, key := range path {
		if node == nil || node.Kind != yaml.MappingNode {
			return nil
		}
		i := slices.IndexFunc(node.Content, func(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Value == key })
		if i < 0 || i%2 != 0 {
			return nil
		}
		node = node.Content[i+1]
	}
	return node
}

// replace writes the texts of the spots in quotes, from the last one to the first.
func replace(text []byte, spots []spot) ([]byte, error) {
	slices.SortFunc(spots, func(a, b spot) int {
		if a.node.Line != b.node.Line {
			return b.node.Line - a.node.Line
		}
		return b.node.Column - a.node.Column
	})
	lines := strings.Split(string(text), "\n")
	for _, s := range spots {
		line, column := lines[s.node.Line-1], s.node.Column-1
		before, rest := line[:column], line[column:]
		after, ok := strings.CutPrefix(rest, written(s.node))
		if !ok || s.node.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("line %d: %q is not a simple value: write it in quotes on one line", s.node.Line, rest)
		}
		lines[s.node.Line-1] = before + strconv.Quote(s.text) + after
	}
	return []byte(strings.Join(lines, "\n")), nil
}

// written is a scalar without escapes as the file has it.
func written(node *yaml.Node) string {
	switch node.Style {
	case yaml.DoubleQuotedStyle:
		return `"` + node.Value + `"`
	case yaml.SingleQuotedStyle:
		return "'" + node.Value + "'"
	}
	return node.Value
}
