package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// beginHere is an empty folder with the template of this repository.
func beginHere(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", templateFile))
	if err != nil {
		t.Fatal(err)
	}
	begin(t, "sam", "aws", "go")
	write(t, templateFile, string(text))
	write(t, "deployed", "")
	t.Setenv("AWS_REGION", "")
}

// TestAFirstDeploymentAsksSixValues and writes a section with them. The next deployment asks
// nothing.
func TestAFirstDeploymentAsksSixValues(t *testing.T) {
	beginHere(t)
	s, said := of(t, "mine\neu-north-1\niam\nanthropic/claude-haiku-5-5\nprod/anthropic\narn:aws:sns:eu-north-1:123456789012:alarms\ny\n")
	if err := s.run([]string{"deploy"}); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if got := strings.Count(said.String(), "] "); got != 7 { // with the confirmation
		t.Errorf("%d questions:\n%s", got, said)
	}
	made, _ := calls(t)
	d := readDeploying(t, made[len(made)-1])
	if d.Env != "default" || d.Stack != "mine" || d.Region != "eu-north-1" || d.Parameters["Auth"] != "iam" || d.Parameters["Model"] != "anthropic/claude-haiku-5-5" ||
		d.Parameters["ModelKeySecret"] != "prod/anthropic" || d.Parameters["AlarmTopic"] != "arn:aws:sns:eu-north-1:123456789012:alarms" || d.Parameters["Memory"] != "256" {
		t.Errorf("deployed %+v", d)
	}
	const want = `version = 0.1

# Environment default: make deploy takes exactly these settings.
[default.deploy.parameters]
stack_name = "mine"
region = "eu-north-1"
resolve_s3 = true # the packages are in a bucket of the SAM CLI
fail_on_empty_changeset = false # a deployment without a change succeeds
# template.yaml describes all parameters. Those that are missing here have their defaults.
parameter_overrides = [
    # Accepted callers: iam (signed requests), jwt or gateway (bearer tokens), lambda (your authorizer), none (all callers)
    'Auth="iam"',
    # Model as PROVIDER/NAME, such as anthropic/claude-haiku-5-5. Empty: the scripted model
    'Model="anthropic/claude-haiku-5-5"',
    # Name of the Secrets Manager secret with the key of the provider. Empty: none
    'ModelKeySecret="prod/anthropic"',
    # ARN of an SNS topic for alarms. Empty: none
    'AlarmTopic="arn:aws:sns:eu-north-1:123456789012:alarms"',
]
`
	text, err := os.ReadFile(samconfig)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", samconfig, diff)
	}
	s, said = of(t, "y\n")
	if err := s.run([]string{"deploy"}); err != nil || strings.Count(said.String(), "] ") != 1 {
		t.Errorf("the second time: %v\n%s", err, said)
	}
}

// TestASecondEnvironmentLeavesTheFirst byte by byte, and asks what its Auth needs. A wrong
// answer is asked again.
func TestASecondEnvironmentLeavesTheFirst(t *testing.T) {
	beginHere(t)
	const first = "# mine\nversion = 0.1\n[default.deploy.parameters]\nstack_name   =   'dev' # short\nregion=\"eu-west-1\"\nparameter_overrides = \"Auth=none Page=on\"\n[prod.global.parameters]\nregion = \"eu-central-1\"" // without a line end
	write(t, samconfig, first)
	s, said := of(t, "9x\n\nnowhere\n\nopen\njwt\n\nhttps://issuer.example\nclient\n\n\nNo Model\nbedrock/x\nmail@example.com\n\ny\n")
	if err := s.run([]string{"-env", "prod", "deploy"}); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, want := range []string{
		"samconfig.toml has no section for the environment prod, it has the environments default.", `stack_name is "9x", want the pattern`, `region is "nowhere", want the pattern`,
		`parameter Auth is "open", want one of iam, jwt, gateway, lambda, none`, `Issuer is "", want the pattern`, `parameter Model is "No Model", want the pattern`, `AlarmTopic is "mail@example.com", want`,
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it does not print %q:\n%s", want, said)
		}
	}
	text, err := os.ReadFile(samconfig)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(text), first+"\n") {
		t.Errorf("the first section changed:\n%s", text)
	}
	made, _ := calls(t)
	d := readDeploying(t, made[len(made)-1])
	want := map[string]string{"Auth": "jwt", "Issuer": "https://issuer.example", "Clients": "client", "TenantClaim": "", "Tenant": "default", "Model": "bedrock/x", "ModelKeySecret": "", "Page": "off", "UserPool": ""}
	for name, value := range want {
		if d.Parameters[name] != value {
			t.Errorf("%s is %q, want %q", name, d.Parameters[name], value)
		}
	}
	if d.Env != "prod" || d.Region != "eu-central-1" || !strings.HasSuffix(d.Stack, "-prod") {
		t.Errorf("deployed %+v", d)
	}
}

// TestEachAuthAsksWhatItNeeds, and nothing else.
func TestEachAuthAsksWhatItNeeds(t *testing.T) {
	tests := []struct{ auth, claim, model, want string }{
		{"iam", "", "", "stack_name region Auth Model AlarmTopic"},
		{"none", "", "scripted", "stack_name region Auth Tenant Model AlarmTopic"},
		{"jwt", "", "", "stack_name region Auth Issuer Clients TenantClaim Tenant Model AlarmTopic"},
		{"jwt", "org", "bedrock/x", "stack_name region Auth Issuer Clients TenantClaim Model AlarmTopic"},
		{"gateway", "org", "openai/gpt-6-luna", "stack_name region Auth Issuer Clients UserPool TenantClaim Model ModelKeySecret AlarmTopic"},
		{"lambda", "org", "", "stack_name region Auth TenantClaim Model AlarmTopic"},
	}
	for _, test := range tests {
		answers := map[string]string{}
		var asked []string
		for _, q := range questions("a", "") {
			if q.asked == nil || q.asked(answers) {
				asked = append(asked, q.name)
				answers[q.name] = map[string]string{"Auth": test.auth, "TenantClaim": test.claim, "Model": test.model}[q.name]
			}
		}
		if got := strings.Join(asked, " "); got != test.want {
			t.Errorf("Auth %s asks %s, want %s", test.auth, got, test.want)
		}
	}
}

// TestTheAnsweredNameCounts: -stack only proposes a name for a new environment.
func TestTheAnsweredNameCounts(t *testing.T) {
	for typed, want := range map[string]string{"": "proposed", "typed": "typed"} {
		t.Run(want, func(t *testing.T) {
			beginHere(t)
			s, said := of(t, typed+"\neu-north-1\n\n\n\ny\n")
			if err := s.run([]string{"-stack", "proposed", "deploy"}); err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			made, _ := calls(t)
			if d := readDeploying(t, made[len(made)-1]); d.Stack != want {
				t.Errorf("deployed %s, want %s", d.Stack, want)
			}
		})
	}
}

// TestNothingIsWrittenWithoutAllAnswers, nor if the file would not be readable then.
func TestNothingIsWrittenWithoutAllAnswers(t *testing.T) {
	tests := []struct{ name, file, typed, want string }{
		{"the input ends", "", "mine\neu-north-1\n", "nothing was written: the input ended before the answer for Auth"},
		{"a section without a stack", "version = 0.1\n[default.deploy.parameters]\nregion = \"eu-north-1\"\n", "", "samconfig.toml, [default.deploy.parameters]: stack_name is missing: add stack_name = \"NAME\""},
		{"a value of this name", "version = 0.1\ndefault = 5\n", "mine\neu-north-1\n\n\n\n\n", "nothing was written: the section cannot be added: samconfig.toml, line "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			beginHere(t)
			if test.file != "" {
				write(t, samconfig, test.file)
			}
			s, _ := of(t, test.typed)
			if err := s.run([]string{"deploy"}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
			if text, _ := os.ReadFile(samconfig); string(text) != test.file {
				t.Errorf("it wrote\n%s", text)
			}
		})
	}
}

// TestTheSampleIsDeployed: the text of the error for a missing section can be used as it is.
func TestTheSampleIsDeployed(t *testing.T) {
	beginHere(t)
	s, _ := of(t, "")
	s.terminal = false
	err := s.run([]string{"-env", "prod", "deploy"})
	if err == nil {
		t.Fatal("it was deployed")
	}
	_, text, _ := strings.Cut(err.Error(), "\n\n")
	write(t, samconfig, text)
	s, said := of(t, "")
	if err := s.run([]string{"-yes", "-env", "prod", "deploy"}); err != nil {
		t.Fatalf("%v\n%s\n%s", err, text, said)
	}
}
