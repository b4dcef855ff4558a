package sim

import "github.com/reveille-run/reveille/core/internal/thread"

// checkSum checks the checksums of the log against the records as they are stored: the one of
// its tail, in the head, and in each turn the one of what is before it.
func (lo *logged) checkSum(b *thread.Head) {
	for len(lo.sums) < len(lo.entries) {
		seq, before := len(lo.sums)+1, uint32(0)
		if seq > 1 {
			before = lo.sums[seq-2]
		}
		e := &lo.entries[seq-1]
		if e.Turn() && e.Sum != before {
			lo.th.fail("the turn at %d has the checksum %08x of the records before it, want %08x", seq, e.Sum, before)
		}
		lo.sums = append(lo.sums, thread.NextSum(before, uint64(seq), e, lo.payloads[seq-1]))
	}
	if b.Seq > 0 && b.TailSum != lo.sums[b.Seq-1] {
		lo.th.fail("the head has the checksum %08x of the log up to %d, want %08x", b.TailSum, b.Seq, lo.sums[b.Seq-1])
	}
}
