package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/queues/sqs"
	"github.com/reveille-run/reveille/core"
)

// replayEvents sends the parked events to Trigger again, until the queue is empty. An event
// leaves the queue when Trigger has accepted it. One that fails again stays, and is tried
// once.
func (c command) replayEvents(ctx context.Context, t *target) (err error) {
	var parked *sqs.Queue
	for _, q := range t.queues {
		if q.check == parkedCheck {
			parked = q.queue
		}
	}
	if parked == nil || t.trigger == nil {
		return fmt.Errorf("%s has no queue of parked events: want -stack NAME or -env NAME, or -parked URL and -trigger ARN", t.name)
	}
	sent, kept := 0, map[string]string{} // receipts of the events that stay, by the ids of their messages
	defer func() {
		for _, receipt := range kept { // visible again
			err = errors.Join(err, parked.ChangeVisibility(context.WithoutCancel(ctx), receipt, 0))
		}
		fmt.Fprintf(c.out, "%d events were sent again, %d stay in the queue\n", sent, len(kept))
		if err == nil && len(kept) > 0 {
			err = errors.New("some events failed again: see the log of Trigger")
		}
	}()
	for {
		messages, err := parked.Receive(ctx, 10, time.Second)
		if err != nil || len(messages) == 0 {
			return err
		}
		fresh := false
		for _, m := range messages {
			if _, again := kept[m.MessageId]; again {
				kept[m.MessageId] = m.ReceiptHandle
				continue
			}
			fresh = true
			payload, err := parkedEvent(m.Body)
			if err == nil {
				err = t.trigger(ctx, payload)
			}
			if err != nil {
				kept[m.MessageId] = m.ReceiptHandle
				fmt.Fprintf(c.failures, "doctor: event of message %s: %v\n", m.MessageId, err)
				continue
			}
			if err := parked.Delete(ctx, []string{m.ReceiptHandle}); err != nil {
				return err
			}
			sent++
		}
		if !fresh {
			return nil
		}
	}
}

// parkedEvent returns the event in a message of the queue: Lambda puts it into the member
// requestPayload of a record about the failure, a schedule puts it there as it is.
func parkedEvent(body string) (json.RawMessage, error) {
	var record struct {
		Payload json.RawMessage `json:"requestPayload"`
		Batch   json.RawMessage `json:"DDBStreamBatchInfo"`
	}
	if err := json.Unmarshal([]byte(body), &record); err != nil {
		return nil, fmt.Errorf("it is not a JSON object: %w", err)
	}
	switch {
	case record.Payload != nil:
		return record.Payload, nil
	case record.Batch != nil:
		return nil, errors.New("it names records of a DynamoDB stream and does not contain them: read the stream")
	}
	return json.RawMessage(body), nil
}

// invoker returns a function that invokes the function with an ARN, and waits for its
// result. AWS_ENDPOINT_URL_LAMBDA replaces the endpoint.
func invoker(account awsenv.Config, arn string) func(context.Context, json.RawMessage) error {
	endpoint := os.Getenv("AWS_ENDPOINT_URL_LAMBDA")
	if endpoint == "" {
		endpoint = "https://lambda." + account.Region + ".amazonaws.com"
	}
	client := &http.Client{Timeout: 15 * time.Minute} // as long as an invocation may last
	return func(ctx context.Context, payload json.RawMessage) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint+"/2015-03-31/functions/"+url.PathEscape(arn)+"/invocations", bytes.NewReader(payload))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(payload)
		request.Header.Set("X-Amz-Invocation-Type", "RequestResponse")
		key, err := account.Credentials.Retrieve(ctx)
		if err != nil {
			return err
		}
		if err := v4.NewSigner().SignHTTP(ctx, key, request, hex.EncodeToString(sum[:]), "lambda", account.Region, time.Now()); err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
		if err != nil {
			return err
		}
		return accepted(response.StatusCode, response.Header.Get("X-Amz-Function-Error"), text)
	}
}

// accepted returns why an invocation was not a success.
func accepted(status int, failure string, text []byte) error {
	if status/100 != 2 {
		return fmt.Errorf("invoke Trigger: status %d: %s", status, core.Excerpt(string(text)))
	}
	if failure != "" {
		return fmt.Errorf("function Trigger failed (%s): %s", failure, core.Excerpt(string(text)))
	}
	var batch struct {
		Failures []json.RawMessage `json:"batchItemFailures"`
	}
	if json.Unmarshal(text, &batch) == nil && len(batch.Failures) > 0 {
		return fmt.Errorf("function Trigger could not handle %d items of the batch", len(batch.Failures))
	}
	return nil
}
