package main

// timerMutants are errors of calls that wait for a time.
var timerMutants = []mutant{
	{
		Name: "a ticket wakes before its time",
		File: "core/internal/thread/wake.go",
		Old:  "t.WakeAt != 0 && t.WakeAt <= now }",
		New:  "t.WakeAt != 0 && t.WakeAt <= now+60_000 }",
	},
	{
		Name: "a thread is not due at the time to wake",
		File: "core/internal/thread/due.go",
		Old:  "				note(t.lookAt(now))\n",
		New:  "",
	},
	{
		Name: "input supersedes kept timers",
		File: "core/internal/thread/calls.go",
		Old:  " || t.Keep {",
		New:  " {",
	},
	{
		Name: "a late decision replaces that of the clock",
		File: "core/internal/thread/decide.go",
		Old:  "	case 0:\n	case c.Decision:",
		New:  "	case 0, WakeKey(h.Run.ID, h.Tickets[i].ID):\n	case c.Decision:",
	},
	{
		Name: "the decision of the clock is not stored",
		File: "core/mailbox/claim.go",
		Old:  ", build: s.woken}",
		New:  "}",
	},
	{
		Name: "no hint is sent for a time to wake",
		File: "core/internal/thread/wake.go",
		Old:  "		near := t.Decision == 0 && ",
		New:  "		near := t.Decision != 0 && ",
	},
	{
		Name: "a hint of a time to wake that comes too early is not sent again",
		File: "core/internal/thread/wake.go",
		Old:  "return r.Unchanged && take.WakeAt != r.Hint.WakeAt",
		New:  "return r.Unchanged && take.Lease > 0",
	},
	{
		Name: "what wakes in a batch that waits for others is not written",
		File: "core/internal/thread/claim.go",
		Old:  "early.Unchanged && len(woken) == 0, woken",
		New:  "early.Unchanged, woken",
	},
	{
		Name: "a step goes on when a ticket wakes",
		File: "core/internal/thread/commit.go",
		Old:  " && !h.Tickets.anyWakes(t.Now) {",
		New:  " {",
	},
}
