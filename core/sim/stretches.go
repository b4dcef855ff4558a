package sim

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
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
func (th *threadState) keepStretch(a, b *thread.Head) {
	s := th.stretch
	if s != nil && (b.Run.ID != s.run || !b.Open() || b.Run.Status == thread.Waiting) {
		s.over = true
		s, th.stretch = nil, nil
		if b.Run.ID == a.Run.ID && b.HolderCommitID == b.CommitID {
			th.w.auditor.checkFreed(th, th.w.hosts[a.Claim.Worker], b.Run.ID, b.Version)
		}
	}
	if s != nil || !b.Open() || b.Claim.Fence == 0 || b.Claim.Fence == a.Claim.Fence {
		return
	}
	th.stretch = &stretch{
		th: th, run: b.Run.ID, first: !th.began[b.Run.ID], since: b.Claim.Lease - lease.Milliseconds(),
	}
	if in := th.byText[th.textOf(b.Run.Dispatch)]; in != nil {
		th.stretch.agent = in.agent
	}
	th.began[b.Run.ID] = true
	th.w.stretches = append(th.w.stretches, th.stretch)
}
