package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/reveille-run/reveille/core/store"
)

// fake is a CLI that notes how it was called, argument by argument where one has a
// space, builds what the file code says, and knows a stack. It fails when it is called as
// the file fails says.
const fake = `#!/bin/sh
line=$(basename "$0")
for a in "$@"; do case "$a" in *" "*) line="$line <$a>" ;; *) line="$line $a" ;; esac; done
echo "$line" >>calls
[ ! -e fails ] || [ "$(cat fails)" != "$line" ] || { echo "no credentials" >&2; exit 1; }
case "$*" in
build*) mkdir -p .aws-sam/build/StepFunction && cat code >.aws-sam/build/StepFunction/bootstrap && cat template.yaml >.aws-sam/build/template.yaml ;;
"cloudformation list-stack-resources"*) cat resources ;;
"cloudformation describe-stacks"*) [ -s deployed ] || { echo "An error occurred (ValidationError): Stack with id $4 does not exist" >&2; exit 254; }; cat deployed ;;
esac
`

// sampleTemplate is a template.
const sampleTemplate = `Parameters:
  Auth: { Type: String, Default: iam, AllowedValues: [iam, jwt, none] }
  Memory: { Type: Number, Default: 256, MinValue: 128, MaxValue: 10240 }
  Origins: { Type: String, Default: "" }
  Page: { Type: String, Default: "off", AllowedValues: ["on", "off"] }
  ScheduleExpression: { Type: String, Default: rate(1 day) }
  WebhookUrl: { Type: String, Default: "", NoEcho: true }
Mappings:
  Computed:
    Release: { Schema: "1", SchemaRaised: "false" }
Resources:
  StepFunction:
    Properties: { AutoPublishCodeSha256: "" }
  ApiFunction:
    Properties:
      AutoPublishCodeSha256: '' # a digest
`

// deployed are the outputs of a stack, with one more, and its parameters, if they are not the defaults.
func deployed(more string, parameters ...string) string {
	if len(parameters) == 0 {
		parameters = []string{"Auth=iam", "Memory=256", "Origins=", "Page=off", "ScheduleExpression=rate(1 day)", "WebhookUrl=****"}
	}
	var all []string
	for _, p := range parameters {
		name, value, _ := strings.Cut(p, "=")
		all = append(all, `{"ParameterKey":"`+name+`","ParameterValue":"`+value+`"}`)
	}
	return `{"Stacks":[{"StackStatus":"UPDATE_COMPLETE","Outputs":[{"OutputKey":"StreamUrl","OutputValue":"https://x"},{"OutputKey":"TableName","OutputValue":"threads-1"},{"OutputKey":"ConfigTableName","OutputValue":"config-1"},{"OutputKey":"PayloadBucketName","OutputValue":"payloads-1"}` + more + `],"Parameters":[` + strings.Join(all, ",") + `]}]}`
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
	write(t, templateFile, sampleTemplate)
	write(t, "deployed", deployed(""))
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

var releaseValue = regexp.MustCompile(`AutoPublishCodeSha256: "([0-9a-f]{64})"`)

// calls are those that were made since they were asked for, and the release in the built
// template.
func calls(t *testing.T) (made []string, release string) {
	t.Helper()
	text, err := os.ReadFile("calls")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	_ = os.Remove("calls")
	template, err := os.ReadFile(builtTemplate)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if m := releaseValue.FindSubmatch(template); m != nil {
		release = string(m[1])
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' }), release
}

// of is a command on this terminal for code of schema 1.
func of(t *testing.T, typed string) (s *stack, said *strings.Builder) {
	said = &strings.Builder{}
	return &stack{
		code: store.Schemas{Reads: 1, Writes: 1}, terminal: true,
		in: strings.NewReader(typed), out: said, log: t.Output(),
		purges: func(bucket string) error { // noted as if it were a command
			made, err := os.OpenFile("calls", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			defer made.Close()
			if _, err := fmt.Fprintln(made, "purge "+bucket); err != nil {
				return err
			}
			if fails, _ := os.ReadFile("fails"); string(fails) == "purge "+bucket {
				return errors.New("no credentials")
			}
			return nil
		},
	}, said
}

const (
	config    = "version = 0.1\n[default.deploy.parameters]\nstack_name = \"mine\"\n"
	elsewhere = config + "region = \"eu-north-1\"\nprofile = \"work\"\n"
	two       = config + "parameter_overrides = \"Auth=none Page=on\"\n[prod.deploy.parameters]\nstack_name = \"mine-prod\"\n"

	describeCall = "aws cloudformation describe-stacks --stack-name mine --output json"
	buildCall    = "sam build --config-env default --build-in-source"
	deleteCall   = "sam delete --config-env default --stack-name mine"
	defaults     = `Auth="iam" Memory="256" Origins="" Page="off" ScheduleExpression="rate(1 day)"`
	deployCall   = `sam deploy --config-env default --stack-name mine --parameter-overrides <` + defaults + `> --capabilities CAPABILITY_IAM CAPABILITY_AUTO_EXPAND`
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
		{name: "deployment", args: "deploy", config: config, typed: "y\n", calls: []string{describeCall, buildCall, deployCall}, said: "No parameter changes.\nDeploy to the stack mine? [y/N] "},
		{name: "deployment that is not confirmed", args: "deploy", config: config, typed: "\n", calls: []string{describeCall}, want: "nothing was deployed: the answer was not y"},
		{name: "deployment that SAM confirms", args: "deploy", config: config + "confirm_changeset = true\n", calls: []string{describeCall, buildCall, deployCall}},
		{name: "deployment that SAM is told to confirm", args: "deploy --confirm-changeset", config: config, calls: []string{describeCall, buildCall, deployCall + " --confirm-changeset"}},
		{name: "deployment that SAM shall not confirm", args: "deploy --no-confirm-changeset", config: config + "confirm_changeset = true\n", calls: []string{describeCall}, want: "the answer was not y"},
		{name: "deployment without a question", args: "-yes deploy", config: config + "confirm_changeset = true\n", calls: []string{describeCall, buildCall, deployCall + " --no-confirm-changeset"}},
		{name: "stack that cannot be read", args: "-yes deploy", config: config, fails: describeCall, calls: []string{describeCall}, want: "read the stack mine: aws cloudformation: no credentials: exit status 1"},
		{name: "options go on to sam", args: "-yes deploy --role-arn x", config: config, calls: []string{describeCall, buildCall, deployCall + " --no-confirm-changeset --role-arn x"}},
		{name: "capabilities of the section", args: "-yes deploy", config: config + "capabilities = \"CAPABILITY_NAMED_IAM\"\n", calls: []string{describeCall, buildCall, strings.TrimSuffix(deployCall, " --capabilities CAPABILITY_IAM CAPABILITY_AUTO_EXPAND") + " --no-confirm-changeset"}},
		{name: "options that part it from what is read", args: "deploy --parameter-overrides Auth=none", config: config, want: "option --parameter-overrides is not allowed: change parameter_overrides in samconfig.toml"},
		{name: "guided", args: "deploy --guided", config: config, want: "option --guided is not allowed: change parameter_overrides in samconfig.toml"},
		{name: "guided, in short", args: "deploy -g", config: config, want: "option -g is not allowed: change parameter_overrides in samconfig.toml"},
		{name: "the same with a value", args: "deploy --config-env=prod", config: config, want: "option --config-env is not allowed: put -env NAME before deploy"},
		{name: "what does not build is not deployed", args: "-yes deploy", config: config, fails: buildCall, calls: []string{describeCall, buildCall}, want: "sam build: exit status 1"},
		{name: "an environment by the name of its stack", args: "-stack mine-prod -yes deploy", config: two, calls: []string{
			strings.ReplaceAll(describeCall, "mine", "mine-prod"), strings.ReplaceAll(buildCall, "default", "prod"),
			`sam deploy --config-env prod --stack-name mine-prod --parameter-overrides <` + defaults + `> --capabilities CAPABILITY_IAM CAPABILITY_AUTO_EXPAND --no-confirm-changeset`}},
		{name: "the name of an environment is not that of a stack", args: "-stack prod -yes deploy", config: two, want: "samconfig.toml has no environment with the stack prod, it has the environments default, prod: name the environment whose settings apply with -env NAME"},
		{name: "another stack of an environment", args: "-env prod -stack other -yes deploy", config: two, calls: []string{
			strings.ReplaceAll(describeCall, "mine", "other"), strings.ReplaceAll(buildCall, "default", "prod"),
			`sam deploy --config-env prod --stack-name other --parameter-overrides <` + defaults + `> --capabilities CAPABILITY_IAM CAPABILITY_AUTO_EXPAND --no-confirm-changeset`}},
		{name: "a stack of two environments", args: "-stack mine -yes deploy", config: two + "[eu.global.parameters]\nstack_name = \"mine\"\n", want: "has the stack mine in several environments, default, eu: name one of them with -env NAME"},
		{name: "an unknown environment", args: "-env prd -yes deploy", config: two, want: "samconfig.toml has no section [prd.deploy.parameters], it has the environments default, prod, and there is no terminal"},
		{name: "logs of an unknown environment", args: "-env prd logs", config: two, want: "samconfig.toml has no stack for the environment prd, it has the environments default, prod: run make deploy ENV=prd first"},
		{name: "destroy an unknown environment", args: "-env prd destroy", config: two, want: "no stack for the environment prd, it has the environments default, prod"},
		{name: "an environment that cannot be", args: "-env a.b deploy", config: two, want: `environment "a.b": a name has letters, digits, - and _ only`},
		{name: "no terminal", args: "-yes deploy", want: "samconfig.toml has no section [default.deploy.parameters], it has no environments, and there is no terminal to ask for its settings. Write the section, such as:\n\nversion = 0.1\n\n# Environment default"},
		{name: "a file of YAML", args: "deploy", config: "yaml", want: "samconfig.yaml: this command reads samconfig.toml only"},
		{name: "logs", args: "logs", config: config, calls: []string{"sam logs --config-env default --stack-name mine --tail"}},
		{name: "logs of one function", args: "logs Step", config: config, calls: []string{"sam logs --config-env default --stack-name mine --tail --name StepFunction"}},
		{name: "logs elsewhere", args: "logs Step", config: elsewhere, calls: []string{"sam logs --config-env default --stack-name mine --region eu-north-1 --profile work --tail --name StepFunction"}},
		{name: "logs of one function, as make invoke has it", args: "logs step", config: config, calls: []string{"sam logs --config-env default --stack-name mine --tail --name StepFunction"}},
		{name: "logs of a function that there is not", args: "logs Stepp", config: config, want: `unknown function "Stepp", want one of Api, Stream, Step, Sweep, Trigger`},
		{name: "logs of another environment", args: "-env prod logs", config: two, calls: []string{"sam logs --config-env prod --stack-name mine-prod --tail"}},
		{name: "logs of no stack", args: "logs", want: "samconfig.toml has no stack for the environment default, it has no environments"},
		{name: "logs of a stack without a file", args: "-stack mine logs", calls: []string{"sam logs --stack-name mine --tail"}},
		{name: "an output", args: "output TableName", config: config, calls: []string{describeCall}, said: "threads-1\n"},
		{name: "the first output that is there", args: "output None StreamUrl TableName", config: config, calls: []string{describeCall}, said: "https://x\n"},
		{name: "no such output", args: "output None Nil", config: config, calls: []string{describeCall}, want: "the stack mine has no output None or Nil, it has ConfigTableName, PayloadBucketName, StreamUrl, TableName"},
		{name: "an output without a name", args: "output", config: config, want: "unknown command"},
		{name: "destroy", args: "destroy", config: config, calls: []string{describeCall, deleteCall},
			said: "The data stays in the tables config-1 and threads-1 and the bucket payloads-1"},
		{name: "destroy says how to delete what is kept", args: "destroy", config: elsewhere, calls: []string{
			"aws cloudformation describe-stacks --stack-name mine --output json --region eu-north-1 --profile work", deleteCall + " --region eu-north-1 --profile work"},
			said: "To use it in a new stack, set ConfigTable=config-1 PayloadBucket=payloads-1 ThreadsTable=threads-1. To delete it, run:\n  aws dynamodb update-table --table-name config-1 --no-deletion-protection-enabled --region eu-north-1 --profile work\n"},
		{name: "destroy what cannot be read", args: "destroy", config: config, fails: describeCall, calls: []string{describeCall}, want: "read the stack mine: aws cloudformation: no credentials"},
		{name: "destroy all", args: "-data destroy", config: config, typed: "mine\n", said: "in the tables config-1 and threads-1 and the bucket payloads-1. Type", calls: []string{
			describeCall, deleteCall + " --no-prompts",
			"aws dynamodb update-table --table-name config-1 --no-deletion-protection-enabled", "aws dynamodb wait table-exists --table-name config-1", "aws dynamodb delete-table --table-name config-1",
			"aws dynamodb update-table --table-name threads-1 --no-deletion-protection-enabled", "aws dynamodb wait table-exists --table-name threads-1", "aws dynamodb delete-table --table-name threads-1",
			"purge payloads-1",
		}},
		{name: "what cannot be deleted keeps nothing else", args: "-data destroy", config: config, typed: "mine\n", fails: "aws dynamodb wait table-exists --table-name config-1", calls: []string{
			describeCall, deleteCall + " --no-prompts",
			"aws dynamodb update-table --table-name config-1 --no-deletion-protection-enabled", "aws dynamodb wait table-exists --table-name config-1",
			"aws dynamodb update-table --table-name threads-1 --no-deletion-protection-enabled", "aws dynamodb wait table-exists --table-name threads-1", "aws dynamodb delete-table --table-name threads-1",
			"purge payloads-1",
		}, want: "table config-1 was not deleted: aws dynamodb: exit status 1"},
		{name: "a bucket that stays is named", args: "-data destroy", config: config, typed: "mine\n", fails: "purge payloads-1", calls: []string{
			describeCall, deleteCall + " --no-prompts",
			"aws dynamodb update-table --table-name config-1 --no-deletion-protection-enabled", "aws dynamodb wait table-exists --table-name config-1", "aws dynamodb delete-table --table-name config-1",
			"aws dynamodb update-table --table-name threads-1 --no-deletion-protection-enabled", "aws dynamodb wait table-exists --table-name threads-1", "aws dynamodb delete-table --table-name threads-1",
			"purge payloads-1",
		}, want: "bucket payloads-1 was not deleted: no credentials"},
		{name: "destroy all of another name", args: "-data destroy", config: config, typed: "yes\n", calls: []string{describeCall}, want: "the name does not match: nothing was deleted"},
		{name: "destroy all without a word", args: "-data destroy", config: config, calls: []string{describeCall}, want: "nothing was deleted"},
		{name: "a stack that stays keeps its data", args: "-data destroy", config: config, typed: "mine", fails: deleteCall + " --no-prompts", calls: []string{describeCall, deleteCall + " --no-prompts"}, want: "sam delete: exit status 1"},
		{name: "purge", args: "purge payloads-1", config: config, typed: "payloads-1\n", calls: []string{"purge payloads-1"}},
		{name: "purge of another name", args: "purge payloads-1", config: config, typed: "mine\n", want: "the name does not match: nothing was deleted"},
		{name: "purge of nothing", args: "purge", config: config, want: "with the arguments of the usage"},
		{name: "nothing", args: "", want: "want one of deploy, destroy, logs, output, purge, restore"},
		{name: "too much", args: "deploy now", want: "want one of deploy, destroy, logs, output, purge, restore"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			begin(t, "sam", "aws", "go")
			file := samconfig
			if test.config == "yaml" {
				file = "samconfig.yaml"
			}
			for name, text := range map[string]string{file: test.config, "fails": test.fails} {
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
		{"deploy", []string{"sam", "go"}, []string{"the AWS CLI (command aws) is not on PATH"}},
		{"-stack mine destroy", []string{"sam"}, []string{"the AWS CLI (command aws) is not on PATH"}},
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
