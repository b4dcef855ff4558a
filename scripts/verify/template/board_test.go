package template

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/outbound/emf"
)

// metricsOfAWS are the metrics of AWS that alarms and the board name, with their dimensions.
var metricsOfAWS = []string{
	"AWS/Lambda Invocations FunctionName", "AWS/Lambda Errors FunctionName", "AWS/Lambda Throttles FunctionName", "AWS/Lambda Duration FunctionName",
	"AWS/Lambda ConcurrentExecutions FunctionName", "AWS/Lambda Url5xxCount FunctionName",
	"AWS/SQS ApproximateNumberOfMessagesVisible QueueName", "AWS/SQS ApproximateNumberOfMessagesNotVisible QueueName", "AWS/SQS ApproximateAgeOfOldestMessage QueueName",
	"AWS/DynamoDB ConsumedReadCapacityUnits TableName", "AWS/DynamoDB ConsumedWriteCapacityUnits TableName", "AWS/DynamoDB ReadThrottleEvents TableName", "AWS/DynamoDB WriteThrottleEvents TableName",
	"AWS/DynamoDB ReadThrottleEvents GlobalSecondaryIndexName TableName", "AWS/DynamoDB WriteThrottleEvents GlobalSecondaryIndexName TableName",
	"AWS/ApiGateway 5XXError ApiName Stage", "AWS/ApiGateway 5xx ApiId",
}

// namespaceOfOurs is that of the metrics that the functions write.
const namespaceOfOurs = "Reveille"

// ours are the metrics that the functions write, in the same form.
func ours() (all []string) {
	for _, m := range emf.Metrics() {
		all = append(all, namespaceOfOurs+" "+m.Name+" Stack")
		for name := range m.By {
			all = append(all, namespaceOfOurs+" "+m.Name+" "+strings.Join(slices.Sorted(slices.Values([]string{"Stack", name})), " "))
		}
	}
	return all
}

// checkMetric checks that a metric is one of ours or a known one, with exactly these dimensions,
// and that the values of ours can occur.
func checkMetric(t *testing.T, where, namespace, name string, dimensions map[string]string) {
	t.Helper()
	text := strings.Join(append([]string{namespace, name}, slices.Sorted(maps.Keys(dimensions))...), " ")
	if !slices.Contains(metricsOfAWS, text) && !slices.Contains(ours(), text) {
		t.Errorf("%s names the metric %q, which no function writes and AWS does not have", where, text)
	}
	for _, m := range emf.Metrics() {
		for by, values := range m.By {
			if value, ok := dimensions[by]; ok && namespace == namespaceOfOurs && name == m.Name && !slices.Contains(values, value) {
				t.Errorf("%s: %s has no value %q of %s", where, name, value, by)
			}
		}
	}
	if index, ok := dimensions["GlobalSecondaryIndexName"]; ok && !slices.Contains([]string{"due", "waiting", "listed"}, index) {
		t.Errorf("%s: table Threads has no index %q", where, index)
	}
	if stack, ok := dimensions["Stack"]; ok && !strings.Contains(stack, "AWS::StackName") {
		t.Errorf("%s: the dimension Stack is %q", where, stack)
	}
}

func TestAlarmsNameMetricsThatExist(t *testing.T) {
	for id, a := range resources[alarm](t, read(t), "AWS::CloudWatch::Alarm") {
		if a.MetricName != "" {
			of := map[string]string{}
			for _, d := range a.Dimensions {
				of[d.Name] = d.Value
			}
			checkMetric(t, id, a.Namespace, a.MetricName, of)
		}
		for _, m := range a.Metrics {
			if m.MetricStat.Metric.MetricName == "" {
				continue
			}
			of := map[string]string{}
			for _, d := range m.MetricStat.Metric.Dimensions {
				of[d.Name] = d.Value
			}
			checkMetric(t, id, m.MetricStat.Metric.Namespace, m.MetricStat.Metric.MetricName, of)
		}
	}
}

// widget is a widget of the board.
type widget struct {
	Type                string
	X, Y, Width, Height int
	Properties          struct {
		Title, Query string
		Metrics      [][]any
	}
}

// board returns the widgets of the board.
func board(t *testing.T) []widget {
	t.Helper()
	of := read(t)
	body := resources[struct{ DashboardBody string }](t, of, "AWS::CloudWatch::Dashboard")["Board"].DashboardBody
	if of.Resources["Board"].Condition != "HasDashboard" {
		t.Fatalf("the dashboard is there on condition %q", of.Resources["Board"].Condition)
	}
	return decode[struct{ Widgets []widget }](t, []byte(boardText(t, body))).Widgets
}

// boardText is the text of the board: the first argument of Sub, which has values for the
// names of tables in its second.
func boardText(t *testing.T, body string) string {
	t.Helper()
	list, ok := strings.CutPrefix(body, "!Sub ")
	var parts []json.RawMessage
	var text string
	if !ok || json.Unmarshal([]byte(list), &parts) != nil || len(parts) != 2 || json.Unmarshal(parts[0], &text) != nil {
		t.Fatalf("the dashboard is %.100q", body)
	}
	return text
}

var search = regexp.MustCompile(`^SEARCH\('\{([A-Za-z]+),([A-Za-z,]+)\} MetricName="([A-Za-z]+)" Stack="(.*)"', 'Sum', 300\)$`)

// TestTheBoardCanBeRead: a body that is no JSON, or draws what does not exist, is not found
// before CloudFormation reads it.
func TestTheBoardCanBeRead(t *testing.T) {
	of := read(t)
	var titles []string
	taken, drawn := map[[2]int]string{}, 0
	for _, w := range board(t) {
		title := w.Properties.Title
		titles = append(titles, title)
		if other, ok := taken[[2]int{w.X, w.Y}]; ok || w.X+w.Width > 24 {
			t.Errorf("%q is at %d, %d, as is %q", title, w.X, w.Y, other)
		}
		taken[[2]int{w.X, w.Y}] = title
		drawn += len(w.Properties.Metrics)
		for _, metric := range w.Properties.Metrics {
			checkDrawn(t, title, metric)
		}
		text, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`\$\{([A-Za-z]+)[.}]`).FindAllStringSubmatch(string(text), -1) {
			if _, ok := of.Resources[found[1]]; !ok {
				t.Errorf("%q draws %s, which does not exist", title, found[1])
			}
		}
	}
	want := []string{
		"Runs by outcome", "Failed runs in percent", "Failed runs by code", "Failed calls of models by kind", "Late steps, and the longest delay in ms",
		"Expired decisions, dead letters and dead events", "Money by hour in USD", "Money by day in USD", "Models", "Failed calls by model", "Tenants by runs", "Tenants by money", "Agents",
		"Invocations", "Errors and throttles", "Concurrent invocations of Step and Stream", "Waiting wake-ups, and age of the oldest in s", "Duration in ms", "Units of table Threads",
		"Throttled by DynamoDB", "5xx",
	}
	if diff := cmp.Diff(want, titles); diff != "" {
		t.Error(diff)
	}
	if drawn > 50 {
		t.Errorf("the board draws %d metrics: three dashboards of up to 50 are free", drawn)
	}
}

// checkDrawn checks a row of a widget: a namespace, a name and dimensions, or an expression.
func checkDrawn(t *testing.T, title string, row []any) {
	t.Helper()
	if expression, ok := row[0].(map[string]any); ok {
		text, _ := expression["expression"].(string)
		if found := search.FindStringSubmatch(text); found != nil {
			by := strings.TrimPrefix(found[2], "Stack,")
			values := map[string]string{"Stack": found[4], by: ""}
			for _, m := range emf.Metrics() {
				if m.Name == found[3] && len(m.By[by]) > 0 {
					values[by] = m.By[by][0]
				}
			}
			checkMetric(t, title, found[1], found[3], values)
		} else if text != "100 * failed / runs" {
			t.Errorf("%q has the expression %q", title, text)
		}
		return
	}
	var parts []string
	for _, part := range row {
		if text, ok := part.(string); ok {
			parts = append(parts, text)
		}
	}
	of := map[string]string{}
	for i := 2; i+1 < len(parts); i += 2 {
		of[parts[i]] = parts[i+1]
	}
	checkMetric(t, title, parts[0], parts[1], of)
}

// query is a saved query.
type query struct {
	Name          string
	LogGroupNames []string
	QueryString   string
}

// TestEachAlarmHasAQueryAndASection: one to one, in the template and in infra/alarms.md.
func TestEachAlarmHasAQueryAndASection(t *testing.T) {
	of := read(t)
	page, err := os.ReadFile("../../../infra/alarms.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		name, text, _ := strings.Cut(section, "\n")
		sections[name] = text
	}
	queries := resources[query](t, of, "AWS::Logs::QueryDefinition")
	alarms := resources[alarm](t, of, "AWS::CloudWatch::Alarm")
	for id := range alarms {
		q, ok := queries[id+"Query"]
		if !ok || q.Name != "!Sub ${AWS::StackName}/"+id || len(q.LogGroupNames) == 0 {
			t.Errorf("the query of %s is %+v", id, q)
		}
		for _, group := range q.LogGroupNames {
			if of.Resources[strings.TrimPrefix(group, "!Ref ")].Type != "AWS::Logs::LogGroup" {
				t.Errorf("the query of %s reads %s", id, group)
			}
		}
		for _, part := range []string{"**Meaning.** ", "**Query.** `STACK/" + id + "`", "**Do.**", "**Do not** "} {
			if strings.Count(sections[id], part) != 1 {
				t.Errorf("infra/alarms.md: section %s does not have %q once", id, part)
			}
		}
		if !strings.Contains(string(page), "| ["+id+"](#"+strings.ToLower(id)+") |") {
			t.Errorf("infra/alarms.md: the table does not link %s", id)
		}
	}
	if len(queries) != len(alarms) || len(sections) != len(alarms) {
		t.Errorf("%d alarms, %d queries, %d sections", len(alarms), len(queries), len(sections))
	}
}
