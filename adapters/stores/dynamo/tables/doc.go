// Package tables makes the tables of package dynamo without template.yaml: for tests, and
// for functions that run without an AWS account. [Create] makes both of them.
package tables
