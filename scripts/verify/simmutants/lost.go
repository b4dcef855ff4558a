package main

// lostMutants are errors of what a lost response leaves open, where another write hides
// what became of it, of claims that are heard of late and of ends through the process that
// works on the run.
var lostMutants = []mutant{
	{
		Name: "a stop chooses another run at each try",
		File: "core/mailbox/cancel.go",
		Old:  "	var dispatch core.ID\n",
		New:  "	var dispatch core.ID\n	whatever := run.IsZero()\n",
		Also: []change{{
			"core/mailbox/cancel.go",
			"		if run.IsZero() {\n",
			"		if whatever {\n",
		}},
	},
	{
		Name: "a cancel that was applied is not found when others hide it",
		File: "core/mailbox/lost.go",
		Old:  "	return got.Termination.Type == core.TerminationCancelled, err",
		New:  "	return false, err",
	},
	{
		Name: "a retraction that was applied is not found when others hide it",
		File: "core/mailbox/lost.go",
		Old:  "	if !ok || ended.Status != core.DispatchCancelled || ",
		New:  "	if !ok || ended.Status != \"\" || ",
	},
	{
		Name: "an edit of input that was read as it says is not found",
		File: "core/mailbox/edit.go",
		Old:  "				return s.reads.readAs(ctx, key, head, id, in.Run, edit, messages)\n",
		New:  "				return false, nil\n",
	},
	{
		Name: "a claim does not know itself when others hide it",
		File: "core/mailbox/lost.go",
		Old:  " || head.TakenBy(c.id)",
		New:  "",
	},
	{
		Name: "a claim knows itself by its process",
		File: "core/mailbox/lost.go",
		Old:  "head.TakenBy(c.id)",
		New:  "c.plan.result.Claimed && head.Claim.Worker != \"\"",
	},
	{
		Name: "a model is asked under a claim that is heard of late",
		File: "core/internal/run/guard.go",
		Old:  "	if m.holder.head.Claim.Lease < m.holder.env.Millis() {",
		New:  "	if false {",
	},
	{
		Name: "a process does not tell its steps what it writes",
		File: "core/host/host.go",
		Old:  "	r.stepper.Moved(key, head)\n",
		New:  "",
	},
}
