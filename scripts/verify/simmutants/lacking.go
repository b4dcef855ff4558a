package main

// lackingMutants are errors of leaving a run to a build that has what it needs.
var lackingMutants = []mutant{
	{
		Name: "a call whose tool only another build has is told that there is none",
		File: "core/internal/run/gate.go",
		Old:  "		if !slices.Contains(",
		New:  "		if false && !slices.Contains(",
	},
	{
		Name: "a build that lacks a tool waits for no other",
		File: "core/internal/run/run.go",
		Old:  "const leaveFor = 10 * time.Minute",
		New:  "const leaveFor = -1",
	},
	{
		Name: "a build that lacks a tool counts its attempt",
		File: "core/internal/thread/nack.go",
		Old:  "	if c.Kind != NackFailed {",
		New:  "	if c.Kind != NackFailed && c.Kind != NackLacks {",
	},
}
