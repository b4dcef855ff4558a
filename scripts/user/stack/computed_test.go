package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestComputedValuesAreWrittenInPlace: no other byte changes, in each form that a scalar has.
func TestComputedValuesAreWrittenInPlace(t *testing.T) {
	const digest = "0123456789012345678901234567890123456789012345678901234567890123"
	const before = `# a comment
Mappings:
  Computed:
    Release: {Schema: "1", SchemaRaised: 'false'} # é
  Other: {Release: {Schema: "1"}}
Resources:
  A:
    Properties:
      AutoPublishCodeSha256: ''
      Description: "on"
  B: {Properties: {Memory: 5, AutoPublishCodeSha256: ""}}
  C:
    Properties:
      Description: AutoPublishCodeSha256
  D:
    Properties:
      AutoPublishCodeSha256: none # of the user
`
	after := strings.NewReplacer(
		`{Schema: "1", SchemaRaised: 'false'}`, `{Schema: "12", SchemaRaised: "true"}`,
		`AutoPublishCodeSha256: ''`, `AutoPublishCodeSha256: "`+digest+`"`,
		`AutoPublishCodeSha256: ""`, `AutoPublishCodeSha256: "`+digest+`"`,
		`AutoPublishCodeSha256: none`, `AutoPublishCodeSha256: "`+digest+`"`,
	).Replace(before)
	got, err := withComputed([]byte(before), digest, schema{12, true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(after, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestATemplateWithoutComputedValuesIsRefused(t *testing.T) {
	const mapping = "Mappings: {Computed: {Release: {Schema: \"1\", SchemaRaised: \"false\"}}}\n"
	tests := []struct{ name, text, want string }{
		{"empty", "", "it is empty"},
		{"no mapping", "Resources: {A: {Properties: {AutoPublishCodeSha256: a}}}\n", "is missing: take template.yaml of the same version of Reveille"},
		{"no function", mapping + "Resources: {A: {Properties: {}}}\n", "no function has the property AutoPublishCodeSha256, so none would publish a version"},
		{"a reference", mapping + "Resources:\n  A:\n    Properties:\n      AutoPublishCodeSha256: {Ref: Release}\n", `line 5: "{Ref: Release}" is not a simple value: write it in quotes on one line`},
		{"not YAML", "a: [", "yaml: "},
	}
	for _, test := range tests {
		if got, err := withComputed([]byte(test.text), "a", schema{1, false}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %s, %v, want %q", test.name, got, err, test.want)
		}
	}
}

// TestAnOlderTemplateIsRefused: its parameters would keep their defaults.
func TestAnOlderTemplateIsRefused(t *testing.T) {
	begin(t, "sam", "aws", "go")
	write(t, samconfig, config)
	write(t, templateFile, strings.Replace(sampleTemplate, "Parameters:\n", "Parameters:\n  Release: { Type: String, Default: \"\" }\n", 1))
	s, _ := of(t, "")
	if err := s.run([]string{"-yes", "deploy"}); err == nil || !strings.Contains(err.Error(), "template.yaml has the parameter Release, so it is older than this command") {
		t.Errorf("%v", err)
	}
}
