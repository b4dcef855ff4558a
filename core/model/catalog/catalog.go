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
	// Retired is the day from which its provider no longer has it, such as 2026-12-01.
	Retired   string  `json:"retired,omitempty"`
	Successor string  `json:"successor,omitempty"` // its provider's name of the model to use instead
	Source    string  `json:"source,omitempty"`    // where the facts were read, and when
	Prices    []price `json:"prices,omitempty"`    // from the oldest to the newest
}

// Default returns the built-in catalog. Nothing of it is decoded until a model is looked
// up, and then only the lines that have the name: most processes never look up a second
// one.
func Default() *Catalog { return &Catalog{builtIn: &lines{text: builtIn}} }

// With returns a catalog with the models of a file too: JSON, {"models": [...]}. A model has
// provider, names, the members of [model.Facts], retired (a day), successor (a name), source
// and prices. The head of the file may name its day and its sources.
//
// Prices are a list from the oldest to the newest, in US dollars for a million tokens. Each has
// from (its first day; absent: it counts for all earlier days too), input, output, cache_read,
// cache_write, cache_write_hour, above and source. above has the rates of requests whose input
// is longer than its tokens: all tokens of such a request cost so much. Rates that it does not
// say are those of other requests. A price without a source has that of its model.
//
// Under each of its names a model replaces the provider's one of that name, whole: what the
// file does not say of it is not known. A mistake is core.CodeInvalid and names the model.
func (c *Catalog) With(file []byte) (*Catalog, error) {
	var read struct {
		Day     string  `json:"day"`
		Sources string  `json:"sources"`
		Models  []entry `json:"models"`
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
	if _, err := time.Parse(time.DateOnly, m.Retired); m.Retired != "" && err != nil {
		return core.Errorf(core.CodeInvalid, "model catalog: %s: retired is %q, want a day such as 2026-01-31", m.Names[0], core.Excerpt(m.Retired))
	}
	for i, p := range m.Prices {
		if err := p.check(m.Source); err != nil {
			return core.Errorf(core.CodeInvalid, "model catalog: %s: %w", m.Names[0], err)
		}
		if i > 0 && p.From <= m.Prices[i-1].From {
			return core.Errorf(core.CodeInvalid, "model catalog: %s: the price from %q follows the one from %q, want ascending days", m.Names[0], p.From, m.Prices[i-1].From)
		}
	}
	return nil
}

// Find returns the facts of a model by the id of its provider and its name there, and its
// seller: the provider, or the one that alone has the name. No seller: the model is not
// known. A provider whose models the catalog has sells no other's. For any other provider,
// such as openai-compatible or your own id, only the name counts, in files before the
// built-in models, if one provider alone has it: two may sell the same name at different
// prices. Azure and Vertex do not count if the maker has the name too. Servers on your own machines (llamacpp, ollama, vllm) have no seller.
//
// Bedrock's models are found by the ids of their inference profiles as well, and by ARNs
// that end in either. A name with the date of a version that the catalog does not have, such
// as gpt-5.5-2026-04-23 or claude-sonnet-4-6-20260301, is that of the model without it.
func (c *Catalog) Find(provider, name string) (facts model.Facts, seller string) {
	m, _ := c.find(provider, name)
	if n := len(m.Prices); n > 0 && m.Prices[n-1].Above != nil {
		m.LongInput = m.Prices[n-1].Above.Tokens
	}
	return m.Facts, m.Provider
}

func (c *Catalog) find(provider, name string) (m entry, ok bool) {
	provider = seller(provider)
	sells := c.sells(provider)
	for _, name := range spellings(provider, name) {
		own := c.own[name]
		if i := slices.IndexFunc(own, func(m entry) bool { return m.Provider == provider }); i >= 0 {
			return own[i], true
		}
		if c.builtIn != nil && sells {
			if m, ok := c.builtIn.of(provider, name); ok {
				return m, true
			}
		}
		if sells {
			continue
		}
		if len(own) == 0 && c.builtIn != nil {
			own = c.builtIn.named(name)
		}
		if len(own) > 1 {
			own = slices.DeleteFunc(slices.Clone(own), func(m entry) bool { return slices.Contains(resellers, m.Provider) })
		}
		if len(own) == 1 {
			return own[0], true
		}
	}
	return entry{}, false
}

// resellers have names of models as their makers have them.
var resellers = []string{"azure", "vertex"}

// Retired returns the day from which the provider of a model no longer has it, such as
// 2026-12-01, and the provider's name of the model to use instead. The day may be in the
// future. Both are empty if they are not known.
func (c *Catalog) Retired(provider, name string) (day, successor string) {
	m, _ := c.find(provider, name)
	return m.Retired, m.Successor
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
var regions = []string{"us", "eu", "apac", "global", "jp", "au", "in", "us-gov"}

// spellings are the names to look for, the most exact first.
func spellings(provider, name string) []string {
	all := profiles(provider, name)
	for _, name := range all {
		if undated, ok := undated(name); ok {
			return append(all, undated)
		}
	}
	return all
}

// undated returns a name without the date of a version at its end.
func undated(name string) (string, bool) {
	for _, form := range []string{"-2006-01-02", "-20060102", "@20060102"} {
		if at := len(name) - len(form); at > 0 {
			if _, err := time.Parse(form, name[at:]); err == nil {
				return name[:at], true
			}
		}
	}
	return name, false
}

// profiles are the name, and that of the model behind an inference profile.
func profiles(provider, name string) []string {
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
