package template

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// function is what we look at of an AWS::Serverless::Function.
type function struct {
	Runtime                       string
	Architectures                 []string
	Handler                       string
	Timeout                       any // a number of seconds, or a parameter
	MemorySize                    any
	RecursiveLoop                 string
	Reserved                      string `json:"ReservedConcurrentExecutions"`
	Role                          string
	Policies                      any
	VpcConfig                     string
	LoggingConfig                 struct{ LogGroup string }
	Description, AutoPublishAlias string
	AutoPublishAliasAllProperties bool
	DeploymentPreference          preference
	Environment                   struct{ Variables map[string]any }
	Events                        map[string]event

	AutoPublishCodeSha256 *string // nil: it is not there
}

// preference is how a new version comes to get requests.
type preference struct {
	Enabled, Type, Role string
	Alarms              []string
}

type event struct {
	Type       string
	Properties struct {
		Queue                          string
		BatchSize                      int
		MaximumBatchingWindowInSeconds int
		FunctionResponseTypes          []string
		ScheduleExpression             string
		OmitName                       bool
		PermissionsBoundary            string
	}
}

func functions(t *testing.T, of template) map[string]function {
	t.Helper()
	return resources[function](t, of, "AWS::Serverless::Function")
}

func TestEachFunctionIsOneFolder(t *testing.T) {
	entries, err := os.ReadDir(path("functions"))
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, e := range entries {
		if _, err := os.Stat(path("functions", e.Name(), "main.go")); err == nil {
			folders = append(folders, e.Name())
		}
	}
	var deployed []string
	for id := range functions(t, read(t)) {
		deployed = append(deployed, strings.ToLower(strings.TrimSuffix(id, "Function")))
	}
	slices.Sort(deployed)
	if diff := cmp.Diff(folders, deployed); diff != "" {
		t.Errorf("folders with a main.go (-) and functions of the template (+):\n%s", diff)
	}
}

func TestFunctionsAreBuiltForLambda(t *testing.T) {
	of := read(t)
	g := of.Globals.Function
	if g.Runtime != "provided.al2023" || g.Handler != "bootstrap" || g.MemorySize != "!Ref Memory" || !slices.Equal(g.Architectures, []string{"arm64"}) {
		t.Errorf("Globals are %s %s %v MB %v", g.Runtime, g.Handler, g.MemorySize, g.Architectures)
	}
	for id := range functions(t, of) {
		if got := of.Resources[id].Metadata.BuildMethod; got != "makefile" {
			t.Errorf("%s is built by %q", id, got)
		}
	}
}

func TestLimitsOfFunctions(t *testing.T) {
	type limits struct {
		Timeout                 any
		RecursiveLoop, Reserved string
	}
	got := map[string]limits{}
	for id, f := range functions(t, read(t)) {
		got[id] = limits{f.Timeout, f.RecursiveLoop, f.Reserved}
	}
	want := map[string]limits{
		"ApiFunction":    {30.0, "", ""},
		"StreamFunction": {900.0, "", `!If ["ReservesStream","!Ref StreamReserved","!Ref AWS::NoValue"]`},
		"StepFunction":   {"!Ref StepTimeout", "Allow", `!If ["ReservesStep","!Ref StepReserved","!Ref AWS::NoValue"]`},
		"SweepFunction":  {60.0, "", ""},
		// Lambda ends a chain in which events that a run caused start runs again.
		"TriggerFunction": {30.0, "", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What else does is told by the APIs: TestWhatEachDoorLeadsTo.
func TestWhatInvokesFunctions(t *testing.T) {
	got := map[string][]string{}
	for id, f := range functions(t, read(t)) {
		for name, e := range f.Events {
			p := e.Properties
			got[id] = append(got[id], strings.TrimSpace(name+" "+e.Type+" "+p.Queue+p.ScheduleExpression))
		}
		slices.Sort(got[id])
	}
	want := map[string][]string{
		"StepFunction":  {"WakeUps SQS !GetAtt Queue.Arn"},
		"SweepFunction": {"EveryMinute ScheduleV2 rate(1 minute)"}, // it drains DeadLetterQueue itself
		"TriggerFunction": {
			"Bus EventBridgeRule",
			"Moment ScheduleV2 !Ref ScheduleExpression",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// seconds are the values that a timeout can have.
func seconds(t *testing.T, of template, timeout any) (all []int) {
	t.Helper()
	switch v := timeout.(type) {
	case float64:
		return []int{int(v)}
	case string:
		for _, value := range of.Parameters[strings.TrimPrefix(v, "!Ref ")].AllowedValues {
			all = append(all, int(value.(float64)))
		}
	}
	if len(all) == 0 {
		t.Fatalf("timeout %v is neither a number nor a parameter with allowed values", timeout)
	}
	return all
}

// TestStreamIsBoundedByDefault: its URL has no other bound.
func TestStreamIsBoundedByDefault(t *testing.T) {
	of := read(t)
	for id, want := range map[string]struct {
		condition string
		most      float64
	}{"StepReserved": {"ReservesStep", -1}, "StreamReserved": {"ReservesStream", 100}} {
		p := of.Parameters[id]
		if p.Default != want.most || *p.MinValue != -1 || *p.MaxValue != 10000 {
			t.Errorf("%s is %v by default, of %d to %d", id, p.Default, *p.MinValue, *p.MaxValue)
		}
		if got, want := of.Conditions[want.condition], `!Not ["!Equals [\"!Ref `+id+`\",-1]"]`; got != want {
			t.Errorf("the condition of %s is %s, want %s", id, got, want)
		}
	}
}

func TestRatesHaveBounds(t *testing.T) {
	of := read(t)
	for id, want := range map[string][3]int{"RequestRate": {100, 1, 10000}, "RequestBurst": {200, 1, 5000}} {
		p := of.Parameters[id]
		if p.Default != float64(want[0]) || *p.MinValue != want[1] || *p.MaxValue != want[2] {
			t.Errorf("%s is %v by default, of %d to %d; want %v", id, p.Default, *p.MinValue, *p.MaxValue, want)
		}
	}
}

// Those that run tools and call models are in the VPC. The others call AWS alone.
func TestWhichFunctionsAreInTheVpc(t *testing.T) {
	of := read(t)
	got := map[string]string{}
	for id, f := range functions(t, of) {
		got[id] = f.VpcConfig
	}
	const in = `!If ["HasVpc",{"SecurityGroupIds":"!Split [\",\",\"!Ref VpcSecurityGroups\"]","SubnetIds":"!Split [\",\",\"!Ref VpcSubnets\"]"},"!Ref AWS::NoValue"]`
	want := map[string]string{"ApiFunction": "", "StreamFunction": in, "StepFunction": in, "SweepFunction": "", "TriggerFunction": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := of.Conditions["HasVpc"]; got != `!Not ["!Equals [\"!Ref VpcSubnets\",\"\"]"]` {
		t.Errorf("condition HasVpc is %s", got)
	}
}

func TestIdsOfTheVpcAndOfPolicies(t *testing.T) {
	const policy = "arn:aws:iam::123456789012:policy/tools"
	subnets := strings.Repeat(",subnet-0123456789abcdef0", 15)
	tests := []struct {
		parameter, value string
		ok               bool
	}{
		{"VpcSubnets", "", true},
		{"VpcSubnets", "subnet-0123abcd", true},
		{"VpcSubnets", "subnet-0123abcd" + subnets, true}, // 16
		{"VpcSubnets", "subnet-0123abcd,subnet-0123abcd" + subnets, false},
		{"VpcSubnets", "subnet-0123abcd, subnet-4567abcd", false},
		{"VpcSubnets", "vpc-0123abcd", false},
		{"VpcSecurityGroups", "", true},
		{"VpcSecurityGroups", "sg-1,sg-2,sg-3,sg-4,sg-5", true},
		{"VpcSecurityGroups", "sg-1,sg-2,sg-3,sg-4,sg-5,sg-6", false},
		{"ToolPolicyArns", "", true},
		{"ToolPolicyArns", policy + ",arn:aws-cn:iam::aws:policy/job-function/ViewOnlyAccess", true},
		{"ToolPolicyArns", policy + strings.Repeat(","+policy, 9), true},
		{"ToolPolicyArns", policy + strings.Repeat(","+policy, 10), false},
		{"ToolPolicyArns", policy + ",", false},
		{"ToolPolicyArns", "tools", false},
		{"ToolPolicyArns", "arn:aws:iam::123456789012:role/tools", false},
	}
	of := read(t)
	for _, tt := range tests {
		form := regexp.MustCompile("^(" + of.Parameters[tt.parameter].AllowedPattern + ")$")
		if got := form.MatchString(tt.value); got != tt.ok {
			t.Errorf("%s %q: %v, want %v", tt.parameter, tt.value, got, tt.ok)
		}
	}
}

func TestMemoryIsWhatLambdaOffers(t *testing.T) {
	p := read(t).Parameters["Memory"]
	if p.Default != 256.0 || *p.MinValue != 128 || *p.MaxValue != 10240 {
		t.Errorf("Memory is %v, from %d to %d MB", p.Default, *p.MinValue, *p.MaxValue)
	}
}
