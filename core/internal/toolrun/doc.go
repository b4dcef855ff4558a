// Package toolrun runs any tool so that every failure becomes a result that the model can
// read.
package toolrun
