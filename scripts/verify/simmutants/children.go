package main

// childMutants are errors of child runs, and of what the end of a run owes them.
var childMutants = []mutant{
	{
		Name: "a child is not listed",
		File: "core/host/child.go",
		Old:  "	if err := list(ctx, id); err != nil {",
		New:  "	if err := list(ctx, id); err != nil && false {",
		Also: []change{{"core/internal/thread/children.go", "	h.Run.Children = append(h.Run.Children, c.Child)\n", ""}},
	},
	{
		Name: "a child is listed after it is enqueued",
		File: "core/host/child.go",
		Old:  "	if err := list(ctx, id); err != nil {\n		return core.ID{}, err\n	}\n	receipt, err := c.submits.submit(ctx, submission)\n",
		New:  "	receipt, err := c.submits.submit(ctx, submission)\n	if err := list(ctx, id); err != nil {\n		return core.ID{}, err\n	}\n",
	},
	{
		Name: "the end of a run owes its children nothing",
		File: "core/internal/thread/closing.go",
		Old:  "	left = oweCancel(h, t)\n",
		New:  "",
	},
	{
		Name: "a deleted thread owes the children of its run nothing",
		File: "core/internal/thread/control.go",
		Old:  "	left := oweCancel(h, t)\n",
		New:  "	var left *Left\n",
	},
	{
		Name: "a second cancel forgets the first",
		File: "core/internal/thread/children.go",
		Old:  "		left.Before = h.Outbox[i].ID\n",
		New:  "",
	},
	{
		Name: "a child that is over stays listed",
		File: "core/internal/thread/decide.go",
		Old:  "	h.Run.dropChild(c.Child)\n",
		New:  "",
	},
	{
		Name: "a cancel is delivered to nobody",
		File: "core/mailbox/outbox.go",
		Old:  "			return cancelChildren(ctx, s, key, e.ID)\n",
		New:  "			return nil\n",
	},
	{
		Name: "a cancel that one child did not get is done",
		File: "core/mailbox/childcancel.go",
		Old:  "	return failed\n}\n\n// cancelChild cancels",
		New:  "	return nil\n}\n\n// cancelChild cancels",
	},
	{
		Name: "detached children are cancelled",
		File: "core/mailbox/childcancel.go",
		Old:  " && child.Parent.Detached {",
		New:  " && child.Parent.Detached && false {",
	},
	{
		Name: "a child does not look at its parent before it starts",
		File: "core/internal/run/orphan.go",
		Old:  "	if parent == nil || ",
		New:  "	if parent == nil || parent.Listed || ",
	},
	{
		Name: "a child that starts cancels itself",
		File: "core/internal/run/orphan.go",
		Old:  "	return parent.Call == thread.NoCall || head.Run.Awaits(parent.Call)\n",
		New:  "	return parent.Call == thread.NoCall\n",
	},
	{
		Name: "a step that has freed a place waits",
		File: "core/internal/run/waitwrite.go",
		Old:  "		Crowded: w.crowded,\n",
		New:  "		Crowded: false,\n",
	},
	{
		Name: "a stream that steps a child hears words under a head that it has not shown",
		File: "core/host/follow.go",
		Old:  "		record, over, err := f.showAll(ctx, on, seen)\n",
		New:  "		f.unsaid.since, f.below.shared.next = on.spoken(), time.Time{}\n		record, over, err := core.Run{}, false, f.below.look(ctx, seen)\n",
	},
}
