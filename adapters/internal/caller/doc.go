// Package caller describes what was verified about the sender of a request: by a front
// end of AWS (package aws/lambda reads it from an event) or by our own verifier of bearer
// tokens (package bearer). A [Caller] is carried by the request's context. The policies
// of package identity/caller map it to an identity.
//
// This package never reads a request: the client chooses its path, query, body and
// headers.
package caller
