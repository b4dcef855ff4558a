// Package stack says what CloudFormation would make of a template: which resources
// are there with given parameters, what they are called, and their properties, with
// every function resolved. Tests build from that what they need of it, so that what
// is tested is what gets deployed. It knows the types and functions of template.yaml,
// after SAM's transform, and names what it does not know.
package stack
