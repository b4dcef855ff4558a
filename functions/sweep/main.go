// Command sweep repairs: every minute it wakes threads whose wake-up was lost, and processes
// the wake-ups in the dead-letter queue.
package main

import "github.com/reveille-run/reveille/functions/kit/serve/sweep"

func main() { sweep.Main() }
