package catalog

import (
	"slices"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/strict"
)

// Catalog is a set of models by who sells them and the names that these have for them. It
// is never changed. The zero value knows none.
type Catalog struct {
	own     map[string][]entry // of files, by name
	builtIn *lines             // nil: none
}

// entry is what is known of one model.
type entry struct {
	Provider string `json:"provider"` // who sells it: the id of the provider, such as openai
	// Names are the names by which it can be found: the moving one and those of its
	// versions. A name is whole and exact: no part of it matches others.
	Names []string `json:"names"`
	model.Facts
	Source string  `json:"source,omitempty"` // where the facts were read
	Prices []price `json:"prices,omitempty"` // from the oldest to the newest
}

// Default returns the built-in catalog. Nothing of it is decoded until a model is looked
// up, and then only the lines that have the name: most processes never look up a second
// one.
func Default() *Catalog { return &Catalog{builtIn: &lines{text: builtIn}} }

// With returns a catalog with the models of a file too: JSON, {"models": [...]}, each with
// provider, names, the members of [model.Facts], source, and prices: a list of from, input,
// output, cache_read, cache_write and source, in US dollars for a million tokens. Under each of its names a model replaces the provider's one of that name,
// whole: what the file does not say of it is not known. A mistake is core.CodeInvalid and
// names the model.
func (c *Catalog) With(file []byte) (*Catalog, error) {
	var read struct {
		Models []entry `json:"models"`
	}
	if err := (strict.Options{Name: "file"}).Decode(file, &read); err != nil {
		return nil, core.Errorf(core.CodeInvalid, "model catalog: %w", err)
	}
	if read.Models == nil {
		return nil, core.Errorf(core.CodeInvalid, `model catalog: has no models, want {"models": [...]}`)
	}
	with := &Catalog{own: map[string][]entry{}, builtIn: c.builtIn}
	for i, m := range read.Models {
		if err := m.check(i); err != nil {
			return nil, err
		}
		for _, name := range m.Names {
			if slices.ContainsFunc(with.own[name], m.sameSeller) {
				return nil, core.Errorf(core.CodeInvalid, "model catalog: %q of %s is there twice", name, m.Provider)
			}
			with.own[name] = append(with.own[name], m)
		}
	}
	for name, before := range c.own {
		with.own[name] = over(with.own[name], before)
	}
	return with, nil
}

func (m entry) sameSeller(o entry) bool { return m.Provider == o.Provider }

// over returns the models, followed by those of the second list that they do not replace.
func over(models, behind []entry) []entry {
	all := slices.Clone(models)
	for _, m := range behind {
		if !slices.ContainsFunc(models, m.sameSeller) {
			all = append(all, m)
		}
	}
	return all
}

func (m entry) check(i int) error {
	if m.Provider == "" || len(m.Names) == 0 || slices.Contains(m.Names, "") {
		return core.Errorf(core.CodeInvalid, "model catalog: model %d (provider %q, names %q) wants a provider and names", i, m.Provider, m.Names)
	}
	if err := m.Facts.Check(); err != nil {
		return core.Errorf(core.CodeInvalid, "model catalog: %s: %w", m.Names[0], err)
	}
	last := ""
	for _, p := range m.Prices {
		if err := p.check(last); err != nil {
			return core.Errorf(core.CodeInvalid, "model catalog: %s: %w", m.Names[0], err)
		}
		last = p.From
	}
	return nil
}

// named are the models of a name.
func (c *Catalog) named(name string) []entry {
	own := c.own[name]
	if c.builtIn == nil {
		return own
	}
	return over(own, c.builtIn.named(name))
}

// Find returns the facts of a model by the id of its provider and its name there, and its
// seller: the provider, or the one that alone has the name. No seller: the model is not
// known. A provider whose models the catalog has sells no other's. For any other provider,
// such as openai-compatible or your own id, only the name counts, in files before the
// built-in models, if one provider alone has it: two may sell the same name at different
// prices. Servers on your own machines (llamacpp, ollama, vllm) have no seller.
//
// Bedrock's models are found by the ids of their inference profiles as well, and by ARNs
// that end in either.
func (c *Catalog) Find(provider, name string) (facts model.Facts, seller string) {
	m, _ := c.find(provider, name)
	return m.Facts, m.Provider
}

func (c *Catalog) find(provider, name string) (m entry, ok bool) {
	provider = seller(provider)
	for _, name := range spellings(provider, name) {
		named := c.named(name)
		if i := slices.IndexFunc(named, func(m entry) bool { return m.Provider == provider }); i >= 0 {
			return named[i], true
		}
		if own := c.own[name]; len(own) > 0 {
			named = own
		}
		if len(named) == 1 && !c.sells(provider) {
			return named[0], true
		}
	}
	return entry{}, false
}

// sells reports whether the catalog has models of the provider, or could have none.
func (c *Catalog) sells(provider string) bool {
	switch provider {
	case "llamacpp", "ollama", "vllm":
		return true
	}
	for _, named := range c.own {
		if slices.ContainsFunc(named, func(m entry) bool { return m.Provider == provider }) {
			return true
		}
	}
	return c.builtIn != nil && c.builtIn.sells(provider)
}

// seller is who sells the models of a provider: OpenAI's has two protocols.
func seller(provider string) string {
	if provider == "openai-responses" {
		return "openai"
	}
	return provider
}

// regions are what Bedrock puts before a model's id for requests that go to any region of
// a group: an inference profile.
var regions = []string{"us", "eu", "apac", "global", "jp", "au", "us-gov"}

// spellings are the names to look for, the most exact first.
func spellings(provider, name string) []string {
	if provider != "bedrock" {
		return []string{name}
	}
	if strings.HasPrefix(name, "arn:") {
		name = name[strings.LastIndexByte(name, '/')+1:]
	}
	if region, id, ok := strings.Cut(name, "."); ok && slices.Contains(regions, region) {
		return []string{name, id}
	}
	return []string{name}
}

// Cost returns what tokens of a provider's model cost at a time, rounded up to a billionth of
// a dollar. known is false when the price is not: the model is not known, see [Catalog.Find],
// or its first price is from a later day.
func (c *Catalog) Cost(provider, name string, tokens core.Usage, at time.Time) (cost core.USD, known bool) {
	p, known := c.price(provider, name, at)
	return p.cost(tokens), known
}

func (c *Catalog) price(provider, name string, at time.Time) (now price, ok bool) {
	m, _ := c.find(provider, name)
	day := at.UTC().Format(time.DateOnly)
	for _, p := range m.Prices {
		if p.From <= day {
			now, ok = p, true
		}
	}
	return now, ok
}
