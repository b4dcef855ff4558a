// Package tables makes the tables of package dynamo where template.yaml does not: at
// the endpoints of tests, and of functions that are run without an account. [Create]
// makes both of them.
package tables
