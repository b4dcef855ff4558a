package main

// lineMutants are errors of the order in which the results of a parallel round are merged.
var lineMutants = []mutant{
	{
		Name: "a change is tried on the round's own snapshot alone",
		File: "core/internal/run/line.go",
		Old:  "r.base.hooks.engine.Submit(t.snapshot, i, command)",
		New:  "r.base.hooks.engine.Submit(r.draft.snapshot, i, command)",
	},
	{
		Name: "a takeover leaves out what stands in the line",
		File: "core/internal/run/lineup.go",
		Old:  "			now = whole\n",
		New:  "			whole = now\n",
	},
	{
		Name: "a change that does not apply behind a sibling's stays in its result",
		File: "core/internal/run/line.go",
		Old:  "	end.result = tool.Failed(\"execution failed: \" + why)\n",
		New:  "	_ = tool.Failed(why)\n",
	},
}
