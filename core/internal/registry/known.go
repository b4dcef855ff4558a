package registry

import (
	"cmp"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
)

// assumedWindow is the context window, in tokens, of a model of which nothing is known,
// unless agent.Parts say otherwise: few models of today have a smaller one, and the refusal
// of a longer request tells.
const assumedWindow = 128_000

// The bounds of agent.Parts.UnknownWindow.
const (
	leastUnknown = 1_024
	mostUnknown  = 10_000_000
)

// learn adds the catalog's facts about a model to the declared ones. seller is the provider
// that sells it, if the catalog has nothing of its provider's id.
func (s *source) learn(b *BoundModel, seller string) {
	if facts, ok := s.pinned[b.ID]; ok {
		b.Facts, b.learnt = facts, true
		return
	}
	if _, tool := b.Model.(direct); tool || s.catalog == nil {
		return
	}
	known, of := s.catalog.Find(b.Provider, b.Name)
	b.retired, b.next = s.catalog.Retired(b.Provider, b.Name)
	if of != b.Provider {
		if sold, of := s.catalog.Find(seller, b.Name); of != "" {
			known = sold
			b.retired, b.next = s.catalog.Retired(seller, b.Name)
		}
	}
	b.Facts, b.learnt = laid(b.Facts, known), true
	if b.ContextWindow == 0 {
		b.ContextWindow, b.Assumed, b.unheard = cmp.Or(s.unknown, assumedWindow), true, true
	}
	if b.MaxOutputTokens > b.ContextWindow {
		b.MaxOutputTokens = b.ContextWindow
	}
	if b.MaxInputTokens > b.ContextWindow {
		b.MaxInputTokens = b.ContextWindow
	}
}

// laid returns the declared facts, and the known ones where nothing is declared.
func laid(said, known model.Facts) model.Facts {
	known.ContextWindow, known.Assumed = cmp.Or(said.ContextWindow, known.ContextWindow), false
	known.MaxInputTokens = cmp.Or(said.MaxInputTokens, known.MaxInputTokens)
	known.MaxOutputTokens = cmp.Or(said.MaxOutputTokens, known.MaxOutputTokens)
	known.TokensPerByte = cmp.Or(said.TokensPerByte, known.TokensPerByte)
	known.LongInput = cmp.Or(said.LongInput, known.LongInput)
	known.Cutoff = cmp.Or(said.Cutoff, known.Cutoff)
	known.Reasoning = cmp.Or(said.Reasoning, known.Reasoning)
	known.PromptCache = cmp.Or(said.PromptCache, known.PromptCache)
	known.NativeFormat = said.NativeFormat || known.NativeFormat
	if said.Levels != nil {
		known.Levels = said.Levels
	}
	if said.Inputs != nil {
		known.Inputs = said.Inputs
	}
	return known
}

// seller is who sells the models of the provider: whose adapter it is, but for one that
// speaks OpenAI's protocol at another address.
func seller(p agent.ProviderSpec) string {
	if p.BaseURL != "" && p.Adapter == "openai" {
		return "openai-compatible"
	}
	return p.Adapter
}

// facts are what is known of the models that the agent may call beyond what their specs
// say, by id; nil: nothing.
func (r *Resolved) facts() map[string]model.Facts {
	var all map[string]model.Facts
	for _, b := range r.CallableModels() {
		if !b.learnt {
			continue
		}
		if all == nil {
			all = map[string]model.Facts{}
		}
		all[b.ID] = b.Facts
	}
	return all
}

// warnRetired warns of models that their providers retire. It is no error in a strict spec
// either: an agent that works has to start.
func (r *Resolved) warnRetired() {
	for _, b := range r.CallableModels() {
		if b.retired == "" {
			continue
		}
		instead := "the model catalog names no successor"
		if b.next != "" {
			instead = fmt.Sprintf("use %s instead", core.Excerpt(b.Origin(b.next)))
		}
		r.warnings = append(r.warnings, Warning{
			Agent: r.Spec.ID, Field: "model", Day: b.retired,
			Message: fmt.Sprintf("%q is %s, which its provider retires on %s: %s", b.ID, core.Excerpt(b.Origin(b.Name)), b.retired, instead),
		})
	}
}

// warnUnheard warns of models whose window is not known.
func (r *Resolved) warnUnheard(stored bool) error {
	for _, b := range r.CallableModels() {
		if !b.unheard {
			continue
		}
		w := Warning{Agent: r.Spec.ID, Field: "model", Message: fmt.Sprintf("%q is %s, of which the model catalog has no context window: it is taken to be %d tokens", b.ID, core.Excerpt(b.Origin(b.Name)), b.ContextWindow)}
		if err := r.warn(stored, w); err != nil {
			return err
		}
	}
	return nil
}
