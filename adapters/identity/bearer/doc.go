// Package bearer verifies the bearer tokens of an OpenID Connect issuer, for the
// doors of a deployment that do not: a Function URL, a REST API, or an API
// Gateway whose word is not enough, since whoever may invoke the function can
// send it an event with any claims.
//
// [New] checks the signature, the issuer and the time. Whom the token is
// for, and who its holder is here, is a policy of package caller.
package bearer
