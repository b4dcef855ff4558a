package openapi

import "github.com/reveille-run/reveille/core"

// Route is what is documented of a route. The zero values of types stand for their shapes:
// the keys that a decoder takes, or those that an encoder writes.
type Route struct {
	Method, Path string // Path with {thread}, {run} and so on, as http.ServeMux has it
	Name         string // of the operation, unique
	Text         string // CommonMark: what it does, one sentence or more, the first without end
	Open         bool   // it needs no identity
	// Takes are structs of parameters: a field's tag "in" says where it stands (path,
	// query or header), its tag "json" how it is called.
	Takes   []any
	Body    any  // nil: none, or {}
	Empty   bool // Body may be missing
	Answers []Answer
	Refuses []Refusal // of each status and code
}

// Answer is a response that is no refusal.
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
