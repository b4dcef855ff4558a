package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/reveille-run/reveille/core/store"
)

// remember writes a samconfig.toml with these parameters.
func remember(t *testing.T, parameters string) {
	t.Helper()
	write(t, samconfig, config+`parameter_overrides = "`+strings.ReplaceAll(parameters, `"`, `\"`)+"\"\n")
}

// deployment deploys and returns the last call, its release cut out, and the release.
func deployment(t *testing.T, options ...string) (call, release string) {
	t.Helper()
	s, _ := of(t, "")
	if err := s.run(append([]string{"deploy"}, options...)); err != nil {
		t.Fatal(err)
	}
	made, release := calls(t)
	if release == "" {
		t.Fatalf("no release in %q", made)
	}
	return made[len(made)-1], release
}

// TestDeployIsGuidedOnce: then it takes what samconfig.toml remembers, quoted as there.
func TestDeployIsGuidedOnce(t *testing.T) {
	begin(t, "sam", "go")
	call, first := deployment(t)
	if want := "sam deploy --guided " + computed1; call != want {
		t.Errorf("the first time: %s, want %s", call, want)
	}
	remember(t, `Auth="iam" Release="`+first+`" Schema="1" SchemaRaised="false" ScheduleExpression="cron(0 7 ? * $MON-FRI *)" Origins=""`)
	call, second := deployment(t, "--no-confirm-changeset")
	want := `sam deploy --stack-name mine --capabilities CAPABILITY_IAM --parameter-overrides <Auth="iam" ScheduleExpression="cron(0 7 ? * $MON-FRI *)" Origins="" Release="R" Schema="1" SchemaRaised="false"> --no-confirm-changeset`
	if call != want {
		t.Errorf("then: %s, want %s", call, want)
	}
	if second == first {
		t.Error("parameters do not change the release")
	}
}

// TestReleaseFollowsCodeAndParameters, and nothing else.
func TestReleaseFollowsCodeAndParameters(t *testing.T) {
	begin(t, "sam", "go")
	releases := map[string]string{}
	run := func(name, code, parameters string, options ...string) {
		write(t, "code", code)
		remember(t, parameters)
		_, releases[name] = deployment(t, options...)
	}
	run("one", "a", `Auth="iam" Page="on"`)
	run("again", "a", `Auth="iam" Page="on"`)
	run("after a release", "a", `Auth="iam" Release="`+releases["one"]+`" Schema="1" Page="on" SchemaRaised="true"`)
	run("with an option", "a", `Auth="iam" Page="on"`, "--no-confirm-changeset")
	for _, same := range []string{"again", "after a release", "with an option"} {
		if releases[same] != releases["one"] {
			t.Errorf("%s: the same code and parameters are another release", same)
		}
	}
	run("code", "b", `Auth="iam" Page="on"`)
	run("parameter", "a", `Auth="none" Page="on"`)
	run("asked for", "a", `Auth="iam" Page="on"`, "--guided") // nobody knows yet what will be answered
	seen := map[string]string{}
	for _, name := range []string{"one", "code", "parameter", "asked for"} {
		if other := seen[releases[name]]; other != "" {
			t.Errorf("%s and %s are one release", other, name)
		}
		seen[releases[name]] = name
	}
	s, _ := of(t, "")
	s.now = func() time.Time { return time.Unix(1, 0) }
	if err := s.run([]string{"deploy", "--guided"}); err != nil {
		t.Fatal(err)
	}
	if _, later := calls(t); later == releases["asked for"] {
		t.Error("asked for twice, it is one release")
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
		{name: "nothing new", code: store.Schemas{Reads: 1, Writes: 1}, outputs: output("1"), computed: `Schema="1" SchemaRaised="false"`},
		{name: "a newer one is read", code: store.Schemas{Reads: 2, Writes: 1}, outputs: output("1"), computed: `Schema="1" SchemaRaised="false"`},
		{name: "a newer one is written", code: store.Schemas{Reads: 2, Writes: 2}, outputs: output("1"), computed: `Schema="2" SchemaRaised="true"`,
			said: "this release is the first to write records of schema 2. It receives all requests immediately, without regard to GradualReleases and ReleaseType"},
		{name: "it is written again", code: store.Schemas{Reads: 2, Writes: 2}, outputs: output("2"), computed: `Schema="2" SchemaRaised="false"`},
		{name: "a stack that does not say has written the first", code: store.Schemas{Reads: 2, Writes: 2}, outputs: deployed(""), computed: `Schema="2" SchemaRaised="true"`, said: "immediately"},
		{name: "rollback to code that reads it", code: store.Schemas{Reads: 2, Writes: 1}, outputs: output("2"), computed: `Schema="2" SchemaRaised="false"`},
		{name: "rollback to code that does not", code: store.Schemas{Reads: 1, Writes: 1}, outputs: output("2"),
			want: "nothing was deployed: the stack mine has written records of schema 2, and this code reads up to schema 1. It could not work on these threads. Deploy a release that reads schema 2"},
		{name: "no number", code: store.Schemas{Reads: 1, Writes: 1}, outputs: output("two"), want: `output Schema of the stack mine is "two", want a number of at least 1`},
		{name: "no schema", code: store.Schemas{Reads: 1, Writes: 1}, outputs: output("0"), want: `output Schema of the stack mine is "0", want a number of at least 1`},
		{name: "no outputs", code: store.Schemas{Reads: 1, Writes: 1}, outputs: "[]", computed: `Schema="1" SchemaRaised="false"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			begin(t, "sam", "go")
			write(t, samconfig, config)
			write(t, "outputs", test.outputs)
			s, said := of(t, "")
			s.code = test.code
			err := s.run([]string{"deploy"})
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
			if !strings.Contains(said.String(), test.said) || test.said == "" && strings.Contains(said.String(), "immediately") {
				t.Errorf("it says %q, want %q in it", said, test.said)
			}
			want := []string{outputsCall}
			if test.computed != "" {
				want = append(want, buildCall, `sam deploy --stack-name mine --capabilities CAPABILITY_IAM --parameter-overrides <Release="R" `+test.computed+`>`)
			}
			got, _ := calls(t)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSamconfig(t *testing.T) {
	tests := []struct {
		name, text string
		want       remembered
		err        string
	}{
		{name: "none", text: ""},
		{name: "as guided", text: "version = 0.1\n[default.deploy.parameters]\nstack_name = \"mine\"\nresolve_s3 = true\nregion = \"eu-north-1\"\ncapabilities = \"CAPABILITY_IAM\"\nparameter_overrides = \"Auth=\\\"iam\\\" Origins=\\\"\\\"\"\n",
			want: remembered{stack: "mine", region: "eu-north-1", parameters: `Auth="iam" Origins=""`}},
		{name: "global and own", text: "[default.global.parameters]\nstack_name = \"all\"\nprofile = 'work' # mine\n[default.deploy.parameters]\nstack_name = \"mine\"\n", want: remembered{stack: "mine", profile: "work"}},
		{name: "own and global", text: "[default.deploy.parameters]\nstack_name = \"mine\"\n[default.global.parameters]\nstack_name = \"all\"\n", want: remembered{stack: "mine"}},
		{name: "of other tasks and environments", text: "stack_name = \"no\"\n[default.build.parameters]\nstack_name = \"no\"\nparameter_overrides = [\"no\"]\n[prod.deploy.parameters]\nstack_name = \"no\"\n"},
		{name: "in literal quotes", text: "[default.deploy.parameters]\nparameter_overrides = 'A=\"1\" Release=\"x\" B=\"Schema=2\"'\n", want: remembered{parameters: `A="1" B="Schema=2"`}},
		{name: "a list", text: "[default.deploy.parameters]\nstack_name = \"mine\"\nparameter_overrides = [\"A=1\"]\n", err: "samconfig.toml, line 3: the value of parameter_overrides must be a string in quotes"},
		{name: "many lines", text: "[default.deploy.parameters]\nparameter_overrides = \"\"\"\nA=1\"\"\"\n", err: "samconfig.toml, line 2: the value of parameter_overrides must be a string"},
		{name: "the long form", text: "[default.deploy.parameters]\nparameter_overrides = \"ParameterKey=A,ParameterValue=1\"\n", err: `write NAME="VALUE"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := readRemembered(test.text)
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Fatalf("error %v, want %q in it", err, test.err)
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(remembered{}), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
