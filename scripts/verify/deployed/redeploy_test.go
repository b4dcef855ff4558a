//go:build aws

package deployed

import (
	"net/http"
	"testing"
	"time"

	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/queues/sqs"
	"github.com/reveille-run/reveille/adapters/stores/dynamo"
	"github.com/reveille-run/reveille/adapters/stores/dynamo/dynamotest"
	"github.com/reveille-run/reveille/adapters/stores/s3"
	"github.com/reveille-run/reveille/scripts/verify/deployed/stack"
)

// redeploy returns the deployment as an update with other parameters makes it: with the same
// queues and bucket, tables that exist, and functions of its own.
func (d *deployment) redeploy(tb testing.TB, parameters map[string]string) *deployment {
	tb.Helper()
	tables, queues := clients(tb)
	named := d.named
	named.Parameters = parameters
	s, err := stack.Read(transform(tb), named)
	if err != nil {
		tb.Fatal(err)
	}
	next := &deployment{options: d.options, named: named, world: &world{report: d.options.report}, stack: s, objects: d.objects,
		calls: map[string]*recorder{}, meter: &dynamotest.Meter{Next: http.DefaultTransport}}
	next.table, next.config, next.queueURL = next.output(tb, "TableName"), next.output(tb, "ConfigTableName"), next.output(tb, "QueueUrl")
	next.queue = sqs.New(queues, next.queueURL)
	next.makeFunctions(tb, d.options)
	next.makeMappings(tb, queues)
	payloads, err := s3.New(awsenv.Config{Timeout: time.Minute}, next.output(tb, "PayloadBucketName"))
	if err != nil {
		tb.Fatal(err)
	}
	next.store = dynamo.New(tables, dynamo.Options{Table: next.table, ConfigTable: next.config, Objects: payloads})
	return next
}

// output is an output of the stack.
func (d *deployment) output(tb testing.TB, id string) string {
	tb.Helper()
	value, err := d.stack.Output(id)
	if err != nil || value == "" {
		tb.Fatalf("output %s is %q, %v", id, value, err)
	}
	return value
}
