package registry

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/field"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/catalog"
	"github.com/reveille-run/reveille/core/secret"
)

// source is where models come from: code and data, each by the id that specs name.
// It does not change once the agents that it is for are resolved.
type source struct {
	code      map[string]agent.ModelBinding
	models    map[string]agent.ModelSpec
	pools     map[string]agent.ModelPoolSpec
	providers map[string]agent.ProviderSpec
	adapters  map[string]func(agent.ProviderSpec) (model.Model, error)
	catalog   *catalog.Catalog       // nil: none
	unknown   int                    // the window of models of which nothing is known; 0: assumedWindow
	pinned    map[string]model.Facts // of a stored agent's models, by id: they count despite today's catalog
	clients   map[string]model.Model // of the providers that were opened while the source was made
}

// newSource checks the data of parts by itself and against each other.
func newSource(parts agent.Parts) (*source, error) {
	s := &source{
		code: parts.Models, adapters: parts.Adapters, catalog: parts.Catalog, unknown: parts.UnknownWindow, models: map[string]agent.ModelSpec{}, pools: map[string]agent.ModelPoolSpec{},
		providers: map[string]agent.ProviderSpec{}, clients: map[string]model.Model{},
	}
	if n := parts.UnknownWindow; n != 0 && (n < leastUnknown || n > mostUnknown) {
		return nil, core.Errorf(core.CodeInvalid, "Parts.UnknownWindow is %d tokens, allowed are %d to %d", n, leastUnknown, mostUnknown)
	}
	for _, id := range slices.Sorted(maps.Keys(parts.Models)) {
		if id == "" || parts.Models[id].Model == nil {
			return nil, fmt.Errorf("model %q has no id or no Model", id)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(parts.Adapters)) {
		if name == "" || parts.Adapters[name] == nil {
			return nil, fmt.Errorf("adapter %q has no name or no function", name)
		}
	}
	if err := keyed("provider", s.providers, parts.Providers, func(p agent.ProviderSpec) string { return p.ID }); err != nil {
		return nil, err
	}
	for id, p := range s.providers {
		s.providers[id] = p.Normal()
	}
	if err := keyed("model", s.models, parts.ModelSpecs, func(m agent.ModelSpec) string { return m.ID }); err != nil {
		return nil, err
	}
	if err := keyed("pool", s.pools, parts.Pools, func(p agent.ModelPoolSpec) string { return p.ID }); err != nil {
		return nil, err
	}
	return s, s.check()
}

// keyed puts checked specs into a map.
func keyed[S interface{ Check() error }](kind string, into map[string]S, specs []S, id func(S) string) error {
	for _, spec := range specs {
		if err := spec.Check(); err != nil {
			return err
		}
		if _, exists := into[id(spec)]; exists {
			return about(kind, id(spec), "", core.Errorf(core.CodeInvalid, "%s %q is given twice", kind, id(spec)))
		}
		into[id(spec)] = spec
	}
	return nil
}

// check looks at what the specs name, whether an agent uses them or not.
func (s *source) check() error {
	for _, id := range slices.Sorted(maps.Keys(s.providers)) {
		if name := s.providers[id].Adapter; s.adapters[name] == nil {
			return about("provider", id, "adapter", fmt.Errorf("provider %q: %w", id, notFound("adapter", name, slices.Sorted(maps.Keys(s.adapters)))))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.models)) {
		if _, twice := s.code[id]; twice {
			return about("model", id, "", core.Errorf(core.CodeInvalid, "model %q is given twice: as code and as a spec", id))
		}
		if provider := s.models[id].Provider; !has(s.providers, provider) {
			return about("model", id, "provider", fmt.Errorf("model %q: %w", id, notFound("provider", provider, slices.Sorted(maps.Keys(s.providers)))))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.pools)) {
		if has(s.models, id) || has(s.code, id) {
			return about("pool", id, "", core.Errorf(core.CodeInvalid, "%q is ambiguous: model %q and pool %q have one id", id, id, id))
		}
		for i, m := range s.pools[id].Members {
			member := item("members", i) + ".model"
			if has(s.pools, m.Model) {
				return about("pool", id, member, core.Errorf(core.CodeInvalid, "pool %q: member %q is a pool, want a model", id, m.Model))
			}
			if !has(s.models, m.Model) && !has(s.code, m.Model) {
				return about("pool", id, member, fmt.Errorf("pool %q: %w", id, notFound("model", m.Model, s.modelIDs())))
			}
		}
	}
	return nil
}

// about locates an error in a field of a spec.
func about(kind, id, path string, err error) error {
	return &field.Located{Kind: kind, ID: id, Field: path, Err: err}
}

func has[V any](m map[string]V, key string) bool {
	_, ok := m[key]
	return ok
}

// modelIDs are those that a pool can name.
func (s *source) modelIDs() []string {
	return slices.Sorted(maps.Keys(joined(s.code, s.models)))
}

func joined[A, B any](a map[string]A, b map[string]B) map[string]bool {
	all := make(map[string]bool, len(a)+len(b))
	for id := range a {
		all[id] = true
	}
	for id := range b {
		all[id] = true
	}
	return all
}

// resolve finds the model or pool that an agent names.
func (s *source) resolve(id string, r *Resolved) (err error) {
	if spec, ok := s.pools[id]; ok {
		if r.pool, err = newPool(spec, s.bind); err != nil {
			return about("pool", id, "", fmt.Errorf("pool %q: %w", id, err))
		}
		r.bound = r.pool.lead()
	} else if r.bound, err = s.bind(id); err != nil {
		return err
	}
	r.Model, r.ModelName = r.bound.Model, r.bound.Name
	return nil
}

// bind finds a model and opens its provider.
func (s *source) bind(id string) (*BoundModel, error) {
	if binding, ok := s.code[id]; ok {
		b := &BoundModel{ID: id, Name: binding.Name, Model: binding.Model, Provider: binding.Provider, Facts: binding.Facts}
		if b.Name == "" {
			b.Name = id
		}
		b.learnt, b.origin = b.ContextWindow > 0, origin(b.Provider, b.Name)
		s.learn(b, b.Provider)
		return b, nil
	}
	spec, ok := s.models[id]
	if !ok {
		return nil, notFound("model", id, slices.Sorted(maps.Keys(joined(joined(s.code, s.models), s.pools))))
	}
	client, err := s.open(spec.Provider)
	if err != nil {
		return nil, about("model", id, "", fmt.Errorf("model %q: %w", id, err))
	}
	b := &BoundModel{
		ID: id, Name: spec.UpstreamModel, Model: client, Provider: spec.Provider,
		Facts: model.Facts{ContextWindow: spec.ContextWindow, MaxOutputTokens: spec.MaxOutputTokens}, origin: origin(spec.Provider, spec.UpstreamModel),
	}
	s.learn(b, seller(s.providers[spec.Provider]))
	return b, nil
}

// open makes a provider's client, once for all of its models.
func (s *source) open(id string) (model.Model, error) {
	if client, ok := s.clients[id]; ok {
		return client, nil
	}
	spec, ok := s.providers[id]
	if !ok {
		return nil, notFound("provider", id, slices.Sorted(maps.Keys(s.providers)))
	}
	adapter, ok := s.adapters[spec.Adapter]
	if !ok {
		return nil, fmt.Errorf("provider %q: %w", id, notFound("adapter", spec.Adapter, slices.Sorted(maps.Keys(s.adapters))))
	}
	if spec.APIKeyEnv != "" && spec.APIKey.IsZero() && spec.Key == nil {
		return nil, about("provider", id, "api_key_env", core.Errorf(core.CodeInvalid, "provider %q: api_key_env is %q, a variable that is not set", id, core.Excerpt(spec.APIKeyEnv)))
	}
	client, err := adapter(spec)
	if err != nil {
		return nil, about("provider", id, "", fmt.Errorf("provider %q: %w", id, err))
	}
	if client == nil {
		return nil, core.Errorf(core.CodeInternal, "provider %q: adapter %q returned no model", id, spec.Adapter)
	}
	if spec.TimeoutMS > 0 {
		client = limited(client, time.Duration(spec.TimeoutMS)*time.Millisecond)
	}
	s.clients[id] = client
	return client, nil
}

// with returns a source in which what content holds takes the place of what bears
// the same id. Keys are the running program's: content has none. A provider that is
// still the same keeps its client.
func (s *source) with(c content) *source {
	w := &source{
		code: maps.Clone(s.code), models: maps.Clone(s.models), pools: maps.Clone(s.pools),
		providers: maps.Clone(s.providers), adapters: s.adapters, catalog: s.catalog, pinned: c.Facts, clients: maps.Clone(s.clients),
	}
	for _, m := range c.Models {
		delete(w.code, m.ID)
		delete(w.pools, m.ID)
		w.models[m.ID] = m
	}
	if c.Pool != nil {
		delete(w.code, c.Pool.ID)
		delete(w.models, c.Pool.ID)
		w.pools[c.Pool.ID] = *c.Pool
	}
	for _, p := range c.Providers {
		now := s.providers[p.ID]
		if !bytes.Equal(encoded(plain(now)), encoded(p)) {
			delete(w.clients, p.ID)
		}
		p.APIKey, p.Key, p.APIKeyEnv = now.APIKey, now.Key, now.APIKeyEnv
		w.providers[p.ID] = p
	}
	return w
}

// plain returns the spec without the key and its source: the part that may be stored, and
// that an agent's hash covers.
func plain(p agent.ProviderSpec) agent.ProviderSpec {
	p.APIKey, p.Key, p.APIKeyEnv = secret.String{}, nil, ""
	return p
}
