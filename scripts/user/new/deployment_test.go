package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// job is a job of a workflow.
type job struct {
	Needs       string            `yaml:"needs"`
	If          string            `yaml:"if"`
	Environment string            `yaml:"environment"`
	Permissions map[string]string `yaml:"permissions"`
	Concurrency struct {
		Group  string `yaml:"group"`
		Cancel *bool  `yaml:"cancel-in-progress"`
	} `yaml:"concurrency"`
	Steps []struct {
		Uses string            `yaml:"uses"`
		Run  string            `yaml:"run"`
		With map[string]string `yaml:"with"`
		Env  map[string]string `yaml:"env"`
	} `yaml:"steps"`
}

// commands are the steps of a job that run a command.
func (j job) commands() (all []string) {
	for _, step := range j.Steps {
		if step.Run != "" {
			all = append(all, step.Run)
		}
	}
	return all
}

// TestTheWorkflowDeploysInOrder: tests, dev, its smoke test, prod, its smoke test. The
// reviewers of the environment prod approve its job. No key lives longer than a job, and two
// deployments of one environment never overlap.
func TestTheWorkflowDeploysInOrder(t *testing.T) {
	folder := makeProject(t)
	var workflow struct {
		On          map[string]any    `yaml:"on"`
		Permissions map[string]string `yaml:"permissions"`
		Jobs        map[string]job    `yaml:"jobs"`
	}
	text := read(t, folder, ".github", "workflows", "deploy.yml")
	decoder := yaml.NewDecoder(strings.NewReader(text))
	if err := decoder.Decode(&workflow); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if workflow.Permissions == nil || len(workflow.Permissions) != 0 {
		t.Errorf("permissions of all jobs are %v, want none", workflow.Permissions)
	}
	if diff := cmp.Diff(map[string]any{"push": map[string]any{"branches": []any{"main"}}, "workflow_dispatch": nil}, workflow.On); diff != "" {
		t.Errorf("events: %s", diff)
	}
	wants := map[string]struct {
		needs, environment, group string
		permissions               map[string]string
		commands                  []string // the last ones
	}{
		"test": {permissions: map[string]string{"contents": "read"}, commands: []string{"make test"}},
		"dev":  {"test", "dev", "deploy-dev", map[string]string{"contents": "read", "id-token": "write"}, []string{"make deploy ENV=dev CONFIRM=yes", "make smoke ENV=dev"}},
		"prod": {"dev", "prod", "deploy-prod", map[string]string{"contents": "read", "id-token": "write"}, []string{"make deploy ENV=prod CONFIRM=yes", "make smoke ENV=prod"}},
	}
	if len(workflow.Jobs) != len(wants) {
		t.Errorf("%d jobs, want %d", len(workflow.Jobs), len(wants))
	}
	for name, want := range wants {
		j := workflow.Jobs[name]
		if j.Needs != want.needs || j.Environment != want.environment || j.Concurrency.Group != want.group {
			t.Errorf("job %s needs %q, has environment %q and group %q", name, j.Needs, j.Environment, j.Concurrency.Group)
		}
		if want.group != "" && (j.Concurrency.Cancel == nil || *j.Concurrency.Cancel) {
			t.Errorf("job %s: a later deployment cancels a running one", name)
		}
		if diff := cmp.Diff(want.permissions, j.Permissions); diff != "" {
			t.Errorf("permissions of job %s: %s", name, diff)
		}
		if want := map[string]string{"dev": "vars.DEPLOY == 'on'"}[name]; j.If != want {
			t.Errorf("job %s runs if %q, want %q", name, j.If, want)
		}
		commands := j.commands()
		if n := len(commands) - len(want.commands); n != 1 || !slices.Equal(commands[n:], want.commands) || !strings.Contains(commands[0], "go mod edit -replace=") {
			t.Errorf("job %s runs %q, want the step for a copy and %q", name, commands, want.commands)
		}
		for _, command := range want.commands {
			printed(t, folder, strings.Fields(command)[1:]...) // the target exists
		}
		pinned(t, name, j)
	}
}

// pinned checks the actions of a job.
func pinned(t *testing.T, name string, j job) {
	t.Helper()
	for _, step := range j.Steps {
		if step.Uses != "" && !regexp.MustCompile(`^[a-z-]+/[a-z-]+@[0-9a-f]{40}$`).MatchString(step.Uses) {
			t.Errorf("job %s uses %s, want a commit", name, step.Uses)
		}
		if strings.HasPrefix(step.Uses, "actions/checkout@") && step.With["persist-credentials"] != "false" {
			t.Errorf("job %s keeps the token of the checkout", name)
		}
		if strings.HasPrefix(step.Uses, "aws-actions/") {
			want := map[string]string{"role-to-assume": "${{ vars.AWS_ROLE }}", "aws-region": "${{ vars.AWS_REGION }}"}
			if diff := cmp.Diff(want, step.With); diff != "" {
				t.Errorf("job %s: credentials: %s", name, diff)
			}
		}
		for key, value := range step.Env {
			if key != "SMOKE_TOKEN" || value != "${{ secrets.SMOKE_TOKEN }}" {
				t.Errorf("job %s sets %s to %s", name, key, value)
			}
		}
	}
}

// TestTheWorkflowsEnvironmentIsThatOfTheCommand: the variables reach the command.
func TestTheWorkflowsEnvironmentIsThatOfTheCommand(t *testing.T) {
	folder := makeProject(t)
	tests := []struct{ arguments, want string }{
		{"deploy ENV=prod CONFIRM=yes", `/scripts/user/stack -env "prod" -yes deploy `},
		{"deploy", `/scripts/user/stack   deploy `},
		{"deploy CONFIRM=no", `/scripts/user/stack   deploy `},
		{"logs ENV=prod FN=Step", `/scripts/user/stack -env "prod" logs Step`},
		{"destroy ENV=prod DATA=delete", `/scripts/user/stack -env "prod" -data destroy`},
		{"smoke ENV=dev", `/scripts/user/stack -env "dev" output StreamUrl StreamRestUrl) || exit 1;`},
		{"smoke URL=http://x", `url="http://x"; [ -n "$url" ] || `},
	}
	for _, test := range tests {
		if got := printed(t, folder, strings.Fields(test.arguments)...); !strings.Contains(got, test.want) {
			t.Errorf("make %s runs\n%swant %s", test.arguments, got, test.want)
		}
	}
}
