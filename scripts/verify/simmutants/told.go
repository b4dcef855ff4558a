package main

// toldMutants are errors of what parents and the world are told.
var toldMutants = []mutant{
	{
		Name: "a child that is quicker than its parent's call tells nobody",
		File: "core/mailbox/childended.go",
		Old:  "		return errNotYet\n	case at < 0: // the call",
		New:  "		return nil\n	case at < 0: // the call",
	},
	{
		Name: "a call that runs again starts another child",
		File: "core/host/child.go",
		Old:  "		Key:     mailbox.Key{Value: \"child \" + name},\n",
		New:  "",
	},
	{
		Name: "what could not be told is forgotten",
		File: "core/mailbox/outbox.go",
		Old:  "	done.Next, done.Was = s.env.Millis()+again.Milliseconds(), e.Next",
		New:  "	_ = again",
	},
	{
		Name: "a worker that finds nothing to claim tells nobody",
		File: "core/host/work.go",
		Old:  "		return head, thread.Head{}, err",
		New:  "		return thread.Head{}, thread.Head{}, err",
	},
	{
		Name: "an end is told to no parent",
		File: "core/internal/thread/outbox.go",
		Old:  "	if child {\n",
		New:  "	if child && t.Now == 0 {\n",
	},
}
