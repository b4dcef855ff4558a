package thread

import (
	"encoding/binary"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// A child run is in the Children of the run that starts it from before its own dispatch is
// enqueued until its end is told there. So whatever ends the parent's run knows what to end
// with it: see [Left].

// AddChild lists a child run of the open run, by the holder of its claim, before the child is
// enqueued. Like a renewed lease it is written concurrently with the step. A child that is listed
// is a duplicate.
type AddChild struct {
	Fence uint64
	Child core.ID
}

func (c AddChild) apply(h *Head, t Transition) (Result, error) {
	if c.Child.IsZero() {
		return Result{}, invalid("add child: it must have an id")
	}
	if err := h.working(c.Fence); err != nil {
		return Result{}, err
	}
	if slices.Contains(h.Run.Children, c.Child) {
		return Result{Unchanged: true, Duplicate: true}, nil
	}
	h.Run.Children = append(h.Run.Children, c.Child)
	return Result{}, nil
}

// DropChild takes a child run that is over from the list of the run that started it, where no
// call waits for its end and no input tells of it. One that is not listed is a duplicate.
type DropChild struct {
	Run   core.ID // the parent's
	Child core.ID
}

func (c DropChild) apply(h *Head, _ Transition) (Result, error) {
	if h.Run.ID != c.Run || !h.Run.dropChild(c.Child) {
		return Result{Unchanged: true, Duplicate: true}, nil
	}
	return Result{}, nil
}

// dropChild takes a child from the list, and reports whether it was there.
func (r *Run) dropChild(child core.ID) bool {
	i := slices.Index(r.Children, child)
	if i < 0 {
		return false
	}
	r.Children = without(r.Children, i)
	return true
}

// Left is what a run that has ended owes its children: the content of the record of an
// [OutboxCancel], which must be stored before the head.
type Left struct {
	ID       core.ID   // of the entry; no other write has the same
	Children []core.ID // that were listed
	// Before is the entry whose place this one took, and whose record still counts; zero: none.
	// A head has one entry of the kind, so that no end has to wait for a place.
	Before core.ID
}

// Record is the stored form of what a run has left.
func (l *Left) Record() *OutboxRecord {
	record := &OutboxRecord{Before: l.Before}
	for _, child := range l.Children {
		record.To = append(record.To, OutboxTarget{Kind: TargetRun, Run: child})
	}
	return record
}

// oweCancel makes the open run of a head, which ends, owe its children a cancel; nil: it has none.
func oweCancel(h *Head, t Transition) *Left {
	if len(h.Run.Children) == 0 {
		return nil
	}
	left := &Left{ID: leftID(t.CommitID, h.next()), Children: h.Run.Children}
	if i := slices.IndexFunc(h.Outbox, func(e OutboxEntry) bool { return e.Kind == OutboxCancel }); i >= 0 {
		left.Before = h.Outbox[i].ID
		h.Outbox = without(h.Outbox, i)
	}
	h.Outbox = append(h.Outbox, OutboxEntry{ID: left.ID, Kind: OutboxCancel, Next: max(t.Now, 0)})
	return left
}

// leftID is an id for one attempt of a write: attempts of one commit have one commit id, and
// the children can differ from one to the next, while the record of an entry never changes.
func leftID(commit core.ID, version uint64) core.ID {
	tail := commit[len(commit)-8:]
	binary.BigEndian.PutUint64(tail, binary.BigEndian.Uint64(tail)^version)
	return commit
}
