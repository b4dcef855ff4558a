package openapi

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// The lines around the routes in README.md of package httpapi.
const (
	blockStarts = "<!-- generated: routes -->\n"
	blockEnds   = "<!-- end generated -->\n"
)

// Block returns the document with the routes between the two lines that mark their place.
func Block(document []byte, routes []Route) ([]byte, error) {
	before, rest, found := bytes.Cut(document, []byte(blockStarts))
	_, after, ended := bytes.Cut(rest, []byte(blockEnds))
	if !found || !ended {
		return nil, errors.New("the document has no place for the routes: " + strings.TrimSpace(blockStarts))
	}
	return bytes.Join([][]byte{before, []byte(blockStarts), block(routes), []byte(blockEnds), after}, nil), nil
}

// groups are the headings under which routes are listed, each with the paths that it has.
var groups = []struct{ title, prefix string }{
	{"Threads", "/v1/threads"}, {"Runs", "/v1/runs"}, {"Other routes", "/"},
}

// block is a table of the routes by group, with a section for each route after it.
func block(routes []Route) []byte {
	var b bytes.Buffer
	common := shared(routes)
	left := routes
	for _, g := range groups {
		var in, out []Route
		for _, r := range left {
			if strings.HasPrefix(r.Path, g.prefix) {
				in = append(in, r)
			} else {
				out = append(out, r)
			}
		}
		if left = out; len(in) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n### %s\n\n| Route | Purpose |\n|---|---|\n", g.title)
		for _, r := range in {
			fmt.Fprintf(&b, "| [`%s %s`](#%s) | %s |\n", r.Method, r.Path, anchor(r), strings.ReplaceAll(summary(r.Text), "|", `\|`))
		}
		for _, r := range in {
			section(&b, r, common)
		}
	}
	b.WriteString("\n")
	return b.Bytes()
}

// summary is the first sentence of a route's text, without its full stop.
func summary(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(first, ".")
}

// anchor is the fragment that GitHub gives the heading of a route.
func anchor(r Route) string {
	kept := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_':
			return c
		case c == ' ':
			return '-'
		}
		return -1
	}, strings.ToLower(r.Method+" "+r.Path))
	return kept
}

func section(b *bytes.Buffer, r Route, common []core.Code) {
	fmt.Fprintf(b, "\n#### `%s %s`\n\n%s\n\n", r.Method, r.Path, r.Text)
	if names := query(r); len(names) > 0 {
		fmt.Fprintf(b, "- Query: %s\n", quoted(names))
	}
	if r.Body != nil {
		optional := ""
		if r.Empty {
			optional = ", optional"
		}
		fmt.Fprintf(b, "- Body%s: `{%s}`\n", optional, strings.Join(keys(reflect.TypeOf(r.Body)), ", "))
	}
	for _, a := range r.Answers {
		fmt.Fprintf(b, "- %s\n", success(a))
	}
	var codes []string
	for _, refusal := range r.Refuses {
		if !slices.Contains(common, refusal.Code) {
			codes = append(codes, string(refusal.Code))
		}
	}
	if len(codes) > 0 {
		fmt.Fprintf(b, "- Error codes: %s\n", quoted(codes))
	}
}

// shared are the codes that every route has which needs an identity.
func shared(routes []Route) []core.Code {
	var all []core.Code
	first := true
	for _, r := range routes {
		if r.Open {
			continue
		}
		var has []core.Code
		for _, refusal := range r.Refuses {
			if first || slices.Contains(all, refusal.Code) {
				has = append(has, refusal.Code)
			}
		}
		all, first = has, false
	}
	return all
}

// query are a route's query parameters.
func query(r Route) (names []string) {
	for _, takes := range r.Takes {
		t := reflect.TypeOf(takes)
		for i := range t.NumField() {
			if f := t.Field(i); f.Tag.Get("in") == "query" {
				names = append(names, jsonName(f))
			}
		}
	}
	return names
}

func quoted(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }

// success describes a response, as in "202: `{status, run_id}`".
func success(a Answer) string {
	text := strconv.Itoa(a.Status)
	if a.Text != "" {
		text += " (" + a.Text + ")"
	}
	switch {
	case a.Stream:
		text += ": server-sent events"
	case a.Body != nil:
		text += ": `{" + strings.Join(keys(reflect.TypeOf(a.Body)), ", ") + "}`"
	case a.Raw:
		text += ": JSON"
	default:
		text += ": no body"
	}
	return text
}

// keys are a struct's, each optional one with a question mark.
func keys(t reflect.Type) (all []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		switch name := jsonName(f); {
		case f.Anonymous && name == "":
			all = append(all, keys(f.Type)...)
		case f.IsExported() && name != "-":
			if strings.Contains(f.Tag.Get("json"), ",omit") {
				name += "?"
			}
			all = append(all, name)
		}
	}
	return all
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
