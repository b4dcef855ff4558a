package main

// demandMutants are errors of what is stored of a turn while somebody follows, and of what
// followers of the same process hear of it.
var demandMutants = []mutant{
	{
		Name: "chunks are written whether somebody follows or not",
		File: "core/internal/run/live/writer.go",
		Old:  "w.demand == demandMarked && w.source.Env.Millis() < w.until",
		New:  "w.demand == demandMarked",
	},
	{
		Name: "a mark of another run is heeded",
		File: "core/internal/run/live/mark.go",
		Old:  "	if err != nil || mark.Run != w.run {",
		New:  "	if err != nil || mark.Run.IsZero() {",
	},
	{
		Name: "the first chunk leaves out what was said before somebody asked",
		File: "core/internal/run/live/mark.go",
		Old:  "	w.until = max(w.until, until)\n",
		New:  "	w.until = max(w.until, until)\n	w.cut, w.size = max(0, len(w.pieces)-1), 0\n",
	},
	{
		Name: "a follower in the same process misses what is added to the last piece",
		File: "core/internal/run/live/hear.go",
		Old:  "	for i := max(h.pieces-1, 0); i < len(w.pieces); i++ {",
		New:  "	for i := h.pieces; i < len(w.pieces); i++ {",
	},
	{
		Name: "a follower in the same process hears the next attempt from where the last was",
		File: "core/host/unsaid.go",
		Old:  "		u.hearing = live.Hearing{Attempt: attempt}",
		New:  "		u.hearing.Attempt = attempt",
	},
}
