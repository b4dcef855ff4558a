// Command new writes a project of one's own: a small module with an agent, its tools
// and tests, the mains of the functions, their template, and a Makefile.
//
//	go run github.com/reveille-run/reveille/scripts/user/new@latest DIR MODULE
//
// From a copy of this repository, whose build has no version, the project requires
// that copy:
//
//	go run ./scripts/user/new -replace . DIR MODULE
//
// What a starter has of its own stands in the folder starters, as templates with the
// delimiters [[ and ]]; the starter chat is the starter agent and a page. What must not
// differ from this module, such as template.yaml and the sample events, is copied from
// the version that the project requires (copies.go), so that it cannot drift.
//
// A project is made in a folder beside DIR and moved when it is whole: an error leaves
// nothing behind. DIR is new, or empty.
package main
