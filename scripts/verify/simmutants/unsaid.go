package main

// unsaidMutants are errors of what readers are shown of a turn that another process is
// saying.
var unsaidMutants = []mutant{
	{
		Name: "the chunks of another claim are believed",
		File: "core/internal/run/live/attempt.go",
		Old:  "return recordname.Chunks(a.Run, a.Step, a.Fence)",
		New:  "return recordname.Chunks(a.Run, a.Step, 0)",
	},
	{
		Name: "a reader keeps the words of an attempt that is void",
		File: "core/host/stream.go",
		Old:  "	if at.Voids(had) {",
		New:  "	if false {",
	},
	{
		Name: "a chunk that a list leaves out is skipped",
		File: "core/host/unsaid.go",
		Old:  "				return nil\n			}\n			if err := u.showChunk",
		New:  "			}\n			if err := u.showChunk",
	},
	{
		Name: "a commit tells again what was said before it",
		File: "core/host/stream.go",
		Old:  "	e, ok := position.Behind(e, at, had)\n	if !ok {",
		New:  "	_, ok := position.Behind(e, at, had)\n	if !ok {",
	},
	{
		Name: "what was said before a commit is told again whole",
		File: "core/host/stream.go",
		Old:  "	if !ok {\n		return s.audience.gone",
		New:  "	if false && !ok {\n		return s.audience.gone",
	},
	{
		Name: "a chunk that was not stored is left out",
		File: "core/internal/run/live/writer.go",
		Old:  "			_ = w.source.Env.Sleep(ctx, chunkTime) // which ends early with ctx",
		New:  "			w.mu.Lock()\n			w.writing = nil\n			w.mu.Unlock()",
	},
	{
		Name: "a reader of a new attempt goes on behind the chunks of the last",
		File: "core/host/unsaid.go",
		Old:  "		u.attempt, u.next, u.deaf, u.failed = attempt, 0, false, false",
		New:  "		u.attempt, u.deaf, u.failed = attempt, false, false",
	},
}
