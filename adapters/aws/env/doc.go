// Package env gives every AWS client of ours the same settings, out of the
// environment that Lambda sets: region, credentials, endpoint, timeouts, tries.
// It leaves the SDK's configuration files and credential chain out, which would
// cost start-up time.
package env
