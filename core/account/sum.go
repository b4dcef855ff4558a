package account

import (
	"cmp"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// Key is whose usage a [Sum] is. A field that a report does not go by is empty, and so are
// Provider and Model of what has no model: runs, tools, the handler and the store.
type Key struct {
	Day      string `json:"day,omitempty"` // YYYY-MM-DD in UTC, of the stretch's first commit
	User     string `json:"user,omitempty"`
	Agent    string `json:"agent,omitempty"`
	Run      string `json:"run,omitempty"` // in reports alone: stored sums do not tell runs apart
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
}

func (k Key) compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Day, o.Day), cmp.Compare(k.User, o.User), cmp.Compare(k.Agent, o.Agent),
		cmp.Compare(k.Run, o.Run), cmp.Compare(k.Model, o.Model), cmp.Compare(k.Provider, o.Provider))
}

// Sum is the sum of the records of a key.
type Sum struct {
	Key
	Runs        int          `json:"runs,omitempty"` // that began: their first stretches
	Stretches   int          `json:"stretches,omitempty"`
	Lost        int          `json:"lost,omitempty"` // stretches whose models and tools are not known
	Tokens      core.Usage   `json:"tokens,omitzero"`
	Inferences  int          `json:"inferences,omitempty"`
	ModelMillis int64        `json:"model_ms,omitempty"`
	Tools       int          `json:"tools,omitempty"`
	ToolMillis  int64        `json:"tool_ms,omitempty"`
	Spent       thread.Spent `json:"spent,omitzero"`
	// Billed is the handler's time by the memory of its function, in MB and milliseconds.
	Billed int64 `json:"billed_mb_ms,omitempty"`
}

func (s *Sum) add(o Sum) {
	s.Runs, s.Stretches, s.Lost = s.Runs+o.Runs, s.Stretches+o.Stretches, s.Lost+o.Lost
	s.Tokens = s.Tokens.Add(o.Tokens)
	s.Inferences, s.ModelMillis = s.Inferences+o.Inferences, s.ModelMillis+o.ModelMillis
	s.Tools, s.ToolMillis = s.Tools+o.Tools, s.ToolMillis+o.ToolMillis
	s.Spent, s.Billed = s.Spent.Plus(o.Spent), s.Billed+o.Billed
}

// sums are sums by key.
type sums map[Key]*Sum

func (s sums) add(o Sum) {
	if at := s[o.Key]; at != nil {
		at.add(o)
		return
	}
	s[o.Key] = &o
}

// addRecord adds what a stretch has used, of each run apart if runs are asked for.
func (s sums) addRecord(r *Record, runs bool) {
	whose := Key{User: r.User, Agent: r.Agent}
	if runs {
		whose.Run = r.Run.String()
	}
	own := Sum{Key: whose, Stretches: 1, Tools: r.Tools, ToolMillis: r.ToolTime, Spent: r.Spent, Billed: int64(r.Memory) * r.Spent.Handler}
	if r.Stretch == 0 {
		own.Runs = 1
	}
	if r.Lost {
		own.Lost = 1
	}
	s.add(own)
	for _, m := range r.Models {
		k := whose
		k.Provider, k.Model = m.Provider, m.Model
		s.add(Sum{Key: k, Tokens: m.Usage, Inferences: m.Inferences, ModelMillis: m.Millis})
	}
}

// sorted are the sums in the order of their keys.
func (s sums) sorted() []Sum {
	all := make([]Sum, 0, len(s))
	for _, sum := range s {
		all = append(all, *sum)
	}
	slices.SortFunc(all, func(a, b Sum) int { return a.Key.compare(b.Key) })
	return all
}
