package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// template is what we look at of template.yaml.
type template struct {
	Parameters map[string]parameter
	Conditions map[string]string
	Rules      map[string]struct{ Assertions []assertion }
	Mappings   struct {
		Computed  map[string]map[string]string
		StepTimes map[string]map[string]int
	}
	Globals   struct{ Function function }
	Resources map[string]resource
	Outputs   map[string]struct{ Condition, Value string }
}

type assertion struct{ Assert, AssertDescription string }

type parameter struct {
	Default       any
	AllowedValues []any

	AllowedPattern string
	MinValue       *int
	MaxValue       *int
}

type resource struct {
	Type                string
	Condition           string
	DeletionPolicy      string
	UpdateReplacePolicy string
	Metadata            struct{ BuildMethod string }
	Properties          json.RawMessage
}

// path is a file of the repository.
func path(names ...string) string {
	return filepath.Join(append([]string{"..", "..", ".."}, names...)...)
}

func readText(t *testing.T, names ...string) string {
	t.Helper()
	text, err := os.ReadFile(path(names...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func read(t *testing.T) template {
	t.Helper()
	return parse(t, readText(t, "template.yaml"))
}

func parse(t *testing.T, text string) template {
	t.Helper()
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(text), &node); err != nil {
		t.Fatal(err)
	}
	value, err := plain(&node)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return decode[template](t, encoded)
}

func decode[T any](t *testing.T, encoded []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(encoded, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// plain turns YAML into what encoding/json makes of the same value. A function of
// CloudFormation becomes the text of its short form: "!Ref Queue", and of a list
// or mapping `!If ["Open","NONE","AWS_IAM"]`.
func plain(n *yaml.Node) (any, error) {
	var value any
	switch n.Kind {
	case yaml.DocumentNode:
		return plain(n.Content[0])
	case yaml.MappingNode:
		fields := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			name := n.Content[i].Value
			if _, twice := fields[name]; twice {
				return nil, fmt.Errorf("line %d: %s twice", n.Content[i].Line, name)
			}
			field, err := plain(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			fields[name] = field
		}
		value = fields
	case yaml.SequenceNode:
		items := []any{}
		for _, child := range n.Content {
			item, err := plain(child)
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		value = items
	case yaml.ScalarNode:
		if intrinsic(n) {
			return n.Tag + " " + n.Value, nil
		}
		err := n.Decode(&value)
		return value, err
	default:
		return nil, fmt.Errorf("line %d: an anchor or alias, which CloudFormation refuses", n.Line)
	}
	if !intrinsic(n) {
		return value, nil
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return n.Tag + " " + strings.TrimSpace(text.String()), err
}

// intrinsic reports whether the value has a tag that is not one of YAML's.
func intrinsic(n *yaml.Node) bool {
	return strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!")
}

// resources returns the properties of all resources of a type by logical id.
func resources[T any](t *testing.T, of template, kind string) map[string]T {
	t.Helper()
	found := map[string]T{}
	for id, r := range of.Resources {
		if r.Type == kind {
			found[id] = decode[T](t, r.Properties)
		}
	}
	return found
}

func TestAliasesAndDoubleKeysAreRefused(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"alias", "a: &x 1\nb: *x", "line 2: an anchor or alias, which CloudFormation refuses"},
		{"double key", "a: 1\na: 2", "line 2: a twice"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var node yaml.Node
			if err := yaml.Unmarshal([]byte(tt.text), &node); err != nil {
				t.Fatal(err)
			}
			if _, err := plain(&node); err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}
