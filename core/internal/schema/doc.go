// Package schema reads JSON Schemas and checks values against them, within bounds.
//
// A schema often comes from a stranger: a client's tool, the form of an answer, another
// server's tool. A schema of one kilobyte can make a single check take hours and all the
// memory there is, and a check that has started cannot be stopped. [Read] therefore
// refuses a schema that is too large or too entangled, and [Schema.Check] counts the
// places that a check would look at before it begins. Both return [ErrTooComplex], with
// the bound in its text. No other package of the project compiles a schema.
package schema
