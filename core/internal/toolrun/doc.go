// Package toolrun runs any tool so that whatever goes wrong becomes a result that the model
// can read.
package toolrun
