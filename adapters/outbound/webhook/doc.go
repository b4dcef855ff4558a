// Package webhook publishes announcements of runs to a web address, signed as package
// signature describes. A receiver verifies the body with the shared secret, and drops
// duplicates by the id. README.md describes the notifications for receivers.
//
// A status of 2xx is a success. Any other response, also a redirect, is an error, after
// which the announcement is sent again with the same id.
package webhook
