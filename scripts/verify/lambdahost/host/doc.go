// Package host runs built Lambda functions (bootstrap binaries) under its implementation of
// the Lambda Runtime API, without containers and without AWS. Tests can so use the deployed
// binaries.
//
// A [Host] keeps a pool of sandboxes per [Function]. A sandbox is one process. The host starts
// a new one if no sandbox is idle. A sandbox serves one invocation at a time, is frozen
// (SIGSTOP) between invocations, and is replaced after a crash or a timeout. Functions have
// three front ends: [Host.Invoke] and [Host.Stream] with an event, [Host.Handler] for HTTP
// (Function URL, REST API or HTTP API events, buffered or streamed as the function writes), and
// [Poller] for SQS batches with partial failures.
//
// The package does what AWS documents and what the Go runtime client needs. It does not have
// limits of CPU, memory, rate and bandwidth, IAM, extensions, or concurrent invocations in one
// process. Freezing works on Linux only.
package host
