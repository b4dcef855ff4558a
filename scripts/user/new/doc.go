// Command new creates a project: a small module with an agent, its tools and tests, the mains
// of the functions, their template, and a Makefile.
//
//	go run github.com/reveille-run/reveille/scripts/user/new@latest DIR MODULE
//
// A build from a copy of this repository has no version. Then the project requires the
// copy:
//
//	go run ./scripts/user/new -replace . DIR MODULE
//
// The folder starters has the files of each starter, as templates with the delimiters [[ and
// ]]. The starter chat is the starter agent with a page. The starter yaml has its agents in
// YAML files and its tools in one Go file; it has no functions for AWS. Files that must not differ from
// this module, such as template.yaml and the sample events, are copied from the version that
// the project requires (copies.go).
//
// With -update, the command merges the files of this version into an existing project:
//
//	go run github.com/reveille-run/reveille/scripts/user/new@latest -update [DIR]
//
// The file reveille.json of a project records the version or the commit from which it was made
// (record.go). From there the command makes the texts of then (ancestor.go), and merges them with
// the texts of now and those of the user (plan.go). It writes nothing before all of that
// succeeds (update.go, apply.go). Files of the user, such as infra/own.yaml and those of the
// folder app, stay as they are.
//
// The command creates the project in a folder next to DIR and moves it when it is complete,
// so an error leaves no files. DIR must be new or empty.
package main
