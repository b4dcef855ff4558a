//go:build aws

package deployed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/queues/sqs"
	"github.com/reveille-run/reveille/adapters/stores/dynamo"
	"github.com/reveille-run/reveille/adapters/stores/dynamo/dynamotest"
	"github.com/reveille-run/reveille/adapters/stores/s3"
	"github.com/reveille-run/reveille/scripts/verify/deployed/stack"
	"github.com/reveille-run/reveille/scripts/verify/lambdahost/host"
)

// deployment is what template.yaml deploys, after SAM's transform: its tables and
// queues at the endpoints, its functions under the host with the environment, time,
// memory and concurrency that it says, fed by its event source mappings. Of the
// functions with agents those with the demo are run.
type deployment struct {
	*world
	stack   *stack.Stack
	objects service
	calls   map[string]*recorder // by logical id of a function
	meter   *dynamotest.Meter    // of all of them
	pollers []host.Poller
	options deployOptions
	named   stack.Options
}

// properties decodes the resolved properties of all resources of a type.
func properties[T any](tb testing.TB, s *stack.Stack, kind string) map[string]T {
	tb.Helper()
	all, err := s.Of(kind)
	if err != nil {
		tb.Fatal(err)
	}
	decoded := map[string]T{}
	for id, text := range all {
		var v T
		if err := json.Unmarshal(text, &v); err != nil {
			tb.Fatalf("%s: %v in %s", id, err, text)
		}
		decoded[id] = v
	}
	return decoded
}

// transform returns the template after SAM's transform.
func transform(tb testing.TB) []byte {
	tb.Helper()
	text, err := transformed()
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// transformed runs SAM's transform once for all tests: it takes a second or more.
var transformed = sync.OnceValues(func() ([]byte, error) { return plain("template.yaml") })

// plain returns a template as plain CloudFormation in JSON. A relative path is one of the
// repository.
func plain(template string) ([]byte, error) {
	python, err := exec.Command("../python.sh", "aws").Output()
	if err != nil {
		return nil, fmt.Errorf("python: %w", err)
	}
	folder, err := os.MkdirTemp("", "template")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	target := filepath.Join(folder, "template.json")
	c := exec.Command(strings.TrimSpace(string(python)), "scripts/verify/sam-transform.py", template, target)
	c.Dir = filepath.Join("..", "..", "..")
	if out, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("transform: %w\n%s", err, out)
	}
	return os.ReadFile(target)
}

// deploy makes what the template says with these parameters.
func deploy(tb testing.TB, parameters map[string]string) *deployment {
	tb.Helper()
	return deployWith(tb, parameters, deployOptions{folders: folders})
}

// deployOptions are what a test may have otherwise than others.
type deployOptions struct {
	folders   map[string]string // of the functions' mains
	sandboxes int               // of each function at once; 0: as many as the host has by itself
	report    func(host.Report) // is told of each invocation; nil: nobody is

	own         []byte // the template of the user's resources in JSON; nil: there are none
	environment string // the file with variables of tools; empty: that of package app
	triggers    string // the file of triggers; empty: those of the samples

	full      *throttle // refuses requests of the functions to DynamoDB; nil: none
	variables []string  // of each function, in place of the template's
}

// deployWith is deploy with options.
func deployWith(tb testing.TB, parameters map[string]string, o deployOptions) *deployment {
	tb.Helper()
	tables, queues := clients(tb)
	nested := map[string][]byte{}
	if o.own != nil {
		nested["infra/own.yaml"] = o.own
	}
	named := stack.Options{
		Nested: nested,
		Name:   fmt.Sprintf("stack%d", time.Now().UnixNano()), Parameters: parameters,
		QueueURL: func(name string) string { return os.Getenv("AWS_ENDPOINT_URL_SQS") + "/" + stack.Account + "/" + name },
	}
	s, err := stack.Read(transform(tb), named)
	if err != nil {
		tb.Fatal(err)
	}
	d := &deployment{options: o, named: named, world: &world{report: o.report}, stack: s, calls: map[string]*recorder{}, meter: &dynamotest.Meter{Next: http.DefaultTransport}}
	d.makeTables(tb, tables)
	d.makeQueues(tb, queues)
	d.makeBucket(tb)
	d.makeFunctions(tb, o)
	d.makeMappings(tb, queues)
	payloads, err := s3.New(awsenv.Config{Timeout: time.Minute}, d.name(tb, "Payloads"))
	if err != nil {
		tb.Fatal(err)
	}
	d.store = dynamo.New(tables, dynamo.Options{Table: d.table, ConfigTable: d.config, Objects: payloads})
	return d
}

func (d *deployment) name(tb testing.TB, id string) string {
	tb.Helper()
	name, err := d.stack.Name(id)
	if err != nil {
		tb.Fatal(err)
	}
	return name
}

// table is an AWS::DynamoDB::Table, which spells its properties as the API does but
// for what comes in requests of its own.
type table struct {
	BillingMode                      types.BillingMode
	KeySchema                        []types.KeySchemaElement
	AttributeDefinitions             []types.AttributeDefinition
	GlobalSecondaryIndexes           []types.GlobalSecondaryIndex
	TimeToLiveSpecification          *types.TimeToLiveSpecification
	PointInTimeRecoverySpecification *types.PointInTimeRecoverySpecification
}

func (d *deployment) makeTables(tb testing.TB, client *dynamodb.Client) {
	tb.Helper()
	ctx := tb.Context()
	for id, p := range properties[table](tb, d.stack, "AWS::DynamoDB::Table") {
		name := d.name(tb, id)
		_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
			TableName: &name, BillingMode: p.BillingMode, KeySchema: p.KeySchema, AttributeDefinitions: p.AttributeDefinitions, GlobalSecondaryIndexes: p.GlobalSecondaryIndexes,
		})
		var exists *types.ResourceInUseException
		if errors.As(err, &exists) { // made by a try whose answer was lost: no other stack has the name
			err = nil
		}
		if err == nil && p.TimeToLiveSpecification != nil {
			_, err = client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: &name, TimeToLiveSpecification: p.TimeToLiveSpecification})
		}
		if err == nil && p.PointInTimeRecoverySpecification != nil {
			_, err = client.UpdateContinuousBackups(ctx, &dynamodb.UpdateContinuousBackupsInput{TableName: &name, PointInTimeRecoverySpecification: p.PointInTimeRecoverySpecification})
		}
		if err != nil {
			tb.Fatalf("%s: %v", id, err)
		}
		tb.Cleanup(func() { _, _ = client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name}) })
	}
	d.table, d.config = d.name(tb, "Threads"), d.name(tb, "Config")
}

// makeQueues makes those without a redrive policy first: others name them.
func (d *deployment) makeQueues(tb testing.TB, client *awssqs.Client) {
	tb.Helper()
	all := properties[map[string]any](tb, d.stack, "AWS::SQS::Queue")
	for _, redrives := range []bool{false, true} {
		for id, p := range all {
			if _, ok := p["RedrivePolicy"]; ok != redrives {
				continue
			}
			attributes := map[string]string{}
			for name, value := range p {
				if text, ok := value.(string); ok && name == "QueueName" {
					p[name] = text
					continue
				}
				attributes[name] = fmt.Sprint(value)
				if _, ok := value.(map[string]any); ok {
					encoded, err := json.Marshal(value)
					if err != nil {
						tb.Fatal(err)
					}
					attributes[name] = string(encoded)
				}
				if number, ok := value.(float64); ok {
					attributes[name] = fmt.Sprintf("%.0f", number)
				}
			}
			out, err := client.CreateQueue(tb.Context(), &awssqs.CreateQueueInput{QueueName: aws.String(d.name(tb, id)), Attributes: attributes})
			if err != nil {
				tb.Fatalf("%s: %v", id, err)
			}
			tb.Cleanup(func() {
				_, _ = client.DeleteQueue(context.Background(), &awssqs.DeleteQueueInput{QueueUrl: out.QueueUrl})
			})
		}
	}
	d.queueURL = os.Getenv("AWS_ENDPOINT_URL_SQS") + "/" + stack.Account + "/" + d.name(tb, "Queue")
	d.queue = sqs.New(client, d.queueURL)
}

// makeBucket makes the only one, of payloads.
func (d *deployment) makeBucket(tb testing.TB) {
	tb.Helper()
	d.objects = serviceOf(tb, "s3", "AWS_ENDPOINT_URL_S3")
	all := properties[struct{ VersioningConfiguration struct{ Status string } }](tb, d.stack, "AWS::S3::Bucket")
	if len(all) != 1 {
		tb.Fatalf("buckets: %v", all)
	}
	bucket := "/" + d.name(tb, "Payloads")
	d.objects.must(tb.Context(), "PUT", bucket, "", nil)
	versions := "<VersioningConfiguration><Status>" + all["Payloads"].VersioningConfiguration.Status + "</Status></VersioningConfiguration>"
	d.objects.must(tb.Context(), "PUT", bucket+"?versioning", "", []byte(versions))
	tb.Cleanup(func() { _, _, _ = d.objects.try(context.Background(), "DELETE", bucket, "", nil) })
}

// folders are those of the functions' mains.
var folders = map[string]string{
	"ApiFunction": "scripts/verify/deployed/api", "StreamFunction": "scripts/verify/deployed/stream", "StepFunction": "scripts/verify/deployed/step",
	"SweepFunction": "functions/sweep", "TriggerFunction": "scripts/verify/deployed/trigger",
}

// lambda is an AWS::Lambda::Function.
type lambda struct {
	Runtime, Handler    string
	Timeout, MemorySize json.Number
	Environment         struct{ Variables map[string]any }
}

// packed are the files of packages, by the variables that name them.
func (o deployOptions) packed() map[string]string {
	return map[string]string{
		"REVEILLE_TRIGGERS":    cmp.Or(o.triggers, "../../../events/triggers.json"),
		"REVEILLE_ENVIRONMENT": cmp.Or(o.environment, "../../../functions/app/environment"),
	}
}

func (d *deployment) makeFunctions(tb testing.TB, o deployOptions) {
	tb.Helper()
	var all []host.Function
	for id, p := range properties[lambda](tb, d.stack, "AWS::Lambda::Function") {
		seconds, err := p.Timeout.Int64()
		memory, err2 := p.MemorySize.Int64()
		if err := errors.Join(err, err2); err != nil || p.Handler != "bootstrap" {
			tb.Fatalf("%s: %+v, %v", id, p, err)
		}
		d.calls[id] = &recorder{meter: d.meter, full: o.full}
		f := host.Function{
			Name: d.name(tb, id), Bootstrap: build(tb, o.folders[id], ""), Concurrency: o.sandboxes, Timeout: time.Duration(seconds) * time.Second, MemoryMB: int(memory),
			Env: []string{"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test"},
		}
		for _, service := range []string{"DYNAMODB", "SQS", "S3"} {
			f.Env = append(f.Env, "AWS_ENDPOINT_URL_"+service+"="+d.calls[id].endpoint(tb, os.Getenv("AWS_ENDPOINT_URL_"+service)))
		}
		for name, value := range p.Environment.Variables {
			text := fmt.Sprint(value)
			if file, ok := o.packed()[name]; ok {
				if text, err = filepath.Abs(file); err != nil {
					tb.Fatal(err)
				}
			}
			if name == "WEBHOOK_SECRET_NAME" { // what triggers.json verifies with is Secrets Manager's, which this deployment has not
				name, text = "WEBHOOK_SECRET", "secret"
			}
			if text, ok := strings.CutPrefix(text, "{{resolve:"); ok {
				tb.Fatalf("%s: %s is a reference to %s", id, name, text)
			}
			f.Env = append(f.Env, name+"="+text)
		}
		f.Env = append(f.Env, o.variables...)
		all = append(all, f)
	}
	d.run(tb, all...)
}

// mapping is an AWS::Lambda::EventSourceMapping.
type mapping struct {
	FunctionName, EventSourceArn string
	BatchSize                    int
	FunctionResponseTypes        []string
	ScalingConfig                struct{ MaximumConcurrency json.Number }
}

// makeMappings makes a poller of each.
func (d *deployment) makeMappings(tb testing.TB, client *awssqs.Client) {
	tb.Helper()
	for id, p := range properties[mapping](tb, d.stack, "AWS::Lambda::EventSourceMapping") {
		most, err := p.ScalingConfig.MaximumConcurrency.Int64()
		if err != nil {
			tb.Fatalf("%s: %v", id, err)
		}
		parts := strings.Split(p.FunctionName, ":")
		if len(parts) != 8 || parts[7] != "live" {
			tb.Errorf("%s: feeds %s, which is not an alias", id, p.FunctionName)
		}
		queue := p.EventSourceArn[strings.LastIndex(p.EventSourceArn, ":")+1:]
		d.pollers = append(d.pollers, host.Poller{
			Host: d.host, Function: parts[6], QueueName: queue, BatchSize: p.BatchSize, Concurrency: int(min(most, 4)), Wait: time.Second,
			Queue:          transport{sqs.New(client, os.Getenv("AWS_ENDPOINT_URL_SQS")+"/"+stack.Account+"/"+queue)},
			NoItemFailures: len(p.FunctionResponseTypes) == 0,
		})
	}
}

// poll feeds the functions until the test ends, or stop is called.
func (d *deployment) poll(tb testing.TB) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, len(d.pollers))
	for _, p := range d.pollers {
		go func() { ended <- p.Run(ctx) }()
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		for range d.pollers {
			if err := <-ended; err != nil {
				tb.Error(err)
			}
		}
	}
	tb.Cleanup(stop)
	return stop
}

// door serves one of the APIs of the template, each route by the function that it names.
func (d *deployment) door(tb testing.TB, id string) string {
	tb.Helper()
	type api struct {
		Body struct {
			Paths map[string]map[string]struct {
				Integration struct{ URI, ResponseTransferMode string } `json:"x-amazon-apigateway-integration"`
			}
		}
	}
	kind, shape := "AWS::ApiGateway::RestApi", host.ShapeREST
	if id == "HttpApi" {
		kind, shape = "AWS::ApiGatewayV2::Api", host.ShapeHTTP
	}
	routes := http.NewServeMux()
	for path, methods := range properties[api](tb, d.stack, kind)[id].Body.Paths {
		for method, route := range methods {
			_, rest, ok := strings.Cut(route.Integration.URI, ":function:")
			name, rest, ok2 := strings.Cut(rest, ":")
			if !ok || !ok2 || !strings.HasPrefix(rest, "live/") {
				tb.Fatalf("%s: %s %s invokes %s", id, method, path, route.Integration.URI)
			}
			pattern := strings.ReplaceAll(path, "{proxy+}", "{proxy...}")
			if method != "x-amazon-apigateway-any-method" {
				pattern = strings.ToUpper(method) + " " + pattern
			}
			routes.Handle(pattern, d.host.Handler(host.Front{Function: name, Shape: shape}))
		}
	}
	server := httptest.NewServer(routes)
	tb.Cleanup(server.Close)
	return server.URL
}
