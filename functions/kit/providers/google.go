//go:build vertex

package providers

import (
	"context"
	"iter"
	"strings"

	"github.com/reveille-run/reveille/adapters/models/anthropic"
	"github.com/reveille-run/reveille/adapters/models/gemini"
	"github.com/reveille-run/reveille/adapters/models/gemini/vertex"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
)

// google returns Vertex AI: Gemini with its API key, or with Google's credentials both Gemini
// and Claude.
func google(p agent.ProviderSpec) (model.Model, error) {
	if !p.APIKey.IsZero() || p.Key != nil {
		return vertex.Adapter(p)
	}
	base, token, err := vertex.Endpoint(p)
	if err != nil {
		return nil, err
	}
	own, err := gemini.New(gemini.Options{Token: token, BaseURL: base})
	if err != nil {
		return nil, err
	}
	claude, err := anthropic.New(anthropic.Options{Vertex: true, Key: token, BaseURL: vertex.Publisher(base, "anthropic")})
	if err != nil {
		return nil, err
	}
	return publishers{own, claude}, nil
}

// publishers are the models of Vertex AI, of which each publisher's have an API of their own.
type publishers struct{ google, anthropic model.Model }

// of returns the client for a model of a name.
func (p publishers) of(name string) model.Model {
	if strings.HasPrefix(name, "claude-") {
		return p.anthropic
	}
	return p.google
}

// Stream implements model.Model.
func (p publishers) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return p.of(r.Model).Stream(ctx, r)
}

// Check implements model.Checker.
func (p publishers) Check(r model.Request) error {
	if c, ok := p.of(r.Model).(model.Checker); ok {
		return c.Check(r)
	}
	return nil
}
