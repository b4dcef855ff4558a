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

func TestARouteInTheTable(t *testing.T) {
	got := table([]Route{{
		Method: "POST", Path: "/v1/a/{thread}", Text: "does a | b", Takes: []any{sample{}}, Body: sampleBody{}, Empty: true,
		Answers: []Answer{{Status: 200, Stream: true}, {Status: 202, Text: "else", Body: core.Usage{}}},
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

func TestTheTableHasAPlaceInTheReadme(t *testing.T) {
	for _, readme := range []string{"", tableBegins, tableEnds + tableBegins} {
		if got, err := Table([]byte(readme), nil); err == nil {
			t.Errorf("%q became %q", readme, got)
		}
	}
	got, err := Table([]byte("a\n"+tableBegins+"old\n"+tableEnds+"b\n"), nil)
	if want := "a\n" + tableBegins + "| route | response |\n|---|---|\n" + tableEnds + "b\n"; err != nil || string(got) != want {
		t.Errorf("got %q, error %v", got, err)
	}
}
