package httpapi

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/adapters/protocols/httpapi/internal/openapi"
)

// documented are the routes as package openapi documents them, with all their refusals.
func documented() (all []openapi.Route) {
	for _, r := range allRoutes() {
		d := openapi.Route{
			Method: r.Method, Path: r.Path, Name: r.Name, Text: r.Text, Open: r.Open, Takes: r.Takes, Body: r.Body, Empty: r.Empty,
		}
		for _, a := range r.Answers {
			d.Answers = append(d.Answers, openapi.Answer(a))
		}
		if !r.Open {
			for _, refused := range common() {
				d.Refuses = append(d.Refuses, openapi.Refusal(refused))
			}
			for _, code := range r.Refuses {
				d.Refuses = append(d.Refuses, openapi.Refusal{Status: protocol.Status(code), Code: code})
			}
		}
		all = append(all, d)
	}
	return all
}

// The OpenAPI document and the routes in README.md are generated from the routes.
func TestWhatIsWrittenOfTheRoutes(t *testing.T) {
	document, err := openapi.Document("../../..", documented(), problem{})
	if err != nil {
		t.Fatal(err)
	}
	const readmeFile = "README.md"
	readme, err := os.ReadFile(readmeFile)
	if err != nil {
		t.Fatal(err)
	}
	block, err := openapi.Block(readme, documented())
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]byte{"openapi.json": document, readmeFile: block} {
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(want, got) {
			continue
		}
		if flag.Lookup("update").Value.String() == "true" {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		t.Errorf("%s differs (-want +got): run go generate ./adapters/protocols/httpapi\n%s", path, cmp.Diff(string(want), string(got)))
	}
}
