// Command smoke uses a deployment, or a local host, as a client does, and says what
// works:
//
//	go run ./scripts/smoke -url http://127.0.0.1:3000
//
// It has a chat, a call of a tool, a call that waits until it is approved, and a stream
// that is cut and goes on where it was. What it says to the agent are flags: the
// defaults are for the demo agent on the scripted model. It ends with status 1 when
// something does not work.
//
// A request has the token of SMOKE_TOKEN, if that is set. Otherwise one to a function
// URL or an API Gateway of AWS is signed with AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN), as Auth=iam wants it; `aws configure
// export-credentials --format env` prints them. The threads that it makes begin with
// smoke- and are deleted at the end.
package main
