package thread

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/reveille-run/reveille/core"
)

// Transition is one change of a head, with what it needs of the world.
type Transition struct {
	Now      int64   // unix milliseconds, from Env
	CommitID core.ID // fresh for every transition, from Env
	Due      DuePolicy
	Schemas  Schemas // of the program that asks
	// Announce means that the progress of runs is announced: the write leaves an
	// announcement where a run waits, ends or is given up.
	Announce bool
	// Meter means that the usage of runs is recorded: the head has the open run's
	// [Stretch].
	Meter bool
	Spent core.Spent // with Meter: on the open run since the writer's last write
	// Second is the lease of workers' claims, in milliseconds, where the queue is sent second
	// hints; 0: it is sent none.
	Second int64
	Change Change
}

// The schemas of this release, which a zero [Schemas] means. It understands records
// up to SchemaRead, and writes those of SchemaWritten, but decisions with edited
// arguments with SchemaEdited: a program of schema 1 would run the model's arguments
// instead. So it does not claim such a thread. A release reads a schema one
// release before it writes it; scripts/user/stack, which deploys, compares a
// deployment with the previous one.
const (
	SchemaRead    = 2
	SchemaWritten = 1
	SchemaEdited  = 2
)

// Schemas are the record schemas that a program understands and writes. A zero field
// is this release's value.
type Schemas struct {
	Reads  uint16 // the highest
	Writes uint16
}

// Resolved returns the schemas with this release's in place of zeros.
func (s Schemas) Resolved() Schemas {
	if s.Reads == 0 {
		s.Reads = SchemaRead
	}
	if s.Writes == 0 {
		s.Writes = SchemaWritten
	}
	return s
}

// Stored returns the resolved schemas, with Writes as the highest schema that any record
// of the program has: decisions with edited arguments have a higher one than other records.
func (s Schemas) Stored() Schemas {
	s = s.Resolved()
	s.Writes = max(s.Writes, SchemaEdited)
	return s
}

// DuePolicy is the precision with which a backend indexes when a thread is due, in
// milliseconds. The zero value is exact; DynamoDB uses a grace of two minutes and
// rounds up to the minute, so that quick transitions do not touch the index.
type DuePolicy struct {
	Grace int64
	Round int64
}

// Change is what a transition does; the implementations are the exported
// structs of this package with an apply method, each with a row in the table of
// transitions.
type Change interface {
	apply(h *Head, t Transition) (Result, error)
	kind() ChangeKind
}

// Result is what follows from a transition: what must be stored before the head
// and what may be sent after it.
type Result struct {
	// Unchanged: there is nothing to write; the rest still holds.
	Unchanged bool
	// Duplicate: the same dispatch, input or decision was accepted before.
	Duplicate bool
	// Before must be stored before the head: the fate of input that no run record has.
	Before []Audit
	// Opened is a run that the write brings into being from steered input; its
	// pointer must be stored before the head. Zero: none.
	Opened core.ID
	// Hint is to be sent after the head is written; nil: none.
	Hint *Hint
	// Second is when a second hint comes that is to be sent after the head is written, unix
	// milliseconds; 0: none is. It goes with Hint, if there is one.
	Second int64
	// Claimed: the transition took the claim; its fence is the new head's.
	Claimed bool
	// Woken are the tickets that the clock has decided; their decisions must be stored before
	// the head.
	Woken []Woken
	// Outcome of a CommitStep or CommitClose.
	Outcome Outcome
	// Left is what a run that the write ends owes its children; nil: nothing.
	Left *Left
	// Stretch is the stretch of the run that the write ends, with everything spent on
	// it; its record must be stored before the head. nil: the write ends none, or
	// usage is not metered.
	Stretch *Stretch
}

// Hint asks for a wake-up of the thread.
type Hint struct {
	Dispatch core.ID
	At       int64 // 0: at once
	// Followed is the time until which a client in another process follows the run,
	// unix milliseconds; 0: no client is known to.
	Followed int64
	// WakeAt is the time to wake of the ticket that the hint is for, unix milliseconds, and equal
	// to At; 0: it is for other work.
	WakeAt int64
}

// Audit records the fate of a dispatch or inbox entry: a step read it, at Read, or it
// ended otherwise, with Status. It is a claim only, until the head or the log
// confirms it.
type Audit struct {
	ID     core.ID
	Run    core.ID
	Read   uint64 // sequence of the log record that holds it; 0: it was not read
	Status core.DispatchStatus
}

// heads are what transitions work on, which do not keep it.
var heads = sync.Pool{New: func() any { return new(Head) }}

// Apply returns the head after a transition. It does no I/O and reads no clock: equal
// arguments give equal results, in any process. The next head shares no memory with
// the old one, except the values of extensions, which are never changed. On an error,
// and when there is nothing to write, it returns the head unchanged.
func Apply(h Head, t Transition) (Head, Result, error) {
	if h.Layout > Layout {
		return h, Result{}, fmt.Errorf("layout %d, newest known %d: %w", h.Layout, Layout, ErrSchema)
	}
	kind := t.Change.kind()
	if h.Deleted && !kind.Deleted {
		return h, Result{}, ErrDeleted
	}
	t.Schemas = t.Schemas.Resolved()
	next := heads.Get().(*Head)
	defer heads.Put(next)
	*next = h.clone()
	result, err := t.Change.apply(next, t)
	n := *next
	*next = Head{}
	if err != nil {
		return h, Result{}, err
	}
	if result.Hint != nil && result.Hint.WakeAt != 0 && hinted(&h, t.Change, result) {
		result.Hint = nil
	}
	if result.Unchanged {
		return h, result, nil
	}
	if !result.Duplicate {
		result.Hint = withWait(&h, &n, t.Now, result.Hint)
	}
	if !h.Exists() {
		n.Incarnation = binary.BigEndian.Uint64(t.CommitID[:8])
	}
	n.Layout, n.Version = Layout, h.next()
	n.CommitID = t.CommitID
	if kind.Holder {
		n.HolderCommitID = t.CommitID
	}
	if t.Meter {
		result.Stretch = n.meter(&h, t)
	}
	if len(n.Run.Children) > MaxChildren {
		return h, Result{}, ErrTooManyChildren
	}
	n.Run.noteWaits(n.Tickets.asks(), t.Now)
	n.noteTimes(t.Now)
	dropFailing(&n)
	n.DueAt = n.due(h.DueAt, t)
	result.Second = secondHint(&n, t, result)
	if n.bound() > MaxSize {
		if size := n.Size(); size > MaxSize {
			return h, Result{}, fmt.Errorf("%d bytes, at most %d are allowed: %w", size, MaxSize, ErrTooLarge)
		}
	}
	return n, result, nil
}

// raise notes the schema of what the program has written around the head.
func (h *Head) raise(t Transition) { h.Schema = max(h.Schema, t.Schemas.Writes) }

// adopt is raise with a record that another program wrote: a program must not put in
// force a record that it cannot read.
func (h *Head) adopt(t Transition, schema uint16) error {
	if schema > t.Schemas.Reads {
		return fmt.Errorf("adopted record of schema %d, newest known %d: %w", schema, t.Schemas.Reads, ErrSchema)
	}
	h.Schema = max(h.Schema, schema)
	h.raise(t)
	return nil
}
