// Package awsapi is what the adapters to services of AWS share: the settings of a client,
// from env.Config and the environment ([Read]), and calls of services of which a few are
// needed ([New]), which it signs: their own clients would cost start-up time.
package awsapi
