package openapi

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// What stands around the table in the README.
const (
	tableBegins = "<!-- routes of the native API: go generate ./adapters/protocols/httpapi -->\n"
	tableEnds   = "<!-- end of the routes -->\n"
)

// Table returns the README with the table of routes in its place.
func Table(readme []byte, routes []Route) ([]byte, error) {
	before, rest, found := bytes.Cut(readme, []byte(tableBegins))
	_, after, ended := bytes.Cut(rest, []byte(tableEnds))
	if !found || !ended {
		return nil, errors.New("README.md has no place for the routes: " + strings.TrimSpace(tableBegins))
	}
	return bytes.Join([][]byte{before, []byte(tableBegins), table(routes), []byte(tableEnds), after}, nil), nil
}

func table(routes []Route) []byte {
	var b bytes.Buffer
	b.WriteString("| route | response |\n|---|---|\n")
	for _, r := range routes {
		fmt.Fprintf(&b, "| `%s %s%s`%s | %s: %s |\n", r.Method, r.Path, query(r), body(r), answers(r), strings.ReplaceAll(r.Text, "|", `\|`))
	}
	return b.Bytes()
}

// query names a route's query parameters, as in "?limit&cursor".
func query(r Route) string {
	var names []string
	for _, takes := range r.Takes {
		t := reflect.TypeOf(takes)
		for i := range t.NumField() {
			if f := t.Field(i); f.Tag.Get("in") == "query" {
				names = append(names, jsonName(f))
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "?" + strings.Join(names, "&")
}

func body(r Route) string {
	if r.Body == nil {
		return ""
	}
	text := " `{" + strings.Join(keys(reflect.TypeOf(r.Body)), ", ") + "}`"
	if r.Empty {
		text += " or without a body"
	}
	return text
}

// answers says the successes, as in "202 `{status, run_id}`".
func answers(r Route) string {
	var all []string
	for _, a := range r.Answers {
		text := strconv.Itoa(a.Status)
		switch {
		case a.Stream:
			text += " as SSE"
		case a.Body != nil:
			text += " `{" + strings.Join(keys(reflect.TypeOf(a.Body)), ", ") + "}`"
		}
		if a.Text != "" {
			text += " (" + a.Text + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// keys are a struct's, with a question mark behind those that may be missing.
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
