// Package breaker keeps the circuits of models: a model that has failed too often in a row
// is not called for a while.
package breaker

import (
	"sync"
	"time"
)

// The numbers of a circuit.
const (
	CircuitFailures = 5                // calls in a row that fail until it opens
	CircuitCooldown = 30 * time.Second // how long an open one refuses calls
	// CircuitProbe is how long a call waits that finds another one out to probe.
	CircuitProbe = 5 * time.Second
)

// CircuitState is the state of a circuit.
type CircuitState string

// The states.
const (
	CircuitClosed   CircuitState = "closed"    // calls are made
	CircuitOpen     CircuitState = "open"      // calls are refused until the cooldown is over
	CircuitHalfOpen CircuitState = "half_open" // it is over: one call probes, the others wait for its outcome
)

// Breakers keep the circuits of the models that a process calls: a model that has failed
// too often in a row is not called for a while. The circuits belong to this process:
// another process finds out by itself. The zero value is ready; it is safe for concurrent
// use, and the time is the caller's.
type Breakers struct {
	mutex    sync.Mutex
	circuits map[CircuitName]*circuit // those that have failed since they were closed
}

// CircuitName says whose a circuit is. Models that are the same to their provider have one.
type CircuitName struct {
	Provider string
	ID       string // the id in specs, if the provider's name is unknown; else empty
	Model    string // the provider's name of it
}

type circuit struct {
	failed  int       // in a row
	until   time.Time // it refuses calls; zero: it is closed
	probing bool      // a call is out to try
}

// Permit is the right to make one call. Its holder releases it by [Breakers.End].
type Permit struct {
	Probe   bool // the one call of a half-open circuit
	circuit CircuitName
}

// CallOutcome is what a call says about its model.
type CallOutcome uint8

// The outcomes.
const (
	CallVoid      CallOutcome = iota // nothing: it was cancelled, or its request was at fault
	CallFailed                       // it failed, and may fare better later: see model.Error.Transient
	CallSucceeded                    // it ended normally
)

// Wait is how long the circuit of a model refuses calls; 0: one may be made. It does
// not use up the probe of a half-open circuit.
func (b *Breakers) Wait(name CircuitName, now time.Time) time.Duration {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.circuits[name].wait(now)
}

func (c *circuit) wait(now time.Time) time.Duration {
	switch {
	case c == nil || c.until.IsZero():
		return 0
	case now.Before(c.until):
		return c.until.Sub(now)
	case c.probing:
		return CircuitProbe
	}
	return 0
}

// Begin asks for the right to call a model. wait above 0 refuses it, and says for how
// long: the model is not to be called.
func (b *Breakers) Begin(name CircuitName, now time.Time) (permit Permit, wait time.Duration) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	permit.circuit = name
	c := b.circuits[name]
	if wait = c.wait(now); wait > 0 || c == nil || c.until.IsZero() {
		return permit, wait
	}
	c.probing, permit.Probe = true, true
	return permit, 0
}

// End takes the outcome of a call. changed reports that it changed the circuit's state: the
// outcome of a call that started before the circuit opened does not count any more.
func (b *Breakers) End(permit Permit, outcome CallOutcome, now time.Time) (state CircuitState, changed bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	c := b.circuits[permit.circuit]
	switch {
	case permit.Probe && outcome == CallVoid:
		c.probing = false // the next one tries
		return CircuitHalfOpen, false
	case permit.Probe && outcome == CallFailed:
		c.probing, c.until = false, now.Add(CircuitCooldown)
		return CircuitOpen, true
	case permit.Probe:
		delete(b.circuits, permit.circuit)
		return CircuitClosed, true
	case c != nil && !c.until.IsZero():
		return CircuitOpen, false
	case outcome == CallSucceeded:
		delete(b.circuits, permit.circuit)
		return CircuitClosed, false
	case outcome == CallVoid:
		return CircuitClosed, false
	}
	if c == nil {
		c = &circuit{}
		if b.circuits == nil {
			b.circuits = map[CircuitName]*circuit{}
		}
		b.circuits[permit.circuit] = c
	}
	if c.failed++; c.failed < CircuitFailures {
		return CircuitClosed, false
	}
	c.until = now.Add(CircuitCooldown)
	return CircuitOpen, true
}
