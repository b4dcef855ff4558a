package main

// forkMutants are errors of threads that are made of others, and of input that is taken
// back.
var forkMutants = []mutant{
	{
		Name: "a fork ends within a round",
		File: "core/mailbox/fork.go",
		Old:  "	f.seq = turn.Seq + uint64(len(turn.Message.ToolCalls))\n",
		New:  "	f.seq = max(named.Seq, turn.Seq)\n",
	},
	{
		Name: "a fork leaves out the state behind its last message",
		File: "core/mailbox/fork.go",
		Old:  "		if e.Run != turn.Run || e.Message != nil",
		New:  "		if true || e.Run != turn.Run || e.Message != nil",
	},
	{
		Name: "a fork is made before its last records are stored",
		File: "core/mailbox/fork.go",
		Old:  "	return flush()\n}\n\n// note notes",
		New:  "	page = page[:len(page)-1]\n	return flush()\n}\n\n// note notes",
	},
	{
		Name: "a fork takes nothing back that was taken back",
		File: "core/mailbox/fork.go",
		Old:  "			f.supersedes = r.Record()\n",
		New:  "",
	},
	{
		Name: "a fork has no summary",
		File: "core/mailbox/fork.go",
		Old:  "			f.summary = max(f.summary, upTo)\n",
		New:  "			f.summary = max(f.summary, 0)\n",
	},
	{
		Name: "a message that was taken back is forked at",
		File: "core/mailbox/fork.go",
		Old:  "		if r.From <= named.Seq && named.Seq <= r.To {",
		New:  "		if false {",
	},
	{
		Name: "the same fork again is a conflict",
		File: "core/mailbox/fork.go",
		Old:  "	if err != nil || made.Duplicate {\n		return made, err\n	}\n",
		New:  "	if err != nil {\n		return made, err\n	}\n	if made.Duplicate {\n		return Forked{}, thread.ErrExists\n	}\n",
	},
	{
		Name: "a fork that was made while its response was lost is a conflict",
		File: "core/mailbox/fork.go",
		Old:  "		if made.Duplicate { // the same call",
		New:  "		if false { //",
	},
	{
		Name: "a fork that cannot be told from another is a conflict",
		File: "core/mailbox/fork.go",
		Old:  "		if failed != nil && errors.Is(err, thread.ErrExists) {",
		New:  "		if false {",
	},
	{
		Name: "a name stands for every fork of a thread",
		File: "core/mailbox/fork.go",
		Old:  "	sum := sha256.Sum256([]byte(f.At))\n",
		New:  "	sum := sha256.Sum256([]byte(f.To))\n",
	},
	{
		Name: "a replay repeats what a fork was made with",
		File: "core/internal/sim/replay/recording.go",
		Old:  "err == nil && !ok && !own && head.Run.ID != id;",
		New:  "err == nil && !ok && !own && head.Run.ID != id && false;",
	},
	{
		Name: "a replay of a fork does not know of the summaries that it was made with",
		File: "core/internal/sim/replay/replay.go",
		Old:  "	return p.inherits && upTo <=",
		New:  "	return false && upTo <=",
	},
	{
		Name: "a retraction of queued input ends nothing",
		File: "core/mailbox/cancel.go",
		Old:  "				return thread.Cancel{Run: d.Run}\n",
		New:  "				return thread.Touch{}\n",
	},
	{
		Name: "a retraction takes the newest entry of an inbox",
		File: "core/internal/thread/inbox.go",
		Old:  "	*in = without(*in, in.find(c.ID))\n",
		New:  "	*in = without(*in, len(*in)-1)\n",
	},
	{
		Name: "a retraction leaves no audit",
		File: "core/internal/thread/inbox.go",
		Old:  "	return Result{Before: []Audit{{ID: c.ID, Run: run, Status: core.DispatchCancelled}}}, nil\n",
		New:  "	_ = run\n	return Result{}, nil\n",
	},
	{
		Name: "a retraction is taken for done by what its refused try has left",
		File: "core/mailbox/lost.go",
		Old:  " || ended.Status != core.DispatchCancelled || head.Run.Dispatch == id {",
		New:  " || ended.Status != core.DispatchCancelled {",
		Also: []change{{
			"core/mailbox/lost.go",
			"err != nil || record.Dispatch == id {\n			return false, err",
			"err != nil || false && record.Dispatch == id {\n			return false, err",
		}},
	},
}
