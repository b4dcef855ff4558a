// Command doctor examines the threads and queues of a deployment, or of the file of a stopped
// local host, and prints a line for each check: status, name, count, examples and a remedy.
//
//	go run ./scripts/user/doctor                      # the file of the local host (REVEILLE_DATA)
//	go run ./scripts/user/doctor -data FILE           # another file
//	go run ./scripts/user/doctor -stack NAME          # a stack, by its outputs
//	go run ./scripts/user/doctor -env prod            # the stack of an environment in samconfig.toml
//	go run ./scripts/user/doctor -all -json           # every thread with its log; JSON for programs
//
// Commands change something. Each asks first, unless -yes is given, and is safe to repeat:
//
//	doctor [FLAGS] quarantine THREAD   # no worker is woken for a damaged thread any more
//	doctor [FLAGS] release THREAD      # after its head was restored: workers continue it
//	doctor [FLAGS] delete THREAD       # deletes a damaged thread
//	doctor [FLAGS] replay-events       # sends parked events to Trigger again
//
// THREAD is an id, or tenant/id as the lines print it.
//
// If REVEILLE_TABLE is set, the command examines the deployment of the variables
// REVEILLE_TABLE, REVEILLE_CONFIG_TABLE, REVEILLE_QUEUE_URL, REVEILLE_DEAD_LETTER_QUEUE_URL and
// REVEILLE_PAYLOAD_BUCKET. AWS credentials are those of your environment or AWS_PROFILE;
// AWS_ENDPOINT_URL_DYNAMODB and the like select other endpoints. Limits of tenants are those
// of REVEILLE_LIMITS.
//
// The exit status is 1 if a check has found a problem or the command failed, and 0 otherwise.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c := command{environ: os.Environ(), in: os.Stdin, out: os.Stdout, failures: os.Stderr}
	if !c.run(ctx, os.Args[1:]) {
		os.Exit(1)
	}
}
