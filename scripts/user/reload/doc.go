// Command reload runs a main package. On each save it builds the package again and replaces
// the running process by the new one:
//
//	go run ./scripts/user/reload ./scripts/user/dev
//
// It builds first: if the build fails, the old process keeps running. The same applies if a
// file in the folder of REVEILLE_AGENTS has an error. Otherwise the old process gets SIGTERM.
// A local host then ends its streams, releases the runs that it works on, and exits; the new
// one continues them immediately. Both use the same address and file, so there is never more
// than one process.
//
// The command watches Go files except tests, go.mod, go.sum, JSON and YAML files, files named
// environment (tree.go), and that folder. Every 250 ms it compares their size and
// modification time. It acts when nothing has changed for that long.
package main
