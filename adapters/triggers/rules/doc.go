// Package rules starts runs when something happens: a [Set] of triggers takes an
// event, looks which of them want it, and submits a run for each.
//
// A trigger is data, in a file of JSON that [New] reads:
//
//	{"triggers": [{
//	  "name": "uploads", "source": "s3", "agent": "reader", "tenant": "acme",
//	  "filter": {"s3": {"object": {"key": [{"suffix": ".pdf"}]}}},
//	  "thread": "upload-{{name .s3.object.urlDecodedKey}}",
//	  "prompt": "Read {{.s3.object.urlDecodedKey}} in bucket {{.s3.bucket.name}}."
//	}]}
//
// Its keys:
//
//   - name: unique, without colons; what the event of a schedule and the route of a webhook
//     name.
//   - source: where its events come from: eventbridge, s3, sns, sqs, dynamodb, schedule or
//     webhook.
//   - filter: a pattern that an event must match; absent: every event of the source.
//   - agent: absent, the default agent of the deployment.
//   - tenant, user: whose run it is; absent, [Options].Tenant, and unowned, so that every
//     user of the tenant may read it.
//   - thread: the template of the thread's id; absent: a new thread for each event.
//   - prompt: the template of the message that the run starts with, at most 64 KB when it is
//     made. Required.
//   - key: the template of what identifies the event when it is delivered again; absent:
//     the source's own id of it.
//   - schedule: of source schedule, when [Set.KeepTime] fires it, in UTC. On AWS the
//     deployment's schedule does, by the trigger's name.
//   - webhook: of source webhook, {"scheme", "secret"}. The scheme says how requests are
//     signed: github (X-Hub-Signature-256), standard (Standard Webhooks) or slack
//     (X-Slack-Signature). The secret is the name of an environment variable that holds one
//     or several secrets, with blanks between them; absent: WEBHOOK_SECRET. The secret itself
//     is never in the file.
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
// # Schedules
//
// A schedule is an expression of EventBridge: rate(1 minute), rate(5 minutes), rate(1 hour),
// rate(2 days), or cron(minutes hours day-of-month month day-of-week year). The fields of
// cron have numbers, the names JAN to DEC and SUN to SAT, lists (1,15), ranges (MON-FRI),
// steps (0/15, 10-50/10) and * for all; one of the two kinds of days is ?. A week begins
// with SUN, which is 1. L as a day of the month is its last. W, # and L as a day of the week
// are not supported. A rate counts from midnight, so that every process comes to the same
// moments.
//
// # Templates
//
// thread, prompt and key are templates of package text/template over the event. A name
// that the event does not have is an error, and null counts as absent: {{with index .
// "subject"}} asks whether it is there. An object or a list is printed as JSON. Numbers
// keep their text. Two functions are added: json prints any value as JSON, and name
// makes a value fit for a thread's id, which allows A-Z a-z 0-9 . _ : - alone. A template
// has at most 16 KB, and for one event takes at most a million steps and makes at most 4 MB
// of text.
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
