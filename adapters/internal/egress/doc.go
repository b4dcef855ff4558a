// Package egress is the one way out for requests to addresses that people configure:
// webhooks, and remote agents and tools.
//
// A [Client] is an http client that cannot be turned against the network it runs in. It
// speaks https only, follows no redirect, uses no proxy, and looks at the address that
// it connects to, after the name was resolved and for each connection, so that no name
// leads to a private, loopback, link-local or metadata address, whenever its record
// changes. Time and size of a response are bounded.
package egress
