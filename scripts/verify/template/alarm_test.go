package template

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// alarm is what we look at of an AWS::CloudWatch::Alarm.
type alarm struct {
	AlarmDescription, AlarmActions, OKActions string
	Namespace, MetricName, Statistic          string
	Dimensions                                []struct{ Name, Value string }
	Metrics                                   []struct {
		Expression string
		MetricStat struct {
			Metric struct {
				Namespace, MetricName string
				Dimensions            []struct{ Name, Value string }
			}
		}
	}
	Period, EvaluationPeriods, DatapointsToAlarm int
	Threshold                                    any
	ComparisonOperator, TreatMissingData         string
}

func (a alarm) metric() string {
	if len(a.Metrics) == 0 {
		var of []string
		for _, d := range a.Dimensions {
			of = append(of, d.Name+"="+d.Value)
		}
		return a.Statistic + " of " + a.Namespace + " " + a.MetricName + " " + strings.Join(of, " ")
	}
	return a.Metrics[0].Expression
}

func TestAlarms(t *testing.T) {
	of := read(t)
	got := map[string]string{}
	for id, a := range resources[alarm](t, of, "AWS::CloudWatch::Alarm") {
		if a.DatapointsToAlarm == 0 {
			a.DatapointsToAlarm = a.EvaluationPeriods
		}
		operator := map[string]string{"GreaterThanOrEqualToThreshold": ">=", "LessThanThreshold": "<"}[a.ComparisonOperator]
		got[id] = fmt.Sprintf("%s: %s %s %v, %d of %d times %d s, missing is %s", of.Resources[id].Condition, a.metric(), operator, a.Threshold, a.DatapointsToAlarm, a.EvaluationPeriods, a.Period, a.TreatMissingData)
		if a.AlarmDescription == "" || a.AlarmActions != `!If ["HasAlarmTopic",["!Ref AlarmTopic"],"!Ref AWS::NoValue"]` || a.OKActions != a.AlarmActions {
			t.Errorf("%s: %q tells %s and %s", id, a.AlarmDescription, a.AlarmActions, a.OKActions)
		}
	}
	want := map[string]string{
		"FailedRuns":       "HasAlarms: IF(failed >= 3, 100 * failed / runs, 0) >= 5, 1 of 1 times 0 s, missing is notBreaching",
		"ProviderErrors":   "HasAlarms: Sum of Reveille ModelErrors Stack=!Ref AWS::StackName >= 10, 1 of 1 times 300 s, missing is notBreaching",
		"ExpiredDecisions": "HasAlarms: Sum of Reveille Expired Stack=!Ref AWS::StackName >= 3, 1 of 1 times 3600 s, missing is notBreaching",
		"DeadLetters":      "HasAlarms: Sum of Reveille DeadLetters Stack=!Ref AWS::StackName >= 1, 1 of 1 times 300 s, missing is notBreaching",
		"LateSteps":        "HasAlarms: Sum of Reveille LateWakeUps Stack=!Ref AWS::StackName >= 3, 1 of 1 times 300 s, missing is notBreaching",
		"StreamThrottles":  "HasAlarms: Sum of AWS/Lambda Throttles FunctionName=!Ref StreamFunction >= 10, 3 of 5 times 60 s, missing is notBreaching",
		"LateWakeUps":      `HasAlarms: Maximum of AWS/SQS ApproximateAgeOfOldestMessage QueueName=!GetAtt Queue.QueueName >= !FindInMap ["StepTimes","!Ref StepTimeout","Late"], 3 of 3 times 60 s, missing is notBreaching`,
		"StepErrors":       "HasAlarms: Sum of AWS/Lambda Errors FunctionName=!Ref StepFunction >= 3, 2 of 5 times 60 s, missing is notBreaching",
		"StepThrottles":    "HasAlarms: Sum of AWS/Lambda Throttles FunctionName=!Ref StepFunction >= 10, 3 of 5 times 60 s, missing is notBreaching",
		"StreamErrors":     "HasAlarms: Sum of AWS/Lambda Errors FunctionName=!Ref StreamFunction >= 3, 2 of 5 times 60 s, missing is notBreaching",
		"ApiErrors":        "HasAlarms: Sum of AWS/Lambda Errors FunctionName=!Ref ApiFunction >= 3, 2 of 5 times 60 s, missing is notBreaching",
		"TriggerErrors":    "HasAlarms: Sum of AWS/Lambda Errors FunctionName=!Ref TriggerFunction >= 3, 2 of 5 times 60 s, missing is notBreaching",
		"SweepErrors":      "HasAlarms: Sum of AWS/Lambda Errors FunctionName=!Ref SweepFunction >= 1, 3 of 5 times 60 s, missing is notBreaching",
		"NoSweep":          "HasAlarms: Sum of AWS/Lambda Invocations FunctionName=!Ref SweepFunction < 1, 5 of 5 times 60 s, missing is breaching",
		"TableThrottles":   "HasAlarms: FILL(reads, 0) + FILL(writes, 0) + FILL(dueReads, 0) + FILL(dueWrites, 0) + FILL(waitingReads, 0) + FILL(waitingWrites, 0) + FILL(listedReads, 0) + FILL(listedWrites, 0) >= 10, 3 of 5 times 0 s, missing is notBreaching",
		"RestErrors":       "HasAlarms: Sum of AWS/ApiGateway 5XXError ApiName=!Ref AWS::StackName Stage=live >= 5, 2 of 5 times 60 s, missing is notBreaching",
		"HttpErrors":       "HasAlarms: Sum of AWS/ApiGateway 5xx ApiId=!Ref HttpApi >= 5, 2 of 5 times 60 s, missing is notBreaching",
		"UrlErrors":        "HasUrlAlarm: Sum of AWS/Lambda Url5xxCount FunctionName=!Ref StreamFunction >= 5, 2 of 5 times 60 s, missing is notBreaching",
		"DeadEvents":       "HasAlarms: Maximum of AWS/SQS ApproximateNumberOfMessagesVisible QueueName=!GetAtt TriggerDeadLetterQueue.QueueName >= 1, 1 of 1 times 300 s, missing is notBreaching",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestLateIsLaterThanAStep: an invocation holds its messages as long as it runs. What
// is older is late, and said to be before a message that it lost comes again.
func TestLateIsLaterThanAStep(t *testing.T) {
	for timeout, times := range read(t).Mappings.StepTimes {
		var seconds int
		if err := json.Unmarshal([]byte(timeout), &seconds); err != nil {
			t.Fatal(err)
		}
		if late := times["Late"]; late <= seconds || late >= times["Visibility"] {
			t.Errorf("with %d s a step's wake-up is late after %d s; it is hidden for %d s", seconds, late, times["Visibility"])
		}
	}
}

// TestReleases: each function has an alias, a digest that publishes it and a
// description that changes with it, since Lambda publishes no version of what has not
// changed.
func TestReleases(t *testing.T) {
	of := read(t)
	g := of.Globals.Function
	if g.AutoPublishAlias != "live" {
		t.Errorf("the alias is %q", g.AutoPublishAlias)
	}
	want := preference{
		Enabled: "!Ref GradualReleases", Type: `!If ["RaisesSchema","AllAtOnce","!Ref ReleaseType"]`, Role: "!GetAtt ReleaseRole.Arn",
		Alarms: []string{"!Ref StepErrors", "!Ref StreamErrors", "!Ref TriggerErrors", "!Ref SweepErrors", "!Ref RestErrors", "!Ref FailedRuns"},
	}
	if diff := cmp.Diff(want, g.DeploymentPreference); diff != "" {
		t.Error(diff)
	}
	if of.Parameters["GradualReleases"].Default != "false" {
		t.Errorf("by default releases are %v", of.Parameters["GradualReleases"].Default)
	}
	for id, f := range functions(t, of) {
		if f.AutoPublishCodeSha256 == nil || *f.AutoPublishCodeSha256 != "" || !f.AutoPublishAliasAllProperties || f.Description == "" {
			t.Errorf("%s: %v, %v, %q", id, f.AutoPublishCodeSha256, f.AutoPublishAliasAllProperties, f.Description)
		}
	}
	// make deploy fills the mapping and reads the output. They are not parameters.
	computed := map[string]map[string]string{"Release": {"Schema": "1", "SchemaRaised": "false"}, "Filters": {"Queue": "none", "Stream": "none"}}
	if diff := cmp.Diff(computed, of.Mappings.Computed); diff != "" {
		t.Errorf("mapping Computed: %s", diff)
	}
	if got, want := of.Conditions["RaisesSchema"], `!Equals ["!FindInMap [\"Computed\",\"Release\",\"SchemaRaised\"]","true"]`; got != want {
		t.Errorf("condition RaisesSchema is %s, want %s", got, want)
	}
	if got, want := of.Outputs["Schema"].Value, `!FindInMap ["Computed","Release","Schema"]`; got != want || of.Outputs["Schema"].Condition != "" {
		t.Errorf("output Schema is %s, want %s", got, want)
	}
	for _, name := range []string{"Release", "Schema", "SchemaRaised"} {
		if _, ok := of.Parameters[name]; ok {
			t.Errorf("%s is a parameter", name)
		}
	}
	if slices.Contains(of.Parameters["ReleaseType"].AllowedValues, any("AllAtOnce")) {
		t.Error("a gradual release may be at once")
	}
}
