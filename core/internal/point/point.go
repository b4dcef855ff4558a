// Package point names the I/O operations of the protocol, at which crash tests kill a
// process and simulations inject faults: see [env.Env.Reach].
package point

import "github.com/reveille-run/reveille/core/env"

// The points. E: enqueue, W: the work on one dispatch, H: a person's decision,
// S: the sweep.
const (
	Enqueue       env.Point = "E3"  // HEAD: enqueue, with the queued input
	Hint          env.Point = "E4"  // the wake-up is sent
	Respond       env.Point = "E5"  // the caller gets its response; reached by servers
	Receive       env.Point = "W1"  // a wake-up is received; reached by queues
	Claim         env.Point = "W2"  // HEAD: claim
	ReadLog       env.Point = "W3"  // the log's tail is read
	Model         env.Point = "W4"  // the model is called
	CommitTurn    env.Point = "W6"  // HEAD: commit A, with the assistant turn
	Tool          env.Point = "W7"  // a tool runs
	PutResult     env.Point = "W8"  // its result is put alone, at its reserved sequence
	CommitStep    env.Point = "W9"  // HEAD: commit B, with the step's last result and record
	Continue      env.Point = "W10" // the continuation's wake-up is sent
	DeleteMessage env.Point = "W11" // the queue message is deleted; reached by queues
	Decide        env.Point = "H2"  // HEAD: decide, with the decision
	DecisionHint  env.Point = "H3"  // its wake-up is sent
	Due           env.Point = "S1"  // overdue threads are listed
	SweepHint     env.Point = "S2"  // an overdue thread is woken
)
