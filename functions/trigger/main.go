// Command trigger starts runs when something happens: events of EventBridge, S3, SNS,
// SQS and DynamoDB streams, and schedules. It runs no steps, so it links no model.
package main

import (
	"github.com/reveille-run/reveille/functions/app"
	"github.com/reveille-run/reveille/functions/kit/serve/triggers"
)

func main() { triggers.Main(app.Parts) }
