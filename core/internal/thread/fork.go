package thread

import "github.com/reveille-run/reveille/core/internal/wire"

// Fork makes a thread of the first log records of another. They were stored under
// [ForkFence], with the records that supersede some of them.
type Fork struct {
	Owner      string // of the other thread
	Seq        uint64 // of the last record
	Sum        uint32 // as in CommitTurn
	Supersedes uint64 // the newest of them that supersedes others; 0: none does
	Summary    uint64 // sequence that the summary in force covers; 0: none is
	Schema     uint16 // the highest that one of them may have
}

// ForkFence is the fence of a fork's first log records; its claims have higher ones.
const ForkFence = 1

func (c Fork) apply(h *Head, t Transition) (Result, error) {
	switch {
	case h.Exists():
		return Result{}, ErrExists
	case len(c.Owner) > wire.MaxName:
		return Result{}, invalid("fork: owner of %d bytes, at most %d are allowed", len(c.Owner), wire.MaxName)
	case c.Summary > c.Seq:
		return Result{}, invalid("fork: %d records, and a summary up to %d", c.Seq, c.Summary)
	case c.Seq > MaxSeq || c.Supersedes >= c.Seq:
		return Result{}, invalid("fork: %d records of which the one at %d supersedes others", c.Seq, c.Supersedes)
	}
	if err := h.adopt(t, c.Schema); err != nil {
		return Result{}, err
	}
	h.Owner, h.Seq, h.TailSum, h.Supersedes, h.Summary, h.Fence = c.Owner, c.Seq, c.Sum, c.Supersedes, c.Summary, ForkFence
	return Result{}, nil
}
