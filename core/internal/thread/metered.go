package thread

import (
	"slices"

	"github.com/reveille-run/reveille/core"
)

// Metered is what a run has used so far, or a stretch of it.
type Metered struct {
	Models     []core.ModelUse `json:"models,omitempty"`      // in the order in which they were first called
	Tools      int             `json:"tools,omitempty"`       // calls whose tool has run
	ToolMillis int64           `json:"tool_millis,omitempty"` // how long their tools ran, as far as they did
}

// With returns m with the usage of a model added; a nil m has no usage yet.
func (m *Metered) With(use core.ModelUse) *Metered {
	n := m.copied()
	i := slices.IndexFunc(n.Models, func(u core.ModelUse) bool { return u.Provider == use.Provider && u.Model == use.Model })
	if i < 0 {
		n.Models = append(slices.Clone(n.Models), use)
		return n
	}
	n.Models = slices.Clone(n.Models)
	u := &n.Models[i]
	u.Usage, u.Inferences, u.Millis = u.Usage.Add(use.Usage), u.Inferences+use.Inferences, u.Millis+use.Millis
	return n
}

// Plus returns m and what another one has; nil is nothing.
func (m *Metered) Plus(o *Metered) *Metered {
	n := m.copied()
	if o == nil {
		return n
	}
	for _, use := range o.Models {
		n = n.With(use)
	}
	n.Tools, n.ToolMillis = n.Tools+o.Tools, n.ToolMillis+o.ToolMillis
	return n
}

// MeterResult counts the tool call of a result, if its tool has run. It counts nothing
// where the turn was not metered.
func (t *Totals) MeterResult(result *Entry) {
	if t.Metered == nil {
		return
	}
	switch result.Message.ToolResult.Status {
	case core.ResultOK, core.ResultError, core.ResultUnknown:
		n := t.Metered.copied()
		n.Tools, n.ToolMillis = n.Tools+1, n.ToolMillis+result.Duration
		t.Metered = n
	}
}

// Since returns the part of m since an earlier one of the same run; nil has no usage.
func (m *Metered) Since(before *Metered) Metered {
	n := *m.copied()
	if before == nil {
		return n
	}
	n.Tools, n.ToolMillis = n.Tools-before.Tools, n.ToolMillis-before.ToolMillis
	rest := make([]core.ModelUse, 0, len(n.Models))
	for _, u := range n.Models {
		for _, b := range before.Models {
			if b.Provider == u.Provider && b.Model == u.Model {
				u.Usage = u.Usage.Minus(b.Usage)
				u.Inferences, u.Millis = u.Inferences-b.Inferences, u.Millis-b.Millis
			}
		}
		if u.Usage != (core.Usage{}) || u.Inferences != 0 {
			rest = append(rest, u)
		}
	}
	n.Models = rest
	return n
}

// SetModels notes the models of a run that has ended: only what its price depends on. The
// usage of a single model is the run's, and is not stored twice.
func (r *RunRecord) SetModels(used *Metered) {
	r.Models = nil
	if used == nil || len(used.Models) == 0 {
		return
	}
	r.Models = make([]core.ModelUse, len(used.Models))
	for i, m := range used.Models {
		r.Models[i] = core.ModelUse{Provider: m.Provider, Model: m.Model, Usage: m.Usage}
	}
	if len(r.Models) == 1 && r.Models[0].Usage.Equal(r.Usage) {
		r.Models[0].Usage = core.Usage{}
	}
}

// UsedModels returns the models that a run has used, as far as its record knows: until its
// end, or until it last waited.
func (r *RunRecord) UsedModels() []core.ModelUse {
	if n := len(r.Bases); len(r.Models) == 0 && n > 0 && r.Bases[n-1].Used != nil {
		return r.Bases[n-1].Used.Models
	}
	if len(r.Models) == 1 && r.Models[0].Usage == (core.Usage{}) {
		one := r.Models[0]
		one.Usage = r.Usage
		return []core.ModelUse{one}
	}
	return r.Models
}

func (m *Metered) copied() *Metered {
	if m == nil {
		return &Metered{}
	}
	n := *m
	return &n
}
