package main

import (
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// devAndProd has two environments that differ in each setting.
const devAndProd = `version = 0.1

[default.deploy.parameters]
stack_name = "dev"
region = "eu-north-1"
profile = "work"
s3_bucket = "packages-dev"
tags = "stage=dev"
parameter_overrides = 'Auth="none" Page="on" Origins="*" Memory="512" ScheduleExpression="rate(1 hour)"'

[prod.global.parameters]
region = "eu-west-1"

[prod.deploy.parameters]
stack_name = "prod"
profile = "live"
s3_bucket = "packages-prod"
parameter_overrides = [
    'Auth="jwt"', # tokens
    { Memory = 1024 },
]
`

// deploying is what `sam deploy` received.
type deploying struct {
	Env, Stack, Region, Profile string
	Parameters                  map[string]string
	Further                     []string
	Bucket, Tags                string // which the SAM CLI takes from the section of Env
}

// takes are the settings that the SAM CLI takes for deploy from an environment of the file:
// those of deploy, which replace those of global.
func takes(t *testing.T, env string) map[string]any {
	t.Helper()
	var file map[string]map[string]map[string]map[string]any
	text, err := os.ReadFile(samconfig)
	if err == nil {
		_, err = toml.Decode(strings.Replace(string(text), "version = 0.1\n", "", 1), &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]any{}
	maps.Copy(settings, file[env]["global"]["parameters"])
	maps.Copy(settings, file[env]["deploy"]["parameters"])
	return settings
}

// read splits a call of `sam deploy`.
func readDeploying(t *testing.T, call string) (d deploying) {
	t.Helper()
	words := regexp.MustCompile(`<[^>]*>|\S+`).FindAllString(call, -1)
	if len(words) < 2 || words[0] != "sam" || words[1] != "deploy" {
		t.Fatalf("the last call is %q, want sam deploy", call)
	}
	fields := map[string]*string{"--config-env": &d.Env, "--stack-name": &d.Stack, "--region": &d.Region, "--profile": &d.Profile}
	for i := 2; i < len(words); i++ {
		switch field := fields[words[i]]; {
		case field != nil:
			i++
			*field = words[i]
		case words[i] == "--parameter-overrides":
			i++
			d.Parameters = map[string]string{}
			for _, m := range regexp.MustCompile(`(\w+)="([^"]*)"`).FindAllStringSubmatch(words[i], -1) {
				d.Parameters[m[1]] = m[2]
			}
		default:
			d.Further = append(d.Further, words[i])
		}
	}
	settings := takes(t, d.Env)
	d.Bucket, _ = settings["s3_bucket"].(string)
	d.Tags, _ = settings["tags"].(string)
	return d
}

// TestEachEnvironmentIsDeployedWithItsOwnSettings: no setting of another environment is used,
// neither in the first deployment nor in a later one nor when a parameter leaves the section.
// The bucket and the tags are in the section that --config-env names.
func TestEachEnvironmentIsDeployedWithItsOwnSettings(t *testing.T) {
	begin(t, "sam", "aws", "go")
	write(t, samconfig, devAndProd)
	further := []string{"--capabilities", "CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND", "--no-confirm-changeset"}
	dev := deploying{"default", "dev", "eu-north-1", "work",
		map[string]string{"Auth": "none", "Memory": "512", "Origins": "*", "Page": "on", "ScheduleExpression": "rate(1 hour)"}, further, "packages-dev", "stage=dev"}
	prod := deploying{"prod", "prod", "eu-west-1", "live",
		map[string]string{"Auth": "jwt", "Memory": "1024", "Origins": "", "Page": "off", "ScheduleExpression": "rate(1 day)"}, further, "packages-prod", ""}
	smaller := prod
	smaller.Parameters = map[string]string{"Auth": "jwt", "Memory": "256", "Origins": "", "Page": "off", "ScheduleExpression": "rate(1 day)"}
	asDeployed := func(d deploying) string {
		var all []string
		for name, value := range d.Parameters {
			all = append(all, name+"="+value)
		}
		return deployed("", all...)
	}
	tests := []struct {
		name, args, deployed, remove string
		want                         deploying
	}{
		{name: "dev, first", args: "-yes deploy", want: dev},
		{name: "prod, first", args: "-yes -env prod deploy", want: prod},
		{name: "prod, by its stack", args: "-yes -stack prod deploy", want: prod},
		{name: "dev, second", args: "-yes -env default deploy", deployed: asDeployed(dev), want: dev},
		{name: "prod, second", args: "-yes -env prod deploy", deployed: asDeployed(prod), want: prod},
		{name: "prod has the parameters of dev", args: "-yes -env prod deploy", deployed: asDeployed(dev), want: prod},
		{name: "prod loses a parameter", args: "-yes -env prod deploy", deployed: asDeployed(prod), remove: "    { Memory = 1024 },\n", want: smaller},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			write(t, "deployed", test.deployed)
			write(t, samconfig, strings.Replace(devAndProd, test.remove, "", 1))
			s, _ := of(t, "")
			if err := s.run(strings.Fields(test.args)); err != nil {
				t.Fatal(err)
			}
			made, _ := calls(t)
			located := " --region " + test.want.Region + " --profile " + test.want.Profile
			if len(made) != 3 || made[0] != "aws cloudformation describe-stacks --stack-name "+test.want.Stack+" --output json"+located || made[1] != "sam build --config-env "+test.want.Env+" --build-in-source" {
				t.Errorf("calls %q", made)
			}
			if diff := cmp.Diff(test.want, readDeploying(t, made[len(made)-1])); diff != "" {
				t.Errorf("sam deploy (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOtherCommandsUseTheSameEnvironment: logs and deletion take stack, region and profile of
// the environment.
func TestOtherCommandsUseTheSameEnvironment(t *testing.T) {
	begin(t, "sam", "aws", "go")
	write(t, samconfig, devAndProd)
	const prod = " --config-env prod --stack-name prod --region eu-west-1 --profile live"
	for args, want := range map[string]string{
		"-env prod logs Step": "sam logs" + prod + " --tail --name StepFunction",
		"-env prod destroy":   "sam delete" + prod,
	} {
		s, _ := of(t, "")
		if err := s.run(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		made, _ := calls(t)
		if got := made[len(made)-1]; got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}

// TestAStackThatDoesNotExistIsNamed, with what decides where it is looked for.
func TestAStackThatDoesNotExistIsNamed(t *testing.T) {
	begin(t, "sam", "aws", "go")
	write(t, samconfig, devAndProd)
	write(t, "deployed", "")
	for _, args := range []string{"-env prod destroy", "-env prod output StreamUrl"} {
		s, _ := of(t, "")
		if err := s.run(strings.Fields(args)); err == nil || err.Error() != "the stack prod does not exist in this account and region: check stack_name, region and profile in samconfig.toml" {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestEnvironmentsAreRead(t *testing.T) {
	const deploy = "version = 0.1\n[default.deploy.parameters]\nstack_name = \"mine\"\n"
	tests := []struct {
		name, text string
		want       environments
		err        string
	}{
		{name: "nothing", text: "", want: environments{}},
		{name: "as sam deploy --guided writes it", text: "version = 0.1\n[default.deploy.parameters]\nstack_name = \"mine\"\nresolve_s3 = true\ns3_prefix = \"mine\"\nregion = \"eu-north-1\"\nconfirm_changeset = true\ncapabilities = \"CAPABILITY_IAM\"\nparameter_overrides = \"Auth=\\\"iam\\\" Origins=\\\"\\\" Release=\\\"\\\"\"\nimage_repositories = []\n",
			want: environments{"default": {name: "default", stack: "mine", region: "eu-north-1", confirms: true, capabilities: true, deploys: true, parameters: map[string]string{"Auth": "iam", "Origins": ""}, computed: []string{"Release"}}}},
		{name: "global settings are replaced", text: "version = 0.1\n[a.deploy.parameters]\nstack_name = \"mine\"\n[a.global.parameters]\nstack_name = \"all\"\nprofile = 'work' # mine\n",
			want: environments{"a": {name: "a", stack: "mine", profile: "work", deploys: true}}},
		{name: "other commands", text: "version = 0.1\n[default.build.parameters]\nstack_name = \"no\"\nparameter_overrides = \"no\"\n", want: environments{"default": {name: "default"}}},
		{name: "a table of parameters", text: deploy + "[default.deploy.parameters.parameter_overrides]\nMemory = 512\nPage = \"on\"\nFunctionUrl = true\nEventSources = [\"a\", \"b\"]\n",
			want: environments{"default": {name: "default", stack: "mine", deploys: true, parameters: map[string]string{"Memory": "512", "Page": "on", "FunctionUrl": "true", "EventSources": "a,b"}}}},
		{name: "no version", text: "[default.deploy.parameters]\nstack_name = \"mine\"\n", err: "samconfig.toml: the SAM CLI refuses a file without a version: write version = 0.1 into its first line"},
		{name: "not TOML", text: "version = 0.1\nstack_name = mine\n", err: "samconfig.toml, line 2: "},
		{name: "a number for a name", text: "version = 0.1\n[a.deploy.parameters]\nstack_name = 5\n", err: "samconfig.toml, [a.deploy.parameters]: stack_name must be a text in quotes, got 5"},
		{name: "an empty name", text: "version = 0.1\n[a.global.parameters]\nregion = \"\"\n", err: "samconfig.toml, [a.global.parameters]: region must be a text in quotes, got "},
		{name: "a text for a choice", text: deploy + "confirm_changeset = \"no\"\n", err: "samconfig.toml, [default.deploy.parameters]: confirm_changeset must be true or false, got no"},
		{name: "another template", text: deploy + "template_file = \"x.yaml\"\n", err: "[default.deploy.parameters]: template_file is not allowed, because"},
		{name: "parameters of no stack", text: "version = 0.1\n[a.deploy.parameters]\nparameter_overrides = \"A=1\"\n", err: "[a.deploy.parameters]: parameter_overrides without a stack: add stack_name = \"NAME\" to [a.deploy.parameters]"},
		{name: "parameters that are none", text: deploy + "parameter_overrides = 5\n", err: `[default.deploy.parameters], parameter_overrides: 5 must be a text such as 'Auth="iam"', a list of such texts, or a table`},
		{name: "settings that are none", text: "version = 0.1\n[a.deploy]\nparameters = 5\n", err: "samconfig.toml, [a.deploy.parameters]: must be a table of settings"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := readEnvironments(test.text)
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Fatalf("error %v, want %q in it", err, test.err)
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(environment{}), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
