package template

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// function is what we look at of an AWS::Serverless::Function.
type function struct {
	Runtime           string
	Architectures     []string
	Handler           string
	Timeout           int
	MemorySize        int
	RecursiveLoop     string
	Role              string
	Policies          any
	LoggingConfig     struct{ LogGroup string }
	Environment       struct{ Variables map[string]any }
	FunctionUrlConfig struct{ AuthType, InvokeMode string }
	Events            map[string]event
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
		ApiId, RestApiId               string
		Path, Method                   string
		PayloadFormatVersion           string
		ResponseTransferMode           string
		TimeoutInMillis                int
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
	if g.Runtime != "provided.al2023" || g.Handler != "bootstrap" || g.MemorySize != 256 || !slices.Equal(g.Architectures, []string{"arm64"}) {
		t.Errorf("Globals are %s %s %d MB %v", g.Runtime, g.Handler, g.MemorySize, g.Architectures)
	}
	for id := range functions(t, of) {
		if got := of.Resources[id].Metadata.BuildMethod; got != "makefile" {
			t.Errorf("%s is built by %q", id, got)
		}
	}
}

func TestLimitsOfFunctions(t *testing.T) {
	type limits struct {
		Timeout       int
		RecursiveLoop string
	}
	got := map[string]limits{}
	for id, f := range functions(t, read(t)) {
		got[id] = limits{f.Timeout, f.RecursiveLoop}
	}
	want := map[string]limits{
		"ApiFunction":    {30, ""},
		"StreamFunction": {900, ""},
		"StepFunction":   {120, "Allow"},
		"SweepFunction":  {60, "Allow"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatInvokesFunctions(t *testing.T) {
	got := map[string][]string{}
	for id, f := range functions(t, read(t)) {
		if f.FunctionUrlConfig.InvokeMode != "" {
			got[id] = append(got[id], "URL "+f.FunctionUrlConfig.InvokeMode+" "+f.FunctionUrlConfig.AuthType)
		}
		for name, e := range f.Events {
			p := e.Properties
			got[id] = append(got[id], strings.Join(strings.Fields(strings.Join([]string{
				name, e.Type, p.Queue, p.ScheduleExpression, p.ApiId, p.PayloadFormatVersion, p.RestApiId, p.ResponseTransferMode, p.Method, p.Path,
			}, " ")), " "))
		}
		slices.Sort(got[id])
	}
	want := map[string][]string{
		"ApiFunction": {"Any HttpApi !Ref HttpApi 2.0 ANY /{proxy+}"},
		"StreamFunction": {
			"Any Api !Ref RestApi RESPONSE_STREAM ANY /{proxy+}",
			`URL RESPONSE_STREAM !If ["Open","NONE","AWS_IAM"]`,
		},
		"StepFunction": {"WakeUps SQS !GetAtt Queue.Arn"},
		"SweepFunction": {
			"DeadWakeUps SQS !GetAtt DeadLetterQueue.Arn",
			"EveryMinute ScheduleV2 rate(1 minute)",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
