package main

// secondMutants are errors of second hints, which let the run of a worker that died be
// taken over soon.
var secondMutants = []mutant{
	{
		Name: "no second hint is sent",
		File: "core/internal/thread/second.go",
		Old:  "	if h.SecondAt >= ends+spare {",
		New:  "	if h.SecondAt >= 0 || ends > spare {",
	},
	{
		Name: "each step has a second hint of its own",
		File: "core/internal/thread/second.go",
		Old:  "	if h.SecondAt >= ends+spare {",
		New:  "	if h.SecondAt >= 2*(ends+spare) {",
	},
	{
		Name: "a young stream sends a second hint",
		File: "core/internal/thread/second.go",
		Old:  "worker := taken && !take.Inline; !worker && h.SecondAt == 0",
		New:  "worker := taken && take.Lease > 0; !worker && h.SecondAt == 0",
	},
	{
		Name: "a second hint comes before the lease is over",
		File: "core/internal/thread/second.go",
		Old:  "	h.SecondAt = max(ends, t.Now+lease) + lease\n",
		New:  "	h.SecondAt = max(ends, t.Now+lease) - lease/2\n",
	},
	{
		Name: "a lease that is renewed has no second hint",
		File: "core/internal/thread/second.go",
		Old:  " && h.SecondAt == 0 && t.Now-madeAt(h.Claim.CommitID) < lease-lease/3",
		New:  "",
	},
	{
		Name: "a second hint that goes along with another is forgotten",
		File: "core/mailbox/wake.go",
		Old:  "	case second == 0 || !ok:",
		New:  "	case second >= 0 || !ok:",
	},
}
