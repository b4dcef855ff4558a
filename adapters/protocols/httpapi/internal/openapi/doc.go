// Package openapi documents the routes of the native API: it makes the document that
// package httpapi serves at /openapi.json, and the routes in httpapi's README.md. A test
// of httpapi compares both with the files, and writes them:
//
//	go generate ./adapters/protocols/httpapi
//
// A schema is made from a type of Go (schema.go). Its descriptions and the values of its enums
// come from the type's source (source.go), so that a field is described once. Only tests
// link this package.
package openapi
