package openapi

import "github.com/reveille-run/reveille/core"

// Route is a route as it is documented. The zero value of a type gives its shape: the keys
// that a decoder accepts, or those that an encoder writes.
type Route struct {
	Method, Path string // Path with {thread}, {run} and so on, as http.ServeMux has it
	Name         string // of the operation, unique
	Text         string // sentences of CommonMark; the first is the summary
	Open         bool   // it needs no identity
	// Takes are structs of parameters: a field's tag "in" is its place (path, query or
	// header), its tag "json" its name.
	Takes   []any
	Body    any  // nil: none, or {}
	Empty   bool // Body may be missing
	Answers []Answer
	Refuses []Refusal // of each status and code
}

// Answer is a successful response.
type Answer struct {
	Status int
	Text   string // when, if not always
	Body   any    // JSON; nil: none
	Stream bool   // server-sent events instead, whose data fields are Body
	Raw    bool   // JSON of no type of ours
}

// Refusal is the status and the code of a refusal.
type Refusal struct {
	Status int
	Code   core.Code
}
