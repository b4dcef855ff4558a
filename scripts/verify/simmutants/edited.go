package main

// editedMutants are errors of decisions that bring the arguments of their call.
var editedMutants = []mutant{
	{
		Name: "a call runs with the model's arguments after a decision with others",
		File: "core/internal/run/resume.go",
		Old:  "	case len(d.Arguments) > 0:\n		t.after.arguments = d.Arguments\n",
		New:  "",
	},
	{
		Name: "a call that waits again loses the arguments of its first decision",
		File: "core/internal/run/suspend.go",
		Old:  "	k.record.Edited = t.after.arguments != nil\n",
		New:  "",
	},
	{
		Name: "a decision with arguments keeps no older program away",
		File: "core/mailbox/decide.go",
		Old:  "		edited = records.Writes\n",
		New:  "		edited = 1\n",
	},
	{
		Name: "a result does not say which arguments it is of",
		File: "core/internal/run/result.go",
		Old:  "Arguments: end.after.arguments, ",
		New:  "",
	},
}
