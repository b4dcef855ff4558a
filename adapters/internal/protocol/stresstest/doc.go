// Package stresstest has what the tests of protocols share: bodies as strangers send them,
// and what a stream costs.
package stresstest
