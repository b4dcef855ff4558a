package accounting

import (
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// Use is the usage of one model for a turn, in the calls that one process has made.
type Use struct {
	Provider string // empty: the model was bound in code
	Model    string // the provider's name of it
	Calls    int    // also those that failed
	Time     time.Duration
	Usage    core.Usage // as far as the provider has counted it
	Counted  bool       // it has: else Usage is zero because it is not known
}

// Spent is the usage of the models of one turn, in the order in which the turn went from
// one to the next. The last use is open: calls are added to it. The zero value has called
// no model; a nil Spent belongs to no turn.
type Spent struct {
	left []Use      // of models that the turn has left
	open Use        // of the current model
	call core.Usage // what the provider has counted of the open use's newest call
	says bool       // it has counted something of it, and Usage has none of that yet
}

// Next leaves the current model: later calls are of another one. It does nothing if no call
// was made.
func (s *Spent) Next() {
	if s.open.Calls == 0 {
		return
	}
	s.EndCall()
	s.left = append(s.left, s.open)
	s.open = Use{}
}

// Name names the current model: the newest request of the open use, under whose name all
// its calls are recorded.
func (s *Spent) Name(provider, model string) { s.open.Provider, s.open.Model = provider, model }

// Call counts a call before it is made, so that one that panics is counted as well.
func (s *Spent) Call() { s.open.Calls++ }

// Took adds how long a call took.
func (s *Spent) Took(d time.Duration) { s.open.Time += d }

// Count takes a provider's count of a call so far. A later count of the same call replaces
// an earlier one.
func (s *Spent) Count(u core.Usage) { s.call, s.says = u, true }

// Newest returns what the provider has counted of the newest call; false: nothing.
func (s *Spent) Newest() (core.Usage, bool) { return s.call, s.says }

// EndCall ends the newest call: what is counted from here on is of another one.
func (s *Spent) EndCall() {
	if s.says {
		s.open.Usage, s.open.Counted = s.open.Usage.Add(s.call), true
	}
	s.call, s.says = core.Usage{}, false
}

// uses calls f with each use, the open one last and with its newest call, if any call of
// it was made.
func (s *Spent) uses(f func(Use)) {
	if s == nil {
		return
	}
	for _, u := range s.left {
		f(u)
	}
	if s.open.Calls > 0 {
		whole := *s
		whole.EndCall()
		f(whole.open)
	}
}

// Usage is what all models together have used; nil: no provider has counted anything.
func (s *Spent) Usage() *core.Usage {
	if used, counted := s.used(); counted {
		return &used
	}
	return nil
}

// used is Usage as a value; false: no provider has counted anything.
func (s *Spent) used() (total core.Usage, counted bool) {
	if s == nil {
		return core.Usage{}, false
	}
	for _, u := range s.left {
		total, counted = total.Add(u.Usage), counted || u.Counted
	}
	if s.open.Calls > 0 {
		whole := *s
		whole.EndCall()
		total, counted = total.Add(whole.open.Usage), counted || whole.open.Counted
	}
	return total, counted
}

// Time is how long all calls took, without the pauses between them.
func (s *Spent) Time() (all time.Duration) {
	s.uses(func(u Use) { all += u.Time })
	return all
}

// asked reports whether a call was made.
func (s *Spent) asked() bool { return s != nil && (s.open.Calls > 0 || len(s.left) > 0) }

// addTo returns m with all uses; m stays as it is.
func (s *Spent) addTo(m *thread.Metered) *thread.Metered {
	s.uses(func(u Use) {
		m = m.With(core.ModelUse{Provider: u.Provider, Model: u.Model, Usage: u.Usage, Inferences: u.Calls, Millis: u.Time.Milliseconds()})
	})
	return m
}
