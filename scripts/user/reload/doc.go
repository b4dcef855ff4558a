// Command reload runs a main package, and on each save builds it again and swaps the
// running process for the new one:
//
//	go run ./scripts/user/reload ./scripts/user/dev
//
// It builds first: code that does not compile changes nothing, and the process goes
// on. Then the old process gets SIGTERM, on which a local host ends its streams, gives
// the runs that it works on back, and ends; the new one takes them up at once. Both use
// the same address and file, so that there is never more than one.
//
// A save is a change of a Go file that is no test, of go.mod or go.sum, or of a file of
// JSON or YAML (tree.go), looked for every quarter of a second by size and time of
// change, and acted upon when nothing has changed for that long.
package main
