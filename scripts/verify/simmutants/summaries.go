package main

// summaryMutants are errors of the summaries that stand for what a thread has said before.
var summaryMutants = []mutant{
	{
		Name: "a run that fails at its start lets the summary fall to none",
		File: "core/internal/run/closewrite.go",
		Old:  "Seq: w.log.seq(), Sum: w.log.seal(nil), Summary: w.log.summary,\n		Cut:",
		New:  "Seq: w.log.seq(), Sum: w.log.seal(nil),\n		Cut:",
	},
	{
		Name: "a stale summary comes in force",
		File: "core/internal/run/summary.go",
		Old:  "	case s.Predecessor != p.draft.past.Summary.Covers():",
		New:  "	case false:",
	},
	{
		Name: "a summary that was skipped comes in force",
		File: "core/internal/run/summary.go",
		Old:  "	case s.Skipped != \"\":\n		p.skip",
		New:  "	case false:\n		p.skip",
	},
	{
		Name: "a target of a turn that was taken back is used",
		File: "core/internal/run/supersede.go",
		Old:  "	d.past, d.messages = then, then.Messages.Without(int(then.First))",
		New:  "	then.Window.Compact = d.past.Window.Compact\n	d.past, d.messages = then, then.Messages.Without(int(then.First))",
	},
	{
		Name: "a summary ends inside a round",
		File: "core/internal/window/summary.go",
		Old:  "	return m.Role == core.RoleAssistant && len(m.ToolCalls) == i-turn",
		New:  "	return m.Role == core.RoleAssistant",
	},
	{
		Name: "a compactor sums up what was taken back",
		File: "core/internal/run/compaction/job.go",
		Old:  "				skip = entry.Superseded.From",
		New:  "				skip = 0",
	},
	{
		Name: "a compactor begins anew instead of behind the summary in force",
		File: "core/internal/run/compaction/job.go",
		Old:  "		from = j.before.UpTo + 1",
		New:  "		from = 1",
	},
	{
		Name: "what a summary covers is shown beside it",
		File: "core/internal/run/checkpoint/conversation.go",
		Old:  "	c.First = int32(first)",
		New:  "	_ = first",
	},
	{
		Name: "a thread that is read anew has no summary",
		File: "core/internal/run/checkpoint/reader.go",
		Old:  "	c.Under(summed)",
		New:  "	c.Under(nil)",
	},
	{
		Name: "a summary that another process has put in force is not noticed",
		File: "core/internal/run/checkpoint/reader.go",
		Old:  "	if s.Covers() < at.Head.Summary {",
		New:  "	if false {",
	},
}
