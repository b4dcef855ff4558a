package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/queues/sqs"
	"github.com/reveille-run/reveille/adapters/stores/dynamo"
	"github.com/reveille-run/reveille/adapters/stores/dynamo/tables"
)

// The names of what scratch makes, so that one execution finds the tables of the previous one.
const (
	scratchTable  = "reveille-scratch-threads"
	scratchConfig = "reveille-scratch-config"
	scratchQueue  = "reveille-scratch-wake-ups"
)

// scratch makes the tables and the queue that the functions use, unless they are there,
// and returns the environment with their names. It makes nothing at AWS itself: the
// environment must name other endpoints.
func scratch(ctx context.Context, environ []string) ([]string, error) {
	named := map[string]string{}
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		named[name] = value
	}
	if named["AWS_ENDPOINT_URL_DYNAMODB"] == "" || named["AWS_ENDPOINT_URL_SQS"] == "" {
		return nil, errors.New("-scratch makes tables and a queue at AWS_ENDPOINT_URL_DYNAMODB and AWS_ENDPOINT_URL_SQS: set both; make aws-up writes them to .reveille/aws.env")
	}
	config := awsenv.Config{Getenv: func(name string) string { return named[name] }, Timeout: time.Minute}
	client, err := dynamo.NewClient(config)
	if err != nil {
		return nil, err
	}
	queues, err := sqs.NewClient(config)
	if err != nil {
		return nil, err
	}
	if err := tables.Create(ctx, client, scratchTable, scratchConfig); err != nil {
		return nil, fmt.Errorf("-scratch: %w", err)
	}
	queue, err := queues.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: aws.String(scratchQueue)})
	if err != nil {
		return nil, fmt.Errorf("-scratch: create queue %s: %w", scratchQueue, err)
	}
	defaults := []string{"REVEILLE_TABLE=" + scratchTable, "REVEILLE_CONFIG_TABLE=" + scratchConfig, "REVEILLE_QUEUE_URL=" + *queue.QueueUrl, "REVEILLE_AUTH=none", "REVEILLE_TENANT=default"} // that of events/
	return append(defaults, environ...), nil                                                                                                                                                   // of two values of a variable the last one counts
}
