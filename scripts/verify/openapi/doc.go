// Command openapi writes what follows from the routes of the native API: the document
// that adapters/protocols/httpapi serves at /openapi.json, and the table of the README.
//
//	go generate ./adapters/protocols/httpapi
//
// A schema comes from a Go type (schema.go), its descriptions and the values of its
// enums from the type's source (source.go), so that what is said of a field is said
// once. The routes and what each of them takes are those of httpapi.Routes (document.go).
package main
