// Package rules starts runs when something happens: a [Set] of triggers receives an event,
// finds the triggers that match it, and submits a run for each. README.md describes
// triggers for developers.
//
// A trigger is data, in a JSON file that [New] reads:
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
//   - name: unique, without colons. The event of a schedule and the route of a webhook
//     have it.
//   - source: eventbridge, s3, sns, sqs, dynamodb, schedule or webhook.
//   - filter: a pattern that an event must match; absent: every event of the source.
//   - agent: absent, the default agent of the deployment.
//   - tenant, user: the owner of the run; absent, [Options].Tenant, and unowned, so that
//     every user of the tenant may read it.
//   - thread: the template of the thread's id; absent: a new thread for each event.
//   - prompt: the template of the first message of the run, which has at most 64 KB.
//     Required.
//   - key: the template of the id that recognizes a repeated event; absent: the source's
//     own id of it.
//   - schedule: for source schedule, the times at which [Set.KeepTime] fires it, in UTC. On
//     AWS the deployment's schedule does, by the trigger's name.
//   - webhook: for source webhook, {"scheme", "secret"}. The scheme is the form of the
//     signature: github (X-Hub-Signature-256), standard (Standard Webhooks), slack
//     (X-Slack-Signature), or hmac, which "hmac" describes: {"header", "algorithm",
//     "encoding", "prefix", "content", "timestamp", "timestamp_prefix",
//     "tolerance_seconds", "id"}, see hmac.md. The secret is the name of an environment variable that holds one
//     or several secrets, with blanks between them; absent: WEBHOOK_SECRET. The secret
//     itself is never in the file.
//
// # The event
//
// Filters and templates see a JSON object: the event as it is delivered (eventbridge), one
// record of the batch (s3, sqs, dynamodb), the record's Sns object (sns), {"trigger",
// "time"} (schedule), or {"headers", "body"} with the headers' names in lower case
// (webhook). The body of an SQS message and the Message of SNS are JSON values in place of
// texts if they hold an object or a list. S3 encodes the key of an object; urlDecodedKey is
// the plain one.
//
// # Filters
//
// A filter is a pattern of EventBridge: objects of lists of values. One value of a list
// must match. A value may be an operator: {"prefix": "a"}, {"suffix": "z"},
// {"equals-ignore-case": "x"}, {"exists": true}, {"anything-but": ["a", "b"]} or
// {"numeric": [">", 0, "<=", 10]}. If the event has a list, one of its items must match.
// Any other operator is an error at start.
//
// # Schedules
//
// A schedule is an expression of EventBridge: rate(1 minute), rate(5 minutes), rate(1 hour),
// rate(2 days), or cron(minutes hours day-of-month month day-of-week year). The fields of
// cron have numbers, the names JAN to DEC and SUN to SAT, lists (1,15), ranges (MON-FRI),
// steps (0/15, 10-50/10) and * for all; one of the two kinds of days is ?. A week begins
// with SUN, which is 1. L as a day of the month is its last. W, # and L as a day of the week
// are not supported. A rate counts from midnight, so that every process computes the same
// times.
//
// # Templates
//
// thread, prompt and key are templates of package text/template over the event. A name
// that the event does not have is an error, and null counts as absent: {{with index .
// "subject"}} asks whether it is there. An object or a list is printed as JSON. Numbers
// keep their text. Two functions are added: json prints any value as JSON, and name
// converts a value to a thread's id, which allows only A-Z a-z 0-9 . _ : -. A template has
// at most 16 KB. For one event it takes at most a million steps and makes at most 4 MB of
// text.
//
// # Once
//
// An event that is delivered again starts no second run: the submission's key is the name
// of the trigger and the event's id, or the text of the template key, on the event's
// thread. The first delivery counts, even if the templates have changed since. A key is
// kept for 48 hours.
//
// A run that a trigger starts has the origin internal: it waits for the thread's other
// runs, and does not change a run that waits for a person. Its hooks and tools find
// {"trigger": {"name", "source", "event"}} in its request.
package rules
