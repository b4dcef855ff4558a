// Package env is the only way from the core to time, randomness, concurrency
// and the names of I/O points, so that a simulator can replace them all and a
// run with the same inputs writes the same bytes.
//
// Production code calls [System] once and passes the *Env on. Nothing else in
// core reads a clock, makes an id or starts a goroutine.
package env
