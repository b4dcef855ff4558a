package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/reveille-run/reveille/core/doctor"
	"github.com/reveille-run/reveille/scripts/user/stack/restore"
)

// rehearsal is a restore that only switches the tables.
type rehearsal struct {
	*restore.Restore
	planned, ran bool
}

func (r *rehearsal) Plan(context.Context) error {
	r.planned = true
	return nil
}

func (r *rehearsal) Run(ctx context.Context) error {
	r.ran = true
	return r.Switch(ctx, "threads-20261129T100000Z", "config-20261129T100000Z")
}

func (r *rehearsal) Old() []string { return []string{"threads-1", "config-1"} }

const (
	stackResources = `{"StackResourceSummaries":[
		{"LogicalResourceId":"StepFunction","PhysicalResourceId":"mine-Step","ResourceType":"AWS::Lambda::Function"},
		{"LogicalResourceId":"StepFunctionWakeUps","PhysicalResourceId":"m1","ResourceType":"AWS::Lambda::EventSourceMapping"},
		{"LogicalResourceId":"SweepFunctionEveryMinute","PhysicalResourceId":"mine-sweep","ResourceType":"AWS::Scheduler::Schedule"},
		{"LogicalResourceId":"TriggerFunctionMoment","PhysicalResourceId":"mine-moment","ResourceType":"AWS::Scheduler::Schedule"}]}`
	resourcesCall = "aws cloudformation list-stack-resources --stack-name mine --output json"
)

// rehearse runs a restore of the command line, in a folder with a template that knows the tables.
func rehearse(t *testing.T, config, moment, typed string) (r *rehearsal, said *strings.Builder, err error) {
	t.Helper()
	begin(t, "sam", "aws", "go")
	write(t, samconfig, config)
	write(t, "resources", stackResources)
	write(t, templateFile, strings.Replace(sampleTemplate, "  Memory:", "  ThreadsTable: { Type: String, Default: \"\" }\n  ConfigTable: { Type: String, Default: \"\" }\n"+
		"  GradualReleases: { Type: String, Default: \"false\", AllowedValues: [\"true\", \"false\"] }\n  Memory:", 1))
	for name, value := range map[string]string{"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_PROFILE": ""} {
		t.Setenv(name, value)
	}
	s, said := of(t, typed)
	r = &rehearsal{}
	s.restoring = func(planned *restore.Restore) restorer {
		r.Restore = planned
		return r
	}
	return r, said, s.run([]string{"restore", moment})
}

func TestARestoreSwitchesTheTablesInItsSection(t *testing.T) {
	r, said, err := rehearse(t, config+"parameter_overrides = \"Auth=none GradualReleases=true\"\n[prod.deploy.parameters]\nstack_name = \"mine-prod\"\n", "2026-11-29T11:00:00+01:00", "mine\n")
	if err != nil {
		t.Fatal(err)
	}
	want := restore.Deployment{Stack: "mine", Threads: "threads-1", Config: "config-1", Bucket: "payloads-1", Functions: map[string]string{"StepFunction": "mine-Step"}, Schedules: []string{"mine-sweep"}}
	if diff := cmp.Diff(want, r.Deployment); diff != "" {
		t.Error(diff)
	}
	if !r.To.Equal(time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)) || r.File != ".reveille/restore-mine.json" {
		t.Errorf("to %s, file %s", r.To, r.File)
	}
	got, _ := calls(t)
	// Tables are switched at once, also in an environment with gradual releases.
	parameters := `Auth="none" ConfigTable="config-20261129T100000Z" GradualReleases="false" Memory="256" Origins="" Page="off" ScheduleExpression="rate(1 day)" ThreadsTable="threads-20261129T100000Z"`
	calls := []string{describeCall, resourcesCall, describeCall, buildCall,
		"sam deploy --config-env default --stack-name mine --parameter-overrides <" + parameters + "> --capabilities CAPABILITY_IAM CAPABILITY_AUTO_EXPAND --no-confirm-changeset"}
	if diff := cmp.Diff(calls, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	text, err := os.ReadFile(samconfig)
	if err != nil {
		t.Fatal(err)
	}
	file := config + "parameter_overrides = \"ConfigTable=config-20261129T100000Z ThreadsTable=threads-20261129T100000Z Auth=none GradualReleases=true\"\n[prod.deploy.parameters]\nstack_name = \"mine-prod\"\n"
	if diff := cmp.Diff(file, string(text)); diff != "" {
		t.Error(diff)
	}
	for _, line := range []string{"this deployment is not gradual", "  aws dynamodb delete-table --table-name threads-1\n", "  aws dynamodb delete-table --table-name config-1\n"} {
		if !strings.Contains(said.String(), line) {
			t.Errorf("it does not say %q:\n%s", line, said)
		}
	}
}

func TestARestoreIsConfirmedByName(t *testing.T) {
	tests := []struct{ name, moment, typed, want string }{
		{"another name", "2026-11-29T10:00:00Z", "prod\n", "the name does not match: nothing was changed"},
		{"no answer", "2026-11-29T10:00:00Z", "", "the name does not match"},
		{"a day", "2026-11-29", "mine\n", `moment "2026-11-29": want a time in whole seconds with its zone`},
		{"no zone", "2026-11-29T10:00:00", "mine\n", "with its zone"},
		{"parts of a second", "2026-11-29T10:00:00.5Z", "mine\n", "in whole seconds"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, _, err := rehearse(t, config, tt.moment, tt.typed)
			if err == nil || !strings.Contains(err.Error(), tt.want) || r.ran {
				t.Errorf("error %v, ran %v, want %q", err, r.ran, tt.want)
			}
		})
	}
}

func TestProblemsOfTheRestoredTablesAreDecided(t *testing.T) {
	good, bad := doctor.Line{Check: "damaged", Status: doctor.Warn}, doctor.Line{Check: "damaged", Status: doctor.Problem}
	tests := []struct {
		lines []doctor.Line
		typed string
		ok    bool
	}{
		{[]doctor.Line{good, good}, "", true},
		{[]doctor.Line{good, bad}, "", false},
		{[]doctor.Line{good, bad}, "no\n", false},
		{[]doctor.Line{good, bad}, "y\n", true},
	}
	for _, tt := range tests {
		s, _ := of(t, tt.typed)
		if err := s.examined(tt.lines); (err == nil) != tt.ok || err != nil && err.Error() != "1 problems in the restored tables" {
			t.Errorf("%v, %q: %v", tt.lines, tt.typed, err)
		}
	}
}

func TestParametersAreWrittenIntoOneSection(t *testing.T) {
	const other = "[prod.deploy.parameters]\nstack_name = \"mine-prod\"\nparameter_overrides = \"ThreadsTable=p ConfigTable=q\"\n"
	tests := []struct{ name, file, want string }{
		{"no parameters", "stack_name = \"mine\"\n", "parameter_overrides = \"ConfigTable=c-2 ThreadsTable=t-2\"\nstack_name = \"mine\"\n"},
		{"a text", "stack_name = \"mine\"\nparameter_overrides = \"Auth=\\\"none\\\"\"\n", "stack_name = \"mine\"\nparameter_overrides = \"ConfigTable=c-2 ThreadsTable=t-2 Auth=\\\"none\\\"\"\n"},
		{"other quotes", "stack_name = 'mine'\nparameter_overrides = 'Auth=\"none\"'\n", "stack_name = 'mine'\nparameter_overrides = 'ConfigTable=c-2 ThreadsTable=t-2 Auth=\"none\"'\n"},
		{"a list", "stack_name = \"mine\"\nparameter_overrides = [\n  'Auth=\"none\"', # all\n]\n", "stack_name = \"mine\"\nparameter_overrides = [\"ConfigTable=c-2\", \"ThreadsTable=t-2\", \n  'Auth=\"none\"', # all\n]\n"},
		{"earlier ones", "stack_name = \"mine\"\nparameter_overrides = \"ThreadsTable=\\\"t-1\\\" ConfigTable=c-1 Auth=none\"\n", "stack_name = \"mine\"\nparameter_overrides = \"ThreadsTable=t-2 ConfigTable=c-2 Auth=none\"\n"},
		{"earlier ones in a list", "stack_name = \"mine\"\nparameter_overrides = ['ThreadsTable=\"t-1\"', 'ConfigTable=\"\"']\n", "stack_name = \"mine\"\nparameter_overrides = ['ThreadsTable=t-2', 'ConfigTable=c-2']\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			const header = "version = 0.1\n[default.deploy.parameters] # first\n"
			write(t, samconfig, header+tt.file+other)
			s, _ := of(t, "")
			if err := errors.Join(s.choose("default", false), s.writeParameters(map[string]string{"ThreadsTable": "t-2", "ConfigTable": "c-2"})); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(samconfig)
			if diff := cmp.Diff(header+tt.want+other, string(text)); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
			if s.env.parameters["ThreadsTable"] != "t-2" || s.env.parameters["ConfigTable"] != "c-2" {
				t.Errorf("parameters %v", s.env.parameters)
			}
		})
	}
}

// TestAFormThatCannotBeChangedIsNamed: the file stays as it is.
func TestAFormThatCannotBeChangedIsNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	const file = config + "[default.deploy.parameters.parameter_overrides]\nAuth = \"none\"\n"
	write(t, samconfig, file)
	s, _ := of(t, "")
	err := errors.Join(s.choose("default", false), s.writeParameters(map[string]string{"ThreadsTable": "t-2", "ConfigTable": "c-2"}))
	if err == nil || !strings.Contains(err.Error(), "Write these parameters there and run the command again: ConfigTable=c-2 ThreadsTable=t-2") {
		t.Errorf("error %v", err)
	}
	if text, err := os.ReadFile(samconfig); string(text) != file || err != nil {
		t.Errorf("%v: %s", err, text)
	}
}

// TestOtherTablesAreNeverReleasedGradually: two versions would work on different threads.
func TestOtherTablesAreNeverReleasedGradually(t *testing.T) {
	tests := []struct {
		name, parameters, before string
		ok                       bool
	}{
		{"other tables", "ThreadsTable=t-2 ConfigTable=c-2 GradualReleases=true", "ThreadsTable=", false},
		{"back to the stack's own", "GradualReleases=true", "ThreadsTable=t-2", false},
		{"another bucket", "PayloadBucket=b-2 GradualReleases=true", "PayloadBucket=", false},
		{"the same", "ThreadsTable=t-2 GradualReleases=true", "ThreadsTable=t-2", true},
		{"all at once", "ThreadsTable=t-2 ConfigTable=c-2", "ThreadsTable=", true},
	}
	for _, tt := range tests {
		s, _ := of(t, "")
		all, err := readEnvironments(config + "parameter_overrides = \"" + tt.parameters + "\"\n")
		if err != nil {
			t.Fatal(err)
		}
		name, value, _ := strings.Cut(tt.before, "=")
		s.env = all["default"]
		err = s.checkTables(deployedStack{exists: true, parameters: map[string]string{name: value}})
		if (err == nil) != tt.ok || err != nil && !strings.Contains(err.Error(), "set GradualReleases=false for this deployment") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
