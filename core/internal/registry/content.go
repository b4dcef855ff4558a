package registry

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/strict"
)

// content is the data of a resolved agent: what its hash covers, and what a run that is
// pinned to it continues with. Tools, plugins, adapters and models that are bound in code
// are the running program's, and so are the providers' keys.
type content struct {
	Spec      agent.Spec           `json:"spec"`
	Pool      *agent.ModelPoolSpec `json:"pool,omitempty"`      // that the spec names
	Models    []agent.ModelSpec    `json:"models,omitempty"`    // that the spec or the pool names, by id
	Providers []agent.ProviderSpec `json:"providers,omitempty"` // of these models, by id, without keys
	// Facts are what was known of the models that the agent may call, by id: a window that
	// changed in the middle of a run would change what its model is shown.
	Facts map[string]model.Facts `json:"facts,omitempty"`
}

// contentOf collects what the agent uses of the source.
func contentOf(r *Resolved, s *source) content {
	spec := r.Spec
	c := content{Spec: spec, Facts: r.facts()}
	names := []string{spec.Model}
	if pool, ok := s.pools[spec.Model]; ok {
		c.Pool, names = &pool, nil
		for _, m := range pool.Members {
			names = append(names, m.Model)
		}
	}
	providers := map[string]bool{}
	for _, id := range slices.Sorted(slices.Values(names)) {
		if m, ok := s.models[id]; ok {
			c.Models = append(c.Models, m)
			providers[m.Provider] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(providers)) {
		c.Providers = append(c.Providers, plain(s.providers[id]))
	}
	return c
}

// text returns the content's JSON. Absent values are encoded as no type, since package json
// looks at all fields of every type that it may meet: for an agent whose model is bound in
// code, at three types for nothing, at every start.
func (c content) text() []byte {
	var t struct {
		Spec      agent.Spec `json:"spec"`
		Pool      any        `json:"pool,omitempty"`
		Models    any        `json:"models,omitempty"`
		Providers any        `json:"providers,omitempty"`
		Facts     any        `json:"facts,omitempty"`
	}
	t.Spec = c.Spec
	if c.Pool != nil {
		t.Pool = c.Pool
	}
	if len(c.Models) > 0 {
		t.Models = c.Models
	}
	if len(c.Providers) > 0 {
		t.Providers = c.Providers
	}
	if len(c.Facts) > 0 {
		t.Facts = c.Facts
	}
	return encoded(t)
}

// encoded is the JSON of a spec that was checked, and therefore has one.
func encoded(v any) []byte {
	text, err := core.EncodeJSON(v)
	if err != nil {
		return nil
	}
	return text
}

// hashOf is the name of content: 32 hex digits.
func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Content returns the canonical JSON of the agent's data: its spec and the models,
// the pool and the providers that it uses, without keys, and what is known of the models. [Resolved.Hash] is its hash,
// and [Registry.ResolveContent] makes an agent of it again. It must not be changed.
func (r *Resolved) Content() []byte {
	text, _ := r.data()
	return text
}

// Hash returns the hash of [Resolved.Content]: 32 hex digits.
func (r *Resolved) Hash() string {
	_, hash := r.data()
	return hash
}

// ResolveContent resolves what [Resolved.Content] returned, at another time or in
// another process, with the tools, plugins, adapters, models and keys of the running
// program: an agent of yesterday with today's code. The content counts, not today's spec of
// the same id in the registry.
//
// An allowed tool that the program has no more is missing, as are agents it delegated
// to; warnings are not looked for. A plugin, an excluded tool, a model bound in code,
// or an adapter that it has no more is an error with code not_found. Content with a
// field that this program does not know has code schema: a newer one wrote it.
func (r *Registry) ResolveContent(text []byte) (*Resolved, error) {
	var c content
	if err := (strict.Options{MaxDepth: -1}).Decode(text, &c); err != nil {
		code := core.CodeCorrupt
		if wrong, ok := errors.AsType[*strict.Error](err); ok && wrong.Unknown() {
			code = core.CodeSchema
		}
		return nil, core.Errorf(code, "content of an agent: %w", err)
	}
	if err := c.check(); err != nil {
		return nil, core.Errorf(core.CodeCorrupt, "content of an agent: %w", err)
	}
	resolved, err := r.code.resolve(c.Spec.Normal(), r.source.with(c), true)
	if err != nil {
		return nil, wrap(c.Spec.ID, err)
	}
	stored, hash := bytes.Clone(text), hashOf(text)
	resolved.data = func() ([]byte, string) { return stored, hash }
	return resolved, nil
}

func (c content) check() error {
	if err := c.Spec.Check(); err != nil {
		return err
	}
	if c.Pool != nil {
		if err := c.Pool.Check(); err != nil {
			return err
		}
	}
	for _, m := range c.Models {
		if err := m.Check(); err != nil {
			return err
		}
	}
	for _, p := range c.Providers {
		if err := p.Check(); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.Facts)) {
		if err := c.Facts[id].Check(); err != nil {
			return core.Errorf(core.CodeInvalid, "model %q: %w", id, err)
		}
	}
	return nil
}
