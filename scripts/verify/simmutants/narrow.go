package main

// narrowMutants are errors after a model has refused a request as too long.
var narrowMutants = []mutant{
	{
		Name: "a refusal teaches a process nothing",
		File: "core/internal/run/inference/retry.go",
		Old:  "		t.step.Windows.Learn(t.member, t.asked.Model, limit, t.env().Now())",
		New:  "		t.step.Windows.Learn(t.member, \"\", limit, t.env().Now())",
	},
	{
		Name: "a refusal teaches a window that is too small",
		File: "core/internal/run/inference/retry.go",
		Old:  "		t.step.Windows.Learn(t.member, t.asked.Model, limit, t.env().Now())",
		New:  "		t.step.Windows.Learn(t.member, t.asked.Model, limit/2, t.env().Now())",
	},
	{
		Name: "the window of one model counts for another",
		File: "core/internal/run/inference/learnt.go",
		Old:  "	w.learnt[circuitOf(m, name)] = learnt{tokens, now.Add(learntFor)}",
		New:  "	w.learnt[breaker.CircuitName{}] = learnt{tokens, now.Add(learntFor)}",
		Also: []change{{
			File: "core/internal/run/inference/learnt.go",
			Old:  "		name := circuitOf(m, m.Name)",
			New:  "		_, name := m, breaker.CircuitName{}",
		}},
	},
	{
		Name: "a process knows the window that another was told",
		File: "core/internal/run/window.go",
		Old:  "		known := p.known()\n",
		New:  "		known := max(p.known(), p.draft.past.Window.Limit)\n",
	},
	{
		Name: "a refused request is made again as it was",
		File: "core/internal/run/inference/retry.go",
		Old:  "	first, ok := t.step.Prompt.Shorten(&t.asked, limit)",
		New:  "	first, ok := uint64(0), true",
	},
	{
		Name: "a shorter request lacks the newest turn",
		File: "core/internal/window/cut.go",
		Old:  "		w.First, w.Opening = r.History.sequence(first), 0",
		New:  "		w.First, w.Opening = r.History.sequence(min(first+3, len(r.History.Messages)-1)), 0",
	},
}
