package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/reveille-run/reveille/core/store"
)

// remember writes a samconfig.toml with these parameters.
func remember(t *testing.T, parameters string) {
	t.Helper()
	write(t, samconfig, config+`parameter_overrides = "`+strings.ReplaceAll(parameters, `"`, `\"`)+"\"\n")
}

// deployment deploys and returns the last call and the release.
func deployment(t *testing.T, options ...string) (call, release string) {
	t.Helper()
	s, _ := of(t, "")
	if err := s.run(append([]string{"-yes", "deploy"}, options...)); err != nil {
		t.Fatal(err)
	}
	made, release := calls(t)
	if release == "" {
		t.Fatalf("no release in %q", made)
	}
	return made[len(made)-1], release
}

// TestTheSectionIsPassedWhole: values keep their quotes, other parameters have the defaults.
func TestTheSectionIsPassedWhole(t *testing.T) {
	begin(t, "sam", "aws", "go")
	remember(t, `Auth="jwt" Release="x" Schema="1" SchemaRaised="false" ScheduleExpression="cron(0 7 ? * $MON-FRI *)" Origins=""`)
	call, _ := deployment(t)
	want := `sam deploy --config-env default --stack-name mine --parameter-overrides <Auth="jwt" Memory="256" Origins="" Page="off" ScheduleExpression="cron(0 7 ? * $MON-FRI *)"> --capabilities CAPABILITY_IAM CAPABILITY_AUTO_EXPAND --no-confirm-changeset`
	if call != want {
		t.Errorf("%s, want %s", call, want)
	}
}

// TestReleaseFollowsCodeAndParameters, and nothing else.
func TestReleaseFollowsCodeAndParameters(t *testing.T) {
	begin(t, "sam", "aws", "go")
	releases := map[string]string{}
	run := func(name, code, parameters string, options ...string) {
		write(t, "code", code)
		remember(t, parameters)
		_, releases[name] = deployment(t, options...)
	}
	run("one", "a", `Auth="iam" Page="on"`)
	run("again", "a", `Auth="iam" Page="on"`)
	run("after a release", "a", `Auth="iam" Release="`+releases["one"]+`" Schema="1" Page="on" SchemaRaised="true"`)
	run("with an option", "a", `Page="on" Auth=iam Memory="256"`, "--role-arn", "x")
	for _, same := range []string{"again", "after a release", "with an option"} {
		if releases[same] != releases["one"] {
			t.Errorf("%s: the same code and parameters are another release", same)
		}
	}
	run("code", "b", `Auth="iam" Page="on"`)
	run("parameter", "a", `Auth="none" Page="on"`)
	seen := map[string]string{}
	for _, name := range []string{"one", "code", "parameter"} {
		if other := seen[releases[name]]; other != "" {
			t.Errorf("%s and %s are one release", other, name)
		}
		seen[releases[name]] = name
	}
}

func TestSchemas(t *testing.T) {
	output := func(n string) string { return deployed(`,{"OutputKey":"Schema","OutputValue":"` + n + `"}`) }
	tests := []struct {
		name     string
		code     store.Schemas
		outputs  string
		computed string // of the deployment; empty: there is none
		said     string
		want     string // in the error
	}{
		{name: "nothing new", code: store.Schemas{Reads: 1, Writes: 1}, outputs: output("1"), computed: `Schema: "1", SchemaRaised: "false"`},
		{name: "a newer one is read", code: store.Schemas{Reads: 2, Writes: 1}, outputs: output("1"), computed: `Schema: "1", SchemaRaised: "false"`},
		{name: "a newer one is written", code: store.Schemas{Reads: 2, Writes: 2}, outputs: output("1"), computed: `Schema: "2", SchemaRaised: "true"`,
			said: "this release is the first to write records of schema 2. It receives all requests immediately, without regard to GradualReleases and ReleaseType"},
		{name: "it is written again", code: store.Schemas{Reads: 2, Writes: 2}, outputs: output("2"), computed: `Schema: "2", SchemaRaised: "false"`},
		{name: "a stack that does not say has written the first", code: store.Schemas{Reads: 2, Writes: 2}, outputs: deployed(""), computed: `Schema: "2", SchemaRaised: "true"`, said: "immediately"},
		{name: "rollback to code that reads it", code: store.Schemas{Reads: 2, Writes: 1}, outputs: output("2"), computed: `Schema: "2", SchemaRaised: "false"`},
		{name: "rollback to code that does not", code: store.Schemas{Reads: 1, Writes: 1}, outputs: output("2"),
			want: "nothing was deployed: the stack mine has written records of schema 2, and this code reads up to schema 1. It could not work on these threads. Deploy a release that reads schema 2"},
		{name: "no number", code: store.Schemas{Reads: 1, Writes: 1}, outputs: output("two"), want: `output Schema of the stack mine is "two", want a number of at least 1`},
		{name: "no schema", code: store.Schemas{Reads: 1, Writes: 1}, outputs: output("0"), want: `output Schema of the stack mine is "0", want a number of at least 1`},
		{name: "a new stack has no older code", code: store.Schemas{Reads: 2, Writes: 2}, outputs: "", computed: `Schema: "2", SchemaRaised: "true"`},
		{name: "no stack", code: store.Schemas{Reads: 1, Writes: 1}, outputs: "", computed: `Schema: "1", SchemaRaised: "false"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			begin(t, "sam", "aws", "go")
			write(t, samconfig, config)
			write(t, "deployed", test.outputs)
			s, said := of(t, "")
			s.code = test.code
			err := s.run([]string{"-yes", "deploy"})
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
			if !strings.Contains(said.String(), test.said) || test.said == "" && strings.Contains(said.String(), "immediately") {
				t.Errorf("it says %q, want %q in it", said, test.said)
			}
			want := []string{describeCall}
			if test.computed != "" {
				want = append(want, buildCall, deployCall+" --no-confirm-changeset")
				if template, err := os.ReadFile(builtTemplate); err != nil || !strings.Contains(string(template), "Release: { "+test.computed+" }\n") {
					t.Errorf("the built template is\n%s, %v, want %s in it", template, err, test.computed)
				}
			}
			got, _ := calls(t)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}
