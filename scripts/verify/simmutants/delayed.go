package main

// delayedMutants are errors of runs that were accepted for later, and of calls that wait
// for child runs.
var delayedMutants = []mutant{
	{
		Name: "a thread is busy for a run that is not due",
		File: "core/internal/thread/head.go",
		Old:  "func(d Dispatch) bool { return d.AvailableAt <= now })",
		New:  "func(d Dispatch) bool { return d.AvailableAt > 0 })",
	},
	{
		Name: "an interrupt supersedes delayed runs",
		File: "core/internal/thread/control.go",
		Old:  "	for len(h.Pending) > 0 {\n",
		New:  "	for len(h.Delayed) > 0 {\n		before = append(before, h.drop(&h.Delayed, 0, core.DispatchSuperseded, t)...)\n	}\n	for len(h.Pending) > 0 {\n",
	},
	{
		Name: "Stop ends a delayed run",
		File: "core/mailbox/cancel.go",
		Old:  "				run = head.Pending[0].Run\n			}",
		New:  "				run = head.Pending[0].Run\n			case len(head.Delayed) > 0:\n				run = head.Delayed[0].Run\n			}",
	},
	{
		Name: "delayed runs take places of the queue",
		File: "core/internal/thread/dispatch.go",
		Old:  "	if places >= MaxPending {",
		New:  "	if places += len(*q.delayed); places >= MaxPending {",
	},
	{
		Name: "a due run opens behind queued ones",
		File: "core/internal/thread/dispatch.go",
		Old:  "d.AvailableAt < other.AvailableAt || other.AvailableAt == 0",
		New:  "d.AvailableAt < other.AvailableAt",
	},
	{
		Name: "a delayed run opens when the thread is free",
		File: "core/internal/thread/dispatch.go",
		Old:  "d.AvailableAt <= now && (best == nil || d.before(best))",
		New:  "(best == nil || d.before(best))",
	},
	{
		Name: "a person decides what waits for a child",
		File: "core/internal/thread/decide.go",
		Old:  "	case child && c.Child.IsZero():",
		New:  "	case false:",
		Also: []change{{"core/mailbox/decide.go", "	case ticket.Kind == core.TicketChild && o.child.IsZero():", "	case false:"}},
	},
	{
		Name: "input supersedes calls that wait for children",
		File: "core/internal/thread/calls.go",
		Old:  " || t.Kind == TicketChild || t.Keep {",
		New:  " || t.Keep {",
	},
	{
		Name: "input wakes a run that waits for children alone",
		File: "core/internal/thread/inbox.go",
		Old:  "c.Kind == InboxPerson && h.Run.supersede(&h.Tickets) {",
		New:  "c.Kind == InboxPerson {\n		h.Run.supersede(&h.Tickets)",
	},
	{
		Name: "a batch holds back what a person has superseded",
		File: "core/internal/run/schedule.go",
		Old:  "		return !hold || !slices.ContainsFunc(s.round.holder.head.Tickets, func(t thread.Ticket) bool { return int(t.Call) == i })",
		New:  "		return !hold",
	},
}
