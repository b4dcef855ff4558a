package registry_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/agent/specfile"
)

func TestPatternsAndNamesMakeTheCatalogAndDenyWins(t *testing.T) {
	all, none := []string{"drop", "read", "write"}, []string(nil)
	tests := []struct {
		name, spec string
		want       []string
	}{
		{"nothing said", `{}`, all},
		{"all of them", `{"allowed_tool_patterns":["*"]}`, all},
		{"an empty list", `{"allowed_tools":[]}`, none},
		{"a list that is null", `{"allowed_tools":null}`, none},
		{"an empty list of patterns", `{"allowed_tool_patterns":[]}`, none},
		{"patterns that are null", `{"allowed_tool_patterns":null}`, none},
		{"names", `{"allowed_tools":["read"]}`, []string{"read"}},
		{"a pattern", `{"allowed_tool_patterns":["*r*"]}`, all},
		{"names and patterns", `{"allowed_tools":["drop"],"allowed_tool_patterns":["w*"]}`, []string{"drop", "write"}},
		{"no names beside a pattern", `{"allowed_tools":[],"allowed_tool_patterns":["w*"]}`, []string{"write"}},
		{"all but a name", `{"excluded_tools":["drop"]}`, []string{"read", "write"}},
		{"all but a pattern", `{"excluded_tool_patterns":["*e*"]}`, []string{"drop"}},
		{"a pattern that excludes a name", `{"allowed_tools":["read"],"excluded_tool_patterns":["r*"]}`, none},
		{"a name that excludes of a pattern", `{"allowed_tool_patterns":["*"],"excluded_tools":["read"]}`, []string{"drop", "write"}},
		{"everything excluded", `{"excluded_tool_patterns":["*"]}`, none},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spec := decoded(t, test.spec)
			if diff := cmp.Diff(test.want, toolNames(resolve(t, parts(spec), "a"))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// decoded is a spec with the fields of the text.
func decoded(t *testing.T, fields string) agent.Spec {
	t.Helper()
	separator := map[bool]string{false: ","}[fields == "{}"]
	read, err := specfile.Decode("a.json", []byte(`{"id":"a","model":"small"`+separator+strings.TrimPrefix(fields, "{")))
	if err != nil {
		t.Fatal(err)
	}
	return read.Specs[0]
}

func TestPatternsWithoutToolsAreWarnedOf(t *testing.T) {
	tests := []struct {
		name, spec string
		want       []string
	}{
		{"nothing said", `{}`, nil},
		{"patterns with tools", `{"allowed_tool_patterns":["*","r*"],"excluded_tool_patterns":["d*"]}`, nil},
		{"a pattern without", `{"excluded_tool_patterns":["w*","mcp:*"]}`, []string{`agent "a": excluded_tool_patterns[1] "mcp:*" matches no tool`}},
		{"a permission rule", `{"allowed_tool_patterns":["read(*)"]}`,
			[]string{`agent "a": allowed_tool_patterns[0] "read(*)" matches no tool; what depends on a call's arguments belongs into the section permission`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, w := range built(t, parts(decoded(t, test.spec))).Warnings() {
				got = append(got, w.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
