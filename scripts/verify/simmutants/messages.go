package main

// messageMutants are errors of messages between threads, and of children in the background.
var messageMutants = []mutant{
	{
		Name: "a message is delivered without a look for its id",
		File: "core/mailbox/submit.go",
		Old:  "	_, _, ok, err := u.s.reads.accepted(ctx, u.in.Thread, head, u.ids.run, u.ids.dispatch)\n",
		New:  "	if u.placing.message != nil {\n		return false, nil\n	}\n	_, _, ok, err := u.s.reads.accepted(ctx, u.in.Thread, head, u.ids.run, u.ids.dispatch)\n",
		Also: []change{{"core/mailbox/change.go", "	case p.message != nil && p.mayJoin(in, head):\n		return thread.Input{ID: ids.dispatch, Kind: thread.InboxInternal, Owner: in.User, Dedupe: key}\n", "	case p.message != nil && p.mayJoin(in, head):\n		return thread.Input{ID: ids.dispatch, Kind: thread.InboxInternal, Owner: in.User}\n"}},
	},
	{
		Name: "each try delivers a message under another id",
		File: "core/mailbox/message.go",
		Old:  "core.ThreadKey{Tenant: p.from.Tenant, Thread: m.To.Thread}, messageInput(m.ID)\n",
		New:  "core.ThreadKey{Tenant: p.from.Tenant, Thread: m.To.Thread}, p.s.env.NewID()\n",
	},
	{
		Name: "the input that an earlier try of a message has left is in the way",
		File: "core/mailbox/submit.go",
		Old:  "u.in.Key.Value != \"\" || u.placing.message != nil; again",
		New:  "u.in.Key.Value != \"\"; again",
	},
	{
		Name: "what is put off by a worker has no hint",
		File: "core/mailbox/outbox.go",
		Old:  "	if failed == nil && d.wrote {\n",
		New:  "	if failed == nil && d.wrote && d.head.Version == 0 {\n",
	},
	{
		Name: "a message overtakes an earlier one",
		File: "core/mailbox/message.go",
		Old:  "			until = max(earlier.Next, 1) ",
		New:  "			until = 0 ",
	},
	{
		Name: "a message leaves the outbox after a failed try",
		File: "core/mailbox/message.go",
		Old:  "	case !final && int(e.Tries) < len(messageWaits):\n",
		New:  "	case !final && int(e.Tries) < len(messageWaits)-4:\n",
	},
	{
		Name: "a failed try of a message is not counted",
		File: "core/mailbox/message.go",
		Old:  "now+messageWaits[e.Tries].Milliseconds(), true, e.Next\n",
		New:  "now+messageWaits[e.Tries].Milliseconds(), false, e.Next\n",
	},
	{
		Name: "a concurrent try of a message counts again",
		File: "core/mailbox/message.go",
		Old:  "now+messageWaits[e.Tries].Milliseconds(), true, e.Next\n",
		New:  "now+messageWaits[e.Tries].Milliseconds(), true, 0\n",
	},
	{
		Name: "a message that is given up is not listed",
		File: "core/mailbox/message.go",
		Old:  "			return []store.Record{record}, err\n		}\n	}\n	return done, nil\n",
		New:  "			_ = record\n			return nil, err\n		}\n	}\n	return done, nil\n",
	},
	{
		Name: "the end of a child in the background is told under another id",
		File: "core/mailbox/childended.go",
		Old:  "	id := childInput(child.ID)\n",
		New:  "	id := s.env.NewID()\n",
	},
	{
		Name: "the end of a child in the background is not told",
		File: "core/mailbox/childended.go",
		Old:  "		if over, err = sayToParent(ctx, s, key, parent, child.run); err != nil {\n",
		New:  "		if over, err = false, dropChild(ctx, s, key, parent, child.run.ID); err != nil {\n",
	},
	{
		Name: "the end of a detached child is not told",
		File: "core/mailbox/childended.go",
		Old:  "	if over && child.parent.Detached && child.parent.Call == thread.NoCall {\n",
		New:  "	if over && child.parent.Detached && child.parent.Call == thread.NoCall && false {\n",
	},
}
