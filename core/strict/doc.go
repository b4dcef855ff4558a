// Package strict decodes the JSON that people and programs write for Reveille: agent specs,
// API bodies, triggers, limits, settings of plugins. Requests of protocols that others have
// specified are not among them: those ignore unknown names.
//
// [Decode] accepts the same JSON as encoding/json, with the same value, and refuses names
// that encoding/json would ignore: a name that the struct does not have, in any case, and a
// name that is given twice. Its error has the problem, the path, and the allowed values:
//
//	unknown field "wieght" in members[2], did you mean "weight"?
//	unknown field "x" in body, allowed are at, threadId
//	members[2].weight is "3", want a whole number
//	messages[0].content is required
//	id is given twice
//
// The types that a program decodes into are structs with the tags of encoding/json. A
// field's tag "strict" adds rules that those cannot express, separated by commas:
//
//	also=name   another spelling of the name; both at once are an error
//	min=n       the least whole number
//	max=n       the largest whole number
//	null        null is for the type to decode, also with Options.NoNull
//
// Time and memory are linear in the size of the JSON. A value is checked and stored in one
// pass, after one by encoding/json that finds errors of syntax.
package strict
