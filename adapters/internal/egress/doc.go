// Package egress holds the rules for outgoing requests to addresses that are
// configured: providers of models, webhooks, and the keys of an issuer of tokens.
//
// [Rules] decide which addresses a process may reach. The scheme is https, and the address
// of each connection is on the public internet. Rules check that address after the name was
// resolved, so a name never leads to a private address, even if its record changes.
// The operator allows other hosts and networks in [AllowVariable]. Addresses that are
// link-local or of a metadata service are never reached.
//
// [Rules.Transport] and [Rules.HTTPClient] send requests by the rules, for streams without
// a limit of time. A [Client] also limits the time and the size of a response. No redirect
// is followed. No proxy is used, unless [ProxyVariable] is on outside Lambda.
package egress
