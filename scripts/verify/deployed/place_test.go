//go:build aws

package deployed

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/scripts/verify/deployed/stack"
)

// ownTemplate returns infra/own.yaml with some of its samples, in JSON.
func ownTemplate(t *testing.T, names ...string) []byte {
	t.Helper()
	text, err := os.ReadFile("../../../infra/own.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sample := regexp.MustCompile(`(?m)^  ## Sample ([a-z]+): .*\n(?:^  # .*\n)+`)
	text = sample.ReplaceAllFunc(text, func(found []byte) []byte {
		if !slices.Contains(names, string(sample.FindSubmatch(found)[1])) {
			return found
		}
		return []byte(strings.ReplaceAll(string(found), "\n  # ", "\n  "))
	})
	file := filepath.Join(t.TempDir(), "own.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	made, err := plain(file)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// Each sample resolves, and what it refers to in template.yaml is there.
func TestEachSampleOfTheUsersResourcesResolves(t *testing.T) {
	own := ownTemplate(t, "table", "schedule", "queue", "topic", "bucket", "stream", "bus", "secrets")
	s, err := stack.Read(transform(t), stack.Options{Name: "agents", Parameters: map[string]string{"KeyArn": "k"}, Nested: map[string][]byte{"infra/own.yaml": own}})
	if err != nil {
		t.Fatal(err)
	}
	const trigger = "arn:aws:lambda:us-east-1:123456789012:function:agents-TriggerFunction:live"
	got := map[string]string{}
	for _, kind := range []string{
		"AWS::DynamoDB::Table TableName", "AWS::SQS::Queue QueueName", "AWS::SNS::Subscription Endpoint", "AWS::S3::Bucket BucketName", "AWS::Scheduler::Schedule Target",
		"AWS::Lambda::EventSourceMapping FunctionName", "AWS::Lambda::Permission FunctionName", "AWS::Events::Rule Targets", "AWS::IAM::Policy Roles",
	} {
		kind, name, _ := strings.Cut(kind, " ")
		for id, p := range properties[map[string]any](t, s, kind) {
			if inner, ok := strings.CutPrefix(id, "Own."); ok {
				encoded, err := json.Marshal(p[name])
				if err != nil {
					t.Fatal(err)
				}
				got[inner] = strings.ReplaceAll(strings.Trim(string(encoded), `"`), trigger, "TRIGGER")
			}
		}
	}
	want := map[string]string{
		"Orders": "agents-orders", "OrdersUse": `["agents-StepRole","agents-StreamRole"]`,
		"Report":  `{"Arn":"TRIGGER","Input":"{\"trigger\":\"report\",\"time\":\"\u003caws.scheduler.scheduled-time\u003e\"}","RoleArn":"arn:aws:iam::123456789012:role/agents-Own-ScheduleRole"}`,
		"Tickets": "agents-tickets", "BadTickets": "agents-bad-tickets", "TicketsUse": `["agents-TriggerRole"]`, "TicketsMapping": "TRIGGER",
		"AlertsInvoke": "TRIGGER", "AlertsSubscription": "TRIGGER", "Uploads": "agents-uploads-123456789012", "UploadsInvoke": "TRIGGER",
		"Stock": "agents-stock", "StockUse": `["agents-TriggerRole"]`, "StockMapping": "TRIGGER",
		"ShopOrders": `[{"Arn":"TRIGGER","Id":"trigger"}]`, "ShopOrdersInvoke": "TRIGGER", "WebhookSecrets": `["agents-TriggerRole"]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A table, a schedule and a queue of infra/own.yaml are created with the stack. A message of
// the queue and the schedule start a run each, whose tool writes to the table. Its name comes
// from the file environment, and its role allows no more than the sample grants.
func TestTheUsersResourcesAreUsed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(folder, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	mains := map[string]string{}
	for id, main := range folders {
		mains[id] = main
	}
	mains["StepFunction"] = "scripts/verify/deployed/own"
	d := deployWith(t, map[string]string{"Auth": "none"}, deployOptions{
		folders: mains, own: ownTemplate(t, "table", "schedule", "queue"),
		environment: file("environment", "ORDERS_TABLE=${STACK}-orders\n\n[other]\nORDERS_TABLE=none\n"),
		triggers: file("triggers.json", `{"triggers": [
			{"name": "tickets", "source": "sqs", "thread": "ticket-{{name .body.ticket}}", "prompt": "call: order {\"id\":\"{{.body.ticket}}\"}"},
			{"name": "report", "source": "schedule", "thread": "report", "prompt": "call: order {\"id\":\"{{.time}}\"}"}]}`),
	})
	tables, queues := clients(t)
	queue := os.Getenv("AWS_ENDPOINT_URL_SQS") + "/" + stack.Account + "/" + d.name(t, "Own.Tickets")
	if _, err := queues.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &queue, MessageBody: aws.String(`{"ticket":"12"}`)}); err != nil {
		t.Fatal(err)
	}
	schedule := properties[struct{ Target struct{ Input string } }](t, d.stack, "AWS::Scheduler::Schedule")["Own.Report"].Target.Input
	if _, err := d.host.Invoke(t.Context(), d.name(t, "TriggerFunction"), []byte(strings.ReplaceAll(schedule, "<aws.scheduler.scheduled-time>", "2026-11-23T07:00:00Z"))); err != nil {
		t.Fatal(err)
	}
	d.poll(t)
	var stored []string
	table := d.name(t, "Own.Orders")
	for deadline := time.Now().Add(time.Minute); len(stored) < 2 && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		out, err := tables.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table})
		if err != nil {
			t.Fatal(err)
		}
		stored = nil
		for _, item := range out.Items {
			stored = append(stored, item["id"].(*types.AttributeValueMemberS).Value)
		}
	}
	slices.Sort(stored)
	if diff := cmp.Diff([]string{"12", "2026-11-23T07:00:00Z"}, stored); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
	for _, r := range d.roles(t) {
		if r.function == "StepFunction" && (len(r.refused) > 0 || r.calls == 0) {
			t.Errorf("the role of Step does not allow %v, of %d calls", r.refused, r.calls)
		}
	}
}
