// Package env gives the core its access to time, randomness, concurrency and the names of
// I/O points. A simulator can replace all of them. A run with the same inputs then writes
// the same bytes.
//
// Production code calls [System] once and passes the *Env to everything that needs it. No
// other code in core reads a clock, makes an id or starts a goroutine.
package env
