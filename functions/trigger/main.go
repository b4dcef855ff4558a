// Command trigger starts runs for events of EventBridge, S3, SNS, SQS and DynamoDB streams,
// for schedules and for webhooks. It runs no steps, so it links no model.
package main

import (
	"github.com/reveille-run/reveille/functions/app"
	"github.com/reveille-run/reveille/functions/kit/serve/triggers"
)

func main() { triggers.Main(app.Parts) }
