package main

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// door is the route of an input.
type door string

const (
	doorMessages door = "messages" // POST /v1/threads/{id}/messages: acknowledged by 202
	doorRuns     door = "runs"     // POST /v1/runs: acknowledged by the first event
	doorChat     door = "chat"     // POST /v1/ai-sdk/chat: acknowledged by the first chunk
)

// The input modes.
const (
	modeQueue     = "queue"
	modeSteer     = "steer"
	modeInterrupt = "interrupt"
	modeReject    = "reject"
)

// said is one user message of an input.
type said struct{ ID, Text string }

// input is one submission, with the responses that the client received.
type input struct {
	Key      string // its Idempotency-Key; for a chat, the id of its last message
	Door     door
	Mode     string
	Messages []said
	Sent     time.Time // first try
	Doubted  bool      // an abandoned attempt may still be running: no refusal is final
	Acked    bool
	Refused  string   // the code of a definite refusal
	Runs     []string // the run of each receipt, without repetitions
	Dispatch string   // of the first receipt that names one
}

// steered reports whether the input was to join a running run: because it was asked to,
// or because the run waited, whose input it is then. The receipt of such an input names
// the run of another one. The ledger is locked.
func (l *ledger) steered(in *input) bool {
	if in.Mode == modeSteer {
		return true
	}
	for _, other := range l.inputs {
		if other == in {
			return false // an input opens its run, and later ones join it
		}
		if len(in.Runs) > 0 && len(other.Runs) > 0 && other.Runs[0] == in.Runs[0] {
			return true
		}
	}
	return false
}

// cancellation is a cancel that was sent, answered or not.
type cancellation struct {
	Run  string // empty: the current run of the thread
	Sent time.Time
	Done bool // it was acknowledged
}

// ledger has the requests and responses of the clients of one thread.
type ledger struct {
	Thread string

	mu       sync.Mutex
	inputs   []*input // in the order of sending
	cancels  []*cancellation
	streams  []*shown
	verdicts map[string]*verdict // by the call's text
	faults   []violation         // found at once
	history  []string            // for people
	began    time.Time
}

func newLedger(thread string) *ledger { return &ledger{Thread: thread, began: time.Now()} }

// note adds a line to the thread's history.
func (l *ledger) note(format string, arguments ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.history = append(l.history, fmt.Sprintf("%8.3f ", time.Since(l.began).Seconds())+fmt.Sprintf(format, arguments...))
}

// fault records a violation that needs no look at the log.
func (l *ledger) fault(kind kind, format string, arguments ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, violation{kind, l.Thread, fmt.Sprintf(format, arguments...)})
}

// add records an input before its first try.
func (l *ledger) add(in *input) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inputs = append(l.inputs, in)
}

// receipt records that an input was acknowledged. Every receipt names the same
// dispatch and, unless the input may move to another run, the same run.
func (l *ledger) receipt(in *input, run, dispatch string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	in.Acked = true
	switch {
	case in.Refused != "":
		l.faults = append(l.faults, violation{kindRefused, l.Thread, fmt.Sprintf("input %s was refused with %q, and its repetition was accepted by run %s", in.Key, in.Refused, run)})
	case dispatch != "" && in.Dispatch != "" && dispatch != in.Dispatch:
		l.faults = append(l.faults, violation{kindDoubled, l.Thread, fmt.Sprintf("input %s became dispatch %s and dispatch %s", in.Key, in.Dispatch, dispatch)})
	case run != "" && len(in.Runs) > 0 && !slices.Contains(in.Runs, run) && !l.steered(in):
		l.faults = append(l.faults, violation{kindDoubled, l.Thread, fmt.Sprintf("input %s became run %s and run %s", in.Key, in.Runs[0], run)})
	}
	if in.Dispatch == "" {
		in.Dispatch = dispatch
	}
	if run != "" && !slices.Contains(in.Runs, run) {
		in.Runs = append(in.Runs, run)
	}
}

// known reports whether the input has been acknowledged.
func (l *ledger) known(in *input) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return in.Acked
}

// cancelling records a cancel before it is sent.
func (l *ledger) cancelling(run string) *cancellation {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &cancellation{Run: run, Sent: time.Now()}
	l.cancels = append(l.cancels, c)
	return c
}

// follow records a stream that is about to be read.
func (l *ledger) follow(s *shown) *shown {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.streams = append(l.streams, s)
	return s
}

// runs lists every run that a receipt named, in that order.
func (l *ledger) runs() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, in := range l.inputs {
		for _, run := range in.Runs {
			if !slices.Contains(all, run) {
				all = append(all, run)
			}
		}
	}
	return all
}

// earlier returns an acknowledged input, or nil.
func (l *ledger) earlier(choose func(int) int) *input {
	l.mu.Lock()
	defer l.mu.Unlock()
	var acked []*input
	for _, in := range l.inputs {
		if in.Acked {
			acked = append(acked, in)
		}
	}
	if len(acked) == 0 {
		return nil
	}
	return acked[choose(len(acked))]
}
