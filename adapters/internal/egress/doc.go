// Package egress sends all requests to addresses that a user configures: webhooks, and
// remote agents and tools.
//
// A [Client] is an HTTP client that cannot be turned against the network it runs in. It
// speaks https only, follows no redirect and uses no proxy. It checks the address of each
// connection after the name was resolved, so that a name never leads to a private,
// loopback, link-local or metadata address, even if its record changes. Time and size of
// a response are bounded.
package egress
