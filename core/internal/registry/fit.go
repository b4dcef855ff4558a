package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/finalanswer"
	"github.com/reveille-run/reveille/core/model"
)

// Origin is what requests to the model by a name of the provider's bear: the provider and
// that name; of a provider without an id, the name alone.
func (b *BoundModel) Origin(name string) string {
	if name == b.Name && b.origin != "" { // of nearly every request
		return b.origin
	}
	return origin(b.Provider, name)
}

func origin(provider, name string) string {
	return strings.TrimPrefix(provider+"/"+name, "/")
}

// Format makes a request with a ResponseFormat one that the model can read: in its
// provider's own field, if that has one in addition to the request's tools, or with the
// tool of package finalanswer after them. If no tool may be called, that one must be.
func (m *BoundModel) Format(r *model.Request) {
	if r.ResponseFormat == nil || m.formats(*r) {
		return
	}
	tools := r.Tools
	r.Tools = append(tools[:len(tools):len(tools)], finalanswer.Definition(r.ResponseFormat))
	r.ResponseFormat = nil
	if r.ToolChoice.Mode == model.ToolNone {
		r.ToolChoice = model.ToolChoice{Mode: model.ToolNamed, Name: finalanswer.Tool}
	}
}

// formats reports whether the provider makes the model answer in the form.
func (m *BoundModel) formats(r model.Request) bool {
	if m.learnt && !m.NativeFormat {
		return false
	}
	checker, ok := m.Model.(model.Checker)
	r.Messages = nil
	return !ok || checker.Check(r) == nil
}

// fit checks whether the provider of each of the agent's models has a form for the agent's
// ResponseFormat, without a request: a missing form fails when the program starts, and not
// with the first message. A spec that was resolved before only causes a warning: its run
// has started.
func (r *Resolved) fit(stored bool) error {
	for _, bound := range r.CallableModels() {
		checker, ok := bound.Model.(model.Checker)
		if !ok {
			continue
		}
		err := checker.Check(r.asks(bound))
		switch {
		case err == nil:
		case stored:
			r.warnings = append(r.warnings, Warning{Agent: r.Spec.ID, Field: "model", Message: fmt.Sprintf("%q: %v", bound.ID, err)})
		default:
			return core.Errorf(core.CodeInvalid, "model %q: %w", bound.ID, err)
		}
	}
	return r.unused(stored)
}

// asks is the agent's request of a model, before anything is said.
func (r *Resolved) asks(bound *BoundModel) model.Request {
	s := &r.Spec
	request := model.Request{
		Model: bound.Name, Origin: bound.Origin(bound.Name), System: s.SystemPrompt, Tools: r.ModelTools,
		MaxTokens: s.MaxTokens, Temperature: s.Temperature, TopP: s.TopP, ReasoningEffort: s.ReasoningEffort, Levels: bound.Levels,
		StopSequences: s.StopSequences, ResponseFormat: s.ResponseFormat, ToolChoice: s.ToolChoice,
		ProviderOptions: s.ProviderOptions[bound.Provider],
	}
	bound.Format(&request)
	return request
}

// unused warns of options of providers that no model of the agent has.
func (r *Resolved) unused(stored bool) error {
	if len(r.Spec.ProviderOptions) == 0 {
		return nil
	}
	providers := map[string]bool{}
	for _, bound := range r.CallableModels() {
		providers[bound.Provider] = true
	}
	delete(providers, "") // of models bound in code that do not say theirs
	list := "none"
	if len(providers) > 0 {
		list = strings.Join(slices.Sorted(maps.Keys(providers)), ", ")
	}
	for _, id := range slices.Sorted(maps.Keys(r.Spec.ProviderOptions)) {
		if providers[id] {
			continue
		}
		w := Warning{Agent: r.Spec.ID, Field: "provider_options", Message: fmt.Sprintf("has %q, the provider of no model of the agent; theirs are: %s", id, list)}
		if err := r.warn(stored, w); err != nil {
			return err
		}
	}
	return nil
}
