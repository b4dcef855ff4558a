package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
)

// doubling are definitions, each of which refers twice to the next through the keyword
// that each makes of a reference; what the last says.
func doubling(levels int, each func(ref string) string, last string) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","$ref":"#/$defs/d0","$defs":{`)
	for i := range levels {
		fmt.Fprintf(&b, `"d%d":%s,`, i, each(fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)))
	}
	fmt.Fprintf(&b, `"d%d":%s}}`, levels, last)
	return b.String()
}

func twice(keyword string) func(string) string {
	return func(ref string) string { return fmt.Sprintf(`{%q:[%s,%s]}`, keyword, ref, ref) }
}

// Each of these made one check run for hours or take all memory.
func TestASchemaThatMultipliesIsRefused(t *testing.T) {
	const unrolled = "JSON Schema is too complex: more than 4096 schemas apply to one value when the references are followed"
	const itself = "JSON Schema is too complex: a schema refers to itself without going into the value, so more than 4096 would apply to it"
	const patterns = "JSON Schema is too complex: its patterns have more than 100000 instructions together"
	for _, tt := range []struct{ name, schema, want string }{
		{"any of two, 18 levels", doubling(18, twice("anyOf"), `{"type":"string"}`), unrolled},
		{"one of two, 18 levels", doubling(18, twice("oneOf"), `{"type":"string"}`), unrolled},
		{"all of two, 30 levels", doubling(30, twice("allOf"), `true`), unrolled},
		{"if and else", doubling(18, func(ref string) string { return `{"if":` + ref + `,"then":` + ref + `,"else":` + ref + `}` }, `true`), unrolled},
		{"not and reference", doubling(18, func(ref string) string { return `{"not":` + ref + `,"allOf":[` + ref + `]}` }, `true`), unrolled},
		{"dependent schemas", doubling(18, func(ref string) string { return `{"dependentSchemas":{"a":` + ref + `,"b":` + ref + `}}` }, `true`), unrolled},
		{"dependencies of draft 7", doubling(18, func(ref string) string { return `{"dependencies":{"a":` + ref + `,"b":` + ref + `}}` }, `true`), unrolled},
		{"by anchors", `{"type":"object","anyOf":[{"$ref":"#a"},{"$ref":"#a"}],"$defs":{"x":{"$anchor":"a","anyOf":[` + strings.Repeat(`{"$ref":"#b"},`, 70) + `true]},"y":{"$anchor":"b","anyOf":[` + strings.Repeat("true,", 70) + `true]}}}`, unrolled},
		{"by dynamic anchors", `{"type":"object","$dynamicAnchor":"a","anyOf":[{"$dynamicRef":"#a"},true]}`, itself},
		{"itself", `{"type":"object","$ref":"#"}`, itself},
		{"itself in two", `{"type":"object","anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"allOf":[{"$ref":"#"}]}}}`, itself},
		{"itself by its id", `{"$id":"https://a.example/s","type":"object","not":{"$ref":"https://a.example/s"}}`, itself},
		{"a large pattern", `{"type":"object","properties":{"a":{"pattern":"(?:` + strings.Repeat("a", 200) + `){1000}"}}}`, patterns},
		{"a pattern of many runes", `{"type":"object","patternProperties":{"` + strings.Repeat(`\\pL`, 800) + `":true}}`, patterns},
		{"nested too deep", strings.Repeat(`{"not":`, 65) + `{}` + strings.Repeat(`}`, 65), "JSON Schema is too complex: its JSON is nested more than 64 deep"},
		{"one long name above many", `{"type":"object","properties":{"` + strings.Repeat("a", 100<<10) + `":{"properties":{` + manyNames(5000) + `}}}}`,
			"JSON Schema is too complex: the places of its schemas have more than 4194304 bytes together"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Read(json.RawMessage(tt.schema))
			if !errors.Is(err, ErrTooComplex) || err.Error() != tt.want || core.CodeOf(err) != core.CodeTooLarge {
				t.Errorf("got %v (%s), want %s", err, core.CodeOf(err), tt.want)
			}
		})
	}
}

func manyNames(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(`"%x":true`, i)
	}
	return strings.Join(names, ",")
}

// What a schema says of parts of a value multiplies with the value's depth and size: that
// is known only when a value comes.
func TestACheckThatMultipliesIsRefused(t *testing.T) {
	const steps = "JSON Schema is too complex: checking the value takes more than 1000000 steps"
	const nested = "JSON Schema is too complex: checking the value nests more than 500 schemas"
	const held = "JSON Schema is too complex: checking the value may hold more than 67108864 bytes of errors"
	deep := strings.Repeat("[", 60) + "1" + strings.Repeat("]", 60)
	words := `["` + strings.Repeat(`aaaaaaaaaaaaaaaaaaaa","`, 10_000) + `"]`
	for _, tt := range []struct{ name, schema, value, want string }{
		{"itself twice in each list", `{"anyOf":[{"items":{"$ref":"#"}},{"items":{"$ref":"#"}},{"type":"string"}]}`, deep, steps},
		{"itself in objects", `{"allOf":[{"additionalProperties":{"$ref":"#"}},{"additionalProperties":{"$ref":"#"}}]}`,
			strings.Repeat(`{"a":`, 60) + "1" + strings.Repeat("}", 60), steps},
		{"many alternatives of many items", `{"items":{"anyOf":[` + strings.Repeat(`{"type":"number"},`, 200) + `true]}}`, words, steps},
		{"many allowed values of many items", `{"items":{"enum":[` + strings.Repeat(`"bbbbbbbbbbbbbbbbbbbb",`, 5000) + `1]}}`, words, steps},
		{"a pattern over a long text", `{"items":{"pattern":"(a|aa){900}$"}}`, `["` + strings.Repeat("a", 200<<10) + `"]`, steps},
		{"patterns over many names", `{"patternProperties":{"(a|aa){900}$":true}}`, `{"` + strings.Repeat("a", 200<<10) + `":1}`, steps},
		{"a long text in many errors", `{"anyOf":[` + strings.Repeat(`{"type":"number"},`, 1000) + `{"type":"object"}]}`, `"` + strings.Repeat("a", 1<<20) + `"`, steps},
		{"a long text in some errors", `{"anyOf":[` + strings.Repeat(`{"type":"number"},`, 40) + `{"type":"object"}]}`, `"` + strings.Repeat("a", 1<<20) + `"`, held},
		{"a long chain", chain(1100), `{}`, nested},
		{"a chain that holds a long text", chain(100), `"` + strings.Repeat("a", 1<<20) + `"`, held},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Read(json.RawMessage(tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			var value any
			if err := json.Unmarshal([]byte(tt.value), &value); err != nil {
				t.Fatal(err)
			}
			if err := s.Check("", value); !errors.Is(err, ErrTooComplex) || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// chain is a schema whose definitions refer each to the next.
func chain(n int) string {
	return "{" + doubling(n, func(ref string) string { return ref }, `{"type":"string"}`)[len(`{"type":"object",`):]
}

// What people use passes, and is checked.
func TestOrdinarySchemasAreNotRefused(t *testing.T) {
	tree := `{"$defs":{"node":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}},"required":["name"]}},"$ref":"#/$defs/node"}`
	nullable := `{"type":"array","items":{"type":"object","properties":{` +
		`"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{"anyOf":[{"type":"number"},{"type":"null"}]},"c":{"anyOf":[{"$ref":"#/$defs/d"},{"type":"null"}]}}},` +
		`"$defs":{"d":{"type":"object","properties":{"e":{"type":["string","null"],"pattern":"^[a-z0-9-]{1,64}$"}}}}}`
	row := `{"a":"some text","b":null,"c":{"e":"an-id-of-36-bytes-0123456789abcdefab"}}`
	for _, tt := range []struct{ name, schema, value, want string }{
		{"a tree", tree, `{"name":"a","children":[` + strings.Repeat(`{"name":"b","children":[{"name":"c"}]},`, 5000) + `{"name":"d"}]}`, ""},
		{"a tree with a mistake", tree, `{"name":"a","children":[{"name":"b","children":[{"name":7}]}]}`, `property "children[0].children[0].name": got integer, want string`},
		{"rows with fields that may be null", nullable, `[` + strings.Repeat(row+",", 4000) + row + `]`, ""},
		{"alternatives", `{"oneOf":[` + strings.Repeat(`{"type":"number"},`, 500) + `{"type":"string"}]}`, `"` + strings.Repeat("a", 10<<10) + `"`, ""},
		{"a large text", `{"type":"object","properties":{"text":{"type":"string","minLength":1}},"required":["text"],"additionalProperties":false}`,
			`{"text":"` + strings.Repeat("a", 1<<20) + `"}`, ""},
		{"references by a pointer into a list", `{"prefixItems":[{"type":"string"},{"$ref":"#/prefixItems/0"}]}`, `["a",1]`, `the value does not match the schema`},
		{"a schema of its own id", `{"$ref":"other.json","$defs":{"a":{"$id":"https://a.example/other.json","type":"string"}},"$id":"https://a.example/s.json"}`, `1`, `the value does not match the schema`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Read(json.RawMessage(tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			var value any
			if err := json.Unmarshal([]byte(tt.value), &value); err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := s.Check("", value); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTheBoundsOfASchema(t *testing.T) {
	flat := func(n int) string { // n + 1 schemas apply
		return `{"anyOf":[` + strings.TrimSuffix(strings.Repeat(`true,`, n), ",") + `]}`
	}
	pad := func(bytes int) string {
		return `{"description":"` + strings.Repeat("a", bytes-len(`{"description":""}`)) + `"}`
	}
	pattern := func(n int) string { return `{"pattern":"` + strings.Repeat("a", n) + `"}` }
	patterns := func(n int) string { // one instruction for each letter, and one for each pattern
		return `{"allOf":[` + strings.Repeat(pattern(3999)+",", 24) + pattern(n) + `]}`
	}
	// 4,194,218 bytes: the place /$defs/aa...a, and within it the places /$defs/00 to /$defs/99.
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf(`"%02d":true`, i))
	}
	places := `{"$defs":{"` + strings.Repeat("a", 41_511) + `":{"$defs":{` + strings.Join(names, ",") + `}}`
	place := func(n int) string { return places + `,"` + strings.Repeat("b", n-len("/$defs/")) + `":true}}` }
	ids := func(n int) string { return places + `},"$id":"https://a.example/` + strings.Repeat("b", n) + `"}` }
	for _, tt := range []struct {
		name, within, beyond, want string
	}{
		{"text", pad(262144), pad(262145), "it has 262145 bytes, at most 262144 are allowed"},
		{"depth", nest(64), nest(65), "its JSON is nested more than 64 deep"},
		{"unrolled", flat(4095), flat(4096), "more than 4096 schemas apply to one value when the references are followed"},
		{"pattern", pattern(4096), pattern(4097), "a pattern has 4097 bytes, at most 4096 are allowed"},
		{"patterns", patterns(3999), patterns(4000), "its patterns have more than 100000 instructions together"},
		{"places", place(86), place(87), "the places of its schemas have more than 4194304 bytes together"},
		{"ids", ids(68), ids(69), "the places of its schemas have more than 4194304 bytes together"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Read(json.RawMessage(tt.within)); err != nil {
				t.Errorf("within the bound: %v", err)
			}
			want := "JSON Schema is too complex: " + tt.want
			if _, err := Read(json.RawMessage(tt.beyond)); !errors.Is(err, ErrTooComplex) || err.Error() != want {
				t.Errorf("beyond the bound: got %v, want %s", err, want)
			}
		})
	}
}

func nest(depth int) string {
	return strings.Repeat(`{"items":`, depth-1) + `{}` + strings.Repeat(`}`, depth-1)
}

func TestTheBoundsOfACheck(t *testing.T) {
	// One step for the list and one for each eight items, one for each item.
	list := func(n int) any { return make([]any, n) }
	s, err := Read(json.RawMessage(`{"items":{"type":"null"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check("", list(888_888)); err != nil {
		t.Errorf("999,999 steps: %v", err)
	}
	if err := s.Check("", list(888_896)); !errors.Is(err, ErrTooComplex) {
		t.Errorf("1,000,009 steps: %v", err)
	}
	anything, err := Read(json.RawMessage(`{}`)) // its error has 130 bytes and the text, and is held twice
	if err != nil {
		t.Fatal(err)
	}
	for bytes, fits := range map[int]bool{33_554_302: true, 33_554_303: false} {
		if err := anything.Check("", strings.Repeat("a", bytes)); (err == nil) != fits {
			t.Errorf("a text of %d bytes: %v", bytes, err)
		}
	}
	for links, fits := range map[int]bool{498: true, 499: false} { // the root and the last are open, too
		s, err := Read(json.RawMessage(chain(links)))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check("", "a"); (err == nil) != fits {
			t.Errorf("%d schemas within each other: %v", links+2, err)
		}
	}
}

func TestAReferenceThatLeadsNowhereIsRefused(t *testing.T) {
	for _, ref := range []string{"#/$defs/b", "#b", "https://a.example/b", "#/$defs/a/", "#/$defs", "#/$defs/a/type", "#/anyOf/+0", "#/anyOf/00", "%"} {
		_, err := Read(json.RawMessage(fmt.Sprintf(`{"$ref":%q,"$defs":{"a":{"type":"string"}},"anyOf":[true]}`, ref)))
		if core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

func TestTextsThatAreNoSchema(t *testing.T) {
	for text, want := range map[string]string{
		`"x"`:                  "not a JSON Schema: it is of type string",
		`7`:                    "not a JSON Schema: it is of type number",
		`{"properties":"x"}`:   "not a JSON Schema: properties is of type string",
		`{"minLength":"x"}`:    "not a JSON Schema: a keyword that counts has no whole number",
		`{"properties":{"a"`:   "not a JSON Schema: unexpected end of JSON input",
		`{"pattern":"a{2,1}"}`: "pattern \"a{2,1}\": error parsing regexp: invalid repeat count: `{2,1}`",
	} {
		_, err := Read(json.RawMessage(text))
		if core.CodeOf(err) != core.CodeInvalid || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// What is written to a hash of lists does not tell null from false, so that each of these
// is compared with every other: 270 KB took nine seconds for each keyword.
func TestItemsThatAreMadeToLookAlikeCount(t *testing.T) {
	const steps = "JSON Schema is too complex: checking the value takes more than 1000000 steps"
	alike := func(n int) any {
		list := make([]any, n)
		for i := range list {
			item := make([]any, 12)
			for bit := range item {
				if i>>bit&1 == 0 {
					item[bit] = false
				}
			}
			list[i] = item
		}
		return list
	}
	different := func(n int) any {
		list := make([]any, n)
		for i := range list {
			list[i] = map[string]any{"id": float64(i), "name": fmt.Sprint("name ", i)}
		}
		return list
	}
	texts := func(n int) any { // {"a": "aaa"}, {"aa": "aa"} and so on are the same to the hash
		list := make([]any, n)
		for i := range list {
			list[i] = map[string]any{strings.Repeat("a", i): strings.Repeat("a", n-i)}
		}
		return list
	}
	for _, tt := range []struct {
		name, schema string
		value        any
		want         string
	}{
		{"few", `{"uniqueItems":true}`, alike(100), ""},
		{"many", `{"uniqueItems":true}`, alike(4000), steps},
		{"some, often", `{"allOf":[` + strings.Repeat(`{"uniqueItems":true},`, 300) + `true]}`, alike(100), steps},
		{"in a list", `{"items":{"uniqueItems":true}}`, []any{alike(4000)}, steps},
		{"texts that are cut elsewhere", `{"uniqueItems":true}`, texts(600), steps},
		{"different ones", `{"uniqueItems":true}`, different(5000), ""},
		{"different ones, often", `{"allOf":[` + strings.Repeat(`{"uniqueItems":true},`, 1000) + `true]}`, different(5000), steps},
		{"two that are the same", `{"uniqueItems":true}`, []any{1.0, "a", 1.0}, "the arguments: uniqueItems: array items 2 and 0 are equal"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Read(json.RawMessage(tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := s.Check("", tt.value); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// The characters of a megabyte were counted for each of 4,000 keywords: twelve seconds.
func TestCharactersThatAreCountedOftenCount(t *testing.T) {
	for _, keyword := range []string{`{"minLength":1}`, `{"maxLength":2000000}`} {
		s, err := Read(json.RawMessage(`{"allOf":[` + strings.Repeat(keyword+",", 499) + keyword + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check("", strings.Repeat("é", 500_000)); err != nil {
			t.Errorf("%s 500 times: %v", keyword, err)
		}
		if err := s.Check("", strings.Repeat("é", 600_000)); !errors.Is(err, ErrTooComplex) {
			t.Errorf("%s 500 times over more: %v", keyword, err)
		}
	}
}

// Each reference led to each of the schemas of one name: 250 KB took a gigabyte before they
// were refused.
func TestReferencesToManySchemasAreRefused(t *testing.T) {
	anchors := func(anchors, references int) string {
		return `{"$defs":{"a":{"prefixItems":[` + strings.Repeat(`{"$anchor":"a"},`, anchors) + `true]}},"prefixItems":[` + strings.Repeat(`{"$ref":"#a"},`, references) + `true]}`
	}
	_, err := Read(json.RawMessage(anchors(1000, 101)))
	if want := "JSON Schema is too complex: its references may lead to more than 100000 schemas together"; !errors.Is(err, ErrTooComplex) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := Read(json.RawMessage(anchors(1000, 100))); errors.Is(err, ErrTooComplex) { // it is refused since a name is given twice
		t.Errorf("100,000: %v", err)
	}
}
