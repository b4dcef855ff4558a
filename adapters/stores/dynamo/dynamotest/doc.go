// Package dynamotest is for tests of what runs on package dynamo: a [Meter] counts
// what requests cost. It has its own names of the stored attributes, not those of package
// dynamo, so that a change of a stored attribute shows here.
package dynamotest
