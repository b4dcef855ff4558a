package specfile

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/strict"
)

// maxNodes bounds what aliases can make of a small file.
const maxNodes = 100_000

// parseYAML returns the documents that are not empty.
func parseYAML(data []byte) (documents []document, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var root yaml.Node
		if err := decoder.Decode(&root); errors.Is(err, io.EOF) {
			return documents, nil
		} else if err != nil {
			return nil, syntax(err)
		}
		if len(root.Content) == 0 || root.Content[0].ShortTag() == "!!null" {
			continue
		}
		c := conversion{at: map[strict.Path]place{}}
		c.at[""] = placeOf(root.Content[0])
		if err := c.value(root.Content[0], "", 1); err != nil {
			return nil, err
		}
		documents = append(documents, document{json: c.out.Bytes(), find: c.find})
	}
}

// find returns the place of a path or of the nearest part that would contain it.
func (c conversion) find(path strict.Path) place {
	for {
		if at, ok := c.at[path]; ok || path == "" {
			return at
		}
		path = path[:max(strings.LastIndexAny(string(path), ".["), 0)]
	}
}

// line finds the line in an error of the parser, which offers it in no other form.
var line = regexp.MustCompile(`^yaml: line (\d+): `)

// syntax is an error of the parser with its line in the form of our errors. Only the
// displayed text depends on the text.
func syntax(err error) error {
	text := err.Error()
	at := place{line: 1, column: 1}
	if m := line.FindStringSubmatch(text); m != nil {
		at.line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
	} else if rest, ok := bytes.CutPrefix([]byte(text), []byte("yaml: ")); ok {
		text = string(rest)
	}
	return errorAt(at, "not YAML: %s", text)
}

func placeOf(n *yaml.Node) place { return place{line: n.Line, column: n.Column} }

// conversion writes a tree of YAML as JSON.
type conversion struct {
	out   bytes.Buffer
	at    map[strict.Path]place
	nodes int
}

// value writes a value. Aliases are written out where they occur, so that a few lines may
// expand to very many: hence the bounds.
func (c *conversion) value(n *yaml.Node, path strict.Path, depth int) error {
	if c.nodes++; c.nodes > maxNodes {
		return errorAt(placeOf(n), "the document has more than %d values, with aliases expanded", maxNodes)
	}
	if depth > maxDepth {
		return errorAt(placeOf(n), "lists and objects nest deeper than %d", maxDepth)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return c.value(n.Alias, path, depth+1) // deeper: an alias may occur in its own anchor
	case yaml.MappingNode:
		return c.object(n, path, depth)
	case yaml.SequenceNode:
		return c.list(n, path, depth)
	case yaml.ScalarNode:
		return c.scalar(n)
	}
	return errorAt(placeOf(n), "there is no value")
}

// object writes a mapping, and notes the places of its fields. YAML that JSON cannot
// express is refused instead of guessed at.
func (c *conversion) object(n *yaml.Node, path strict.Path, depth int) error {
	if tag := n.ShortTag(); tag != "!!map" {
		return errorAt(placeOf(n), "tag %s has no meaning here", tag)
	}
	seen := make(map[string]bool, len(n.Content)/2)
	c.out.WriteByte('{')
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.ShortTag() == "!!merge":
			return errorAt(placeOf(key), "merge keys (<<) are not read, repeat the fields")
		case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str":
			return errorAt(placeOf(key), "a field's name is text, put it in quotes")
		}
		at := path.Member(key.Value)
		if seen[key.Value] {
			return errorAt(placeOf(key), "%s is given twice", at)
		}
		seen[key.Value] = true
		c.at[at] = placeOf(key)
		if i > 0 {
			c.out.WriteByte(',')
		}
		if err := c.text(key); err != nil {
			return err
		}
		c.out.WriteByte(':')
		if err := c.value(n.Content[i+1], at, depth+1); err != nil {
			return err
		}
	}
	c.out.WriteByte('}')
	return nil
}

func (c *conversion) list(n *yaml.Node, path strict.Path, depth int) error {
	if tag := n.ShortTag(); tag != "!!seq" {
		return errorAt(placeOf(n), "tag %s has no meaning here", tag)
	}
	c.out.WriteByte('[')
	for i, item := range n.Content {
		if i > 0 {
			c.out.WriteByte(',')
		}
		at := path.Item(i)
		c.at[at] = placeOf(item)
		if err := c.value(item, at, depth+1); err != nil {
			return err
		}
	}
	c.out.WriteByte(']')
	return nil
}

// number is how JSON writes numbers: YAML has more ways, some of which mean another
// number than they seem to (012 is ten).
var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// scalar writes a value as the type that YAML takes it for: yes and no are texts, since
// they are in YAML 1.2.
func (c *conversion) scalar(n *yaml.Node) error {
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!timestamp": // a date is a text that JSON has no other form for
		return c.text(n)
	case "!!null":
		c.out.WriteString("null")
	case "!!bool":
		var truth bool
		if err := n.Decode(&truth); err != nil {
			return errorAt(placeOf(n), "%q is neither true nor false", core.Excerpt(n.Value))
		}
		c.out.WriteString(strconv.FormatBool(truth))
	case "!!int", "!!float":
		if !number.MatchString(n.Value) {
			return errorAt(placeOf(n), "%s is not a JSON number; put a text in quotes", core.Excerpt(n.Value))
		}
		c.out.WriteString(n.Value)
	default:
		return errorAt(placeOf(n), "tag %s has no meaning here", tag)
	}
	return nil
}

func (c *conversion) text(n *yaml.Node) error {
	text, err := core.EncodeJSON(n.Value)
	if err != nil {
		return errorAt(placeOf(n), "%w", err)
	}
	c.out.Write(text)
	return nil
}
