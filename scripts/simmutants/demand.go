package main

// demandMutants are errors of what is stored of a turn while somebody follows, and of what
// followers of the same process hear of it.
var demandMutants = []mutant{
	{
		Name: "chunks are written whether somebody follows or not",
		File: "core/run/chunk.go",
		Old:  "c.demand == demandMarked && c.step.env.Millis() < c.until",
		New:  "c.demand == demandMarked",
	},
	{
		Name: "a mark of another run is heeded",
		File: "core/run/mark.go",
		Old:  "	if err != nil || mark.Run != c.step.id {",
		New:  "	if err != nil || mark.Run.IsZero() {",
	},
	{
		Name: "the first chunk leaves out what was said before somebody asked",
		File: "core/run/mark.go",
		Old:  "	c.until = max(c.until, until)\n",
		New:  "	c.until = max(c.until, until)\n	c.cut, c.size = max(0, len(c.pieces)-1), 0\n",
	},
	{
		Name: "a follower in the same process misses what is added to the last piece",
		File: "core/run/said.go",
		Old:  "	for i := max(h.pieces-1, 0); i < len(c.pieces); i++ {",
		New:  "	for i := h.pieces; i < len(c.pieces); i++ {",
	},
	{
		Name: "a follower in the same process hears the next attempt from where the last was",
		File: "core/runtime/unsaid.go",
		Old:  "		u.hearing = run.Hearing{Attempt: attempt}",
		New:  "		u.hearing.Attempt = attempt",
	},
}
