// Package openapi makes of the routes of the native API what is written about them: the
// document that package httpapi serves at /openapi.json, and the table of the README. The
// tests of httpapi hold both, and write them again:
//
//	go generate ./adapters/protocols/httpapi
//
// A schema comes from a Go type (schema.go), its descriptions and the values of its
// enums from the type's source (source.go), so that what is said of a field is said
// once. Only tests link this package.
package openapi
