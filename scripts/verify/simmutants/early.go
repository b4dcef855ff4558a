package main

// earlyMutants are errors of the calls that run while their turn is being committed.
var earlyMutants = []mutant{
	{
		Name: "an early call stores before its turn is committed",
		File: "core/internal/run/parts.go",
		Old:  "	if turn == turnPending {",
		New:  "	if turn == turnPending {\n		return true\n	}\n	if false {",
	},
	{
		Name: "an early call stores although its turn was refused",
		File: "core/internal/run/early.go",
		Old:  "	s.round.holder.shared.news.setTurn(turnRefused)",
		New:  "	s.round.holder.shared.news.setTurn(turnCommitted)",
	},
	{
		Name: "the result of an early call is put before its turn",
		File: "core/internal/run/early.go",
		Old:  "	r.holder.startTool(ctx, s.first)\n}",
		New:  "	s.finish(ctx, s.first)\n	s.first = nil\n}",
	},
	{
		Name: "a tool that acts runs before its turn is committed",
		File: "core/internal/run/early.go",
		Old:  "spec := found.Spec(); !spec.ReadOnly || ",
		New:  "spec := found.Spec(); ",
	},
	{
		Name: "an at-most-once tool starts without its mark",
		File: "core/internal/run/early.go",
		Old:  "|| spec.AtMostOnce ||",
		New:  "||",
	},
	{
		Name: "an early call starts after one that a gate blocks",
		File: "core/internal/run/early.go",
		Old:  "			r.calls[i].early = &early{a, err}\n			break\n",
		New:  "			r.calls[i].early = &early{a, err}\n			continue\n",
	},
	{
		Name: "what the gates said of an early call is forgotten",
		File: "core/internal/run/schedule.go",
		Old:  "before := s.round.calls[i].early; before != nil",
		New:  "before := s.round.calls[i].early; before != nil && before.admission.task != nil",
	},
	{
		Name: "an early tool outlives its step",
		File: "core/internal/run/tools.go",
		Old:  "	defer t.drop(ctx) // unless the turn is committed\n",
		New:  "",
	},
}
