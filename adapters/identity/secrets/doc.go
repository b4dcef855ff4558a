// Package secrets reads secrets from AWS Secrets Manager or the parameter store of
// Systems Manager, such as the keys of model providers. Such secrets are in no function's
// configuration and can be replaced without a deployment.
//
// A [Reader] caches values and checks their age at each use: a value older than five
// minutes is read again, and a value that a server has refused is read again immediately.
// There is no timer, since a frozen Lambda function has none. [Reader.Refresh] starts
// with an invocation, concurrently with its first reads of the store, so that the user of
// a value seldom waits. While reads fail, the last good value is returned. No value is
// ever printed.
//
// Package aws/env configures and signs the calls: one call of each service is needed.
package secrets
