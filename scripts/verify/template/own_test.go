package template

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// uncommented is infra/own.yaml with the samples whose names match.
func uncommented(t *testing.T, name string) template {
	t.Helper()
	text := regexp.MustCompile(`(?m)^  ## Sample `+name+`: .*\n(?:^  # .*\n)+`).ReplaceAllStringFunc(readText(t, "infra", "own.yaml"), func(sample string) string {
		return strings.ReplaceAll(sample, "\n  # ", "\n  ")
	})
	return parse(t, text)
}

func TestTheNestedStackGetsItsParameters(t *testing.T) {
	nested := resources[struct {
		TemplateURL string
		Parameters  map[string]string
	}](t, read(t), "AWS::CloudFormation::Stack")["Own"]
	want := map[string]string{
		"StackName": "!Ref AWS::StackName", "KeyArn": "!Ref KeyArn", "PermissionsBoundary": "!Ref PermissionsBoundary",
		"StepRoleName": "!Ref StepRole", "StreamRoleName": "!Ref StreamRole", "TriggerRoleName": "!Ref TriggerRole",
		"TriggerFunctionArn": "!Ref TriggerFunction.Alias", "TriggerDeadLetterQueueArn": "!GetAtt TriggerDeadLetterQueue.Arn",
	}
	if diff := cmp.Diff(want, nested.Parameters); diff != "" || nested.TemplateURL != "infra/own.yaml" {
		t.Errorf("template %s, parameters (-want +got):\n%s", nested.TemplateURL, diff)
	}
	has := slices.Sorted(maps.Keys(uncommented(t, "none").Parameters))
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), has); diff != "" {
		t.Errorf("parameters of infra/own.yaml (-want +got):\n%s", diff)
	}
}

// It costs nothing until somebody uses a sample.
func TestTheUsersResourcesAreNoneAtFirst(t *testing.T) {
	of := uncommented(t, "none")
	if len(of.Resources) != 1 || of.Resources["Nothing"].Type != "AWS::CloudFormation::WaitConditionHandle" {
		t.Errorf("resources %+v", of.Resources)
	}
}

// scripts/verify/lint-template.sh checks them one by one, and together.
func TestSamplesOfTheUsersResources(t *testing.T) {
	want := map[string][]string{
		"table":    {"Orders AWS::DynamoDB::Table", "OrdersUse AWS::IAM::Policy"},
		"schedule": {"Report AWS::Scheduler::Schedule", "ScheduleRole AWS::IAM::Role"},
		"queue":    {"BadTickets AWS::SQS::Queue", "Tickets AWS::SQS::Queue", "TicketsMapping AWS::Lambda::EventSourceMapping", "TicketsUse AWS::IAM::Policy"},
		"topic":    {"Alerts AWS::SNS::Topic", "AlertsInvoke AWS::Lambda::Permission", "AlertsSubscription AWS::SNS::Subscription"},
		"bucket":   {"Uploads AWS::S3::Bucket", "UploadsInvoke AWS::Lambda::Permission"},
		"stream":   {"Stock AWS::DynamoDB::Table", "StockMapping AWS::Lambda::EventSourceMapping", "StockUse AWS::IAM::Policy"},
		"bus":      {"Shop AWS::Events::EventBus", "ShopOrders AWS::Events::Rule", "ShopOrdersInvoke AWS::Lambda::Permission"},
		"secrets":  {"WebhookSecrets AWS::IAM::Policy"},
	}
	got := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^  ## Sample ([a-z]+): `).FindAllStringSubmatch(readText(t, "infra", "own.yaml"), -1) {
		of := uncommented(t, m[1])
		for id, r := range of.Resources {
			if id != "Nothing" {
				got[m[1]] = append(got[m[1]], id+" "+r.Type)
			}
		}
		slices.Sort(got[m[1]])
		for id, r := range resources[struct{ PermissionsBoundary string }](t, of, "AWS::IAM::Role") {
			if r.PermissionsBoundary != ifBoundary {
				t.Errorf("%s is bounded by %q", id, r.PermissionsBoundary)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

// A mapping sends what a queue shows again to the function only if its time is shorter than
// the visibility timeout by a factor of six.
func TestTheQueueOfTheSampleHidesMessagesLongEnough(t *testing.T) {
	timeout := functions(t, read(t))["TriggerFunction"].Timeout
	if hidden := queues(t, uncommented(t, "queue"))["Tickets"].VisibilityTimeout; timeout != 30.0 || hidden != 180.0 {
		t.Errorf("Tickets hides messages for %v s, Trigger has %v s; want 180 and 30", hidden, timeout)
	}
}
