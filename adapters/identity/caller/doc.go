// Package caller decides on whose behalf a request runs.
//
// Facts about the sender were verified before: by a front end of AWS (package aws/lambda
// reads them from an event into the request's context) or by our own verifier of bearer
// tokens (package bearer). A policy maps them to an identity: [Tokens], [Contexts] and
// [Signers] each turn one kind of caller into a core.Identity, as far as they are
// configured to, and refuse the other kinds.
//
// This package never trusts the request itself: the client chooses its path, query, body
// and headers.
package caller
