// Package stack computes the resources that CloudFormation creates from a template: which
// resources exist with given parameters, their names, and their properties with every function
// resolved. Tests create their resources from it, so they test the deployed configuration. It
// knows the types and functions of template.yaml after SAM's transform. Unknown ones are
// errors that name them.
package stack
