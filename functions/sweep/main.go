// Command sweep repairs: every minute it wakes threads that nobody woke, and it
// looks after wake-ups that ended in the dead-letter queue.
package main

import "github.com/reveille-run/reveille/functions/kit/serve/sweep"

func main() { sweep.Main() }
