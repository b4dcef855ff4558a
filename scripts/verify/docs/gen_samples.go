package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// samples are the files of events/, with the function that each is for. The trigger
// definitions are for no function alone.
var samples = map[string]struct{ function, meaning string }{
	"api.json":                 {"api", "A message to thread `t2`, through the HTTP API of API Gateway."},
	"step.json":                {"step", "Two wake-ups from the SQS queue."},
	"stream-rest.json":         {"stream", "A streamed run, through the REST API of API Gateway."},
	"stream-url.json":          {"stream", "A chat message of an AI SDK client, through the function URL."},
	"sweep.json":               {"sweep", "The schedule of each minute."},
	"sweep-dlq.json":           {"sweep", "A wake-up from the dead-letter queue."},
	"trigger-dynamodb.json":    {"trigger", "A change from the stream of a DynamoDB table."},
	"trigger-eventbridge.json": {"trigger", "An event of another application on EventBridge."},
	"trigger-s3.json":          {"trigger", "A new object in an S3 bucket."},
	"trigger-schedule.json":    {"trigger", "A time of the trigger `report`, from EventBridge Scheduler."},
	"trigger-sns.json":         {"trigger", "An alarm from an SNS topic."},
	"trigger-sqs.json":         {"trigger", "A message from your own SQS queue."},
	"trigger-webhook.json":     {"trigger", "A signed GitHub webhook."},
	"triggers.json":            {"trigger", "The trigger definitions that match the samples."},
}

// sampleTable lists the JSON files of events/, by name.
func sampleTable(root string) (string, error) {
	files, err := filepath.Glob(filepath.Join(root, "events", "*.json"))
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, file := range files {
		name := filepath.Base(file)
		s, ok := samples[name]
		if !ok {
			return "", fmt.Errorf("events/%s has no text in samples", name)
		}
		if _, err := os.Stat(filepath.Join(root, "functions", s.function)); err != nil {
			return "", err
		}
		rows = append(rows, []string{code(name, ""), code(s.function, ""), s.meaning})
	}
	if len(rows) != len(samples) {
		return "", fmt.Errorf("events has %d samples, samples %d", len(rows), len(samples))
	}
	return table([]string{"File", "Function", "Event"}, rows), nil
}
