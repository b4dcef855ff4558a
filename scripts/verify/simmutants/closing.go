package main

// closingMutants are errors of how a run ends whose store refuses what its end would store,
// for its size or for a while.
var closingMutants = []mutant{
	{
		Name: "an end that is too large takes no smaller form",
		File: "core/internal/run/forms.go",
		Old:  "if !errors.Is(failure, store.ErrTooLarge) || m.form >= last {",
		New:  "if !errors.Is(failure, store.ErrTooLarge) || m.form >= 0 {",
	},
	{
		Name: "an end in a smaller form keeps its state changes",
		File: "core/internal/run/end.go",
		Old:  "	settled.effects, settled.at = m.draft.effects, m.draft.at\n	m.draft = settled\n	m.draft.patches = nil\n",
		New:  "	settled.effects, settled.at, settled.patches = m.draft.effects, m.draft.at, m.draft.patches\n	m.draft = settled\n",
	},
	{
		Name: "a nack behind RunEnd does not say so",
		File: "core/internal/run/nackwrite.go",
		Old:  "RunEnd: w.ended != nil,",
		New:  "",
	},
	{
		Name: "what RunEnd has changed is not kept for the next claim",
		File: "core/internal/run/runend.go",
		Old:  "	if m.holder.head.Run.RunEnd != 0 {\n		return false, m.recallRunEnd(ctx)\n	}\n",
		New:  "",
	},
	{
		Name: "a result that a commit could not take is not made smaller",
		File: "core/internal/run/result.go",
		Old:  "if errors.Is(err, store.ErrTooLarge) { // it was to travel",
		New:  "if false { // it was to travel",
	},
	{
		Name: "the last form of an end cuts no messages",
		File: "core/internal/run/forms.go",
		Old:  "	if m.form < thread.FormLeast {\n		return\n	}\n	for i := range m.draft.entries {",
		New:  "	if true {\n		return\n	}\n	for i := range m.draft.entries {",
	},
}
