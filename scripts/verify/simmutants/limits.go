package main

// limitMutants are errors of what tenants may use.
var limitMutants = []mutant{
	{
		Name: "a turn is charged behind its commit, or not at all",
		File: "core/internal/run/advance.go",
		Old:  "	if err := m.charge(ctx); err != nil {",
		New:  "	if m.draft.totals, err = m.holder.account.Turn(ctx, m.draft.totals, nil); err != nil {",
	},
	{
		Name: "a run over a limit goes on",
		File: "core/internal/run/account.go",
		Old:  "	if over == nil {",
		New:  "	if true {",
	},
	{
		Name: "what a crash has lost stays charged",
		File: "core/internal/accounting/admit.go",
		Old:  "		r.Tokens, r.Spend = max(0, seen.Tokens-tokens), max(0, seen.Spend-spend)",
		New:  "		_, _ = tokens, spend",
	},
	{
		Name: "the sweep leaves slots alone",
		File: "core/mailbox/slots.go",
		Old:  "	if s.gate == nil {\n		return nil",
		New:  "	if s.gate != nil {\n		return nil",
	},
	{
		Name: "a late charge counts for a run that is over",
		File: "core/store/admission.go",
		Old:  "			return false\n		}\n		slot.Tokens",
		New:  "			t.count(c.Day, counted{Tokens: c.Tokens})\n			return true\n		}\n		slot.Tokens",
	},
	{
		Name: "the sweep gives back slots of runs that are running",
		File: "core/mailbox/slots.go",
		Old:  "live && status != core.RunWaiting {",
		New:  "live && status == core.RunCreated {",
	},
	{
		Name: "a refused repetition releases the slot of the first attempt",
		File: "core/mailbox/admit.go",
		Old:  "(shared || ctx.Err()",
		New:  "(shared && false || ctx.Err()",
	},
}
