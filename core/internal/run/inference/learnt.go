package inference

import (
	"sync"
	"time"

	"github.com/reveille-run/reveille/core/internal/breaker"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/model"
)

const (
	// leastWindow is taken for the window of a model of which nothing is known, in tokens,
	// when its provider has refused a request as too long without a number: few models
	// have a smaller one.
	leastWindow = 8_192
	// learntFor is how long what a refusal says counts: a server may be started again with
	// a larger window.
	learntFor = time.Hour
)

// Windows are the context windows of the models that a process calls, as far as their
// providers have refused longer requests. They belong to this process, and nothing of
// them is stored but in the record of a turn that was chosen by one, see
// core.Window.Known. The zero value is ready; it is safe for concurrent use.
type Windows struct {
	mutex  sync.Mutex
	learnt map[breaker.CircuitName]learnt
}

// learnt is a window, in tokens, and until when it counts.
type learnt struct {
	tokens int
	until  time.Time
}

// Learn notes the window of a model, by the provider's name for it, in tokens.
func (w *Windows) Learn(m *registry.BoundModel, name string, tokens int, now time.Time) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.learnt == nil {
		w.learnt = map[breaker.CircuitName]learnt{}
	}
	w.learnt[circuitOf(m, name)] = learnt{tokens, now.Add(learntFor)}
}

// Known is the smallest window that was learnt of the models that an agent may call, in
// tokens; 0: none was.
func (w *Windows) Known(a *registry.Resolved, now time.Time) (tokens int) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if len(w.learnt) == 0 { // in nearly every process
		return 0
	}
	for _, m := range a.CallableModels() {
		name := circuitOf(m, m.Name)
		switch l, ok := w.learnt[name]; {
		case !ok:
		case now.After(l.until):
			delete(w.learnt, name)
		case tokens == 0 || l.tokens < tokens:
			tokens = l.tokens
		}
	}
	return tokens
}

// limitOf is how many tokens a request may have after the model has refused one as too
// long: what the provider says, or what is assumed of a model of which nothing is known;
// 0: neither.
func limitOf(failure *model.Error, m *registry.BoundModel, name string) int {
	switch {
	case failure != nil && failure.Limit > 0:
		return failure.Limit
	case m.Assumed && name == m.Name:
		return leastWindow
	}
	return 0
}
