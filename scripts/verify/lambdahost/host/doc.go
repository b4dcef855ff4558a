// Package host runs built Lambda functions (bootstrap binaries) under a Lambda
// Runtime API of its own, so that what is tested is what is deployed, without
// containers and without AWS.
//
// A [Host] keeps a pool of sandboxes per [Function]. A sandbox is one process:
// it is started when no idle one is left, serves one invocation at a time, is
// frozen (SIGSTOP) in between, and is replaced after a crash or a timeout. Three
// front ends reach it: [Host.Invoke] and [Host.Stream] with an event,
// [Host.Handler] for HTTP (Function URL, REST API or HTTP API events, buffered or
// streamed as the function writes), and [Poller] for SQS batches with partial
// failures.
//
// It does what AWS documents and what the Go runtime client needs. It does not
// do: limits of CPU, memory, rate and bandwidth, IAM, extensions, several
// invocations at once in one process. Freezing works on Linux only.
package host
