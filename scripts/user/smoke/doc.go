// Command smoke uses a deployment, or a local host, as a client does, and prints a line for
// each check:
//
//	go run ./scripts/user/smoke -url http://127.0.0.1:3000
//
// The checks are a chat, a tool call, a call that waits for approval, and a stream that is
// interrupted and resumed. Flags set the messages; the defaults are for the demo agent on the
// scripted model. If a check fails, the exit status is 1.
//
// With -trigger it sends an event to a trigger and follows the runs that the event starts. It
// signs the request for -scheme with SMOKE_TRIGGER_SECRET, and for the scheme hmac in the form
// of -hmac, which is the object webhook.hmac of the trigger. If the scheme has a header for the
// id of a delivery, the request gets a unique id:
//
//	SMOKE_TRIGGER_SECRET=... go run ./scripts/user/smoke -url STREAM_URL -trigger API_URL/v1/triggers/issues \
//		-scheme github -header 'X-GitHub-Event: issues' -event issue.json
//
// If the deployment records usage, the last check is that GET /v1/usage has the tokens of
// these runs.
//
// If SMOKE_TOKEN is set, requests carry this token. Otherwise requests to a function URL or
// an API Gateway of AWS are signed with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
// AWS_SESSION_TOKEN, as Auth=iam requires; `aws configure export-credentials --format env`
// prints them. The ids of new threads start with smoke-, and the command deletes these threads.
// Threads with other ids, which a trigger may choose, stay.
package main
