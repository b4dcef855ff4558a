package alarms

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/scripts/verify/deployed/stack"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// sampled are samples of a metric without dimensions, at minutes before noon.
func sampled(name string, values map[int]float64) (all []Sample) {
	for minute, v := range values {
		all = append(all, Sample{Namespace: "N", Name: name, At: noon.Add(-time.Duration(minute) * time.Minute), Value: v})
	}
	return all
}

func alarm(period, periods, points int, operator, missing string, threshold float64) Alarm {
	return Alarm{
		ID: "A", Namespace: "N", MetricName: "m", Statistic: "Sum", Period: period, EvaluationPeriods: periods, DatapointsToAlarm: points,
		Threshold: threshold, ComparisonOperator: operator, TreatMissingData: missing,
	}
}

func TestAlarmsOfOneMetric(t *testing.T) {
	const atLeast, under = "GreaterThanOrEqualToThreshold", "LessThanThreshold"
	for _, tt := range []struct {
		name   string
		alarm  Alarm
		values map[int]float64 // by minutes before noon
		want   bool
	}{
		{"at the threshold", alarm(60, 1, 0, atLeast, "notBreaching", 3), map[int]float64{1: 3}, true},
		{"under it", alarm(60, 1, 0, atLeast, "notBreaching", 3), map[int]float64{1: 2}, false},
		{"the minute that is not over does not count", alarm(60, 1, 0, atLeast, "notBreaching", 3), map[int]float64{0: 3}, false},
		{"a period of five minutes adds up", alarm(300, 1, 0, atLeast, "notBreaching", 3), map[int]float64{1: 1, 3: 1, 5: 1}, true},
		{"six minutes ago is before it", alarm(300, 1, 0, atLeast, "notBreaching", 3), map[int]float64{1: 1, 3: 1, 6: 1}, false},
		{"two of five", alarm(60, 5, 2, atLeast, "notBreaching", 3), map[int]float64{2: 3, 5: 3}, true},
		{"one of five", alarm(60, 5, 2, atLeast, "notBreaching", 3), map[int]float64{2: 3, 6: 3}, false},
		{"all of three", alarm(60, 3, 0, atLeast, "notBreaching", 3), map[int]float64{1: 3, 2: 3, 3: 4}, true},
		{"a gap in all of three", alarm(60, 3, 0, atLeast, "notBreaching", 3), map[int]float64{1: 3, 3: 4}, false},
		{"nothing, where that breaches", alarm(60, 5, 0, under, "breaching", 1), nil, true},
		{"one value, where nothing breaches", alarm(60, 5, 0, under, "breaching", 1), map[int]float64{4: 1}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := tt.alarm.At(sampled("m", tt.values), noon.Add(30*time.Second)); got != tt.want || err != nil {
				t.Errorf("%v, %v; want %v", got, err, tt.want)
			}
		})
	}
}

func TestStatistics(t *testing.T) {
	samples := slices.Concat(sampled("m", map[int]float64{1: 2}), sampled("m", map[int]float64{1: 5}), sampled("other", map[int]float64{1: 100}))
	samples = append(samples, Sample{Namespace: "N", Name: "m", Dimensions: map[string]string{"Stack": "s"}, At: noon.Add(-time.Minute), Value: 100})
	for statistic, want := range map[string]float64{"Sum": 7, "Average": 3.5, "Maximum": 5, "Minimum": 2} {
		s := Stat{Stat: statistic, Metric: Metric{Namespace: "N", MetricName: "m"}}
		if got, err := s.of(samples, noon.Add(-time.Minute), noon); got != want || err != nil {
			t.Errorf("%s is %v, %v; want %v", statistic, got, err, want)
		}
	}
	if _, err := (&Stat{Stat: "p99", Metric: Metric{Namespace: "N", MetricName: "m"}}).of(samples, noon.Add(-time.Minute), noon); err == nil {
		t.Error("an unknown statistic is no error")
	}
}

func TestMetricMath(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		expression string
		a, b       float64
		want       float64
	}{
		{"a + b", 2, 3, 5}, {"a - b * 2", 10, 3, 4}, {"(a - b) * 2", 10, 3, 14}, {"100 * a / b", 1, 4, 25},
		{"a + b", 2, nan, nan}, {"FILL(a, 0) + FILL(b, 0)", 2, nan, 2}, {"FILL(a, 0) + FILL(b, 0)", nan, nan, 0},
		{"a / b", 2, 0, nan}, {"a >= b", 3, 3, 1}, {"a > b", 3, 3, 0}, {"a < b", 2, 3, 1}, {"a == b", 2, nan, nan}, {"a != b", 2, 3, 1}, {"a <= 1.5", 2, 0, 0},
		{"IF(a >= 3, 100 * a / b, 0)", 3, 60, 5}, {"IF(a >= 3, 100 * a / b, 0)", 2, 2, 0}, {"IF(a, 1, 2)", nan, 1, nan},
	} {
		got, err := calculate(tt.expression, map[string]float64{"a": tt.a, "b": tt.b})
		if err != nil || got != tt.want && !(math.IsNaN(got) && math.IsNaN(tt.want)) {
			t.Errorf("%s of %v and %v is %v, %v; want %v", tt.expression, tt.a, tt.b, got, err, tt.want)
		}
	}
	for _, wrong := range []string{"", "a +", "c", "SUM(a)", "FILL(a)", "(a", "IF(a, 1, 2", "a b"} {
		if got, err := calculate(wrong, map[string]float64{"a": 1}); err == nil {
			t.Errorf("%q is %v", wrong, got)
		}
	}
}

const template = `{"Parameters":{"Late":{"Type":"Number","Default":180}},"Resources":{
"One":{"Type":"AWS::CloudWatch::Alarm","Properties":{"AlarmDescription":"one","Namespace":"Reveille","MetricName":"Expired","Dimensions":[{"Name":"Stack","Value":{"Ref":"AWS::StackName"}}],"Statistic":"Sum","Period":300,"EvaluationPeriods":1,"Threshold":{"Ref":"Late"},"ComparisonOperator":"GreaterThanOrEqualToThreshold","TreatMissingData":"notBreaching"}},
"Share":{"Type":"AWS::CloudWatch::Alarm","Properties":{"AlarmDescription":"share","Metrics":[{"Id":"share","Label":"l","Expression":"IF(failed >= 3, 100 * failed / runs, 0)"},
 {"Id":"failed","ReturnData":false,"MetricStat":{"Stat":"Sum","Period":300,"Metric":{"Namespace":"Reveille","MetricName":"Failed","Dimensions":[{"Name":"Stack","Value":{"Ref":"AWS::StackName"}}]}}},
 {"Id":"runs","ReturnData":false,"MetricStat":{"Stat":"Sum","Period":300,"Metric":{"Namespace":"Reveille","MetricName":"Runs","Dimensions":[{"Name":"Stack","Value":{"Ref":"AWS::StackName"}}]}}}],
 "EvaluationPeriods":1,"Threshold":5,"ComparisonOperator":"GreaterThanOrEqualToThreshold","TreatMissingData":"notBreaching"}}}}`

// The alarms of a template, over lines as functions write them.
func TestAlarmsOfATemplate(t *testing.T) {
	s, err := stack.Read([]byte(template), stack.Options{Name: "prod"})
	if err != nil {
		t.Fatal(err)
	}
	all, err := Of(s)
	if err != nil || len(all) != 2 || all[0].Threshold != 180 || len(all[0].Stats()) != 1 || len(all[1].Stats()) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	line := func(stack, failed string) string {
		return `{"_aws":{"Timestamp":1796039940000,"CloudWatchMetrics":[{"Namespace":"Reveille","Dimensions":[["Stack"],["Stack","Outcome"]],"Metrics":[{"Name":"Runs","Unit":"Count"}]},` +
			`{"Namespace":"Reveille","Dimensions":[["Stack"]],"Metrics":[{"Name":"Failed","Unit":"Count"}]}]},"Stack":"` + stack + `","Outcome":"x","Runs":1,"Failed":` + failed + "}\n"
	}
	var log string
	for range 3 {
		log += line("prod", "1") + line("dev", "1")
	}
	samples, err := Samples(Lines("steps", noon, []byte(log+"START RequestId: 1\n"+line("prod", "0"))))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Alarming(all, samples, time.UnixMilli(1796040000000)); err != nil || !slices.Equal(got, []string{"Share"}) {
		t.Errorf("in alarm are %q, %v", got, err)
	}
	if diff := cmp.Diff([]string{
		"Reveille Failed Stack=dev", "Reveille Failed Stack=prod", "Reveille Runs Outcome=x Stack=dev", "Reveille Runs Outcome=x Stack=prod",
		"Reveille Runs Stack=dev", "Reveille Runs Stack=prod",
	}, Names(samples)); diff != "" {
		t.Error(diff)
	}
}

func TestLinesThatCloudWatchWouldRefuse(t *testing.T) {
	for _, of := range []string{`"Stack":"s"`, `"Runs":1`, `"Stack":"","Runs":1`, `"Stack":"s","Runs":"1"`} {
		line := `{"_aws":{"Timestamp":1,"CloudWatchMetrics":[{"Namespace":"N","Dimensions":[["Stack"]],"Metrics":[{"Name":"Runs"}]}]},` + of + "}"
		if got, err := Samples(Lines("g", noon, []byte(line))); err == nil {
			t.Errorf("%s is %v", of, got)
		}
	}
}
