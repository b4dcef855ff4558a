// Package deployed tests and measures the functions as they are deployed: the built binaries
// under the Lambda Runtime API of scripts/verify/lambdahost, with DynamoDB and SQS over HTTP.
// Tests that need an endpoint have the build tag aws: `make test-aws`.
package deployed
