package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/reveille-run/reveille/core/store"
)

// fake is a CLI that notes how it was called, argument by argument where one has a
// space, builds what the file code says, and knows the outputs of a stack. It fails when
// it is called as the file fails says.
const fake = `#!/bin/sh
line=$(basename "$0")
for a in "$@"; do case "$a" in *" "*) line="$line <$a>" ;; *) line="$line $a" ;; esac; done
echo "$line" >>calls
[ ! -e fails ] || [ "$(cat fails)" != "$line" ] || exit 1
case "$*" in
build*) mkdir -p .aws-sam/build/StepFunction && cat code >.aws-sam/build/StepFunction/bootstrap ;;
"list stack-outputs"*) cat outputs ;;
esac
`

// deployed are the outputs of a stack, with one more.
func deployed(more string) string {
	return `[{"OutputKey":"StreamUrl","OutputValue":"https://x"},{"OutputKey":"TableName","OutputValue":"threads-1"},{"OutputKey":"ConfigTableName","OutputValue":"config-1"},{"OutputKey":"PayloadBucketName","OutputValue":"payloads-1"}` + more + `]`
}

// begin makes an empty folder the working one, with these fake commands alone.
func begin(t *testing.T, commands ...string) {
	t.Helper()
	folder := t.TempDir()
	t.Chdir(folder)
	if err := os.Mkdir("bin", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range commands {
		write(t, filepath.Join("bin", name), fake)
	}
	for _, name := range []string{"sh", "basename", "cat", "mkdir"} {
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(path, filepath.Join("bin", name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", filepath.Join(folder, "bin"))
	write(t, "code", "a")
	write(t, "outputs", deployed(""))
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

var releaseValue = regexp.MustCompile(`Release="([0-9a-f]{64})"`)

// calls are those that were made since they were asked for, with the releases cut out,
// and the last release.
func calls(t *testing.T) (made []string, release string) {
	t.Helper()
	text, err := os.ReadFile("calls")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	_ = os.Remove("calls")
	if m := releaseValue.FindStringSubmatch(string(text)); m != nil {
		release = m[1]
	}
	return strings.FieldsFunc(releaseValue.ReplaceAllString(string(text), `Release="R"`), func(r rune) bool { return r == '\n' }), release
}

// of is a command on this terminal for code of schema 1.
func of(t *testing.T, typed string) (s *stack, said *strings.Builder) {
	said = &strings.Builder{}
	return &stack{
		code: store.Schemas{Reads: 1, Writes: 1}, now: func() time.Time { return time.Unix(0, 0) },
		in: strings.NewReader(typed), out: said, log: t.Output(),
	}, said
}

const (
	config    = "version = 0.1\n[default.deploy.parameters]\nstack_name = \"mine\"\n"
	elsewhere = config + "region = \"eu-north-1\"\nprofile = \"work\"\n"

	outputsCall = "sam list stack-outputs --stack-name mine --output json"
	buildCall   = "sam build --build-in-source"
	computed1   = `--capabilities CAPABILITY_IAM --parameter-overrides <Release="R" Schema="1" SchemaRaised="false">`
)

func TestWhatIsCalled(t *testing.T) {
	tests := []struct {
		name, args, typed string
		config            string
		fails             string // the call that does
		calls             []string
		want              string // in the error
		said              string // to the terminal
	}{
		{name: "first deployment", args: "deploy", calls: []string{buildCall, "sam deploy --guided " + computed1}},
		{name: "first deployment by name", args: "-stack mine deploy", fails: outputsCall, said: "treated as a new one", calls: []string{outputsCall, buildCall, "sam deploy --stack-name mine --guided " + computed1}},
		{name: "later deployment", args: "deploy", config: config, calls: []string{outputsCall, buildCall, "sam deploy --stack-name mine " + computed1}},
		{name: "deployment after its deletion", args: "deploy", config: config, fails: outputsCall, calls: []string{outputsCall, buildCall, "sam deploy --stack-name mine " + computed1}},
		{name: "options go on to sam", args: "deploy --no-confirm-changeset --role-arn x", config: config, calls: []string{outputsCall, buildCall, "sam deploy --stack-name mine " + computed1 + " --no-confirm-changeset --role-arn x"}},
		{name: "options that part it from what is read", args: "deploy --parameter-overrides Auth=none", config: config, want: "option --parameter-overrides is not allowed: change parameter_overrides in samconfig.toml, or pass --guided"},
		{name: "the same with a value", args: "deploy --config-env=prod", config: config, want: "option --config-env is not allowed: use a folder for each environment"},
		{name: "what does not build is not deployed", args: "deploy", fails: buildCall, calls: []string{buildCall}, want: "sam build: exit status 1"},
		{name: "logs", args: "logs", config: config, calls: []string{"sam logs --stack-name mine --tail"}},
		{name: "logs of one function", args: "logs Step", config: config, calls: []string{"sam logs --stack-name mine --tail --name StepFunction"}},
		{name: "logs elsewhere", args: "logs Step", config: elsewhere, calls: []string{"sam logs --stack-name mine --tail --region eu-north-1 --profile work --name StepFunction"}},
		{name: "logs of one function, as make invoke has it", args: "logs step", config: config, calls: []string{"sam logs --stack-name mine --tail --name StepFunction"}},
		{name: "logs of a function that there is not", args: "logs Stepp", config: config, want: `unknown function "Stepp", want one of Api, Stream, Step, Sweep, Trigger`},
		{name: "logs of no stack", args: "logs", want: "samconfig.toml does not name a stack"},
		{name: "destroy", args: "destroy", config: config, calls: []string{outputsCall, "sam delete --stack-name mine"},
			said: "The data stays in the tables config-1 and threads-1 and the bucket payloads-1"},
		{name: "destroy says how to delete what is kept", args: "destroy", config: elsewhere, calls: []string{outputsCall + " --region eu-north-1 --profile work", "sam delete --stack-name mine --region eu-north-1 --profile work"},
			said: "\n  aws s3 rb s3://payloads-1 --force --region eu-north-1 --profile work\n"},
		{name: "destroy what is not there", args: "destroy", config: config, fails: outputsCall, calls: []string{outputsCall}, want: "outputs of the stack mine: exit status 1"},
		{name: "destroy all", args: "-data destroy", config: config, typed: "mine\n", said: "in the tables config-1 and threads-1 and the bucket payloads-1. Type", calls: []string{
			outputsCall, "sam delete --stack-name mine --no-prompts",
			"aws dynamodb update-table --table-name config-1 --no-deletion-protection-enabled", "aws dynamodb wait table-exists --table-name config-1", "aws dynamodb delete-table --table-name config-1",
			"aws dynamodb update-table --table-name threads-1 --no-deletion-protection-enabled", "aws dynamodb wait table-exists --table-name threads-1", "aws dynamodb delete-table --table-name threads-1",
			"aws s3 rb s3://payloads-1 --force",
		}},
		{name: "what cannot be deleted keeps nothing else", args: "-data destroy", config: config, typed: "mine\n", fails: "aws dynamodb wait table-exists --table-name config-1", calls: []string{
			outputsCall, "sam delete --stack-name mine --no-prompts",
			"aws dynamodb update-table --table-name config-1 --no-deletion-protection-enabled", "aws dynamodb wait table-exists --table-name config-1",
			"aws dynamodb update-table --table-name threads-1 --no-deletion-protection-enabled", "aws dynamodb wait table-exists --table-name threads-1", "aws dynamodb delete-table --table-name threads-1",
			"aws s3 rb s3://payloads-1 --force",
		}, want: "table config-1 was not deleted: aws dynamodb: exit status 1"},
		{name: "a bucket that stays is named", args: "-data destroy", config: config, typed: "mine\n", fails: "aws s3 rb s3://payloads-1 --force", calls: []string{
			outputsCall, "sam delete --stack-name mine --no-prompts",
			"aws dynamodb update-table --table-name config-1 --no-deletion-protection-enabled", "aws dynamodb wait table-exists --table-name config-1", "aws dynamodb delete-table --table-name config-1",
			"aws dynamodb update-table --table-name threads-1 --no-deletion-protection-enabled", "aws dynamodb wait table-exists --table-name threads-1", "aws dynamodb delete-table --table-name threads-1",
			"aws s3 rb s3://payloads-1 --force",
		}, want: "bucket payloads-1 was not deleted: aws s3: exit status 1"},
		{name: "destroy all of another name", args: "-data destroy", config: config, typed: "yes\n", calls: []string{outputsCall}, want: "the name does not match: nothing was deleted"},
		{name: "destroy all without a word", args: "-data destroy", config: config, calls: []string{outputsCall}, want: "nothing was deleted"},
		{name: "a stack that stays keeps its data", args: "-data destroy", config: config, typed: "mine", fails: "sam delete --stack-name mine --no-prompts", calls: []string{outputsCall, "sam delete --stack-name mine --no-prompts"}, want: "sam delete: exit status 1"},
		{name: "nothing", args: "", want: "want deploy, logs or destroy"},
		{name: "too much", args: "deploy now", want: "want deploy, logs or destroy"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			begin(t, "sam", "aws", "go")
			for name, text := range map[string]string{samconfig: test.config, "fails": test.fails} {
				if text != "" {
					write(t, name, text)
				}
			}
			s, said := of(t, test.typed)
			err := s.run(strings.Fields(test.args))
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
			if !strings.Contains(said.String(), test.said) {
				t.Errorf("it says %q, want %q in it", said, test.said)
			}
			got, _ := calls(t)
			if diff := cmp.Diff(test.calls, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	tests := []struct {
		args    string
		there   []string
		missing []string // in the error
	}{
		{"deploy", nil, []string{"the SAM CLI (command sam) is not on PATH", "the go command is not on PATH"}},
		{"-stack mine logs", nil, []string{"the SAM CLI (command sam) is not on PATH"}},
		{"-stack mine -data destroy", []string{"sam"}, []string{"the AWS CLI (command aws) is not on PATH"}},
	}
	for _, test := range tests {
		t.Run(test.args, func(t *testing.T) {
			begin(t, test.there...)
			s, _ := of(t, "")
			err := s.run(strings.Fields(test.args))
			for _, m := range test.missing {
				if err == nil || !strings.Contains(err.Error(), m) {
					t.Errorf("error %v, want %q in it", err, m)
				}
			}
			if _, err := os.Stat("calls"); err == nil {
				t.Error("a command was called")
			}
		})
	}
}
