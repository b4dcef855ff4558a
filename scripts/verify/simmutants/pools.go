package main

// poolMutants are errors of circuits, and of how a thread goes about its pool of models.
var poolMutants = []mutant{
	{
		Name: "a step begins with the home, whoever said the last turn",
		File: "core/internal/run/inference/failover.go",
		Old:  "			c.stood = m\n		}\n	}\n	if from.Fixed",
		New:  "			_ = m\n		}\n	}\n	if from.Fixed",
	},
	{
		Name: "a thread is never home again",
		File: "core/internal/run/inference/failover.go",
		Old:  "m != nil && step.Began-p.At < pool.Returns.Milliseconds()",
		New:  "m != nil",
	},
	{
		Name: "a run that begins anew goes on with who said what it takes back",
		File: "core/internal/run/supersede.go",
		Old:  "	d.past, d.messages = then, then.Messages.Without(int(then.First))",
		New:  "	then.Homes = d.past.Homes\n	d.past, d.messages = then, then.Messages.Without(int(then.First))",
	},
	{
		Name: "switches are not counted",
		File: "core/internal/run/inference/failover.go",
		Old:  "	c.switches++\n",
		New:  "",
	},
	{
		Name: "a thread switches as often as it likes",
		File: "core/internal/run/inference/failover.go",
		Old:  "return most > 0 && c.switches >= most",
		New:  "return most < 0 && c.switches >= most",
	},
	{
		Name: "a member that has refused is asked again",
		File: "core/internal/run/inference/failover.go",
		Old:  "m != t.model && !c.has(m) && t",
		New:  "m != t.model && t",
	},
	{
		Name: "each member has calls of its own",
		File: "core/internal/run/inference/retry.go",
		Old:  "	if leaves && t.mayCall(ctx) {",
		New:  "	if leaves {",
	},
	{
		Name: "what a member was asked that was left is not metered",
		File: "core/internal/accounting/spent.go",
		Old:  "	s.left = append(s.left, s.open)",
		New:  "	_ = s.left",
	},
	{
		Name: "a turn is its home's, whoever said it",
		File: "core/internal/run/advance.go",
		Old:  "Member: m.unsaid.Member()",
		New:  "Member: m.unsaid.FailedMember()",
	},
	{
		Name: "a model is called whatever its circuit says",
		File: "core/internal/run/inference/circuit.go",
		Old:  "	if wait > 0 {\n		return &RefusedError{wait}",
		New:  "	if wait < 0 {\n		return &RefusedError{wait}",
	},
	{
		Name: "a replay chooses the members anew",
		File: "core/internal/run/inference/failover.go",
		Old:  "		c.play(from.Member, pool)",
		New:  "		c.play(nil, pool)",
	},
}
