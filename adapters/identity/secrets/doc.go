// Package secrets reads secrets that are kept in AWS Secrets Manager or in the parameter
// store of Systems Manager, such as the keys of model providers, so that they are in no
// function's configuration and can be replaced without a deployment.
//
// A [Reader] keeps what it read and looks at the clock when it is asked: a value older
// than five minutes is read again, and one that a server has refused at once. There is no
// timer, since a frozen Lambda function has none; [Reader.Refresh] begins with an
// invocation, beside its first reads of the store, so that who uses a value seldom waits. While a read fails the last good value
// is returned. Nothing here prints a value.
//
// The calls go by way of package aws/env, which signs them: one call of each service is
// needed.
package secrets
