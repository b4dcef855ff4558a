// Package incoming is an [Event] of the outside world that may start runs, as those
// that receive events (package aws/lambda, the routes and clocks of package rules) give it to
// the triggers of package rules. It is a package of its own so that package lambda does not
// link these.
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
	EventBridge Source = "eventbridge" // an event of a bus, also one of a rule's or Scheduler's own making
	S3          Source = "s3"          // one record of a bucket's notification
	SNS         Source = "sns"         // one message of a topic
	SQS         Source = "sqs"         // one message of a queue
	DynamoDB    Source = "dynamodb"    // one record of a table's stream
	Schedule    Source = "schedule"    // a moment that a trigger's schedule came to
	Webhook     Source = "webhook"     // an HTTP request whose signature was verified
)

// Sources are all sources, for errors.
const Sources = "eventbridge, s3, sns, sqs, dynamodb, schedule, webhook"

// Event is one thing that happened.
type Event struct {
	Source Source
	// ID is the same in every delivery of the event, and another in any other event of
	// the source; not empty.
	ID string
	// Trigger is the one trigger that the event is for; empty: every one of the source
	// whose filter it passes.
	Trigger string
	// Data is what filters and templates see: a JSON object.
	Data json.RawMessage
}

// Moment returns the event of a schedule. Whoever comes to the same moment makes the same
// event of it.
func Moment(trigger string, at time.Time, data json.RawMessage) Event {
	return Event{Source: Schedule, ID: at.UTC().Format(time.RFC3339), Trigger: trigger, Data: data}
}

// Firer starts the runs that an event asks for.
type Firer interface {
	// Fire returns a receipt for each trigger that took the event; none: no trigger
	// wanted it. Runs that an earlier delivery of it started are duplicates. Beside an
	// error there may be receipts: the event may be given again, and starts nothing
	// twice.
	Fire(ctx context.Context, e Event) ([]mailbox.Receipt, error)
}
