package simtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/point"
)

// Fault is what goes wrong at an I/O point.
type Fault string

// The faults.
const (
	// CrashBefore ends the process before the operation, CrashAfter after it.
	CrashBefore Fault = "crash_before"
	CrashAfter  Fault = "crash_after"
	// Refused is an operation that fails, Ambiguous one that has been done and whose
	// response is lost.
	Refused   Fault = "refused"
	Ambiguous Fault = "ambiguous"
	// PauseBefore and PauseAfter stop the process for longer than its lease, while another
	// one takes over; then it continues.
	PauseBefore Fault = "pause_before"
	PauseAfter  Fault = "pause_after"
	// Lost is a message that is never delivered, although its sender receives a success.
	Lost Fault = "lost"
	// Duplicate delivers a message, or a person's request, twice.
	Duplicate Fault = "duplicate"
)

// faults are those that can happen at a point. Faults that end or stop a process can
// happen anywhere.
func faults(p env.Point) []Fault {
	all := []Fault{CrashBefore, CrashAfter, PauseBefore, PauseAfter}
	if slices.Contains([]env.Point{point.Enqueue, point.Claim, point.CommitTurn, point.PutResult, point.CommitStep, point.Decide}, p) {
		all = append(all, Refused, Ambiguous)
	}
	if isHint(p) {
		all = append(all, Refused, Ambiguous, Lost, Duplicate)
	}
	if p == point.Receive || p == point.Respond {
		all = append(all, Duplicate)
	}
	return all
}

func isHint(p env.Point) bool {
	return slices.Contains([]env.Point{point.Hint, point.Continue, point.DecisionHint, point.SweepHint}, p)
}

// site is one passing of an I/O point, the n-th of a world, from 1.
type site struct {
	point env.Point
	n     int
}

// String returns the name of its subtest, such as "W7.2".
func (s site) String() string { return fmt.Sprintf("%s.%d", s.point, s.n) }

// strike is one fault at one site.
type strike struct {
	site  site
	fault Fault
}

// String returns the name of its subtest, such as "W7.2/crash_after".
func (s strike) String() string { return s.site.String() + "/" + string(s.fault) }

// costs is how much longer a world may take for the fault, if nothing has to be done
// again: a response that is lost is noticed at once, a lost hint by the sweep, and a
// process that is gone when its lease is over and its message has come again.
func (s strike) costs() time.Duration {
	switch s.fault {
	case Ambiguous, Duplicate:
		return 15 * time.Second
	case PauseBefore, PauseAfter:
		return pauseFor + lease + 2*sweepEvery
	}
	return visibility + lease + 2*sweepEvery
}

// after reports whether the fault happens after the operation, not before it.
func (s strike) after() bool { return s.fault == CrashAfter || s.fault == PauseAfter }
