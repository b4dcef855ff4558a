package rules

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
)

// rendered is what a template makes of an event.
func rendered(t *testing.T, source, event string) (string, error) {
	t.Helper()
	made, err := parseText("prompt", source)
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	data, err := decodeEvent(json.RawMessage(event))
	if err != nil {
		t.Fatal(err)
	}
	return made.render(withoutNulls(data), maxPrompt)
}

// Each of these ran for hours or took all memory, and most of them write nothing.
func TestATemplateEndsWithinItsBudget(t *testing.T) {
	const steps = "prompt: the template takes more than 1000000 steps for this event"
	const made = "prompt: the template makes more than 4194304 bytes of text for this event"
	items := `{"items":[` + strings.TrimSuffix(strings.Repeat("1,", 2000), ",") + `],"text":"` + strings.Repeat("x", 100<<10) + `","other":"` + strings.Repeat("x", 100<<10) + `","names":{` + names(60_000) + `}}`
	for _, tt := range []struct{ name, source, want string }{
		{"loops within each other", `{{range .items}}{{range $.items}}{{range $.items}}{{end}}{{end}}{{end}}`, steps},
		{"loops that do something", `{{range .items}}{{range $.items}}{{$x := len $.text}}{{end}}{{end}}`, steps},
		{"a loop that counts", `{{range 1000000000}}{{end}}`, steps},
		{"the other branch of a loop", `{{range .items}}{{range $.items}}{{if false}}{{else}}{{with 1}}{{else}}{{end}}{{end}}{{end}}{{end}}`, steps},
		{"loops over many names that end at once", `{{range .items}}{{range $.names}}{{break}}{{end}}{{end}}`, steps},
		{"templates that call others twice", doubling(30), steps},
		{"long texts compared", `{{range .items}}{{range $.items}}{{if eq $.text $.other}}{{end}}{{end}}{{end}}`, steps},
		{"a text that doubles", `{{$x := "xxxxxxxx"}}{{range 40}}{{$x = print $x $x}}{{end}}`, made},
		{"a text that doubles by printf", `{{$x := "xxxxxxxx"}}{{range 40}}{{$x = printf "%s%s" $x $x}}{{end}}`, made},
		{"a text that is escaped", `{{$x := "\\\\\\\\"}}{{range 40}}{{$x = js $x}}{{end}}`, made},
		{"one that is written as JSON", `{{$x := "\"\"\"\""}}{{range 40}}{{$x = json $x}}{{end}}`, made},
		{"one value printed often", `{{$x := printf "` + strings.Repeat("%[1]s", 500) + `" .text}}`, made},
		{"the event as JSON, often", `{{range .items}}{{$x := json $}}{{end}}`, made},
		{"a name of much, often", `{{range .items}}{{$x := name $.text}}{{end}}`, made},
		{"a wide number", `{{$x := printf "%999999d" 1}}`, "numbers in the format have at most 3 digits"},
		{"a number of any width", `{{$x := printf "%*d" 999999 1}}`, "a width of * is not allowed"},
		{"a format of the event", `{{$x := printf .format 1}}`, "numbers in the format have at most 3 digits"},
		{"a method", `{{$x := .String}}`, "map has no entry for key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			event := items
			if strings.Contains(tt.source, ".format") {
				event = `{"format":"%99999d"}`
			}
			got, err := rendered(t, tt.source, event)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%d bytes, error %v, want %s", len(got), err, tt.want)
			}
			if tt.want == steps && core.CodeOf(err) != core.CodeTooLarge {
				t.Errorf("code %s", core.CodeOf(err))
			}
		})
	}
}

// The last that a template may do, and one more.
func TestTheBudgetOfATemplateIsExact(t *testing.T) {
	items := func(n int) string { return `{"n":[` + strings.Repeat("1,", n-1) + `1]}` }
	long := func(n int) string { return `{"text":"` + strings.Repeat("x", n) + `"}` } // as JSON it has two quotation marks
	for _, tt := range []struct{ name, source, within, beyond string }{
		{"steps", `{{range .n}}{{end}}`, items(999_996), items(999_997)}, // four for what is around the loop
		{"text", `{{$x := json .text}}`, long(4_194_302), long(4_194_303)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := rendered(t, tt.source, tt.within); err != nil {
				t.Errorf("the last: %v", err)
			}
			if _, err := rendered(t, tt.source, tt.beyond); core.CodeOf(err) != core.CodeTooLarge {
				t.Errorf("one more: %v, want too_large", err)
			}
		})
	}
}

func TestAnOrdinaryTemplateIsWithinItsBudget(t *testing.T) {
	var items []string
	for i := range 2000 {
		items = append(items, fmt.Sprintf(`{"id":%d,"tags":["a","b"],"open":true}`, i))
	}
	event := `{"items":[` + strings.Join(items, ",") + `],"text":"` + strings.Repeat("x", 20<<10) + `"}`
	got, err := rendered(t, `{{define "tags"}}{{range .}}{{.}},{{end}}{{end}}{{range .items}}{{if and .open (eq (len .tags) 2)}}{{printf "%04v" .id}} {{template "tags" .tags}}{{end}}{{end}}{{json (index .items 7)}}{{.text | html}}{{index .items 8}}`, event)
	if err != nil || !strings.HasPrefix(got, "0000 a,b,0001 a,b,") || !strings.HasSuffix(got, `x{"id":8,"open":true,"tags":["a","b"]}`) || !strings.Contains(got, `1999 a,b,{"id":7,"open":true,"tags":["a","b"]}x`) {
		t.Errorf("%s..., %v", core.Excerpt(got), err)
	}
}

// doubling are templates that each call the next twice.
func doubling(levels int) string {
	var b strings.Builder
	for i := range levels {
		fmt.Fprintf(&b, `{{define "d%d"}}{{template "d%d"}}{{template "d%d"}}{{end}}`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `{{define "d%d"}}{{end}}{{template "d0"}}`, levels)
	return b.String()
}

func TestATemplateMustNotCallItself(t *testing.T) {
	for _, source := range []string{`{{define "a"}}{{template "a"}}{{end}}`, `{{define "a"}}{{if .x}}{{range .y}}{{else}}{{template "b"}}{{end}}{{end}}{{end}}{{define "b"}}{{template "a"}}{{end}}`, `{{template "prompt"}}`} {
		if _, err := parseText("prompt", source); err == nil || !strings.Contains(err.Error(), "calls itself") {
			t.Errorf("%s: %v", source, err)
		}
	}
}

func TestATemplateCannotCallWhatCounts(t *testing.T) {
	for name, source := range map[string]string{"step": `{{step -1000000}}`, "ranged": `{{ranged .}}`} {
		if _, err := parseText("prompt", source); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("function %q not defined", name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
