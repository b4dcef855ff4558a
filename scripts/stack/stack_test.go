package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// fake is a CLI that notes how it was called, and knows the outputs of a stack. It fails
// when it is called as the file fails says.
const fake = `#!/bin/sh
echo "$(basename "$0") $*" >>calls
case "$*" in
"list stack-outputs"*) echo '[{"OutputKey":"StreamUrl","OutputValue":"https://x"},{"OutputKey":"TableName","OutputValue":"threads-1"},{"OutputKey":"ConfigTableName","OutputValue":"config-1"}]' ;;
esac
[ ! -e fails ] || [ "$(cat fails)" != "$*" ]
`

// begin makes an empty folder the working one, with these fake commands alone.
func begin(t *testing.T, commands ...string) {
	t.Helper()
	folder := t.TempDir()
	t.Chdir(folder)
	if err := os.Mkdir("bin", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range commands {
		if err := os.WriteFile(filepath.Join("bin", name), []byte(fake), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"sh", "basename", "cat"} {
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(path, filepath.Join("bin", name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", filepath.Join(folder, "bin"))
}

const config = "version = 0.1\n[default.deploy.parameters]\nstack_name = \"mine\"\n"

func TestWhatIsCalled(t *testing.T) {
	const outputs = "sam list stack-outputs --stack-name mine --output json"
	tests := []struct {
		name, args, typed string
		config            string
		fails             string // the call that does
		calls             []string
		want              string // in the error
	}{
		{name: "first deployment", args: "deploy", calls: []string{"sam build --build-in-source", "sam deploy --guided --capabilities CAPABILITY_IAM"}},
		{name: "first deployment by name", args: "-stack mine deploy", calls: []string{"sam build --build-in-source", "sam deploy --stack-name mine --guided --capabilities CAPABILITY_IAM"}},
		{name: "later deployment", args: "deploy", config: config, calls: []string{"sam build --build-in-source", "sam deploy --stack-name mine"}},
		{name: "what does not build is not deployed", args: "deploy", fails: "build --build-in-source", calls: []string{"sam build --build-in-source"}, want: "sam build: exit status 1"},
		{name: "logs", args: "logs", config: config, calls: []string{"sam logs --stack-name mine --tail"}},
		{name: "logs of one function", args: "logs Step", config: config, calls: []string{"sam logs --stack-name mine --tail --name StepFunction"}},
		{name: "logs of no stack", args: "logs", want: "there is no samconfig.toml that names a stack"},
		{name: "destroy", args: "destroy", config: config, calls: []string{outputs, "sam delete --stack-name mine"}},
		{name: "destroy what is not there", args: "destroy", config: config, fails: strings.TrimPrefix(outputs, "sam "), calls: []string{outputs}, want: "outputs of the stack mine: exit status 1"},
		{name: "destroy all", args: "-data destroy", config: config, typed: "mine\n", calls: []string{
			outputs, "sam delete --stack-name mine --no-prompts",
			"aws dynamodb update-table --table-name threads-1 --no-deletion-protection-enabled", "aws dynamodb wait table-exists --table-name threads-1", "aws dynamodb delete-table --table-name threads-1",
			"aws dynamodb update-table --table-name config-1 --no-deletion-protection-enabled", "aws dynamodb wait table-exists --table-name config-1", "aws dynamodb delete-table --table-name config-1",
		}},
		{name: "destroy all of another name", args: "-data destroy", config: config, typed: "yes\n", calls: []string{outputs}, want: "that is not its name: nothing was deleted"},
		{name: "destroy all without a word", args: "-data destroy", config: config, calls: []string{outputs}, want: "nothing was deleted"},
		{name: "a stack that stays keeps its tables", args: "-data destroy", config: config, typed: "mine", fails: "delete --stack-name mine --no-prompts", calls: []string{outputs, "sam delete --stack-name mine --no-prompts"}, want: "sam delete: exit status 1"},
		{name: "nothing", args: "", want: "want deploy, logs or destroy"},
		{name: "too much", args: "deploy now", want: "want deploy, logs or destroy"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			begin(t, "sam", "aws", "go")
			for name, text := range map[string]string{"samconfig.toml": test.config, "fails": test.fails} {
				if text != "" {
					if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			s := &stack{in: strings.NewReader(test.typed), out: t.Output(), log: t.Output()}
			err := s.run(strings.Fields(test.args))
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
			text, err := os.ReadFile("calls")
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			got := strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
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
		{"deploy", nil, []string{"the SAM CLI is not on PATH", "the go command is not on PATH"}},
		{"-stack mine logs", nil, []string{"the SAM CLI is not on PATH"}},
		{"-stack mine -data destroy", []string{"sam"}, []string{"the AWS CLI is not on PATH"}},
	}
	for _, test := range tests {
		t.Run(test.args, func(t *testing.T) {
			begin(t, test.there...)
			s := &stack{in: strings.NewReader(""), out: t.Output(), log: t.Output()}
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
