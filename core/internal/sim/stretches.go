package sim

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// stretch is a part of a run between two waits, as the heads show it: from the claim
// that begins or resumes the run to the write that waits or ends.
type stretch struct {
	th    *threadState
	run   core.ID
	agent string
	first bool  // of its run
	since int64 // unix milliseconds by the clock of the process that claimed
	over  bool
}

// keepStretch follows the open run from head to head.
func (ru *runs) keepStretch(a, b *thread.Head) {
	s := ru.stretch
	if s != nil && (b.Run.ID != s.run || !b.Open() || b.Run.Status == thread.Waiting) {
		s.over = true
		s, ru.stretch = nil, nil
		if b.Run.ID == a.Run.ID && b.HolderCommitID == b.CommitID {
			ru.th.w.auditor.checkFreed(ru.th, ru.th.w.hosts[a.Claim.Worker], b.Run.ID, b.Version)
		}
	}
	if s != nil || !b.Open() || b.Claim.Fence == 0 || b.Claim.Fence == a.Claim.Fence {
		return
	}
	ru.stretch = &stretch{
		th: ru.th, run: b.Run.ID, first: !ru.began[b.Run.ID], since: b.Claim.Lease - lease.Milliseconds(),
	}
	if in := ru.th.inputs.byText[ru.th.inputs.textOf(b.Run.Dispatch)]; in != nil {
		ru.stretch.agent = in.agent
	}
	ru.began[b.Run.ID] = true
	ru.th.w.stretches = append(ru.th.w.stretches, ru.stretch)
}
