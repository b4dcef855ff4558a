// Package dynamotest is for tests of what runs on package dynamo: a [Meter] counts
// what requests cost. It names the stored attributes for itself and not by way of
// package dynamo, so that a change of what is stored shows here.
package dynamotest
