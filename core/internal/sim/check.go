package sim

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
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
	th.runs.keepStretch(&a, &b)
	th.runs.admits(&a, &b)
	th.checkLeft(&a, &b)
	th.checkOwed(&a, &b)
	th.checkPost(&a, &b)
	th.checkTold(&a, &b)
	th.checkKeeps(&a, &b)
	th.checkTurn(&b)
	if b.Deleted {
		th.noteForks(&b)
		th.checkDeleted(&a, &b)
		return
	}
	th.runs.checkClaim(a, b)
	if a.Run.Status == thread.Closing && b.Run.ID == a.Run.ID {
		th.runs.lostClosing[a.Run.ID] += int(b.Run.Lost - a.Run.Lost)
	}
	th.runs.checkInterrupt(a, b)
	th.runs.checkGivenBack(&a, &b)
	th.runs.keepBudget(&a, &b)
	th.runs.keepPatience(&a, &b)
	th.asks.checkTickets(&a, &b)
	th.noteForks(&b)
	if !a.Exists() && b.Seq > 0 {
		th.logged.beginAsFork(&b)
		a.Seq = b.Seq
	}
	for seq := a.Seq + 1; seq <= b.Seq; seq++ {
		th.logged.reveal(a, b, seq)
	}
	th.logged.checkSum(&b)
	for i, status := range b.Run.Calls {
		if status == thread.CallDone {
			th.logged.fix(b.Run.Base + uint64(i))
		}
	}
	if a.Open() && a.Run.Status != thread.Closing && b.Run.ID == a.Run.ID && b.Run.Status == thread.Closing {
		th.runs.checkClosing(a, b)
		th.runs.closed = au.w.now
	}
	if a.Open() && b.Run.ID != a.Run.ID {
		th.runs.checkEnd(a, b)
	}
	th.runs.checkKept(&a, &b)
	th.runs.checkTakenUp(&a, &b)
	th.logged.checkSummary(&a, &b)
	th.runs.checkOpened(&a, &b)
	th.inputs.checkDelayed(&a, &b)
	th.asks.checkSpoken(&a, &b)
	th.checkListed(&a, &b)
	th.inputs.look()
	au.w.people.callOff(th, &a, &b)
}

func (th *threadState) fail(format string, args ...any) { th.w.fail(th.p, format, args...) }

// checkWoken: where nothing fails, a writer that ends an unclaimed run also wakes the
// worker that closes it, even if another hint of the run is still on its way.
func (th *threadState) checkWoken(a thread.Head) {
	w := th.w
	if w.auditor.disturbed() || w.config.Programs.Mixed || a.Run.Status != thread.Closing || !a.Ready() {
		return
	}
	if wait := w.now - th.runs.closed; wait > 5*time.Second {
		th.fail("an ended run waits %s for a process to close it", wait)
	}
}

// checkClaim: one claim at a time, by a program that understands the thread.
func (ru *runs) checkClaim(a, b thread.Head) {
	w := ru.th.w
	if b.Claim.Fence == 0 || b.Claim.Fence == a.Claim.Fence {
		if a.Claim.Fence != 0 && b.Claim.Fence == 0 && b.Run.ID == a.Run.ID && b.Run.Lost > a.Run.Lost {
			w.Stats.Steps.Reclaims++
			w.Stats.Steps.Takeovers++
		}
		return
	}
	if b.Claim.Fence <= a.Fence {
		ru.th.fail("a claim takes fence %d, which %d has passed", b.Claim.Fence, a.Fence)
	}
	if a.Claim.Fence != 0 && a.Claim.Worker == b.Claim.Worker && b.HolderCommitID == b.CommitID {
		w.Stats.Steps.Refences++
		ru.stayAlone(&a, &b)
		return
	}
	ru.th.checkWoken(a)
	ru.th.noteOrphan(b.Run.ID)
	ru.checkAlone(b)
	ru.checkBeside(&b)
	ru.claimed, ru.fence = w.now, b.Claim.Fence
	ru.beginAlone(&b)
	delete(ru.lost, b.Claim.Worker)
	if a.Claim.Fence != 0 {
		w.Stats.Steps.Takeovers++
		ru.checkRenewed(a)
		ru.th.checkKnown(&a)
		ru.checkApart(b)
		if a.Claim.Worker != b.Claim.Worker {
			ru.lost[a.Claim.Worker] = w.now
		}
		if a.Live(w.millis() + 300) {
			ru.th.fail("%s claims while the claim of %s is live for %d ms more", b.Claim.Worker, a.Claim.Worker, a.Claim.Lease-w.millis())
		}
	}
	if h := w.hosts[b.Claim.Worker]; h == nil {
		ru.th.fail("unknown worker %q claims", b.Claim.Worker)
	} else if b.Schema > h.schemas.Reads {
		ru.th.fail("%s reads schema %d and claims a thread of schema %d", h.name, h.schemas.Reads, b.Schema)
	}
	if b.Run.ID != a.Run.ID && ru.th.inputs.cut[b.Run.ID] {
		ru.th.fail("run %s opens after the interrupt that came after it", b.Run.ID)
	}
}

// checkInterrupt notes the runs before an interrupt: none of them may open.
func (ru *runs) checkInterrupt(a, b thread.Head) {
	if b.Epoch == a.Epoch {
		return
	}
	if b.Epoch > ru.th.inputs.interrupts {
		ru.th.fail("epoch %d after %d interrupts: one has happened twice", b.Epoch, ru.th.inputs.interrupts)
	}
	for _, d := range a.Pending {
		ru.th.inputs.cut[d.Run] = true
		for _, e := range d.Rest {
			ru.th.inputs.cut[e.ID] = true
		}
	}
	for _, e := range a.Inbox {
		ru.th.inputs.cut[e.ID] = true
	}
}

// reveal takes a log record that the write makes visible.
func (lo *logged) reveal(a, b thread.Head, seq uint64) {
	r, ok := lo.th.p.record(store.LogName(seq))
	if !ok {
		lo.th.fail("sequence %d is visible and missing", seq)
		lo.entries, lo.payloads = append(lo.entries, thread.Entry{}), append(lo.payloads, nil)
		lo.states = append(lo.states, lo.folded.fold.Snapshot())
		return
	}
	lo.checkFence(r, seq)
	lo.fixed[seq] = true
	if r.Fence > b.Fence {
		lo.th.fail("sequence %d is visible under fence %d, the thread's is %d", seq, r.Fence, b.Fence)
	}
	entry, err := lo.th.w.checks.DecodeEntry(r.Payload)
	if err != nil {
		lo.th.fail("sequence %d is visible and unreadable: %v", seq, err)
	}
	lo.entries, lo.payloads = append(lo.entries, entry), append(lo.payloads, r.Payload)
	if run := entry.Run; run != a.Run.ID && run != b.Run.ID {
		lo.th.fail("sequence %d is of run %s, which is not open", seq, run)
	}
	m := entry.Message
	if lo.turn > 0 && (m == nil || m.Role != core.RoleTool) {
		lo.th.fail("call %d of the turn at %d has no result: its place has %s", lo.call, lo.turnSeq, r.Payload)
		lo.turn = 0
	}
	switch {
	case m == nil, m.Repair:
	case m.Role == core.RoleUser:
		lo.checkRead(a, b, m)
		lo.th.inputs.checkUnread(&entry)
		lo.checkOpening(a, entry, seq)
	case m.Role == core.RoleAssistant:
		lo.turn, lo.call, lo.turnSeq = len(m.ToolCalls), 0, seq
		lo.th.runs.checkOnward(&entry)
	case m.Role == core.RoleTool:
		lo.checkResult(entry, seq)
	}
	if entry.Superseded != nil && b.Supersedes != seq {
		lo.th.fail("the record at %d supersedes, and the head names %d", seq, b.Supersedes)
	}
	lo.countFailures(a, entry)
	lo.foldPatch(entry)
	lo.noteShown(entry, seq)
}

// checkRead: input is read once, at the revision that the head has.
func (lo *logged) checkRead(a, b thread.Head, m *core.Message) {
	if lo.th.inputs.reads[m.ID]++; lo.th.inputs.reads[m.ID] > 1 {
		lo.th.fail("input %s is read twice", m.ID)
	}
	lo.th.inputs.readBy[m.ID] = m.RunID
	in := lo.th.inputs.byText[m.ID]
	if in == nil {
		lo.th.fail("message %s was read, which no client has sent here", m.ID)
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
		if at.ok && lo.says(at.id, at.revision, m) {
			return
		}
	}
	for _, e := range a.Inbox {
		if lo.says(e.ID, e.Revision, m) {
			return
		}
	}
	lo.th.fail("input %s is read as %q, which no accepted revision has", m.ID, m.Text())
}

// says reports whether the queued input is the message.
func (lo *logged) says(id core.ID, revision uint32, m *core.Message) bool {
	r, ok := lo.th.p.record(recordname.Input(id, revision))
	if !ok {
		return false
	}
	q, err := lo.th.w.checks.DecodeQueued(r.Payload)
	if err == nil && !q.TakesUp.IsZero() {
		return false // it says nothing
	}
	if err != nil || len(q.Messages) == 0 {
		lo.th.fail("queued input %s is unreadable: %v", r.Name, err)
		return false
	}
	said, read := q.Messages[0].Text(), m.Text()
	if short, cut := strings.CutSuffix(read, "..."); cut && lo.th.w.config.Storage.Tight && len(r.Payload) > thread.MinPayload-300 {
		read, said = short, said[:min(len(said), len(short))]
	}
	return q.Messages[0].ID == m.ID && said == read
}

// checkResult: each call has its one result, at its place.
func (lo *logged) checkResult(e thread.Entry, seq uint64) {
	m := e.Message
	if lo.turn == 0 || m.ToolResult == nil {
		lo.th.fail("sequence %d is a result without a call", seq)
		return
	}
	turn := lo.entries[lo.turnSeq-1].Message
	call := turn.ToolCalls[lo.call]
	if m.ToolResult.CallID != call.ID || seq != lo.turnSeq+1+uint64(lo.call) {
		lo.th.fail("the result at %d is of call %s, its place belongs to %s", seq, m.ToolResult.CallID, call.ID)
	}
	lo.th.calls.checkOutcome(string(call.Arguments), m.ToolResult)
	lo.th.asks.checkDecided(e, place{lo.turnSeq, lo.call})
	lo.call++
	lo.turn--
}

// fix notes a record that readers see from now on: it must not change.
func (lo *logged) fix(seq uint64) {
	if lo.fixed[seq] {
		return
	}
	r, ok := lo.th.p.record(store.LogName(seq))
	if !ok {
		lo.th.fail("the call at %d is done and has no result", seq)
	}
	lo.checkFence(r, seq)
	lo.fixed[seq] = true
}

// checkFence: what becomes visible was put under the claim that makes it
// visible, also when an earlier one had stored it: a put of a claim between the
// two, which is still on its way, would change it.
func (lo *logged) checkFence(r store.Record, seq uint64) {
	if !lo.fixed[seq] && r.Fence < lo.th.runs.fence {
		lo.th.fail("sequence %d becomes visible as it was put under fence %d, its claim has %d", seq, r.Fence, lo.th.runs.fence)
	}
}

// checkPut is run at every put that changes something.
func (au *auditor) checkPut(p *partition, was *store.Record, r store.Record) {
	th := p.state
	if p.head.Deleted { // of a worker that does not know it yet: what it puts is erased
		return
	}
	if strings.HasPrefix(r.Name, recordname.Snapshot) {
		th.logged.checkSnapshot(r)
	}
	if was == nil || !bytes.Equal(was.Payload, r.Payload) { // else it is adopted
		th.runs.checkProof(r)
	}
	if was == nil {
		th.logged.checkEarly(r)
	}
	if was == nil || bytes.Equal(was.Payload, r.Payload) {
		return
	}
	if seq, ok := r.LogSeq(); ok {
		if th.logged.fixed[seq] {
			au.w.fail(p, "visible record %s changes from %s to %s", r.Name, was.Payload, r.Payload)
		}
		return
	}
	for run, final := range th.runs.ended {
		if !bytes.Equal(final.payload, r.Payload) && r.Name == recordname.Run(run) {
			au.w.fail(p, "the final record of run %s changes from %s to %s", run, final.payload, r.Payload)
		}
	}
}

// checkOpened: the run that opens is the one that its clients want to be first, and not
// before they want it. Input that was steered to the run before it has a separate place.
func (ru *runs) checkOpened(a, b *thread.Head) {
	in := ru.th.inputs.accepted[b.Run.Dispatch]
	if !b.Open() || b.Run.ID == a.Run.ID || in == nil || in.mode != string(mailbox.ModeQueue) {
		return
	}
	if slices.ContainsFunc(a.Pending, func(d thread.Dispatch) bool { return d.ID == b.Run.Dispatch && d.Steered }) {
		return // it was said to a run that waited, and comes next
	}
	const skew = time.Second // of two clocks
	if ru.th.w.now < in.sent+in.delay-skew {
		ru.th.fail("input %s opens %s after it was sent, its delay is %s", in.name, ru.th.w.now-in.sent, in.delay)
	}
	for _, d := range a.Pending {
		if other := ru.th.inputs.accepted[d.ID]; other != nil && other.delay == 0 && other.mode == in.mode && other.usual() < in.usual() {
			ru.th.fail("input %s of priority %d opens before %s of priority %d", in.name, in.usual(), other.name, other.usual())
		}
	}
}

// checkClosing looks at a run that starts to close. No client can steer input to it: no
// step would read it.
func (ru *runs) checkClosing(a, b thread.Head) {
	steer := thread.Input{ID: core.ID{1}, Kind: thread.InboxPerson, Owner: b.Owner}
	if _, _, err := thread.Apply(b, thread.Transition{Now: ru.th.w.millis(), CommitID: core.ID{2}, Schemas: ru.th.w.checks.Schemas, Change: steer}); !errors.Is(err, thread.ErrNotFound) {
		ru.th.fail("input can be steered to a run that closes (%v)", err)
	}
	ru.th.asks.checkTimedOut(&a, &b)
	ru.th.asks.checkExpired(&a, &b)
	if b.Run.Reason != thread.ReasonDeadLetter {
		return
	}
	ru.th.w.Stats.Steps.DeadLetters++
	if ru.th.w.config.Faults == 0 && ru.th.w.scripted.poisonOf(ru.th, ru.th.inputs.textOf(a.Run.Dispatch)) == 0 {
		ru.th.fail("run %s is innocent and dead-lettered", a.Run.ID)
	}
}

// textOf is the name of the message that a dispatch brought.
func (ins *inputs) textOf(dispatch core.ID) string {
	if in := ins.accepted[dispatch]; in != nil && in.firstInput != "" {
		return in.firstInput
	} else if in != nil {
		return in.name
	}
	for revision := range uint32(4) {
		if r, ok := ins.th.p.record(recordname.Input(dispatch, revision)); ok {
			if q, err := ins.th.w.checks.DecodeQueued(r.Payload); err == nil && len(q.Messages) > 0 {
				return q.Messages[0].ID
			}
		}
	}
	return ""
}

// checkEnd looks at a run that is over.
func (ru *runs) checkEnd(a, b thread.Head) {
	w, run := ru.th.w, a.Run.ID
	if ru.th.logged.turn > 0 {
		ru.th.fail("run %s ends without a result of call %d of the turn at %d", run, ru.th.logged.call, ru.th.logged.turnSeq)
		ru.th.logged.turn = 0
	}
	r, ok := ru.th.p.record(recordname.Run(run))
	if !ok {
		ru.th.fail("run %s ended without a record", run)
		return
	}
	record, err := w.checks.DecodeRun(r.Payload)
	if err != nil || record.Status != core.RunDone || record.Termination == nil {
		ru.th.fail("run %s ended, its record has %s (%v)", run, r.Payload, err)
		return
	}
	ru.th.checkCancelled(&a)
	ru.ended[run] = final{r.Payload, record.Dispatch, record.Termination.Type}
	end := *record.Termination
	ru.checkNarrow(&record.Run)
	ru.checkGivenUp(&record.Run, ru.th.inputs.byText[ru.th.inputs.textOf(record.Dispatch)])
	if why := a.Run.Reason.Termination(); a.Run.Status == thread.Closing && why != nil && (end.Type != why.Type || end.Code != why.Code) {
		ru.th.fail("run %s was ended as %+v, its record has %+v", run, *why, end)
	}
	if a.Run.Status == thread.Closing && a.Run.Reason == thread.ReasonOwn && (end.Type == core.TerminationCancelled || end.Type == core.TerminationSuperseded) {
		ru.th.fail("run %s ended itself, its record has %+v", run, end)
	}
	if end.Code == string(core.CodeCorrupt) {
		ru.th.fail("run %s ends as corrupt, although nothing here is corrupt: %s", run, end.Detail)
	}
	if record.Skipped && a.Run.Attempts < 3 {
		ru.th.fail("RunEnd of run %s is skipped at the closing run's claim %d", run, a.Run.Attempts)
	}
	if own := a.Run.Status == thread.Closing && a.Run.Reason == thread.ReasonOwn; own && (record.Ending == nil || record.Ending.Version != a.Closing) {
		ru.th.fail("run %s closes since version %d, its record has %+v", run, a.Closing, record.Ending)
	}
	ru.checkFigures(&record)
	ru.checkRunEnd(record, end)
	ru.checkKeptEnd(&a, &record)
	w.auditor.countForm(&record)
	if end.Type == core.TerminationNatural && len(b.Pending) > len(a.Pending) {
		ru.th.fail("run %s ended naturally although it had input", run)
	}
	if len(b.Pending) > len(a.Pending) {
		w.Stats.Clients.Dispatched++
	}
	ru.th.checkPrompt(a)
	ru.wantMore(run, end)
}

// endsWithin is how long the end of a run may take in addition to the watch's look at the
// head: a tool that ignores its end gets two seconds.
const endsWithin = 4 * time.Second

// checkPrompt: where nothing fails, a run that a person has ended is over soon, despite
// its tools.
func (th *threadState) checkPrompt(a thread.Head) {
	w := th.w
	ended := a.Run.Status == thread.Closing && (a.Run.Reason == thread.ReasonCancelled || a.Run.Reason == thread.ReasonSuperseded)
	if took := w.now - th.runs.closed; ended && !w.auditor.disturbed() && w.config.Poison == 0 && !w.config.Programs.Old && took > w.poll()+endsWithin {
		th.fail("run %s was ended by a person, and is final after %s", a.Run.ID, took)
	}
}

// checkRunEnd: RunEnd saw the real termination, once without a crash.
func (ru *runs) checkRunEnd(record thread.RunRecord, end core.Termination) {
	saw := ru.seen[record.ID]
	if record.Skipped {
		ru.th.w.Stats.Steps.Skipped++
	}
	listens := record.AgentID == agentEnding
	if listens && len(saw) == 0 && !record.Skipped && !ru.hung[record.ID] {
		ru.th.fail("run %s ended without RunEnd", record.ID)
	}
	for _, s := range saw {
		if s.Type != end.Type || s.Code != end.Code {
			ru.th.fail("RunEnd of run %s received %+v, the end is %+v", record.ID, s, end)
		}
	}
	if lost := ru.lostClosing[record.ID]; len(saw) > 1+lost {
		ru.th.fail("RunEnd of run %s ran %d times, and %d claims of the closing run were lost", record.ID, len(saw), lost)
	}
}

// innocent: nothing is lost here and no process dies.
func (w *World) innocent() bool {
	return w.config.Faults == 0 && w.config.Poison == 0 && !w.config.Processes.Restarts && !w.config.Storage.Late && !w.config.Storage.Ambiguous && w.config.People.Calm
}
