package main

// roundMutants are errors of tool rounds that wait, of the decisions on them, and
// of what a step may cost.
var roundMutants = []mutant{
	{
		Name: "a decision is applied twice",
		File: "core/internal/thread/decide.go",
		Old:  "	default:\n		return Result{}, ErrDecided\n",
		New:  "	default:\n",
	},
	{
		Name: "a denied tool runs",
		File: "core/internal/run/resume.go",
		Old:  "if !ticket.Resumes(decision.Decision) {",
		New:  "if decision.Action == core.DecisionCancel {",
	},
	{
		Name: "tickets are lost at a takeover",
		File: "core/internal/thread/claim.go",
		Old:  "	h.Claim, h.Run.AvailableAt = Claim{}, 0\n}",
		New:  "	if h.Claim, h.Run.AvailableAt = (Claim{}), 0; lost {\n		h.Tickets = nil\n	}\n}",
	},
	{
		Name: "a batch goes on at the first decision",
		File: "core/internal/thread/decide.go",
		Old:  "if h.Run.Status == Waiting && h.Run.goesOn(h.Tickets, t.Now) {",
		New:  "if h.Run.Status == Waiting {",
	},
	{
		Name: "a batch yields without end",
		File: "core/internal/thread/outcome.go",
		Old:  "case h.Run.OpenCalls() && h.Run.goesOn(h.Tickets, now), len",
		New:  "case h.Run.OpenCalls() && slices.ContainsFunc(h.Tickets, func(t Ticket) bool { return t.Decision != 0 }), len",
	},
	{
		Name: "the open round of another step is believed",
		File: "core/internal/run/recall.go",
		Old:  "if open.Turn != r.first-1 || slices.ContainsFunc(open.Merged, unknown) {",
		New:  "if open.Turn != r.first-1 && slices.ContainsFunc(open.Merged[:0], unknown) {",
		Also: []change{
			{"core/internal/thread/commit.go", "make([]CallStatus, c.Calls), c.Batch, 0\n", "make([]CallStatus, c.Calls), c.Batch, h.Run.Round\n"},
			{"core/internal/thread/commit.go", "h.Run.Batch, h.Run.Round = false, 0", "h.Run.Batch = false"},
		},
	},
	{
		Name: "what another turn's call has stored is believed",
		File: "core/internal/recordname/recordname.go",
		Old:  `fmt.Sprintf("C#%s#%d#%d#once#%s", run, turn, call, part)`,
		New:  `fmt.Sprintf("C#%s#%d#%d#once#%s", run, min(turn, 0), call, part)`,
	},
	{
		Name: "a round that comes to results is ended for its time",
		File: "core/internal/run/guard.go",
		Old:  "m.holder.whole && m.base.agent != nil && !m.progressed():",
		New:  "m.holder.whole && m.base.agent != nil:",
	},
	{
		Name: "the approval of a tool is not asked for",
		File: "core/internal/run/gate.go",
		Old:  "	return t.Spec().Approval\n",
		New:  "	return t.Spec().Approval[:0]\n",
	},
	{
		Name: "a stored call is gated again",
		File: "core/internal/run/schedule.go",
		Old:  "if c.stage != fresh && c.stage != crowded || !s.ready(i, hold) {",
		New:  "if c.stage != fresh && c.stage != crowded && c.stage != concluded || !s.ready(i, hold) {",
	},
	{
		Name: "calls that were merged before a wait are merged again",
		File: "core/internal/run/recall.go",
		Old:  "		r.calls[i].result.merged = n + 1\n",
		New:  "		r.calls[i].result.merged = 0 * n\n",
	},
	{
		Name: "a sequential round goes on behind a call that waits",
		File: "core/internal/run/schedule.go",
		Old:  "		if c.stage != concluded || !s.goesOn(ctx) {\n			return\n		}\n",
		New:  "		if !s.goesOn(ctx) {\n			return\n		}\n		if c.stage != concluded {\n			continue\n		}\n",
	},
	{
		Name: "the parts of a call are forgotten",
		File: "core/tool/once.go",
		Old:  "	if c.Parts != nil {\n		if value",
		New:  "	if c.Parts != nil && name == \"\" {\n		if value",
	},
	{
		Name: "the result of a tool that was left behind is kept",
		File: "core/internal/run/execute.go",
		Old:  "const abandonAfter = 2 * time.Second",
		New:  "const abandonAfter = 20 * time.Second",
	},
	{
		Name: "a tool that was left behind keeps its parts",
		File: "core/internal/run/parts.go",
		Old:  "func (s *parts) end() (first bool) { return s.over.CompareAndSwap(false, true) }",
		New:  "func (s *parts) end() (first bool) { return !s.over.Load() }",
	},
	{
		Name: "a crash resets the budget of model calls",
		File: "core/internal/thread/claim.go",
		Old:  "		h.Run.Lost = oneMore(h.Run.Lost)\n",
		New:  "		h.Run.Lost, h.Run.ModelFailed = oneMore(h.Run.Lost), 0\n",
	},
	{
		Name: "a model is called again to store that it has failed",
		File: "core/internal/run/inference/turn.go",
		Old:  "if t.failed >= t.modelCalls() && t.patience.since == 0 { // the delivery",
		New:  "if false { // the delivery",
	},
	{
		Name: "an orphan D# is believed by a step",
		File: "core/internal/run/resume.go",
		Old:  "	return d, k, r.holder.readRecord(ctx, \"decision\", recordname.Decision(r.holder.id, turn, t.Call, t.Decision), &d)",
		New:  "	all, err := r.holder.s.store.Records(ctx, r.holder.Key, fmt.Sprintf(\"D#%s#%d#%d#\", r.holder.id, turn, t.Call), \"\", 1)\n	if err != nil {\n		return d, k, err\n	}\n	return d, k, r.holder.records.Decode(\"decision\", all[0].Payload, &d)",
		Also: []change{{"core/internal/run/resume.go", "import (\n	\"context\"\n", "import (\n	\"context\"\n	\"fmt\"\n"}},
	},
	{
		Name: "an orphan D# is believed by who decides",
		File: "core/mailbox/recall.go",
		Old:  "	u.known = true\n	again := commit{",
		New:  "	if u.known = true; u.known {\n		return thread.Head{}, thread.Result{Duplicate: true}, nil\n	}\n	again := commit{",
	},
	{
		Name: "the deadline of a ticket passes unseen",
		File: "core/internal/thread/claim.go",
		Old:  "	if h.Run.Status == Waiting && h.Tickets.overdue(t.Now) {\n",
		New:  "	if h.Run.Status == Waiting && h.Tickets.overdue(0) {\n",
	},
	{
		Name: "the ninth ticket drops the first",
		File: "core/internal/thread/calls.go",
		Old:  "			r.Calls[t.Call] = CallNew\n			continue\n",
		New:  "			*standing = without(*standing, 0)\n",
	},
	hintMutant("a decision", "core/internal/thread/decide.go", "	return Result{Hint: h.wake(t.Now)}, nil\n", "	return Result{}, nil\n"),
}
