// Package webhook publishes announcements of runs to a web address, signed as Standard
// Webhooks (standardwebhooks.com) says: the headers webhook-id, webhook-timestamp and
// webhook-signature, the last one with "v1," and the HMAC-SHA256 of id, timestamp and
// body, joined by dots. A receiver that verifies it with the shared secret knows who
// sent the body, and by the id what it was sent before.
//
// Any status of 2xx is a yes. Everything else, a redirect too, is an error, after which
// the announcement comes again with the same id.
package webhook
