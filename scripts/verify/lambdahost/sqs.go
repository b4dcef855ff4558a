package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/reveille-run/reveille/scripts/verify/lambdahost/host"
)

// queue is a host.Queue on SQS.
type queue struct {
	client *sqs.Client
	url    string
}

// newQueue takes endpoint, region and credentials from the SDK's variables.
func newQueue(environ []string, url string) queue {
	options := sqs.Options{Region: "us-east-1"}
	var credentials aws.Credentials
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		switch name {
		case "AWS_ENDPOINT_URL_SQS":
			options.BaseEndpoint = aws.String(value)
		case "AWS_REGION":
			options.Region = value
		case "AWS_ACCESS_KEY_ID":
			credentials.AccessKeyID = value
		case "AWS_SECRET_ACCESS_KEY":
			credentials.SecretAccessKey = value
		case "AWS_SESSION_TOKEN":
			credentials.SessionToken = value
		}
	}
	options.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return credentials, nil })
	return queue{client: sqs.New(options), url: url}
}

// batchLimit is SQS's limit of entries in a call.
const batchLimit = 10

// Receive implements host.Queue; SQS waits at most 20 s.
func (q queue) Receive(ctx context.Context, max int, wait time.Duration) ([]host.Message, error) {
	out, err := q.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &q.url, MaxNumberOfMessages: int32(min(max, batchLimit)), WaitTimeSeconds: int32(min(wait, 20*time.Second) / time.Second),
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil {
		return nil, err
	}
	var messages []host.Message
	for _, m := range out.Messages {
		messages = append(messages, host.Message{ID: *m.MessageId, Receipt: *m.ReceiptHandle, Body: *m.Body, Attributes: m.Attributes})
	}
	return messages, nil
}

// Delete implements host.Queue.
func (q queue) Delete(ctx context.Context, receipts []string) error {
	var failed []types.BatchResultErrorEntry
	for some := range slices.Chunk(receipts, batchLimit) {
		in := &sqs.DeleteMessageBatchInput{QueueUrl: &q.url}
		for i := range some {
			in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: &some[i]})
		}
		out, err := q.client.DeleteMessageBatch(ctx, in)
		if err != nil {
			return err
		}
		failed = append(failed, out.Failed...)
	}
	return entryErrors(failed)
}

// ChangeVisibility implements host.Queue, in whole seconds.
func (q queue) ChangeVisibility(ctx context.Context, receipts []string, d time.Duration) error {
	var failed []types.BatchResultErrorEntry
	for some := range slices.Chunk(receipts, batchLimit) {
		in := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &q.url}
		for i := range some {
			in.Entries = append(in.Entries, types.ChangeMessageVisibilityBatchRequestEntry{
				Id: aws.String(strconv.Itoa(i)), ReceiptHandle: &some[i], VisibilityTimeout: int32(d / time.Second),
			})
		}
		out, err := q.client.ChangeMessageVisibilityBatch(ctx, in)
		if err != nil {
			return err
		}
		failed = append(failed, out.Failed...)
	}
	return entryErrors(failed)
}

func entryErrors(failed []types.BatchResultErrorEntry) error {
	var errs []error
	for _, f := range failed {
		errs = append(errs, fmt.Errorf("entry %s: %s: %s", aws.ToString(f.Id), aws.ToString(f.Code), aws.ToString(f.Message)))
	}
	return errors.Join(errs...)
}
