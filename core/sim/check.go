package sim

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// checkHead is run at every write of a head, from a to b.
func (au *auditor) checkHead(p *partition, a, b thread.Head) {
	au.w.Stats.Steps.Commits++
	th := p.state
	if au.w.config.Trace != nil {
		au.w.config.Trace("head of %s: %+v", p.key.Thread, b)
	}
	if b.Version != a.Version+1 || b.Epoch < a.Epoch || b.Fence < a.Fence || b.Seq < a.Seq || b.Closing < a.Closing || b.Schema < a.Schema {
		au.w.fail(p, "version, epoch, fence, sequence, closing or schema is wrong: %+v after %+v", b, a)
	}
	if a.Exists() && (b.Incarnation != a.Incarnation || b.Owner != a.Owner) {
		au.w.fail(p, "incarnation or owner changed")
	}
	if b.CommitID == a.CommitID {
		au.w.fail(p, "two writes have the commit id %s", b.CommitID)
	}
	au.w.provider.written(&a, &b)
	th.keepStretch(&a, &b)
	th.admits(&a, &b)
	if b.Deleted {
		th.noteForks(&b)
		th.checkDeleted(&a, &b)
		return
	}
	th.checkClaim(a, b)
	if a.Run.Status == thread.Closing && b.Run.ID == a.Run.ID {
		th.lostClosing[a.Run.ID] += int(b.Run.Lost - a.Run.Lost)
	}
	th.checkInterrupt(a, b)
	th.checkGivenBack(&a, &b)
	th.keepBudget(&a, &b)
	th.checkTickets(&a, &b)
	th.noteForks(&b)
	if !a.Exists() && b.Seq > 0 {
		th.beginAsFork(&b)
		a.Seq = b.Seq
	}
	for seq := a.Seq + 1; seq <= b.Seq; seq++ {
		th.reveal(a, b, seq)
	}
	for i, status := range b.Run.Calls {
		if status == thread.CallDone {
			th.fix(b.Run.Base + uint64(i))
		}
	}
	if a.Open() && a.Run.Status != thread.Closing && b.Run.ID == a.Run.ID && b.Run.Status == thread.Closing {
		th.checkClosing(a, b)
		th.closed = au.w.now
	}
	if a.Open() && b.Run.ID != a.Run.ID {
		th.checkEnd(a, b)
	}
	th.checkKept(&a, &b)
	th.checkTakenUp(&a, &b)
	th.checkSummary(&a, &b)
	th.checkOpened(&a, &b)
	th.checkDelayed(&a, &b)
	th.checkSpoken(&a, &b)
	th.checkListed(&a, &b)
	th.look()
	au.w.people.callOff(th, &a, &b)
}

func (th *threadState) fail(format string, args ...any) { th.w.fail(th.p, format, args...) }

// checkWoken: where nothing fails, who ends a run that nobody holds also wakes
// the one who closes it, whatever hint of the run is still on its way.
func (th *threadState) checkWoken(a thread.Head) {
	w := th.w
	if w.auditor.disturbed() || w.config.Programs.Mixed || a.Run.Status != thread.Closing || !a.Ready() {
		return
	}
	if wait := w.now - th.closed; wait > 5*time.Second {
		th.fail("a run that was ended waits %s for somebody to close it", wait)
	}
}

// checkClaim: one claim at a time, by a program that understands the thread.
func (th *threadState) checkClaim(a, b thread.Head) {
	w := th.w
	if b.Claim.Fence == 0 || b.Claim.Fence == a.Claim.Fence {
		if a.Claim.Fence != 0 && b.Claim.Fence == 0 && b.Run.ID == a.Run.ID && b.Run.Lost > a.Run.Lost {
			w.Stats.Steps.Reclaims++
			w.Stats.Steps.Takeovers++
		}
		return
	}
	if b.Claim.Fence <= a.Fence {
		th.fail("a claim takes fence %d, which %d has passed", b.Claim.Fence, a.Fence)
	}
	if a.Claim.Fence != 0 && a.Claim.Worker == b.Claim.Worker && b.HolderCommitID == b.CommitID {
		w.Stats.Steps.Refences++
		return
	}
	th.checkWoken(a)
	th.checkAlone(b)
	th.checkBeside(&b)
	th.claimed, th.fence = w.now, b.Claim.Fence
	th.beginAlone(&b)
	delete(th.lost, b.Claim.Worker)
	if a.Claim.Fence != 0 {
		w.Stats.Steps.Takeovers++
		th.checkRenewed(a)
		th.checkKnown(&a)
		th.checkApart(b)
		if a.Claim.Worker != b.Claim.Worker {
			th.lost[a.Claim.Worker] = w.now
		}
		if a.Live(w.millis() + 300) {
			th.fail("%s claims while the claim of %s is live for %d ms more", b.Claim.Worker, a.Claim.Worker, a.Claim.Lease-w.millis())
		}
	}
	if h := w.hosts[b.Claim.Worker]; h == nil {
		th.fail("unknown worker %q claims", b.Claim.Worker)
	} else if b.Schema > h.schemas.Reads {
		th.fail("%s reads schema %d and claims a thread of schema %d", h.name, h.schemas.Reads, b.Schema)
	}
	if b.Run.ID != a.Run.ID && th.cut[b.Run.ID] {
		th.fail("run %s opens after the interrupt that came after it", b.Run.ID)
	}
}

// checkInterrupt notes what stood before an interrupt: nothing of it may open.
func (th *threadState) checkInterrupt(a, b thread.Head) {
	if b.Epoch == a.Epoch {
		return
	}
	if b.Epoch > th.interrupts {
		th.fail("epoch %d after %d interrupts: one has happened twice", b.Epoch, th.interrupts)
	}
	for _, d := range a.Pending {
		th.cut[d.Run] = true
		for _, e := range d.Rest {
			th.cut[e.ID] = true
		}
	}
	for _, e := range a.Inbox {
		th.cut[e.ID] = true
	}
}

// reveal takes a log record that the write makes visible.
func (th *threadState) reveal(a, b thread.Head, seq uint64) {
	r, ok := th.p.record(store.LogName(seq))
	if !ok {
		th.fail("sequence %d is visible and missing", seq)
		th.entries, th.payloads = append(th.entries, thread.Entry{}), append(th.payloads, nil)
		th.states = append(th.states, th.folded.fold.Snapshot())
		return
	}
	th.checkFence(r, seq)
	th.fixed[seq] = true
	if r.Fence > b.Fence {
		th.fail("sequence %d is visible under fence %d, the thread's is %d", seq, r.Fence, b.Fence)
	}
	entry, err := th.w.checks.DecodeEntry(r.Payload)
	if err != nil {
		th.fail("sequence %d is visible and unreadable: %v", seq, err)
	}
	th.entries, th.payloads = append(th.entries, entry), append(th.payloads, r.Payload)
	if run := entry.Run; run != a.Run.ID && run != b.Run.ID {
		th.fail("sequence %d is of run %s, which is not open", seq, run)
	}
	m := entry.Message
	if th.turn > 0 && (m == nil || m.Role != core.RoleTool) {
		th.fail("call %d of the turn at %d has no result: %s stands there", th.call, th.turnSeq, r.Payload)
		th.turn = 0
	}
	switch {
	case m == nil, m.Repair:
	case m.Role == core.RoleUser:
		th.checkRead(a, b, m)
		th.checkUnread(&entry)
		th.checkOpening(a, entry, seq)
	case m.Role == core.RoleAssistant:
		th.turn, th.call, th.turnSeq = len(m.ToolCalls), 0, seq
		th.checkOnward(&entry)
	case m.Role == core.RoleTool:
		th.checkResult(entry, seq)
	}
	if entry.Superseded != nil && b.Supersedes != seq {
		th.fail("the record at %d supersedes, and the head names %d", seq, b.Supersedes)
	}
	th.takeFailures(a, entry)
	th.takePatch(entry)
	th.takeShown(entry, seq)
}

// checkRead: input is read once, at the revision that the head has.
func (th *threadState) checkRead(a, b thread.Head, m *core.Message) {
	if th.reads[m.ID]++; th.reads[m.ID] > 1 {
		th.fail("input %s is read twice", m.ID)
	}
	th.readBy[m.ID] = m.RunID
	in := th.byText[m.ID]
	if in == nil {
		th.fail("message %s was read, which nobody has sent here", m.ID)
		return
	}
	for _, at := range []struct {
		id       core.ID
		revision uint32
		ok       bool
	}{
		{a.Run.Dispatch, a.Run.Revision, a.Open()},
		{b.Run.Dispatch, b.Run.Revision, b.Open()},
	} {
		if at.ok && th.says(at.id, at.revision, m) {
			return
		}
	}
	for _, e := range a.Inbox {
		if th.says(e.ID, e.Revision, m) {
			return
		}
	}
	th.fail("input %s is read as %q, which no accepted revision says", m.ID, m.Text())
}

// says reports whether the queued input is the message.
func (th *threadState) says(id core.ID, revision uint32, m *core.Message) bool {
	r, ok := th.p.record(store.InputName(id, revision))
	if !ok {
		return false
	}
	q, err := th.w.checks.DecodeQueued(r.Payload)
	if err == nil && !q.TakesUp.IsZero() {
		return false // it says nothing
	}
	if err != nil || len(q.Messages) == 0 {
		th.fail("queued input %s is unreadable: %v", r.Name, err)
		return false
	}
	said, read := q.Messages[0].Text(), m.Text()
	if short, cut := strings.CutSuffix(read, "..."); cut && th.w.config.Storage.Tight && len(r.Payload) > thread.MinPayload-300 {
		read, said = short, said[:min(len(said), len(short))]
	}
	return q.Messages[0].ID == m.ID && said == read
}

// checkResult: each call has its one result, at its place.
func (th *threadState) checkResult(e thread.Entry, seq uint64) {
	m := e.Message
	if th.turn == 0 || m.ToolResult == nil {
		th.fail("sequence %d is a result without a call", seq)
		return
	}
	turn := th.entries[th.turnSeq-1].Message
	call := turn.ToolCalls[th.call]
	if m.ToolResult.CallID != call.ID || seq != th.turnSeq+1+uint64(th.call) {
		th.fail("the result at %d is of call %s, %s stands there", seq, m.ToolResult.CallID, call.ID)
	}
	th.checkOutcome(string(call.Arguments), m.ToolResult)
	th.checkDecided(e, place{th.turnSeq, th.call})
	th.call++
	th.turn--
}

// fix notes a record that readers see from now on: it must not change.
func (th *threadState) fix(seq uint64) {
	if th.fixed[seq] {
		return
	}
	r, ok := th.p.record(store.LogName(seq))
	if !ok {
		th.fail("the call at %d is done and has no result", seq)
	}
	th.checkFence(r, seq)
	th.fixed[seq] = true
}

// checkFence: what becomes visible was put under the claim that makes it
// visible, also when an earlier one had stored it: a put of a claim between the
// two, which is still on its way, would change it.
func (th *threadState) checkFence(r store.Record, seq uint64) {
	if !th.fixed[seq] && r.Fence < th.fence {
		th.fail("sequence %d becomes visible as it was put under fence %d, its claim has %d", seq, r.Fence, th.fence)
	}
}

// checkPut is run at every put that changes something.
func (au *auditor) checkPut(p *partition, was *store.Record, r store.Record) {
	th := p.state
	if p.head.Deleted { // of a worker that does not know it yet: what it puts is erased
		return
	}
	if strings.HasPrefix(r.Name, store.SnapshotName) {
		th.checkSnapshot(r)
	}
	if was == nil {
		th.checkProof(r)
	}
	if was == nil || bytes.Equal(was.Payload, r.Payload) {
		return
	}
	if seq, ok := store.LogSeq(r.Name); ok {
		if th.fixed[seq] {
			au.w.fail(p, "visible record %s changes from %s to %s", r.Name, was.Payload, r.Payload)
		}
		return
	}
	for run, final := range th.ended {
		if !bytes.Equal(final.payload, r.Payload) && r.Name == store.RunName(run) {
			au.w.fail(p, "the final record of run %s changes from %s to %s", run, final.payload, r.Payload)
		}
	}
}

// checkOpened: what opens is what its clients want to be first, and not before they want
// it. Input that was steered to the run before it has a place of its own.
func (th *threadState) checkOpened(a, b *thread.Head) {
	in := th.inputs[b.Run.Dispatch]
	if !b.Open() || b.Run.ID == a.Run.ID || in == nil || in.mode != string(mailbox.ModeQueue) {
		return
	}
	if slices.ContainsFunc(a.Pending, func(d thread.Dispatch) bool { return d.ID == b.Run.Dispatch && d.Steered }) {
		return // it was said to a run that waited, and comes next
	}
	const skew = time.Second // of two clocks
	if th.w.now < in.sent+in.delay-skew {
		th.fail("input %s opens %s after it was sent, it was to wait for %s", in.name, th.w.now-in.sent, in.delay)
	}
	for _, d := range a.Pending {
		if other := th.inputs[d.ID]; other != nil && other.delay == 0 && other.mode == in.mode && other.usual() < in.usual() {
			th.fail("input %s of priority %d opens before %s of priority %d", in.name, in.usual(), other.name, other.usual())
		}
	}
}

// checkClosing looks at a run that begins to close. Nothing can be steered to it,
// whoever asks: nobody would read it.
func (th *threadState) checkClosing(a, b thread.Head) {
	steer := thread.Input{ID: core.ID{1}, Kind: thread.InboxPerson, Owner: b.Owner}
	if _, _, err := thread.Apply(b, thread.Transition{Now: th.w.millis(), CommitID: core.ID{2}, Schemas: th.w.checks.Schemas, Change: steer}); !errors.Is(err, thread.ErrNotFound) {
		th.fail("input can be steered to a run that closes (%v)", err)
	}
	th.checkTimedOut(&a, &b)
	th.checkExpired(&a, &b)
	if b.Run.Reason != thread.ReasonDeadLetter {
		return
	}
	th.w.Stats.Steps.DeadLetters++
	if th.w.config.Faults == 0 && th.w.scripted.poisonOf(th, th.textOf(a.Run.Dispatch)) == 0 {
		th.fail("run %s is innocent and dead-lettered", a.Run.ID)
	}
}

// textOf is the name of the message that a dispatch brought.
func (th *threadState) textOf(dispatch core.ID) string {
	if in := th.inputs[dispatch]; in != nil && in.begun != "" {
		return in.begun
	} else if in != nil {
		return in.name
	}
	for revision := range uint32(4) {
		if r, ok := th.p.record(store.InputName(dispatch, revision)); ok {
			if q, err := th.w.checks.DecodeQueued(r.Payload); err == nil && len(q.Messages) > 0 {
				return q.Messages[0].ID
			}
		}
	}
	return ""
}

// checkEnd looks at a run that is over.
func (th *threadState) checkEnd(a, b thread.Head) {
	w, run := th.w, a.Run.ID
	if th.turn > 0 {
		th.fail("run %s ends without a result of call %d of the turn at %d", run, th.call, th.turnSeq)
		th.turn = 0
	}
	r, ok := th.p.record(store.RunName(run))
	if !ok {
		th.fail("run %s ended without a record", run)
		return
	}
	record, err := w.checks.DecodeRun(r.Payload)
	if err != nil || record.Status != core.RunDone || record.Termination == nil {
		th.fail("run %s ended, its record says %s (%v)", run, r.Payload, err)
		return
	}
	th.ended[run] = final{r.Payload, record.Dispatch, record.Termination.Type}
	end := *record.Termination
	if why := a.Run.Reason.Termination(); a.Run.Status == thread.Closing && why != nil && (end.Type != why.Type || end.Code != why.Code) {
		th.fail("run %s was ended as %+v, its record says %+v", run, *why, end)
	}
	if a.Run.Status == thread.Closing && a.Run.Reason == thread.ReasonOwn && (end.Type == core.TerminationCancelled || end.Type == core.TerminationSuperseded) {
		th.fail("run %s ended itself, its record says %+v", run, end)
	}
	if end.Code == string(core.CodeCorrupt) {
		th.fail("run %s ends as corrupt, nothing here is: %s", run, end.Detail)
	}
	if record.Skipped && a.Run.Attempts < 3 {
		th.fail("RunEnd of run %s is skipped at the closing run's claim %d", run, a.Run.Attempts)
	}
	if own := a.Run.Status == thread.Closing && a.Run.Reason == thread.ReasonOwn; own && (record.Ending == nil || record.Ending.Version != a.Closing) {
		th.fail("run %s closes since version %d, its record says %+v", run, a.Closing, record.Ending)
	}
	th.checkRunEnd(record, end)
	th.checkKeptEnd(&a, &record)
	w.auditor.countForm(&record)
	if end.Type == core.TerminationNatural && len(b.Pending) > len(a.Pending) {
		th.fail("run %s ended naturally beside input for it", run)
	}
	if len(b.Pending) > len(a.Pending) {
		w.Stats.Clients.Dispatched++
	}
	th.checkPrompt(a)
	th.wantMore(run, end)
}

// endsWithin is how long the end of a run may take besides the watch's look at the
// head: a tool that ignores its end is given two seconds.
const endsWithin = 4 * time.Second

// checkPrompt: where nothing fails, a run that a person has ended is over soon,
// whatever its tools do.
func (th *threadState) checkPrompt(a thread.Head) {
	w := th.w
	ended := a.Run.Status == thread.Closing && (a.Run.Reason == thread.ReasonCancelled || a.Run.Reason == thread.ReasonSuperseded)
	if took := w.now - th.closed; ended && !w.auditor.disturbed() && w.config.Poison == 0 && !w.config.Programs.Old && took > w.poll()+endsWithin {
		th.fail("run %s was ended by a person, and is over after %s", a.Run.ID, took)
	}
}

// checkRunEnd: RunEnd saw the real termination, once without a crash.
func (th *threadState) checkRunEnd(record thread.RunRecord, end core.Termination) {
	saw := th.seen[record.ID]
	if record.Skipped {
		th.w.Stats.Steps.Skipped++
	}
	listens := record.AgentID == agentEnding
	if listens && len(saw) == 0 && !record.Skipped && !th.hung[record.ID] {
		th.fail("run %s ended without RunEnd", record.ID)
	}
	for _, s := range saw {
		if s.Type != end.Type || s.Code != end.Code {
			th.fail("RunEnd of run %s saw %+v, the end is %+v", record.ID, s, end)
		}
	}
	if lost := th.lostClosing[record.ID]; len(saw) > 1+lost {
		th.fail("RunEnd of run %s ran %d times, and %d claims of the closing run were lost", record.ID, len(saw), lost)
	}
}

// innocent: nothing is lost here and nobody dies.
func (w *World) innocent() bool {
	return w.config.Faults == 0 && w.config.Poison == 0 && !w.config.Processes.Restarts && !w.config.Storage.Late && !w.config.Storage.Ambiguous && w.config.People.Calm
}
