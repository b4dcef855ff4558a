// Package webhook publishes announcements of runs to a web address, signed as package
// signature says. A receiver that verifies it with the shared secret knows who sent the
// body, and by the id what it was sent before.
//
// Any status of 2xx is a yes. Everything else, a redirect too, is an error, after which
// the announcement comes again with the same id.
package webhook
