package main

// mutants are the errors that must be found.
var mutants = []mutant{
	{
		Name: "commit ids are not looked at",
		File: "core/mailbox/commit.go",
		Old:  "if c.plan.made && (head.CommitID == c.id || c.holder && head.HolderCommitID == c.id) {",
		New:  "if false {",
	},
}
