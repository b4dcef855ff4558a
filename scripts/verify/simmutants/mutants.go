package main

// mutants are the errors that must be found, by what they leave undone.
var mutants = concat(roundMutants, stepMutants, runtimeMutants, storeMutants, mailboxMutants, headMutants, toldMutants, unsaidMutants, demandMutants, lackingMutants, poolMutants, limitMutants, summaryMutants, narrowMutants, dayMutants,
	parallelMutants,
	editedMutants,
	lineMutants,
	suspectMutants, delayedMutants,
	closingMutants,

	lostMutants,
	forkMutants,
	againMutants,
	earlyMutants,
	secondMutants,
	sumMutants,
	timerMutants, childMutants, messageMutants,
)

func concat(lists ...[]mutant) (all []mutant) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// storeMutants are errors of the conditions under which records are put.
var storeMutants = []mutant{
	{
		Name: "other bytes are accepted at an equal fence and version",
		File: "core/store/record.go",
		Old:  "		return false, &RefusedError{next.Name, ErrConflict}\n	case stored.Fence",
		New:  "		return true, nil\n	case stored.Fence",
	},
	{
		Name: "puts have no fence",
		File: "core/store/record.go",
		Old:  "	case stored.Fence > next.Fence, stored",
		New:  "	case false, stored",
	},
}

// mailboxMutants are errors of the service over thread, store and queue.
var mailboxMutants = []mutant{
	{
		Name: "the commit id of a lost response is not looked at",
		File: "core/mailbox/lost.go",
		Old:  "	return head.CommitID == c.id || head.HolderCommitID",
		New:  "	return head.HolderCommitID",
	},
	{
		Name: "a holder's commit id is forgotten when another write hides it",
		File: "core/mailbox/lost.go",
		Old:  " || head.HolderCommitID == c.id ||",
		New:  " ||",
	},
	{
		Name: "an orphan A#ended is believed",
		File: "core/mailbox/status.go",
		Old:  "	status, live := head.RunStatus(run)\n",
		New:  "	if a, _, ok, _ := r.audit(ctx, key, recordname.Ended(dispatch)); ok && a.Run == run {\n		got.Run = core.Run{ID: run, Status: core.RunDone, Termination: &core.Termination{Type: core.TerminationCancelled}}\n		return got, 0, true, nil\n	}\n	status, live := head.RunStatus(run)\n",
		Also: []change{{"core/mailbox/status.go", "core\"\n", "core\"\n	\"github.com/reveille-run/reveille/core/internal/recordname\"\n"}},
	},
	{
		Name: "an orphan A#read is believed",
		File: "core/mailbox/reader.go",
		Old:  "	ids := []core.ID{run, dispatch} // steered",
		New:  "	if a, _, found, _ := r.audit(ctx, key, recordname.Read(dispatch)); found {\n		return a.Run, false, true, nil\n	}\n	ids := []core.ID{run, dispatch} // steered",
	},
	{
		Name: "a hint that an older program refuses circulates for ever",
		File: "core/mailbox/claim.go",
		Old:  "if hint.Sweep || hint.Tries >= schemaTries {",
		New:  "if false {",
	},
	{
		Name: "the sweep's hint renews itself",
		File: "core/mailbox/claim.go",
		Old:  "if hint.Sweep || hint.Tries",
		New:  "if hint.Tries",
	},
	{
		Name: "the hint of who follows a thread renews itself",
		File: "core/mailbox/wake.go",
		Old:  "Epoch: head.Epoch, Sweep: true}",
		New:  "Epoch: head.Epoch}",
	},
	{
		Name: "a hint that an older program refuses is not sent on",
		File: "core/mailbox/claim.go",
		Old:  "if hint.Sweep || hint.Tries >= schemaTries {",
		New:  "if true {",
	},
	{
		Name: "a suspect's hint is not sent on",
		File: "core/mailbox/claim.go",
		Old:  "return head, false, s.wakes.send(ctx, renewed(hint), suspectDelay+s.env.Jitter(5*suspectDelay), point.Continue)",
		New:  "return head, false, nil",
	},
	{
		Name: "the hint after a head write is forgotten",
		File: "core/mailbox/outcome.go",
		Old:  "if c.quiet && c.plan.result.Unchanged || c.inline && hint != nil && hint.WakeAt == 0 {",
		New:  "if hint != nil {",
	},
	{
		Name: "the hint after a submission is forgotten",
		File: "core/mailbox/outcome.go",
		Old:  "if c.quiet && c.plan.result.Unchanged || c.inline && hint != nil && hint.WakeAt == 0 {",
		New:  "if c.choose != nil || c.quiet && c.plan.result.Unchanged || c.inline && hint != nil && hint.WakeAt == 0 {",
	},
	{
		Name: "the hint after a step's own commit is forgotten",
		File: "core/mailbox/outcome.go",
		Old:  "if c.quiet && c.plan.result.Unchanged || c.inline && hint != nil && hint.WakeAt == 0 {",
		New:  "if c.holder || c.quiet && c.plan.result.Unchanged || c.inline && hint != nil && hint.WakeAt == 0 {",
	},
	{
		Name: "nothing is swept",
		File: "core/mailbox/sweep.go",
		Old:  "hints := make([]core.WakeUp, len(page))",
		New:  "page = nil\n		hints := make([]core.WakeUp, len(page))",
	},
	{
		Name: "a repeated submission does not hint again",
		File: "core/mailbox/submit.go",
		Old:  "	if waits {\n",
		New:  "	if waits && false {\n",
	},
	{
		Name: "what an event says is a reply to a run that waits",
		File: "core/mailbox/change.go",
		Old:  "in.Origin != core.OriginInternal && ",
		New:  "",
	},
	{
		Name: "an event that is told in other words is another one",
		File: "core/mailbox/key.go",
		Old:  "	if s.Key.Alone {",
		New:  "	if false {",
	},
	{
		Name: "every try of a submission is a new one",
		File: "core/mailbox/key.go",
		Old:  "u.ids, u.known = ids{p.Run, p.Dispatch}, true",
		New:  "u.known = true",
	},
	{
		Name: "the head is written although a record was refused",
		File: "core/mailbox/outcome.go",
		Old:  "	case stored.Version != head.Version:\n		return stored, nil\n",
		New:  "	case c.holder:\n		c.plan.batch.Records = nil\n		return stored, nil\n	case stored.Version != head.Version:\n		return stored, nil\n",
	},
}

// headMutants are errors of the reducer.
var headMutants = []mutant{
	{
		Name: "the turn consumes nothing",
		File: "core/internal/thread/commit.go",
		Old:  "	before, err := h.Inbox.consume(c.Consumed, h.Run.ID, h.Seq, c.Seq)\n	if err != nil {\n		return Result{}, err\n	}\n	h.Seq, h.TailSum = c.Seq, c.Sum\n",
		New:  "	before, err := h.Inbox.consume(nil, h.Run.ID, h.Seq, c.Seq)\n	if err != nil {\n		return Result{}, err\n	}\n	h.Seq, h.TailSum = c.Seq, c.Sum\n",
	},
	{
		Name: "an edited entry is consumed at its old revision",
		File: "core/internal/thread/inbox.go",
		Old:  "e.Revision == ",
		New:  "e.Revision >= ",
	},
	{
		Name: "an ending of another closing is believed",
		File: "core/internal/thread/queued.go",
		Old:  "if record == nil || record.Ending == nil || record.Ending.Version != h.Closing {",
		New:  "if record == nil || record.Ending == nil {",
	},
	{
		Name: "an ending counts for any reason",
		File: "core/internal/thread/queued.go",
		Old:  "	if h.Run.Reason != ReasonOwn {\n",
		New:  "	if h.Run.Reason != ReasonOwn && (record == nil || record.Ending == nil) {\n",
	},
	{
		Name: "the inbox is dropped at a stop",
		File: "core/internal/thread/closing.go",
		Old:  "	if len(h.Inbox) > 0 {\n		first",
		New:  "	if false {\n		first",
	},
	{
		Name: "the rest of the inbox is dropped at a stop",
		File: "core/internal/thread/closing.go",
		Old:  "Steered: true, Rest: slices.Clone(h.Inbox[1:]),",
		New:  "Steered: true, Rest: slices.Clone(h.Inbox[:0]),",
	},
	{
		Name: "a natural end ignores the inbox",
		File: "core/internal/thread/outcome.go",
		Old:  "if c.Natural && len(h.Inbox) > 0 {",
		New:  "if false {",
	},
	{
		Name: "the fast path skips a listening RunEnd",
		File: "core/internal/thread/commit.go",
		Old:  "if c.Listens || h.Run.OpenCalls() {",
		New:  "if h.Run.OpenCalls() {",
	},
	{
		Name: "an interrupt leaves the inbox of a closing run",
		File: "core/internal/thread/control.go",
		Old:  "before = append(before, h.Inbox.cancel(h.Run.ID)...) // it would open before what interrupts",
		New:  "_ = before",
	},
	{
		Name: "cancelling a dispatch leaves its rest without a word",
		File: "core/internal/thread/control.go",
		Old:  "return append([]Audit{{ID: d.ID, Run: d.Run, Status: status}}, d.Rest.cancel(d.Run)...)",
		New:  "return []Audit{{ID: d.ID, Run: d.Run, Status: status}}",
	},
	{
		Name: "input is steered to a run that closes",
		File: "core/internal/thread/inbox.go",
		Old:  "if !h.Open() || h.Run.Status == Closing {",
		New:  "if !h.Open() {",
	},
	{
		Name: "an older program claims newer records",
		File: "core/internal/thread/claim.go",
		Old:  "	if h.Schema > t.Schemas.Reads {\n		return Result{}, fmt.Errorf",
		New:  "	if false {\n		return Result{}, fmt.Errorf",
	},
	{
		Name: "an enqueue does not raise the head's schema",
		File: "core/internal/thread/enqueue.go",
		Old:  "	h.raise(t)\n",
		New:  "",
	},
	{
		Name: "a suspect runs beside others",
		File: "core/internal/thread/claim.go",
		Old:  "if h.Suspect() && !c.Alone {",
		New:  "if false {",
	},
	{
		Name: "a claim that is given back counts",
		File: "core/internal/thread/nack.go",
		Old:  "	if c.Kind != NackFailed {\n		h.Run.uncount()",
		New:  "	if false {\n		h.Run.uncount()",
	},
	{
		Name: "progress does not reset attempts",
		File: "core/internal/thread/run.go",
		Old:  "r.Attempts, r.ModelFailed, r.ModelLost = 0, 0, 0",
		New:  "r.ModelFailed, r.ModelLost = 0, 0",
	},
	{
		Name: "a live claim is taken over",
		File: "core/internal/thread/claim.go",
		Old:  "	if h.Live(t.Now) {\n		return Result{Unchanged: true}, nil",
		New:  "	if false {\n		return Result{Unchanged: true}, nil",
	},
	{
		Name: "a closing run is claimed for ever for its RunEnd",
		File: "core/internal/thread/head.go",
		Old:  "SkipRunEnd  = 3 ",
		New:  "SkipRunEnd  = 200 ",
	},
	{
		Name: "a delete leaves the epoch",
		File: "core/internal/thread/control.go",
		Old:  "Deleted: true, Epoch: h.Epoch + 1,",
		New:  "Deleted: true, Epoch: h.Epoch,",
	},
	{
		Name: "a deleted thread is erased once and for all",
		File: "core/mailbox/delete.go",
		Old:  "	if s.env.Millis() < createdAt(head.CommitID)+linger.Milliseconds() {",
		New:  "	if false {",
	},
	{
		Name: "a priority is not heard",
		File: "core/mailbox/change.go",
		Old:  "		e.Priority = *in.Opening.Priority\n",
		New:  "",
	},
	{
		Name: "a delay is not heard",
		File: "core/mailbox/change.go",
		Old:  "AvailableAt: p.start, Dedupe",
		New:  "AvailableAt: 0, Dedupe",
	},
	hintMutant("a commit of a step", "core/internal/thread/commit.go", "	r.Hint = h.wakeFollowed(t.Now, c.Followed)\n", ""),
	hintMutant("a close", "core/internal/thread/closing.go", "Outcome: Done, Opened: opened, Left: left, Hint: h.wake(t.Now)}", "Outcome: Done, Opened: opened, Left: left}"),
	hintMutant("a nack", "core/internal/thread/nack.go", "	return Result{Hint: h.wakeFollowed(t.Now, c.Followed)}, nil\n", "	return Result{}, nil\n"),
	hintMutant("a claim that came too early", "core/internal/thread/claim.go", "return Result{Unchanged: !late, Hint: h.wake(t.Now)}", "return Result{Unchanged: !late}"),
	hintMutant("an enqueue", "core/internal/thread/enqueue.go", "	h.raise(t)\n	return Result{Hint: h.wake(t.Now)}, nil\n", "	h.raise(t)\n	return Result{}, nil\n"),
	hintMutant("a cancel of the open run", "core/internal/thread/control.go", "return Result{Before: h.beginClosing(ReasonCancelled, t), Hint: h.wake(t.Now)}, nil", "return Result{Before: h.beginClosing(ReasonCancelled, t)}, nil"),
	hintMutant("a cancel of a queued run", "core/internal/thread/control.go", "return Result{Before: h.drop(list, i, core.DispatchCancelled, t), Hint: h.Outbox.hint(t.Now, h.wake(t.Now))}, nil", "return Result{Before: h.drop(list, i, core.DispatchCancelled, t)}, nil"),
	hintMutant("an interrupt", "core/internal/thread/control.go", "	return Result{Before: before, Hint: h.wake(t.Now)}, nil\n}\n\n// drop", "	return Result{Before: before}, nil\n}\n\n// drop"),
}

// hintMutant forgets the hint of one transition.
func hintMutant(of, file, before, after string) mutant {
	return mutant{Name: "the hint of " + of + " is forgotten", File: file, Old: before, New: after}
}

// stepMutants are errors of the stepper.
var stepMutants = []mutant{
	{
		Name: "a failed inference does not count",
		File: "core/internal/run/draft.go",
		Old:  "	d.totals.EndStep(true)\n",
		New:  "	d.totals.EndStep(false)\n",
	},
	{
		Name: "a fold does not count a round that failed",
		File: "core/internal/run/checkpoint/fold.go",
		Old:  "		b.c.Totals.EndStep(round.Failed())\n",
		New:  "		b.c.Totals.EndStep(false)\n",
	},
	{
		Name: "a failed inference loses what hooks changed before it",
		File: "core/internal/run/draft.go",
		Old:  "	d.totals.EndStep(true)\n	d.addOfStep(e)\n",
		New:  "	d.totals.EndStep(true)\n	e.Run, e.Step, e.At = d.run, d.step, d.at\n	d.movePatches(&e)\n	e.Patch, e.Revision = nil, 0\n	d.add(e)\n",
	},
	{
		Name: "a stored result is adopted without being put again",
		File: "core/internal/run/adopt.go",
		Old:  "		if r.holder.head.Run.Calls[i] != thread.CallDone {\n			record",
		New:  "		if r.holder.head.Run.Calls[i] != thread.CallDone && i < 0 {\n			record",
	},
	{
		Name: "stored results are not adopted",
		File: "core/internal/run/adopt.go",
		Old:  "if err != nil || !r.isResult(entry, i) {",
		New:  "if err != nil || !isDone || !r.isResult(entry, i) {",
	},
	{
		Name: "the as-of of a state snapshot's values is ignored",
		File: "core/internal/run/checkpoint/snapshot.go",
		Old:  "return *seq <= s.after[key] }",
		New:  "return *seq <= min(s.after[key], s.asOf) }",
	},
	{
		Name: "a state snapshot is stored under an older as-of",
		File: "core/internal/run/checkpoint/snapshot.go",
		Old:  "Run: c.Run, Step: int(c.Step), AsOf: c.Seq,",
		New:  "Run: c.Run, Step: int(c.Step), AsOf: c.Seq - 1,",
	},
	{
		Name: "what the input of a run supersedes is forgotten when it ends at once",
		File: "core/internal/run/input.go",
		Old:  "if m.base.conversation != nil && !lost && form < thread.FormStateless {",
		New:  "if input.Supersede == 0 && !lost {",
	},
	{
		Name: "RunEnd is skipped",
		File: "core/internal/run/runend.go",
		Old:  "	if !m.base.listens() {\n		return false, nil",
		New:  "	if true {\n		return false, nil",
	},
	{
		Name: "RunEnd runs twice",
		File: "core/internal/run/runend.go",
		Old:  "	before := m.draft\n	within, cancel",
		New:  "	before := m.draft\n	_ = m.phase(ctx, core.PhaseRunEnd, engine.Moment{Termination: t})\n	m.draft = before\n	within, cancel",
	},
	{
		Name: "the record of a closing run is believed as it is cached",
		File: "core/internal/run/load.go",
		Old:  "if c.Record == nil || c.Record.ID != h.id || h.head.Run.Status == thread.Closing && h.head.End(c.Record) == nil {",
		New:  "if c.Record == nil || c.Record.ID != h.id {",
	},
	{
		Name: "a run's own ending is not kept in its record",
		File: "core/internal/run/runrecord.go",
		Old:  "	case thread.Close:\n		made.ending, r.Ending = thread.Ending{Version: next.Closing, Termination: *p.end}, &made.ending\n",
		New:  "	case thread.Close:\n",
	},
	{
		Name: "the intents of a call are applied twice",
		File: "core/internal/run/merge.go",
		Old:  "[]*state.Command{entry.Hooks, entry.Intents} {",
		New:  "[]*state.Command{entry.Hooks, entry.Intents, entry.Intents} {",
	},
	{
		Name: "the last result is lost with a refused commit",
		File: "core/internal/run/giveback.go",
		Old:  "	if err := m.tools.known().storeResults(ctx); stops(err) {\n		return Stepped{}, gone(err, cause)\n	}\n",
		New:  "",
	},
	{
		Name: "the effects of calls that a nack moves to done are lost",
		File: "core/internal/run/effects.go",
		Old:  "if status == thread.CallDone || !over && now.Run.Calls[i] != thread.CallDone {",
		New:  "if status == thread.CallDone || !over {",
	},
	{
		Name: "the effects of calls that are found done run again",
		File: "core/internal/run/effects.go",
		Old:  "if status == thread.CallDone || !over && now.Run.Calls[i] != thread.CallDone {",
		New:  "if !over && now.Run.Calls[i] != thread.CallDone && status < 200 {",
	},
	{
		Name: "an at-most-once tool is not marked before it starts",
		File: "core/internal/run/schedule.go",
		Old:  "	once := func(t *task) bool { return t.tool.Spec().AtMostOnce }",
		New:  "	once := func(t *task) bool { return false && t.tool.Spec().AtMostOnce }",
	},
	{
		Name: "the watch does not see a lost claim",
		File: "core/internal/run/shared.go",
		Old:  "		return lookLost\n",
		New:  "		return lookOwn\n",
	},
	{
		Name: "a commit ends when the watch finds its claim gone",
		File: "core/internal/run/commit.go",
		Old:  "h.env.WithDeadline(context.WithoutCancel(ctx), until)",
		New:  "h.env.WithDeadline(ctx, until)",
	},
	{
		Name: "a stopped host's step counts as an attempt",
		File: "core/internal/run/giveback.go",
		Old:  "		return thread.NackGiven, 0 // the host stops",
		New:  "		return thread.NackFailed, 0",
	},
	{
		Name: "the lease is not renewed",
		File: "core/internal/run/watch.go",
		Old:  "if left := head.Claim.Lease - h.env.Millis(); left >= h.s.lease.Milliseconds()/3 {",
		New:  "if true {",
	},
}

// runtimeMutants are errors of the facade.
var runtimeMutants = []mutant{
	{
		Name: "a suspect runs beside the others of its batch",
		File: "core/host/work.go",
		Old:  "if suspect >= 0 && i != suspect {",
		New:  "if suspect >= 1000 && i != suspect {",
	},
	{
		Name: "the hints of the others of a suspect's batch are forgotten",
		File: "core/host/work.go",
		Old:  "return w.mailbox.Wake(shared, hint, aloneDelay)",
		New:  "return nil",
	},
	{
		Name: "a local suspect waits for nobody",
		File: "core/host/permits.go",
		Old:  "		if p.running > 0 || p.waiting[0] != n {",
		New:  "		if false {",
	},
	{
		Name: "a thread that is no suspect any more stands in the suspects' queue",
		File: "core/host/permits.go",
		Old:  "	p.dequeue(n) // it may have been a suspect until another hint brought progress\n",
		New:  "",
	},
}
