// Package caller decides on whose behalf a request runs.
//
// Something about its sender was verified before: by a front end of AWS (package aws/lambda
// reads it out of an event, into the request's context) or by our own verifier of bearer
// tokens (package bearer). What it amounts to here is a policy's decision: [Tokens],
// [Contexts] and [Signers] each turn one kind of caller into a core.Identity, as far as
// they are configured to, and refuse the other kinds.
//
// Nothing here believes a request itself: paths, queries, bodies and headers are the
// client's own words.
package caller
