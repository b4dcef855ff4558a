package main

// againMutants are errors of how runs go on that ended with an error, and of how a run ends
// whose claim was given back behind its RunEnd.
var againMutants = []mutant{
	{
		Name: "a run is taken up anew at each request",
		File: "core/mailbox/key.go",
		Old:  "		key := kind + run.String()\n",
		New:  "		key := kind + r.env.NewID().String()\n",
	},
	{
		Name: "a run that is taken up is known by its key alone",
		File: "core/mailbox/takeup.go",
		Old:  "	if u.known {\n		found, err := u.repeated(ctx, head, &receipt)\n",
		New:  "	if false {\n		found, err := u.repeated(ctx, head, &receipt)\n",
	},
	{
		Name: "a run is taken up under another pin",
		File: "core/mailbox/takeup.go",
		Old:  "Resolution: record.Resolution, ",
		New:  "",
	},
	{
		Name: "a run that takes another up and fails at once is the last",
		File: "core/mailbox/takeup.go",
		Old:  "		if in.TakesUp.IsZero() {\n",
		New:  "		if true {\n",
	},
	{
		Name: "others come before a run that takes another up",
		File: "core/mailbox/takeup.go",
		Old:  "	u.in.Opening.Priority = new(uint8) // it opens first, so that no run comes between; the Key does not cover it\n",
		New:  "",
	},
	{
		Name: "what another program has left of a take-up is in the way",
		File: "core/mailbox/submit.go",
		Old:  "; again && errors.Is(err, store.ErrConflict) {",
		New:  "; again && u.in.Mode != ModeReject && errors.Is(err, store.ErrConflict) {",
	},
	{
		Name: "a dead letter begins anew at each request",
		File: "core/mailbox/retry.go",
		Old:  "		Key:     Key{Value: \"retry:\" + run.String()},\n",
		New:  "",
	},
	{
		Name: "an event whose run begins anew is a person's",
		File: "core/mailbox/retry.go",
		Old:  "Messages: messages, Origin: record.Origin,",
		New:  "Messages: messages,",
	},
	{
		Name: "what RunEnd has changed is kept and not applied",
		File: "core/internal/run/runend.go",
		Old:  "	m.draft.snapshot, m.draft.patches = fold.Snapshot(), append(m.draft.patches, end.Patch)\n",
		New:  "	m.draft.snapshot = fold.Snapshot()\n",
	},
	{
		Name: "effects of RunEnd are lost with its claim",
		File: "core/internal/run/runend.go",
		Old:  "			m.draft.effects = append(m.draft.effects, end.Command.Effects...)\n",
		New:  "			_ = end.Command.Effects\n",
	},
	{
		Name: "an end behind RunEnd has another time",
		File: "core/internal/run/runend.go",
		Old:  "		m.draft.at, m.runEnded, m.form = end.At, end, max(m.form, end.Form)\n",
		New:  "		m.runEnded, m.form = end, max(m.form, end.Form)\n",
	},
	{
		Name: "an end behind RunEnd takes nothing back",
		File: "core/internal/run/input.go",
		Old:  " && m.holder.head.Run.RunEnd == 0\n",
		New:  "\n",
	},
}
