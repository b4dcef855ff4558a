//go:build aws

package deployed

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
)

// samples are the sample events, each with the function that takes it and what is in its
// response.
var samples = []struct{ file, function, response string }{
	{"api.json", "api", `\"status\":\"queued\",\"thread_id\":\"t2\"`},
	{"step.json", "step", `{"batchItemFailures":[]}`},
	{"stream-rest.json", "stream", `"response":"Echo: hello","termination":{"type":"natural_end"}`},
	{"stream-url.json", "stream", `{"type":"finish","finishReason":"stop"}`},
	{"sweep-dlq.json", "sweep", `{"batchItemFailures":[]}`},
	{"sweep.json", "sweep", `{"woken":0}`},
	{"trigger-dynamodb.json", "trigger", `{"batchItemFailures":[]}`},
	{"trigger-eventbridge.json", "trigger", "null"},
	{"trigger-s3.json", "trigger", "null"},
	{"trigger-schedule.json", "trigger", "null"},
	{"trigger-sns.json", "trigger", "null"},
	{"trigger-sqs.json", "trigger", `{"batchItemFailures":[]}`},
	{"trigger-webhook.json", "trigger", `\"status\":\"queued\",\"runs\":[{\"thread_id\":\"issue-17\"`},
}

// TestEachFunctionAnswersItsSampleEvents by the command behind make invoke, on tables of
// its own making, which one invocation leaves to the next.
func TestEachFunctionAnswersItsSampleEvents(t *testing.T) {
	t.Parallel()
	forgetScratch(t)
	files, err := filepath.Glob("../../../events/*.json")
	if err != nil {
		t.Fatal(err)
	}
	var have, want []string
	for _, file := range files {
		have = append(have, filepath.Base(file))
	}
	for _, s := range samples {
		want = append(want, s.file)
	}
	want = append(want, "triggers.json") // no event, but what the function takes them by
	slices.Sort(want)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Fatalf("sample events (-want +got):\n%s", diff)
	}
	triggers, err := filepath.Abs("../../../events/triggers.json")
	if err != nil {
		t.Fatal(err)
	}
	command := build(t, "scripts/verify/lambdahost", "")
	invoke := func(t *testing.T, file, function string) string {
		t.Helper()
		target := "scripts/verify/deployed/" + function
		if function == "sweep" {
			target = "functions/sweep"
		}
		c := exec.CommandContext(t.Context(), command, "-scratch", "-function", function+"="+build(t, target, ""), "-invoke", function+"=../../../events/"+file)
		c.Env = append(os.Environ(), "REVEILLE_LOG_LEVEL=error")
		if function == "trigger" {
			c.Env = append(c.Env, "REVEILLE_TRIGGERS="+triggers, "WEBHOOK_SECRET=secret")
		}
		var output bytes.Buffer
		c.Stderr = &output
		response, err := c.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, output.String())
		}
		return strings.TrimSpace(string(response))
	}
	for _, s := range samples {
		t.Run(s.file, func(t *testing.T) {
			if got := invoke(t, s.file, s.function); !strings.Contains(got, s.response) {
				t.Errorf("%s returned %s, want %s in it", s.function, got, s.response)
			}
		})
	}
	if got := invoke(t, "trigger-webhook.json", "trigger"); !strings.Contains(got, `\"duplicate\":true`) {
		t.Errorf("the same event again: %s: an invocation does not find what the one before left", got)
	}
}

// forgetScratch deletes what the command makes when the test is over: it must be there,
// but may be gone by a try whose answer was lost. No other test has the names.
func forgetScratch(t *testing.T) {
	t.Helper()
	tables, queues := clients(t)
	t.Cleanup(func() {
		ctx := context.Background()
		for _, name := range []string{"reveille-scratch-threads", "reveille-scratch-config"} {
			if _, err := tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name}); err != nil {
				t.Error(err)
				continue
			}
			_, err := tables.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})
			var gone *types.ResourceNotFoundException
			if err != nil && !errors.As(err, &gone) {
				t.Error(err)
			}
		}
		url, err := queues.GetQueueUrl(ctx, &awssqs.GetQueueUrlInput{QueueName: aws.String("reveille-scratch-wake-ups")})
		if err != nil {
			t.Error(err)
			return
		}
		_, err = queues.DeleteQueue(ctx, &awssqs.DeleteQueueInput{QueueUrl: url.QueueUrl})
		var gone *sqstypes.QueueDoesNotExist
		if err != nil && !errors.As(err, &gone) {
			t.Error(err)
		}
	})
}
