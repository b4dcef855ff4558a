// Command dev is the local host: the whole deployment in one process, on an
// embedded store.
//
//	go run ./scripts/dev
package main

import "github.com/reveille-run/reveille/functions/local"

func main() { local.Main() }
