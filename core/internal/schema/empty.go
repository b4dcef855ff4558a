package schema

// NoParameters is the schema of a tool without arguments. It spells out the
// empty properties, without which some providers refuse it.
const NoParameters = `{"type":"object","properties":{},"additionalProperties":false}`

// AnyParameters is the schema of a tool whose arguments are any object, with empty
// properties for the same reason.
const AnyParameters = `{"type":"object","properties":{}}`
