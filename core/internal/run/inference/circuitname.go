package inference

import (
	"github.com/reveille-run/reveille/core/internal/breaker"
	"github.com/reveille-run/reveille/core/internal/registry"
)

// circuitOf names the circuit of a model that is called by the provider's name.
func circuitOf(m *registry.BoundModel, name string) breaker.CircuitName {
	if m.Provider == "" {
		return breaker.CircuitName{ID: m.ID, Model: name}
	}
	return breaker.CircuitName{Provider: m.Provider, Model: name}
}
