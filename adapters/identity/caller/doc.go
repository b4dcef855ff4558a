// Package caller says who sent a request and on whose behalf it runs.
//
// A [Caller] is what somebody verified about the sender: a front end of AWS
// (package aws/lambda reads it out of an event) or our own verifier of bearer
// tokens (package bearer). It travels in the request's context. What it amounts
// to here is a policy's decision: [Tokens], [Contexts] and [Signers] each turn
// one kind of caller into a core.Identity, as far as they are configured to, and
// refuse the other kinds.
//
// Nothing in this package reads a request: paths, queries, bodies and headers
// are the client's own words.
package caller
