// Docs writes the generated parts of the repository's documents.
//
//	go generate ./scripts/verify/docs
//
// A document marks the place of a part with two lines. The part is between them:
//
//	<!-- generated: settings -->
//	<!-- end generated -->
//
// Each part is a table that follows from the source: the variables of package settings,
// the comments of constants, the Makefile, template.yaml. A test compares the documents
// with their source.
package main

//go:generate go run .
