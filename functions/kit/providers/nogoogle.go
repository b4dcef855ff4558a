//go:build !vertex

package providers

import (
	"github.com/reveille-run/reveille/adapters/models/gemini"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
)

// google returns Vertex AI with its API key. Functions and most local hosts do not link the
// library of Google's other credentials.
func google(p agent.ProviderSpec) (model.Model, error) {
	if p.APIKey.IsZero() && p.Key == nil {
		return nil, core.Errorf(core.CodeInvalid, "this program is built without Google's credentials: set GOOGLE_VERTEX_API_KEY to an API key, or start the local host with `make run MODEL=vertex/NAME`, or build a program with -tags vertex")
	}
	return gemini.VertexAdapter(p)
}
