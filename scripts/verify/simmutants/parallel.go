package main

// parallelMutants are errors of tools that do their work in parts, and of those whose
// process dies while they run.
var parallelMutants = []mutant{
	{
		Name: "a part is put once",
		File: "core/internal/run/parts.go",
		Old:  "	return s.step.persist(ctx, func() error {\n		if s.over.Load() {\n			return errOver\n		}\n		return access()\n	})",
		New:  "	if s.over.Load() {\n		return errOver\n	}\n	return access()",
	},
	{
		Name: "a lost claim says nothing of the tools that it may have started",
		File: "core/internal/thread/claim.go",
		Old:  "		if h.Run.Status != Closing { // of a closing run the write that ended it has said so\n			h.Run.loseRound()\n		}\n",
		New:  "",
	},
	{
		Name: "a run that is ended under a claim forgets what that may have started",
		File: "core/internal/thread/closing.go",
		Old:  "		h.Run.loseRound()\n	}\n	h.Run.Status, h.Run.Reason, h.Closing",
		New:  "	}\n	h.Run.Status, h.Run.Reason, h.Closing",
	},
	{
		Name: "a claim that is given back says nothing of the tools that it has started",
		File: "core/internal/run/giveback.go",
		Old:  "adopted: m.tools.known().schemaMet(), through: let.letThrough(m.holder.head),\n		failed:",
		New:  "adopted: m.tools.known().schemaMet(),\n		failed:",
	},
}
