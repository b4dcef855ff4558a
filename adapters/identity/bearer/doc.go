// Package bearer verifies the bearer tokens of an OpenID Connect issuer. A deployment
// needs it if its front end does not verify them: a Function URL, a REST API, or an API
// Gateway whose claims are not trusted, since a caller that may invoke the function can
// send it an event with any claims.
//
// [New] checks the signature, the issuer and the time. A policy of package caller checks
// the audience and maps the holder to a tenant and a user.
package bearer
