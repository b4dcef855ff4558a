package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
	"github.com/reveille-run/reveille/core"
)

func root(t *testing.T) string {
	t.Helper()
	folder, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

const repair = "run go generate ./adapters/protocols/httpapi"

func TestTheDocumentIsThatOfTheRoutes(t *testing.T) {
	want, err := Document(root(t), httpapi.Routes())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(read(t, documentFile))); diff != "" {
		t.Errorf("%s is another (-want +is): %s\n%s", documentFile, repair, diff)
	}
}

func TestTheReadmesTableIsThatOfTheRoutes(t *testing.T) {
	readme := read(t, readmeFile)
	want, err := withTable(readme, Table(httpapi.Routes()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(readme)); diff != "" {
		t.Errorf("%s has another table (-want +is): %s\n%s", readmeFile, repair, diff)
	}
}

// sample is a route of everything that a route may be made of.
type sample struct {
	Thread httpapi.Name `in:"path" json:"thread"`
	Limit  int          `in:"query" json:"limit,omitempty" schema:"min=1,max=200"`
}

type sampleBody struct {
	Says   string         `json:"says" schema:"minLength=1" strict:"also=said"`
	Status core.RunStatus `json:"status,omitempty"`
	When   core.Millis    `json:"when,omitzero"`
	Usage  *core.Usage    `json:"usage"`
	_      struct{}       `schema:"{\"oneOf\":[{\"required\":[\"status\"]}]}"`
}

func TestARouteInTheTable(t *testing.T) {
	got := Table([]httpapi.Route{{
		Method: "POST", Path: "/v1/a/{thread}", Text: "does a | b", Takes: []any{sample{}}, Body: sampleBody{}, Empty: true,
		Answers: []httpapi.Answer{{Status: 200, Stream: true}, {Status: 202, Text: "else", Body: core.Usage{}}},
	}})
	want := "| route | response |\n|---|---|\n" +
		"| `POST /v1/a/{thread}?limit` `{says, status?, when?, usage}` or without a body | 200 as SSE, 202 `{input?, output?, cache_read?, cache_write?, reasoning?}` (else): does a \\| b |\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestWhatATagNarrows(t *testing.T) {
	narrowed := func(tag string) string {
		schema := jsonschema.Schema{Description: "how many"}
		if err := narrow(&schema, tag); err != nil {
			return err.Error()
		}
		text, err := json.Marshal(&schema)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for tag, want := range map[string]string{
		"":                        `{"description":"how many"}`,
		"min=1,max=200":           `{"description":"how many","minimum":1,"maximum":200}`,
		"minLength=1,maxLength=9": `{"description":"how many","minLength":1,"maxLength":9}`,
		"enum=a|b,also=many":      `{"description":"how many; also called many","enum":["a","b"]}`,
		"minItems=1":              `{"description":"how many","minItems":1}`,
		"minimum=1":               `the tag has the unknown key "minimum"`,
		"min=one":                 `strconv.ParseFloat: parsing "one": invalid syntax`,
	} {
		if diff := cmp.Diff(want, narrowed(tag)); diff != "" {
			t.Errorf("tag %q: %s", tag, diff)
		}
	}
}

func TestAReadmeWithoutAPlaceForTheTable(t *testing.T) {
	for _, readme := range []string{"", tableBegins, tableEnds + tableBegins} {
		if got, err := withTable([]byte(readme), []byte("x")); err == nil {
			t.Errorf("%q became %q", readme, got)
		}
	}
	got, err := withTable([]byte("a\n"+tableBegins+"old\n"+tableEnds+"b\n"), []byte("new\n"))
	if want := "a\n" + tableBegins + "new\n" + tableEnds + "b\n"; err != nil || !bytes.Equal(got, []byte(want)) {
		t.Errorf("got %q, error %v", got, err)
	}
}
