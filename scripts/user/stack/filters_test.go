package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const beforeFilters = `# a comment
Mappings:
  Computed:
    Release: { Schema: "1", SchemaRaised: "false" }
    Filters: { Queue: "none", Stream: 'none' }
Resources:
  TriggerFunction:
    Properties:
      Events:
        Bus:
          Type: EventBridgeRule
          Properties:
            Pattern:
              source: # of the parameter
                Fn::If: [HasEventSources, !Ref EventSources, [none]]
`

// build puts a template and triggers where sam build does.
func buildFilters(t *testing.T, template, triggers string) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(filepath.Dir(builtTriggers), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, builtTemplate, template)
	write(t, builtTriggers, triggers)
}

func TestFiltersAreWrittenIntoTheBuiltTemplate(t *testing.T) {
	const (
		orders  = `{"name":"orders","source":"eventbridge","prompt":"x","filter":{"source":["shop"],"detail-type":["Order \"placed\""],"detail":{"kind":[{"prefix":"a"}]}}}`
		returns = `{"name":"returns","source":"eventbridge","prompt":"x","filter":{"detail-type":["Return"]}}`
		tickets = `{"name":"tickets","source":"sqs","prompt":"x","filter":{"body":{"kind":["ticket"]}}}`
		stock   = `{"name":"stock","source":"dynamodb","prompt":"x","filter":{"eventName":["MODIFY"]}}`
		large   = `{"name":"large","source":"eventbridge","prompt":"x","filter":{"detail":{"total":[{"numeric":[">",1]}]}}}`
	)
	tests := []struct {
		name     string
		triggers []string
		old, new string // pairs, separated by lines of ---
		said     string
	}{
		{"no triggers", nil, "", "", ""},
		{
			"a bus", []string{orders}, "              source:", "              \"detail\": {\"kind\":[{\"prefix\":\"a\"}]}\n              \"detail-type\": [\"Order \\\"placed\\\"\"]\n              source:",
			"events of eventbridge: AWS selects those that a trigger accepts, and ignores the others\n",
		},
		{
			"two triggers", []string{orders, returns}, "              source:", "              \"$or\": [{\"detail\":{\"kind\":[{\"prefix\":\"a\"}]},\"detail-type\":[\"Order \\\"placed\\\"\"]},{\"detail-type\":[\"Return\"]}]\n              source:",
			"events of eventbridge: AWS selects those that a trigger accepts, and ignores the others\n",
		},
		{
			"a queue", []string{tickets}, `Queue: "none"`, `Queue: "{\"body\":{\"kind\":[\"ticket\"]}}"`,
			"events of sqs: AWS selects those that a trigger accepts, and deletes the others\n",
		},
		{
			"a stream", []string{stock}, `Stream: 'none'`, `Stream: "{\"eventName\":[\"MODIFY\"]}"`,
			"events of dynamodb: AWS selects those that a trigger accepts, and ignores the others\n",
		},
		{"what AWS cannot check", []string{orders, large}, "", "", "events of eventbridge: Trigger receives all of them: trigger large: filter.detail.total has numeric, which AWS may decide in another way\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			buildFilters(t, beforeFilters, `{"triggers":[`+strings.Join(tt.triggers, ",")+`]}`)
			var said strings.Builder
			if err := writeFilters(&said); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(builtTemplate)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Replace(beforeFilters, tt.old, tt.new, 1), string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if said.String() != tt.said {
				t.Errorf("printed %q, want %q", said.String(), tt.said)
			}
		})
	}
}

func TestTemplatesWithoutPlaceForFiltersAreRefused(t *testing.T) {
	const bus, queue = `{"triggers":[{"name":"a","source":"eventbridge","prompt":"x","filter":{"detail-type":["a"]}}]}`, `{"triggers":[{"name":"a","source":"sqs","prompt":"x","filter":{"body":{"a":["b"]}}}]}`
	tests := []struct{ name, template, triggers, want string }{
		{"no mapping", "Resources: {}\n", queue, "Mappings.Computed.Filters.Queue is missing: take template.yaml of the same version of Reveille"},
		{"no rule", "Resources: {}\n", bus, "Properties.Pattern is missing: take template.yaml of the same version of Reveille"},
		{"a pattern of the user", strings.Replace(beforeFilters, "              source:", "              region: [x]\n              source:", 1), bus, "has something else than source: remove it"},
		{"a pattern on one line", strings.Replace(beforeFilters, "Pattern:\n              source: # of the parameter\n                Fn::If: [HasEventSources, !Ref EventSources, [none]]", "Pattern: { source: [a] }", 1), bus, "line 13: source is not alone on its line"},
		{"an empty template", "", bus, "it is empty"},
		{"not YAML", "a: [", bus, "yaml: "},
		{"wrong triggers", beforeFilters, `{"triggers":[{"name":"a","source":"sqs","prompt":"x","filter":{"body":1}}]}`, "triggers[0] (a): filter.body must be a list"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			buildFilters(t, tt.template, tt.triggers)
			if err := writeFilters(&strings.Builder{}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %s", err, tt.want)
			}
		})
	}
}

// A template of a user without triggers has no package of them.
func TestATemplateWithoutTriggersIsUnchanged(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := writeFilters(&strings.Builder{}); err != nil {
		t.Error(err)
	}
}
