// Package stresstest has shared code for tests of protocols: malformed bodies, and the
// cost of a stream.
package stresstest
