// Package s3 keeps objects in a bucket of Amazon S3: a [Bucket] puts, gets and erases the
// payloads that are too large for an item of package dynamo.
//
// It makes its four calls through package aws/env, which signs them. The service's own
// client would add 1.4 MB to the program of every function and 0.4 MB to its package;
// this adds 0.05 and 0.02 MB.
package s3
