package main

// sumMutants are errors of the checksums of the log, by which a reader knows old versions of
// records.
var sumMutants = []mutant{
	{
		Name: "an old version of a record is believed",
		File: "core/internal/threadlog/backwards.go",
		Old:  "		if joined(sums) != b.sum {\n			return true, seq\n		}\n",
		New:  "",
	},
	{
		Name: "a record that a cheap read misses is taken for damage",
		File: "core/internal/threadlog/backwards.go",
		Old:  "		if outdated(err) {",
		New:  "		if err == nil {",
	},
	{
		Name: "the head has the checksum of a shorter log",
		File: "core/internal/thread/commit.go",
		Old:  "	h.Seq, h.TailSum = c.Seq, c.Sum",
		New:  "	h.Seq = c.Seq",
	},
	{
		Name: "a turn begins with the checksum of the one before",
		File: "core/internal/thread/sum.go",
		Old:  "		return JoinSum(0, PayloadSum(payload))",
		New:  "		return JoinSum(sum, PayloadSum(payload))",
	},
}
