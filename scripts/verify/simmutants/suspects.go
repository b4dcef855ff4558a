package main

// suspectMutants are errors of what may run beside a run that may take its process down.
var suspectMutants = []mutant{
	{
		Name: "a stored result settles no suspect",
		File: "core/internal/run/running.go",
		Old:  "	if r.calls[t.index].result.where == put && result.Status != core.ResultUnknown {",
		New:  "	if result.Status != core.ResultUnknown && false {",
	},
	{
		Name: "a tool that has not returned settles a suspect",
		File: "core/internal/run/running.go",
		Old:  "	s.round.calls[t.index].stage = running\n",
		New:  "	s.round.calls[t.index].stage = running\n	if s.round.holder.proved != nil {\n		s.round.holder.proved()\n	}\n",
	},
	{
		Name: "beside a suspect nothing is kept waiting",
		File: "core/host/permits.go",
		Old:  "	if p.suspect != nil && (unlucky || !patient(now, p.suspect.began)) {",
		New:  "	if p.suspect != nil && unlucky {",
	},
	{
		Name: "runs that have lost many claims start beside a suspect",
		File: "core/host/permits.go",
		Old:  "	if p.suspect != nil && (unlucky || !patient(now, p.suspect.began)) {",
		New:  "	if p.suspect != nil && !patient(now, p.suspect.began) {",
	},
	{
		Name: "an adopted result settles a suspect",
		File: "core/internal/run/adopt.go",
		Old:  "	for _, i := range found {\n		r.announce",
		New:  "	for _, i := range found {\n		if r.holder.proved != nil {\n			r.holder.proved()\n		}\n		r.announce",
	},
	{
		Name: "a run whose head could not be read is claimed beside a suspect",
		File: "core/host/permits.go",
		Old:  "return lost > 1 || !head.Exists()",
		New:  "return lost > 1",
	},
	{
		Name: "suspects start in any order",
		File: "core/host/permits.go",
		Old:  "		if p.running > 0 || p.waiting[0] != n {",
		New:  "		if p.running > 0 {",
	},
	{
		Name: "others start before a suspect that has waited for long",
		File: "core/host/permits.go",
		Old:  "	if p.overdue(now) {",
		New:  "	if false {",
	},
	{
		Name: "a stream keeps its claim while a suspect waits",
		File: "core/host/inline.go",
		Old:  "Keep: w.keeps(ctx), Proved",
		New:  "Keep: w.timeLeft(ctx), Proved",
	},
}
