package run

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// The writes of each end of a run, their order, and their readers. All of it is in
// this file, except the first write of an end that a whole step reaches, which is
// its commit B (commitStep in finish.go). All ends are one sequence:
//
//  1. One head write makes the run closing, with a reason and a closing version.
//     From there on status reads return Done, nothing can be steered to the run,
//     and its tickets are gone. If no call is open and no plugin listens to RunEnd,
//     an end that the step reached is final with this very write.
//  2. The holder of the claim calls [machine.closeRun], by itself or because the
//     watch stops it, or else the next claim of the run does: open calls get their
//     results, messages that are not in the log are added, RunEnd runs.
//  3. CommitClose makes the end final: records first, then the head without the
//     run.
//
// The differences between the ends. Reason is the head's; code and detail are those
// of the termination in the run's record (R#), which clients read.
//
//	end          first write, reason               termination           open calls    unread input
//	natural      commitStep, own                   natural, or why the   there are     refuses the end:
//	                                               turn was cut short    none          the run continues
//	stopped      commitStep, own                   the policy's          not_executed  becomes a run
//	blocked      commitStep, own                   blocked, with the     not_executed  becomes a run
//	                                               gate's reason
//	failed       fail, own                         error, with a code    see below     becomes a run
//	cancelled    mailbox (Cancel), cancelled       cancelled             see below     ends with that write
//	superseded   mailbox (Interrupt), superseded   superseded            see below     ends with that write
//	expired      a claim after a ticket's          error expired         see below     becomes a run
//	             deadline, expired
//	dead letter  a claim after 5 attempts without  error dead_letter     see below     becomes a run
//	             progress, dead letter
//
// A policy that panics is a failure, with the code stop_policy. The permanent
// failure of a model is not a failure of a run that tolerates it: see failStep.
//
// The calls of a stopped or blocked run get their results before the first write,
// and calls that run when another is blocked end by themselves. A failed run keeps
// the results of its tools, and of its step only the own input.
//
// The records that closeRun writes, in this order. Each line is there only when its
// condition holds; all of them are one commit, except results that were put before:
//
//   - M#<base+i>, the result of each call of the open turn. A result that is stored
//     already is adopted under this claim's fence. Else it is made here (see
//     toolRound.closeCalls). It is unknown if the tool was marked or started, or
//     may have been let through by an earlier claim. It is error if the call ended
//     the run itself, else not_executed with the end's code or type. The tool does
//     not run, nor does AfterToolExecute.
//   - M#, the run's own input, when the run never started; before it the record
//     that supersedes what the input replaces. A person finds their own message.
//   - M#, an assistant message with the model's words of a turn that is not
//     committed: only of a cancelled or superseded run, only by the process that
//     heard it, and only if the turn did not read steered input too.
//   - M#, a step record with the changes of RunEnd, and the requests of the settled
//     calls. RunEnd sees the real termination. The third claim of the closing run
//     skips it, since a hook may be what ends the process, and R# records that.
//   - R#<run>: done, termination, time, steps and usage, and as the response the
//     run's last text.
//   - The head: no run, no claim, no inbox. The first entry of unread input becomes
//     a dispatch, with a pointer N# from its run's id; the rest is its inbox.
//
// An end that is final with the first write has written the same: no call is open,
// the turn or the input is in that commit, and R# is done instead of recording how
// it will end. RunEnd has no listener.
//
// If the store refuses the records of the end as too large, the end takes a smaller
// form ([thread.Form], forms.go), under the next fence. R#'s ending names the form,
// and a claim that takes over takes none larger.
//
// A run that can no longer be read ends anyway: its calls have no names then, and
// its hooks do not run.
//
// An entry that ended with a cancel or an interrupt has A#<id>#ended, put with the
// first write by the mailbox; one that a step had read has A#<id>#read, put with
// that step's commit.
//
// So a cancelled run writes: A#<id>#ended for each unread entry, with the closing
// head; results for the open calls, the own input or the last words, RunEnd's step
// record, R# with the termination cancelled; the head without the run. Then come
// the effects of calls that are done with this write, those of RunEnd, and the
// events step_end and run_finish.
//
// The readers: of M# the next run's model and clients that list the thread's
// messages; of R# status reads and a stream that comes late, which ends by it; of
// A# the status of an input that never became a message; of the head the next claim
// of the thread.
//
// How it can be repeated: a crash before CommitClose repeats 2. Results are
// adopted, messages have the ids of their places, and R# is rewritten. So only
// RunEnd shows the repetition: it can run once for the step that reached the end
// and twice for claims after it. A claim that is released after RunEnd stores the
// changes of RunEnd, and the next one does not run it again. An end that the step
// reached is in R# as ending{closing version, termination} with the first write. It
// counts if the head has that closing version: R# of a refused write names another.
// thread.CommitStep, thread.CommitClose and Head.beginClosing are the head's side
// of it.

// fail ends the run with an error: its own input stays, everything else of this
// step is void. Input that was steered to the run is not read either, it becomes
// the next run. Results of tools are stored first, for every failure. The head does
// not advance over a round: the close takes over the changes of its calls.
func (m *machine) fail(ctx context.Context, t core.Termination, cause error) (Stepped, error) {
	if t.Type == core.TerminationError {
		m.holder.warn(ctx, "run ends with an error", append([]any{"code", t.Code, "detail", t.Detail}, failure(cause)...)...)
	}
	if err := m.tools.known().storeResults(ctx); err != nil {
		return Stepped{}, err
	}
	if err := m.base.identify(ctx, &m.holder); err != nil {
		return Stepped{}, err
	}
	if m.holder.s.failed != nil && t.Type == core.TerminationError { // before the write that shows the end
		m.holder.s.failed(m.holder.id, cause)
	}
	at := m.holder.endedAt()
	p, result, err := m.commitFailure(ctx, &t, at)
	for again := true; again; {
		if again, err = m.shrinks(ctx, err, thread.FormLeast); again {
			p, result, err = m.commitFailure(ctx, &t, at)
		}
	}
	if err != nil {
		return Stepped{}, err
	}
	m.base.record = p.run
	m.holder.account.Report(p.settled)
	if result.Outcome == thread.Close {
		m.unsaid = nil // its request is settled
		return m.closeRun(ctx)
	}
	m.releaseSlot(ctx)
	m.announceEnd()
	m.holder.report(ctx, &m.base.record.Run)
	return Stepped{Outcome: result.Outcome, Head: m.holder.head}, nil
}

// commitFailure is the first write of [machine.fail], in the form that the end has. at is
// when the run ends, if it does with this write.
func (m *machine) commitFailure(ctx context.Context, t *core.Termination, at int64) (p *plan, result thread.Result, err error) {
	m.reset()
	from := m.holder.head.Seq
	w := &failWrite{inRound: len(m.holder.head.Run.Calls) > 0, listens: m.base.listens(), adopted: m.tools.known().schemaMet()}
	if !w.inRound {
		if m.holder.head.Run.Cursor == thread.CursorStart && m.base.input != nil {
			if err := m.sayOwnAtEnd(ctx, m.base.input, m.form); err != nil {
				return p, result, err
			}
		}
		m.cutMessages()
	}
	if err := m.chargeUnlogged(ctx, from); err != nil {
		return p, result, err
	}
	m.holder.shared.hold.ending.Store(true)
	w.log, w.run = newLogPart(&m.holder, &m.draft), newRunPart(&m.holder, &m.base, &m.draft, t, m.form, at)
	w.run.unlogged, w.through = m.unsaid.Spent(), m.tools.known().letThrough(m.holder.head)
	w.run.unfinished = m.unfinished(t)
	if p, result, err = m.save(ctx, w); err == nil {
		p.complainOfLeft(ctx, &m.holder.log)
	}
	return p, result, err
}

// closeRun writes what a closing run still owes, and makes its end final. The head
// is read again: the write that started the close may be another process's, and its
// reason and version decide which ending counts. Each part can be repeated by
// another claim; RunEnd is the only one whose repetition shows.
func (m *machine) closeRun(ctx context.Context) (Stepped, error) {
	m.holder.shared.hold.ending.Store(true)
	if err := m.tools.known().storeResults(ctx); err != nil {
		return Stepped{}, err
	}
	head, err := m.holder.s.committer.Head(ctx, m.holder.Key)
	if err != nil {
		return Stepped{}, err
	}
	if head.Claim.Fence != m.holder.fence() || head.Run.Status != thread.Closing {
		return Stepped{}, thread.ErrFenced
	}
	if head.Seq > m.holder.head.Seq { // it had no response
		m.missed = true
		m.holder.events.Detach()
	}
	// From here on the step's head is the closing one, for every process that
	// started the close.
	m.holder.head = head
	if err := m.base.learn(ctx, &m.holder); err != nil {
		return Stepped{}, err
	}
	m.reset()
	t := head.End(m.base.record)
	if t == nil { // its own end, and the record that said which is lost
		t = &core.Termination{Type: core.TerminationError, Code: "corrupt", Detail: "the record of the run is lost"}
	}
	if t.Type == core.TerminationError && head.Run.Reason != thread.ReasonOwn { // no step said so
		m.holder.warn(ctx, "run ends with an error", "code", t.Code, "detail", t.Detail)
	}
	m.form = max(m.form, formOf(m.base.record, &head))
	if err := m.closeRound(ctx, t); err != nil {
		return Stepped{}, err
	}
	settled := m.draft
	if err := m.lastWords(ctx, t); err != nil {
		return Stepped{}, err
	}
	skipped, err := m.runEnd(ctx, t)
	if err != nil {
		return Stepped{}, err
	}
	for {
		if err := m.fit(ctx, t, settled); err != nil {
			return Stepped{}, err
		}
		stepped, err := m.commitClose(ctx, t, skipped)
		if err == nil {
			return stepped, nil
		}
		if again, err := m.shrinks(ctx, err, thread.FormLeast); !again {
			return Stepped{}, err
		}
	}
}

// fit takes from the draft what the form of the end has no room for. settled is the draft
// as it was when the calls had their results.
func (m *machine) fit(ctx context.Context, t *core.Termination, settled draft) error {
	if m.form < thread.FormStateless {
		return nil
	}
	// RunEnd has run, and does not run again for a smaller form; its effects
	// remain.
	settled.effects, settled.at = m.draft.effects, m.draft.at
	m.draft = settled
	m.draft.patches = nil
	if c := m.base.conversation; c != nil {
		if m.draft.snapshot = c.Snapshot; c.Run != m.holder.id {
			m.draft.snapshot = c.Snapshot.BeginRun()
		}
	}
	if err := m.lastWords(ctx, t); err != nil {
		return err
	}
	m.cutMessages()
	if m.form < thread.FormLeast || m.tools == nil {
		return nil
	}
	return m.tools.round.cutResults()
}

// closeRound gives every open call of the committed turn its one result, see
// [toolRound.closeCalls].
func (m *machine) closeRound(ctx context.Context, t *core.Termination) error {
	if len(m.holder.head.Run.Calls) == 0 {
		return nil
	}
	turn, err := m.holder.openTurn(ctx)
	if err != nil {
		return err
	}
	before := m.tools.known()
	m.tools = newToolRound(&m.holder, &m.base, &m.draft, turn, m.holder.head.Run.Base)
	how := string(t.Type) // what the model reads: cancelled, expired
	if t.Code != "" {
		how = t.Code
	}
	return m.tools.closeCalls(ctx, before, how)
}

// lastWords takes uncommitted messages into the draft: the input of a run that
// never started, and, when a person ended the run, the words of its model's last
// turn.
func (m *machine) lastWords(ctx context.Context, t *core.Termination) error {
	stays := false // what the input supersedes
	if m.holder.head.Run.Cursor == thread.CursorStart {
		input, err := m.holder.queued(ctx, m.holder.head.Run.Dispatch, m.holder.head.Run.Revision)
		switch {
		case err == nil:
			if err := m.sayOwnAtEnd(ctx, &input, m.form); err != nil {
				return err
			}
			stays = input.Supersede != 0 && m.draft.cut == 0
		case core.CodeOf(err) != core.CodeCorrupt:
			return err
		}
	}
	byPerson := t.Type == core.TerminationCancelled || t.Type == core.TerminationSuperseded
	if !m.unsaid.HasLastWords() || !byPerson || len(m.holder.head.Run.Calls) > 0 {
		return nil
	}
	number := int(m.holder.head.Run.Step) + 1
	last := core.Message{
		ID: history.TurnID(m.holder.id, number), Role: core.RoleAssistant, Content: m.unsaid.Words(),
		RunID: m.holder.id, Step: number, CreatedAt: m.holder.saidAt(number), StopReason: core.StopOther,
	}
	entry := thread.Entry{Run: m.holder.id, Step: number, At: m.holder.stepBegan, Message: &last, Attempt: m.holder.events.Fence()}
	if m.base.agent != nil {
		last.Model, last.Provider = m.unsaid.Asked()
		if !stays { // else the model was chosen for a thread without that
			entry.Member = m.unsaid.Member()
		}
	}
	entry.Window = m.prompt.turnWindow()
	m.draft.add(entry)
	return nil
}

// commitClose makes the end final, and does what follows that.
func (m *machine) commitClose(ctx context.Context, t *core.Termination, skipped bool) (Stepped, error) {
	r, from := m.tools.known(), m.holder.head.Seq
	if err := m.chargeUnlogged(ctx, from); err != nil {
		return Stepped{}, err
	}
	m.draft.addClose()
	w := &closeWrite{
		log: newLogPart(&m.holder, &m.draft), run: newRunPart(&m.holder, &m.base, &m.draft, t, m.form, m.draft.at),
		adopted: r.schemaMet(),
	}
	w.run.unlogged = m.unsaid.Spent()
	if len(m.holder.head.Run.Calls) > 0 { // else the round that this step knows is over
		w.calls = r.calls
	}
	record := *m.base.record
	w.run.unfinished = m.unfinished(t)
	w.run.sum(&record)
	record.Skipped, record.InRound = skipped, len(w.calls) > 0
	w.run.finish(&record)
	w.run.before = &record
	p, result, err := m.save(ctx, w)
	if err != nil {
		return Stepped{}, err
	}
	p.complainOfLeft(ctx, &m.holder.log)
	m.base.record = p.run
	m.holder.account.Report(p.settled)
	// Effects of the calls ran with the commit. These are RunEnd's: they come before
	// the reader hears of the end, and are lost with the process like all others.
	m.base.hooks.act(ctx, &m.holder, m.draft.view(), engine.Moment{}, m.draft.effects)
	if m.base.conversation != nil {
		m.remember(ctx)
		m.base.storeSnapshot(ctx, &m.holder)
	}
	m.releaseSlot(ctx)
	m.announceEnd()
	m.holder.report(ctx, &m.base.record.Run)
	return Stepped{Outcome: result.Outcome, Head: m.holder.head}, nil
}

// announceEnd emits the last events of a run that was closed. A run that ended before
// its first step begins with them: its stream has no state before the end's.
func (m *machine) announceEnd() {
	if m.holder.found == thread.CursorStart && !m.holder.events.Started() {
		m.holder.events.Start(&m.base.record.Run, m.holder.Key.Thread)
		m.holder.events.OweState()
	}
	if m.tools != nil {
		at := m.lastSaid()
		m.tools.round.allStored()
		m.holder.events.StepEnd(at)
	}
	announceChanges(&m.holder.events, m.draft.entries)
	announceState(&m.holder.events, m.draft.snapshot)
	m.holder.events.Finish(&m.base.record.Run)
}
