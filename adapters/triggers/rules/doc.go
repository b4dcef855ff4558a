// Package rules starts runs when something happens: a [Set] of triggers takes an
// event, looks which of them want it, and submits a run for each.
//
// A trigger is data, in a file of JSON that [Parse] reads:
//
//	{"triggers": [{
//	  "name": "uploads", "source": "s3", "agent": "reader", "tenant": "acme",
//	  "filter": {"s3": {"object": {"key": [{"suffix": ".pdf"}]}}},
//	  "thread": "upload-{{name .s3.object.urlDecodedKey}}",
//	  "prompt": "Read {{.s3.object.urlDecodedKey}} in bucket {{.s3.bucket.name}}."
//	}]}
//
// # The event
//
// Filters and templates see a JSON object. Of eventbridge it is the event as it is
// delivered; of s3, sqs and dynamodb one record of the batch; of sns the record's Sns
// object; of schedule {"trigger", "time"}; of webhook {"headers", "body"} with the
// headers' names in lower case. The body of an SQS message and the Message of SNS are
// JSON values instead of texts where they hold an object or a list. S3 encodes the key
// of an object; urlDecodedKey beside it is the plain one.
//
// # Filters
//
// A filter is a pattern as EventBridge has them, of which these are supported: a list
// of values, one of which must be there, with {"prefix": "a"}, {"suffix": "z"},
// {"equals-ignore-case": "x"}, {"exists": true}, {"anything-but": ["a", "b"]} and
// {"numeric": [">", 0, "<=", 10]} among them, and objects of such lists. Of a value that
// is a list one item must match. Any other operator is an error at start.
//
// # Templates
//
// thread, prompt and key are templates of package text/template over the event. A name
// that the event does not have is an error, and null counts as absent: {{with index .
// "subject"}} asks whether it is there. An object or a list is printed as JSON. Numbers
// keep their text. Two functions are added: json prints any value as JSON, and name
// makes a value fit for a thread's id, which allows A-Z a-z 0-9 . _ : - alone.
//
// # Once
//
// An event that is delivered again starts nothing again: the submission's key is the
// name of the trigger and the event's id, or what the template key says, on the event's
// thread. What the first delivery said counts, also when the templates have changed
// since. A key is remembered for 48 hours.
//
// A run that a trigger starts is of origin internal: it waits its turn behind the
// thread's other runs, and leaves a run that waits for a person alone. Its hooks and
// tools find {"trigger": {"name", "source", "event"}} in its request.
package rules
