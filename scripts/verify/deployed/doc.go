// Package deployed tests and measures the functions as they get deployed: built
// binaries under the Lambda Runtime API of scripts/verify/lambdahost, with DynamoDB and
// SQS on the wire. What needs an endpoint has the build tag aws: `make test-aws`.
package deployed
