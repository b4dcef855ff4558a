package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/reveille-run/reveille/adapters/triggers/rules"
)

// builtTriggers are the triggers in the built package of Trigger.
var builtTriggers = filepath.Join(built, "TriggerFunction", "triggers.json")

// writeFilters writes into the built template the patterns of the built triggers that AWS can
// check itself, and prints for each source who selects its events.
func writeFilters(out io.Writer) error {
	if _, err := os.Stat(builtTriggers); errors.Is(err, fs.ErrNotExist) {
		return nil // a template without triggers
	}
	filters, err := rules.PassedFilters(builtTriggers)
	if err != nil || len(filters) == 0 {
		return err
	}
	text, err := os.ReadFile(builtTemplate)
	if err != nil {
		return fmt.Errorf("read the template that sam build wrote: %w", err)
	}
	for _, f := range filters {
		if f.Pattern == nil {
			fmt.Fprintf(out, "events of %s: Trigger receives all of them: %s\n", f.Source, f.Reason)
			continue
		}
		if text, err = withFilter(text, f); err != nil {
			return fmt.Errorf("%s: %w", builtTemplate, err)
		}
		others := "ignores"
		if f.Source == "sqs" {
			others = "deletes"
		}
		fmt.Fprintf(out, "events of %s: AWS selects those that a trigger accepts, and %s the others\n", f.Source, others)
	}
	return os.WriteFile(builtTemplate, text, 0o600)
}

// mappingOf is the value of Mappings.Computed.Filters with the pattern of a source.
var mappingOf = map[string]string{"sqs": "Queue", "dynamodb": "Stream"}

// withFilter writes one pattern, and changes no other byte.
func withFilter(text []byte, f rules.Passed) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if len(document.Content) == 0 {
		return nil, errors.New("it is empty")
	}
	root := document.Content[0]
	if name, ok := mappingOf[f.Source]; ok {
		node := at(root, "Mappings", "Computed", "Filters", name)
		if node == nil {
			return nil, fmt.Errorf("Mappings.Computed.Filters.%s is missing: take %s of the same version of Reveille as this command", name, templateFile)
		}
		return replace(text, []spot{{node, string(f.Pattern)}})
	}
	const place = "Resources.TriggerFunction.Properties.Events.Bus.Properties.Pattern"
	pattern := at(root, strings.Split(place, ".")...)
	if pattern == nil || pattern.Kind != yaml.MappingNode || len(pattern.Content) == 0 {
		return nil, fmt.Errorf("%s is missing: take %s of the same version of Reveille as this command", place, templateFile)
	}
	if at(pattern, "source") == nil || len(pattern.Content) != 2 {
		return nil, fmt.Errorf("line %d: %s has something else than source: remove it, the triggers' filters replace it", pattern.Line, place)
	}
	return insert(text, pattern.Content[0], f.Pattern)
}

// insert writes the fields of a pattern before the key of a mapping, in its column.
func insert(text []byte, key *yaml.Node, pattern json.RawMessage) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(pattern, &fields); err != nil {
		return nil, err
	}
	lines := strings.Split(string(text), "\n")
	indent := lines[key.Line-1][:key.Column-1]
	if strings.TrimSpace(indent) != "" {
		return nil, fmt.Errorf("line %d: %s is not alone on its line: write one key on each line", key.Line, key.Value)
	}
	var added []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		added = append(added, indent+strconv.Quote(name)+": "+string(fields[name]))
	}
	return []byte(strings.Join(slices.Insert(lines, key.Line-1, added...), "\n")), nil
}
