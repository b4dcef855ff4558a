package openapi

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reveille-run/reveille/core"
)

// chosenName is called as that of the routes.
type chosenName string

// sample is a route of everything that a route may be made of.
type sample struct {
	Thread chosenName `in:"path" json:"thread"`
	Limit  int        `in:"query" json:"limit,omitempty" schema:"min=1,max=200"`
}

type sampleBody struct {
	Says   string         `json:"says" schema:"minLength=1" strict:"also=said"`
	Status core.RunStatus `json:"status,omitempty"`
	When   core.Millis    `json:"when,omitzero"`
	Usage  *core.Usage    `json:"usage"`
	_      struct{}       `schema:"{\"oneOf\":[{\"required\":[\"status\"]}]}"`
}

func TestARouteInTheBlock(t *testing.T) {
	got := block([]Route{{
		Method: "POST", Path: "/v1/runs/{thread}", Text: "Do a | b. It takes c.", Takes: []any{sample{}}, Body: sampleBody{}, Empty: true,
		Answers: []Answer{{Status: 200, Stream: true}, {Status: 202, Text: "Otherwise", Body: core.Usage{}}, {Status: 204}},
		Refuses: []Refusal{{400, core.CodeInvalid}, {410, core.CodeDeleted}},
	}, {Method: "GET", Path: "/a_b.json", Text: "Get it.", Answers: []Answer{{Status: 200, Raw: true}}, Refuses: []Refusal{{400, core.CodeInvalid}}}})
	want := "\n### Runs\n\n| Route | Purpose |\n|---|---|\n" +
		"| [`POST /v1/runs/{thread}`](#post-v1runsthread) | Do a \\| b |\n" +
		"\n#### `POST /v1/runs/{thread}`\n\nDo a | b. It takes c.\n\n" +
		"- Query: `limit`\n- Body, optional: `{says, status?, when?, usage}`\n- 200: server-sent events\n" +
		"- 202 (Otherwise): `{input?, output?, cache_read?, cache_write?, reasoning?, cache_write_hour?, long?}`\n- 204: no body\n- Error codes: `deleted`\n" +
		"\n### Other routes\n\n| Route | Purpose |\n|---|---|\n| [`GET /a_b.json`](#get-a_bjson) | Get it |\n" +
		"\n#### `GET /a_b.json`\n\nGet it.\n\n- 200: JSON\n\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestWhatATagNarrows(t *testing.T) {
	narrowed := func(tag string) string {
		schema := jsonschema.Schema{Description: "How many."}
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
		"":                        `{"description":"How many."}`,
		"min=1,max=200":           `{"description":"How many.","minimum":1,"maximum":200}`,
		"minLength=1,maxLength=9": `{"description":"How many.","minLength":1,"maxLength":9}`,
		"enum=a|b,also=many":      `{"description":"How many. Also accepted as many.","enum":["a","b"]}`,
		"minItems=1":              `{"description":"How many.","minItems":1}`,
		"minimum=1":               `the tag has the unknown key "minimum"`,
		"min=one":                 `strconv.ParseFloat: parsing "one": invalid syntax`,
	} {
		if diff := cmp.Diff(want, narrowed(tag)); diff != "" {
			t.Errorf("tag %q: %s", tag, diff)
		}
	}
}

func TestSentences(t *testing.T) {
	for text, want := range map[string]string{
		"id of the run": "Id of the run.", "run_start: its agent": "run_start: its agent.", "Done.": "Done.",
	} {
		if got := sentence(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestTheBlockHasAPlaceInTheDocument(t *testing.T) {
	for _, document := range []string{"", blockStarts, blockEnds + blockStarts} {
		if got, err := Block([]byte(document), nil); err == nil {
			t.Errorf("%q became %q", document, got)
		}
	}
	got, err := Block([]byte("a\n"+blockStarts+"old\n"+blockEnds+"b\n"), nil)
	if want := "a\n" + blockStarts + "\n" + blockEnds + "b\n"; err != nil || string(got) != want {
		t.Errorf("got %q, error %v", got, err)
	}
}
