// Package scripted is a model without a network: each answer follows from the
// request alone, so that a resumed, retried or duplicated inference gets the
// same one. Demos, tests and load runs use it.
//
// The last user message selects a rule by its prefix:
//
//	echo: X         calls the tool echo with {"text": X}, then says X
//	parallel: A, B  calls echo once per item in one step, then says all
//	think: X        reasons X, then answers
//	slow: N         says w1 to wN, one word per 100 ms, 1 <= N <= 600
//	fail            fails with "scripted model failure", for good
//	anything else   says it back
package scripted
