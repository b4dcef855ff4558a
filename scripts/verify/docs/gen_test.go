package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestGeneratedPartsAreCurrent compares the documents of the repository with their source.
func TestGeneratedPartsAreCurrent(t *testing.T) {
	names, err := markdownFiles(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		filled, err := fill(root, string(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if filled != string(text) {
			t.Errorf("%s is not current: run go generate ./scripts/verify/docs", name)
		}
	}
}

// TestEachPartIsInADocument names a part that no document has.
func TestEachPartIsInADocument(t *testing.T) {
	names, err := markdownFiles(root)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range names {
		all.WriteString(read(t, name))
	}
	for name := range generators {
		if !strings.Contains(all.String(), "\n"+partBegins+name+" -->\n") {
			t.Errorf("no document has the part %s", name)
		}
	}
}

func TestFill(t *testing.T) {
	generators["test"] = func(string) (string, error) { return "| new |\n", nil }
	defer delete(generators, "test")
	tests := []struct{ name, text, want, failed string }{
		{"no part", "# Title\n", "# Title\n", ""},
		{"an empty part", "a\n<!-- generated: test -->\n<!-- end generated -->\nb\n", "a\n<!-- generated: test -->\n| new |\n<!-- end generated -->\nb\n", ""},
		{"a part with an old table", "<!-- generated: test -->\n| old |\n<!-- end generated -->\n", "<!-- generated: test -->\n| new |\n<!-- end generated -->\n", ""},
		{"a part of another package", "<!-- generated: routes -->\n| a |\n<!-- end generated -->\n", "<!-- generated: routes -->\n| a |\n<!-- end generated -->\n", ""},
		{"markers in a fence", "```text\n<!-- generated: test -->\n```\n", "```text\n<!-- generated: test -->\n```\n", ""},
		{"no end", "<!-- generated: test -->\n", "", `part test has no line "<!-- end generated -->"`},
		{"a second part before the end", "<!-- generated: test -->\n<!-- generated: test -->\n", "", `part test has no line "<!-- end generated -->"`},
		{"a second part with an end", "<!-- generated: test -->\n<!-- generated: test -->\n<!-- end generated -->\n", "", `part test has no line "<!-- end generated -->"`},
		{"a part with an old fence", "<!-- generated: test -->\n```\n<!-- end generated -->\nb\n", "<!-- generated: test -->\n| new |\n<!-- end generated -->\nb\n", ""},
		{"an end without a part", "<!-- end generated -->\n", "", `"<!-- end generated -->" ends no part`},
		{"an unknown name", "<!-- generated: tset -->\n<!-- end generated -->\n", "", `no part is named "tset"; the names are errors, events, metrics, outputs, parameters, providers, results, routes, samples, settings, targets, terminations`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := fill(root, test.text)
			failed := ""
			if err != nil {
				failed = err.Error()
			}
			if got != test.want || failed != test.failed {
				t.Errorf("got %q, error %q\nwant %q, error %q", got, failed, test.want, test.failed)
			}
		})
	}
}

// TestParts looks for a literal piece in each part.
func TestParts(t *testing.T) {
	tests := []struct{ name, want string }{
		{"errors", "| `tenant_spend_limit` | 402 |"},
		{"errors", "| `invalid` | 400, 408 |"},
		{"errors", "| `forbidden` | 403, 421 |"},
		{"errors", "| `method_not_allowed` | 405 |"},
		{"events", "| Event | Id | Fields | Meaning |\n|---|---|---|---|\n| `run_start` | yes | `thread_id`, `agent_id`, `origin` |"},
		{"events", "| `activity_delta` | no | "},
		{"metrics", "| `reveille_runs_total` | counter | `agent`, `end` | Finished runs, by their end. |"},
		{"metrics", "| `reveille_queue_oldest_seconds` | gauge, seconds | none |"},
		{"metrics", "| `Lateness` | Milliseconds |"},
		{"metrics", "A stack has at most 46 metrics."},
		{"outputs", "| `StreamUrl` | "},
		{"parameters", "| `Steps` | `1` | "},
		{"parameters", " Allowed: `iam`, `jwt`, `gateway`, `lambda`, `none`. |"},
		{"parameters", " Allowed: 1 to 100. |"},
		{"parameters", "| `TenantClaim` | empty | `jwt`, `gateway`, `lambda`: The claim that "},
		{"providers", "| `anthropic` | `ANTHROPIC_API_KEY` | `ANTHROPIC_BASE_URL` | `claude-haiku-5-5` | 1000000 |\n"},
		{"providers", "| `ollama` | `OLLAMA_API_KEY`, optional | `OLLAMA_BASE_URL` | - | - |\n"},
		{"results", "| `not_executed` | "},
		{"samples", "| `sweep-dlq.json` | `sweep` | A wake-up from the dead-letter queue. |\n"},
		{"settings", "### Runs\n\n| Variable | Default | Meaning |\n|---|---|---|\n| `REVEILLE_TRIGGERS` | "},
		{"settings", "| `REVEILLE_LEASE` | `30s` | The time for which a claim is valid without renewal. |\n"},
		{"settings", "| `OPENAI_API_KEY` | none | The key of provider `openai`. |\n"},
		{"targets", "| `make unit` | "},
		{"terminations", "| `superseded` | "},
	}
	for _, test := range tests {
		got, err := generate(root, test.name)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%s lacks %q:\n%s", test.name, test.want, got)
		}
		if strings.HasPrefix(got, "\n") || !strings.HasSuffix(got, "|\n") || strings.HasSuffix(got, "\n\n") {
			t.Errorf("%s begins or ends with an empty line:\n%s", test.name, got)
		}
	}
}

// Codes that stay inside the runtime are not among the errors of the HTTP API.
func TestInternalCodesAreNotListed(t *testing.T) {
	got, err := errorTable(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, internal := range []string{"fenced", "applied", "suspect", "schema"} {
		if strings.Contains(got, "| `"+internal+"`") {
			t.Errorf("%s is listed", internal)
		}
	}
}

// The recorded stream of the native API has no field that the events do not list.
func TestRecordedEventsHaveListedFields(t *testing.T) {
	table, err := eventTables(root)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, " | "); len(cells) == 4 {
			listed[strings.Trim(cells[0], "|` ")] = cells[2]
		}
	}
	text, err := os.ReadFile(filepath.Join(root, "adapters/protocols/httpapi/testdata/native.txt"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		_, data, found := strings.Cut(line, "{\"event_type\"")
		if !found {
			continue
		}
		var event map[string]json.RawMessage
		if err := json.NewDecoder(strings.NewReader("{\"event_type\"" + data)).Decode(&event); err != nil {
			t.Fatal(err)
		}
		kind := strings.Trim(string(event["event_type"]), `"`)
		seen[kind] = true
		for name := range event {
			if !slices.Contains([]string{"event_type", "sequence", "time", "run_id", "step"}, name) && !strings.Contains(listed[kind], "`"+name+"`") {
				t.Errorf("event %s has a field %s, listed are %s", kind, name, listed[kind])
			}
		}
	}
	if len(seen) < 15 {
		t.Errorf("only %d types are recorded", len(seen))
	}
}

func TestTargets(t *testing.T) {
	tests := []struct{ name, makefile, want string }{
		{"no groups", "a: b ## Do a\nb:\n\tc\nd-e: ## do | e\n", "| Target | Purpose |\n|---|---|\n| `make a` | Do a. |\n| `make d-e` | Do \\| e. |\n"},
		{
			"groups", "##@ One\na: ## A\n##@ Two\nb: ## B\n",
			"### One\n\n| Target | Purpose |\n|---|---|\n| `make a` | A. |\n\n### Two\n\n| Target | Purpose |\n|---|---|\n| `make b` | B. |\n",
		},
	}
	for _, test := range tests {
		got, err := targets(test.makefile)
		if err != nil || got != test.want {
			t.Errorf("%s: %q, %v, want %q", test.name, got, err, test.want)
		}
	}
}

func TestSentence(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "",
		"the request fails":  "The request fails.",
		"A run ends.":        "A run ends.",
		"cache_read is part": "cache_read is part.",
		"https address":      "Https address.",
		"http2 is used":      "http2 is used.",
	} {
		if got := sentence(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
