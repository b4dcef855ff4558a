//go:build vertex

package providers

import (
	"github.com/reveille-run/reveille/adapters/models/gemini/vertex"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
)

// google returns Vertex AI with its API key, or with Google's credentials.
func google(p agent.ProviderSpec) (model.Model, error) { return vertex.Adapter(p) }
