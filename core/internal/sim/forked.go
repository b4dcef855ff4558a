package sim

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/sim/replay"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// noteForks tells the forks that people make of the thread of its next head.
func (th *threadState) noteForks(h *thread.Head) {
	for _, f := range th.logged.forked {
		f.note(h)
	}
}

func (f *fork) note(h *thread.Head) {
	now := forkable{seq: h.Seq, deleted: h.Deleted}
	for upTo := h.Summary; upTo > 0 && !h.Deleted; {
		now.summaries = append(now.summaries, upTo)
		s, _ := f.of.logged.summaryAt(upTo)
		upTo = s.Predecessor
	}
	f.heads = append(f.heads, now)
}

// checkForking: a request for a fork changes that, and no other thread.
func (h *host) checkForking(key core.ThreadKey) {
	for t := h.world.task; t != nil; t = t.from {
		if t.deed != nil && t.deed.fork != nil && t.deed.fork.th.p.key != key {
			h.world.partition(key).state.fail("the request that makes %s of %s writes here", t.deed.fork.th.p.key.Thread, t.deed.fork.of.p.key.Thread)
		}
	}
}

// beginAsFork takes what a thread begins with whose first head has a log: each record is
// that of the other thread, and none is missing.
func (lo *logged) beginAsFork(b *thread.Head) {
	f := lo.th.fork
	if f == nil {
		lo.th.fail("the thread starts with %d records, and is not a fork", b.Seq)
		return
	}
	if f.inherit(b); b.Busy(0) || b.DueAt != 0 || b.Fence != thread.ForkFence || b.Epoch != 0 || len(b.Tickets) > 0 || len(b.Inbox) > 0 {
		lo.th.fail("the fork has more than a log: %+v", *b)
	}
	if lo.turn > 0 {
		lo.th.fail("the fork ends at %d, call %d of the turn at %d has no result", b.Seq, lo.call, lo.turnSeq)
		lo.turn = 0
	}
	lo.checkActivity(b)
	// Their actions have happened in the other thread.
	clear(lo.folded.committed)
	lo.folded.due = nil
}

// checkActivity: a list of the owner's threads has the fork.
func (lo *logged) checkActivity(b *thread.Head) {
	r, ok := lo.th.p.record(recordname.Activity)
	if !ok {
		lo.th.fail("the fork is in no list")
		return
	}
	if list, _, err := r.Place(lo.th.p.key.Thread); err != nil || list != recordname.ThreadsList(lo.th.user) || b.Owner != lo.th.user {
		lo.th.fail("the fork of %s has the owner %s, in list %s (%v)", lo.th.user, b.Owner, list, err)
	}
}

// inherit takes the records that the fork begins with.
func (f *fork) inherit(b *thread.Head) {
	th, of := f.th, f.of
	for seq := uint64(1); seq <= b.Seq; seq++ {
		r, ok := th.p.record(store.LogName(seq))
		switch {
		case !ok:
			th.fail("the fork has %d records, and none at %d", b.Seq, seq)
			return
		case seq > uint64(len(of.logged.payloads)):
			th.fail("the fork has a record at %d, and %s none", seq, of.p.key.Thread)
			return
		case !bytes.Equal(r.Payload, of.logged.payloads[seq-1]) || r.Fence != thread.ForkFence:
			th.fail("the fork has %s under fence %d at %d, %s has %s", r.Payload, r.Fence, seq, of.p.key.Thread, of.logged.payloads[seq-1])
			return
		}
		entry, err := th.w.checks.DecodeEntry(r.Payload)
		schema, failed := th.w.checks.Schema(r.Payload)
		if err != nil || failed != nil || schema > b.Schema {
			th.fail("sequence %d of schema %d is in a fork of schema %d (%v)", seq, schema, b.Schema, err)
		}
		th.logged.inherit(entry, r.Payload, seq)
	}
	f.made = b
}

// inherit takes one of them, of which all was checked when the other thread took it.
func (lo *logged) inherit(e thread.Entry, stored []byte, seq uint64) {
	lo.th.fork.inherited[e.Run] = true
	lo.entries, lo.payloads, lo.fixed[seq] = append(lo.entries, e), append(lo.payloads, stored), true
	switch m := e.Message; {
	case m == nil, m.Repair:
	case m.Role == core.RoleUser:
		lo.th.inputs.reads[m.ID]++
		lo.th.inputs.readBy[m.ID] = m.RunID
	case m.Role == core.RoleAssistant:
		lo.turn, lo.call, lo.turnSeq = len(m.ToolCalls), 0, seq
	case m.Role == core.RoleTool:
		lo.call++
		lo.turn--
	}
	lo.foldPatch(e)
	lo.noteShown(e, seq)
}

// begins is run when a request has made the fork, at a message. It is as one head of the
// other thread has it, of those that existed since the first request.
func (f *fork) begins(at string, b *thread.Head) {
	if f.made == nil {
		return // it was not a fork
	}
	w := f.th.w
	f.at = at
	var newest uint64 // that takes others back
	for i := range b.Seq {
		if f.th.logged.entries[i].Superseded != nil {
			newest = i + 1
		}
	}
	fits := slices.ContainsFunc(f.heads, func(h forkable) bool {
		seq := f.of.logged.sequenceOf(at, h.seq)
		return !h.deleted && seq > 0 && !f.of.logged.tookBack(seq, h.seq) && f.of.forkEnd(seq, h.seq) == b.Seq && h.summedUp(b.Seq) == b.Summary
	})
	if !fits || b.Supersedes != newest {
		f.th.fail("the fork at %s has %d records, that at %d supersedes some, the summary up to %d: the other thread never had one of %+v for it",
			at, b.Seq, b.Supersedes, b.Summary, f.heads)
	}
	if last := f.th.logged.entries[b.Seq-1].Run; f.of.p.head.Run.ID == last {
		w.did(ForkedInRun)
	}
	for k := range 2 {
		within := 60 * time.Second
		if k == 0 && w.forks.random.chance(0.5) {
			within = 3 * time.Second
		}
		w.at(w.forks.random.between(0, within), func() { w.people.newcomer(f.th, k+1) })
	}
}

// ownEntries are the records that the thread's own runs have brought.
func (lo *logged) ownEntries() []thread.Entry {
	if lo.th.fork == nil || lo.th.fork.made == nil {
		return lo.entries
	}
	return lo.entries[lo.th.fork.made.Seq:]
}

// sequenceOf is the sequence of a message in the log up to a sequence; 0: it is not
// there.
func (lo *logged) sequenceOf(id string, upTo uint64) uint64 {
	for seq := upTo; seq > 0; seq-- {
		if m := lo.entries[seq-1].Message; m != nil && m.ID == id {
			return seq
		}
	}
	return 0
}

// tookBack reports whether the log up to a sequence has superseded the record at seq.
func (lo *logged) tookBack(seq, upTo uint64) bool {
	return seq == 0 || slices.ContainsFunc(lo.entries[seq:upTo], func(e thread.Entry) bool {
		return e.Superseded != nil && e.Superseded.From <= seq
	})
}

// forkEnd is where a fork at a message ends whose log goes up to a sequence: for a turn
// after its results, and after the state that they have led to. 0: they are not there.
func (th *threadState) forkEnd(seq, upTo uint64) uint64 {
	if th.logged.entries[seq-1].Message.Role == core.RoleUser {
		return seq
	}
	turn := seq
	for th.logged.entries[turn-1].Message == nil || th.logged.entries[turn-1].Message.Role != core.RoleAssistant {
		turn--
	}
	of := &th.logged.entries[turn-1]
	end := turn + uint64(len(of.Message.ToolCalls))
	if end > upTo {
		return 0
	}
	for _, e := range th.logged.entries[end:upTo] {
		if e.Message != nil || e.Superseded != nil || e.Run != of.Run || e.Step != of.Step && !e.Closing {
			break
		}
		end++
	}
	return end
}

// summedUp is the newest summary up to a sequence; 0: no summary.
func (h *forkable) summedUp(upTo uint64) uint64 {
	for _, summary := range h.summaries {
		if summary <= upTo {
			return summary
		}
	}
	return 0
}

// replaysForks reports whether the runs of forks are repeated where others are not.
// Limits are in no record, nor is input that was withdrawn unread, and an end that was
// too large cannot be repeated.
func (au *auditor) replaysForks() bool {
	return au.w.config.People.Forks && !au.w.config.Accounts.Limited && !au.w.config.Storage.Hidden && !au.w.config.People.Retracts && !au.w.config.Storage.Tight
}

// checkInherited: what a fork was made with is not repeated, and what its own runs did is.
// It reports whether the run is of the thread.
func (lo *logged) checkInherited(r *replay.Report) bool {
	inherited := lo.th.fork != nil && lo.th.fork.inherited[r.Run]
	if skipped := strings.HasPrefix(r.Skipped, "it belongs to the thread that this one was forked from"); skipped != inherited {
		lo.th.fail("a replay reports %q for run %s, which is inherited: %v", r.Skipped, r.Run, inherited)
	}
	return !inherited
}
