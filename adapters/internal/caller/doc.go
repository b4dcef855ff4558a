// Package caller is what was verified about the sender of a request: by a front end of
// AWS (package aws/lambda reads it out of an event) or by our own verifier of bearer tokens
// (package bearer). It travels in the request's context. What it amounts to is decided by
// the policies of package identity/caller.
//
// Nothing in this package reads a request: paths, queries, bodies and headers are the
// client's own words.
package caller
