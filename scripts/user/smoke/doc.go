// Command smoke uses a deployment, or a local host, as a client does, and says what
// works:
//
//	go run ./scripts/user/smoke -url http://127.0.0.1:3000
//
// It has a chat, a call of a tool, a call that waits until it is approved, and a stream
// that is cut and goes on where it was. What it says to the agent are flags: the
// defaults are for the demo agent on the scripted model. It ends with status 1 when
// something does not work.
//
// With -trigger it sends an event to a trigger and follows the runs that this starts. It
// signs the request as -scheme says, with SMOKE_TRIGGER_SECRET; the delivery has an id
// that no other has, where the scheme has a header for it:
//
//	SMOKE_TRIGGER_SECRET=... go run ./scripts/user/smoke -url STREAM_URL -trigger API_URL/v1/triggers/issues \
//		-scheme github -header 'X-GitHub-Event: issues' -event issue.json
//
// Last it looks whether the tokens of its own runs are in GET /v1/usage, where usage is
// recorded.
//
// A request has the token of SMOKE_TOKEN, if that is set. Otherwise one to a function
// URL or an API Gateway of AWS is signed with AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN), as Auth=iam wants it; `aws configure
// export-credentials --format env` prints them. The threads that it makes begin with
// smoke- and are deleted at the end; those that a trigger names otherwise stay.
package main
