package template

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A rule says what is wrong with a template.
type rule func(t *testing.T, of template) []string

// allRules hold for whatever functions the template has.
func allRules() []rule {
	return []rule{batches, redrive, drained, retries, transferModes, frontTimes, schedules, loops}
}

func broken(t *testing.T, of template) []string {
	t.Helper()
	var found []string
	for _, r := range allRules() {
		found = append(found, r(t, of)...)
	}
	slices.Sort(found)
	return found
}

// queue is what we look at of an AWS::SQS::Queue.
type queue struct {
	VisibilityTimeout      any // a number of seconds, or one that a mapping pairs with a parameter
	MessageRetentionPeriod int
	SqsManagedSseEnabled   any
	KmsMasterKeyId         string
	RedriveAllowPolicy     *struct {
		Permission string   `json:"redrivePermission"`
		Sources    []string `json:"sourceQueueArns"`
	}
	RedrivePolicy *struct {
		Target   string `json:"deadLetterTargetArn"`
		Receives int    `json:"maxReceiveCount"`
	}
}

func queues(t *testing.T, of template) map[string]queue {
	t.Helper()
	return resources[queue](t, of, "AWS::SQS::Queue")
}

// eachEvent calls f for every event of a type.
func eachEvent(t *testing.T, of template, kind string, f func(where string, of function, e event)) {
	t.Helper()
	for id, function := range functions(t, of) {
		for name, e := range function.Events {
			if e.Type == kind {
				f(id+"."+name, function, e)
			}
		}
	}
}

// batches: Lambda refuses more than ten messages without a window, and forgets
// which ones failed unless it is told to ask.
func batches(t *testing.T, of template) (found []string) {
	eachEvent(t, of, "SQS", func(where string, _ function, e event) {
		p := e.Properties
		if p.BatchSize < 1 || p.BatchSize > 10 && p.MaximumBatchingWindowInSeconds < 1 {
			found = append(found, fmt.Sprintf("%s: batch of %d with a window of %d s", where, p.BatchSize, p.MaximumBatchingWindowInSeconds))
		}
		if !slices.Equal(p.FunctionResponseTypes, []string{"ReportBatchItemFailures"}) {
			found = append(found, fmt.Sprintf("%s: response types %v", where, p.FunctionResponseTypes))
		}
	})
	return found
}

// redrive: a message must stay hidden for six times the time that its function
// has, or a throttled mapping uses its receives up.
func redrive(t *testing.T, of template) (found []string) {
	all := queues(t, of)
	eachEvent(t, of, "SQS", func(where string, f function, e event) {
		id := strings.TrimSuffix(strings.TrimPrefix(e.Properties.Queue, "!GetAtt "), ".Arn")
		q, ok := all[id]
		if !ok {
			found = append(found, fmt.Sprintf("%s: there is no queue %q", where, e.Properties.Queue))
			return
		}
		for _, timeout := range seconds(t, of, f.Timeout) {
			if hidden := q.hidden(of, timeout); hidden < 6*timeout {
				found = append(found, fmt.Sprintf("%s: %s hides messages for %d s, six times the timeout is %d s", where, id, hidden, 6*timeout))
			}
		}
	})
	return found
}

// drained: what a function receives itself must stay hidden for longer than it runs.
func drained(t *testing.T, of template) (found []string) {
	all := queues(t, of)
	for id, f := range functions(t, of) {
		named, ok := f.Environment.Variables["REVEILLE_DEAD_LETTER_QUEUE_URL"]
		if !ok {
			continue
		}
		dead := strings.TrimPrefix(fmt.Sprint(named), "!Ref ")
		q, ok := all[dead]
		if !ok {
			found = append(found, fmt.Sprintf("%s: there is no queue %q", id, named))
			continue
		}
		for _, timeout := range seconds(t, of, f.Timeout) {
			if hidden := q.hidden(of, timeout); hidden <= timeout {
				found = append(found, fmt.Sprintf("%s: %s hides messages for %d s, it runs for %d s", id, dead, hidden, timeout))
			}
		}
	}
	return found
}

// hidden is how long a queue hides messages when its function has so many seconds.
func (q queue) hidden(of template, timeout int) int {
	switch v := q.VisibilityTimeout.(type) {
	case float64:
		return int(v)
	case string:
		if v == `!FindInMap ["StepTimes","!Ref StepTimeout","Visibility"]` {
			return of.Mappings.StepTimes[strconv.Itoa(timeout)]["Visibility"]
		}
	}
	return 0
}

// retries: what ran out of receives must be kept longer than it was kept before.
func retries(t *testing.T, of template) (found []string) {
	all := queues(t, of)
	for id, q := range all {
		if q.RedrivePolicy == nil {
			continue
		}
		target := strings.TrimSuffix(strings.TrimPrefix(q.RedrivePolicy.Target, "!GetAtt "), ".Arn")
		dead, ok := all[target]
		switch {
		case !ok || target == id:
			found = append(found, fmt.Sprintf("%s: dead letters go to %q", id, q.RedrivePolicy.Target))
		case q.RedrivePolicy.Receives != 5:
			found = append(found, fmt.Sprintf("%s: dead after %d receives", id, q.RedrivePolicy.Receives))
		case dead.MessageRetentionPeriod <= q.MessageRetentionPeriod:
			found = append(found, fmt.Sprintf("%s: keeps dead letters for %d s", target, dead.MessageRetentionPeriod))
		case dead.RedrivePolicy != nil:
			found = append(found, fmt.Sprintf("%s: gives dead letters up", target))
		}
	}
	return found
}

var rate = regexp.MustCompile(`^rate\((1 (minute|hour|day)|([2-9]|[1-9][0-9]+) (minutes|hours|days))\)$`)

// schedules: the grammar has a singular, and SAM names a schedule after its
// event alone unless it is told not to, so that a second stack cannot be made. Of a
// parameter the default counts.
func schedules(t *testing.T, of template) (found []string) {
	eachEvent(t, of, "ScheduleV2", func(where string, _ function, e event) {
		expression := e.Properties.ScheduleExpression
		if id, ok := strings.CutPrefix(expression, "!Ref "); ok {
			expression = fmt.Sprint(of.Parameters[id].Default)
		}
		if !rate.MatchString(expression) {
			found = append(found, fmt.Sprintf("%s: %q is no rate", where, expression))
		}
		if !e.Properties.OmitName {
			found = append(found, fmt.Sprintf("%s: has a fixed name", where))
		}
	})
	return found
}

// loops: a function that sends to the queue that invokes it is a loop, which
// Lambda ends after 16 rounds.
func loops(t *testing.T, of template) (found []string) {
	eachEvent(t, of, "SQS", func(where string, f function, _ event) {
		if f.RecursiveLoop != "Allow" {
			found = append(found, fmt.Sprintf("%s: recursion is %q", where, f.RecursiveLoop))
		}
	})
	return found
}

func TestRulesHold(t *testing.T) {
	for _, problem := range broken(t, read(t)) {
		t.Error(problem)
	}
}

func TestRulesFindSeededFaults(t *testing.T) {
	text := readText(t, "template.yaml")
	tests := []struct{ name, old, new, want string }{
		{"batch without window", "BatchSize: 10", "BatchSize: 11", "StepFunction.WakeUps: batch of 11 with a window of 0 s"},
		{"no partial response", "FunctionResponseTypes: [ReportBatchItemFailures]", "FunctionResponseTypes: []", "StepFunction.WakeUps: response types []"},
		{"short visibility", "Visibility: 720", "Visibility: 719", "StepFunction.WakeUps: Queue hides messages for 719 s, six times the timeout is 720 s"},
		{"a time without visibility", "[60, 120, 300, 600, 900]", "[60, 120, 300, 700, 900]", "StepFunction.WakeUps: Queue hides messages for 0 s, six times the timeout is 4200 s"},
		{"longer function", "Timeout: 60", "Timeout: 360", "SweepFunction: DeadLetterQueue hides messages for 360 s, it runs for 360 s"},
		{"drains no queue", "REVEILLE_DEAD_LETTER_QUEUE_URL: !Ref DeadLetterQueue", "REVEILLE_DEAD_LETTER_QUEUE_URL: !Ref Quay", `SweepFunction: there is no queue "!Ref Quay"`},
		{"unknown queue", "Queue: !GetAtt Queue.Arn", "Queue: !GetAtt Quay.Arn", `StepFunction.WakeUps: there is no queue "!GetAtt Quay.Arn"`},
		{"own dead letters", "deadLetterTargetArn: !GetAtt DeadLetterQueue.Arn", "deadLetterTargetArn: !GetAtt Queue.Arn", `Queue: dead letters go to "!GetAtt Queue.Arn"`},
		{"more receives", "maxReceiveCount: 5", "maxReceiveCount: 6", "Queue: dead after 6 receives"},
		{"short-lived dead letters", "MessageRetentionPeriod: 1209600", "MessageRetentionPeriod: 345600", "DeadLetterQueue: keeps dead letters for 345600 s"},
		{"SAM's word for streaming", "responseTransferMode: STREAM", "responseTransferMode: RESPONSE_STREAM", `RestApi x-amazon-apigateway-any-method /{proxy+}: transfer mode "RESPONSE_STREAM" of /2021-11-15/functions/${StreamFunction.Arn}:live/response-streaming-invocations`},
		{"the path of invocations that wait", "2021-11-15/functions/${StreamFunction.Arn}:live/response-streaming-invocations", "2015-03-31/functions/${StreamFunction.Arn}:live/response-streaming-invocations", `RestApi x-amazon-apigateway-any-method /{proxy+}: invokes /2015-03-31/functions/${StreamFunction.Arn}:live/response-streaming-invocations`},
		{"impatient front end", "timeoutInMillis: 900000", "timeoutInMillis: 300000", "RestApi x-amazon-apigateway-any-method /{proxy+}: waits 300000 ms for a function of 900 s"},
		{"plural of one", "rate(1 minute)", "rate(1 minutes)", `SweepFunction.EveryMinute: "rate(1 minutes)" is no rate`},
		{"singular of five", "rate(1 minute)", "rate(5 minute)", `SweepFunction.EveryMinute: "rate(5 minute)" is no rate`},
		{"a parameter that is no rate", "Default: rate(1 day)", "Default: rate(1 days)", `TriggerFunction.Moment: "rate(1 days)" is no rate`},
		{"fixed name", "OmitName: true", "OmitName: false", "SweepFunction.EveryMinute: has a fixed name"},
		{"ended loop", "RecursiveLoop: Allow # steps", "RecursiveLoop: Terminate # steps", `StepFunction.WakeUps: recursion is "Terminate"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(text, tt.old) {
				t.Fatalf("template.yaml has no %q", tt.old)
			}
			got := broken(t, parse(t, strings.Replace(text, tt.old, tt.new, 1)))
			if diff := cmp.Diff([]string{tt.want}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
