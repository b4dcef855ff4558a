// Package incoming defines an [Event] of the outside world that may start runs. Receivers
// of events (package aws/lambda, the routes and clocks of package rules) pass it to the
// triggers of package rules. It is a separate package so that package lambda does not
// link package rules.
package incoming

import (
	"context"
	"encoding/json"
	"time"

	"github.com/reveille-run/reveille/core/mailbox"
)

// Source is where an event comes from.
type Source string

// The sources.
const (
	EventBridge Source = "eventbridge" // an event of a bus, or one that a rule or Scheduler makes
	S3          Source = "s3"          // one record of a bucket's notification
	SNS         Source = "sns"         // one message of a topic
	SQS         Source = "sqs"         // one message of a queue
	DynamoDB    Source = "dynamodb"    // one record of a table's stream
	Schedule    Source = "schedule"    // a time of a trigger's schedule
	Webhook     Source = "webhook"     // an HTTP request whose signature was verified
)

// Sources are all sources, for errors.
const Sources = "eventbridge, s3, sns, sqs, dynamodb, schedule, webhook"

// Event is one event of a source.
type Event struct {
	Source Source
	// ID is not empty. It is the same in every delivery of the event, and differs between
	// events of a source.
	ID string
	// Trigger names the only trigger that the event is for. Empty: every trigger of the
	// source whose filter the event passes.
	Trigger string
	// Data is the input of filters and templates: a JSON object.
	Data json.RawMessage
}

// Moment returns the event of a schedule. The same time of a trigger always gives the
// same event.
func Moment(trigger string, at time.Time, data json.RawMessage) Event {
	return Event{Source: Schedule, ID: at.UTC().Format(time.RFC3339), Trigger: trigger, Data: data}
}

// Firer starts the runs that an event asks for.
type Firer interface {
	// Fire returns a receipt for each trigger that accepted the event. If no trigger
	// matches, there is no receipt. Runs that an earlier delivery started have duplicate
	// receipts. Receipts may be returned together with an error: the caller may pass the
	// event again, and no run starts twice.
	Fire(ctx context.Context, e Event) ([]mailbox.Receipt, error)
}
