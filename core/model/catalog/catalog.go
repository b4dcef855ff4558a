package catalog

import (
	"bytes"
	_ "embed" // the built-in catalog
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/reveille-run/reveille/core"
)

//go:embed catalog.json
var builtIn []byte

// Catalog is a set of models by the names that providers have for them. It is never
// changed. The zero value knows none.
type Catalog struct {
	models map[string]Model
	read   func() map[string]Model // in place of models: the built-in ones, when they are first asked for
}

func (c *Catalog) all() map[string]Model {
	if c.read != nil {
		return c.read()
	}
	return c.models
}

// Model is what is known of one model.
type Model struct {
	Provider string `json:"provider"` // who sells it, such as openai
	// Names are those by which it can be asked for: the moving one and those of its
	// versions. A name is whole and exact: no part of it stands for others.
	Names  []string `json:"names"`
	Prices []Price  `json:"prices,omitempty"` // from the oldest to the newest
}

// Price is what tokens cost from a day on, in US dollars for a million. From, Input,
// Output and Source must be there: what is free says 0.
type Price struct {
	From   string   `json:"from"` // the first day in UTC, such as 2026-01-31
	Input  core.USD `json:"input"`
	Output core.USD `json:"output"` // reasoning counts as output
	// CacheRead and CacheWrite are of prompt tokens that came from the provider's cache
	// or went there; nil: as Input.
	CacheRead  *core.USD `json:"cache_read,omitempty"`
	CacheWrite *core.USD `json:"cache_write,omitempty"`
	Source     string    `json:"source"` // where it was read
}

// Default returns the built-in catalog. It is decoded when it is first asked, which most
// processes never do.
func Default() *Catalog {
	return &Catalog{read: sync.OnceValue(func() map[string]Model {
		known, err := (&Catalog{}).With(builtIn)
		if err != nil {
			panic(err) // a test reads it
		}
		return known.models
	})}
}

// With returns a catalog with the models of a file too: JSON, {"models": [...]} with a
// [Model] each. A model replaces those that have one of its names, whole. A mistake is
// core.CodeInvalid and names the model.
func (c *Catalog) With(file []byte) (*Catalog, error) {
	var read struct {
		Models []Model `json:"models"`
	}
	decoder := json.NewDecoder(bytes.NewReader(file))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&read); err != nil {
		return nil, core.Errorf(core.CodeInvalid, "model catalog: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, core.Errorf(core.CodeInvalid, "model catalog: there is more behind its end")
	}
	all, named := map[string]Model{}, map[string]bool{}
	for name, m := range c.all() {
		all[name] = m
	}
	for i, m := range read.Models {
		if err := m.check(i); err != nil {
			return nil, err
		}
		for _, name := range m.Names {
			if named[name] {
				return nil, core.Errorf(core.CodeInvalid, "model catalog: %q is there twice", name)
			}
			named[name], all[name] = true, m
		}
	}
	return &Catalog{models: all}, nil
}

func (m Model) check(i int) error {
	if m.Provider == "" || len(m.Names) == 0 || slices.Contains(m.Names, "") {
		return core.Errorf(core.CodeInvalid, "model catalog: model %d (provider %q, names %q) wants a provider and names", i, m.Provider, m.Names)
	}
	last := ""
	for _, p := range m.Prices {
		if _, err := time.Parse(time.DateOnly, p.From); err != nil {
			return core.Errorf(core.CodeInvalid, "model catalog: %s: a price is from %q, want a day such as 2026-01-31", m.Names[0], p.From)
		}
		if p.From <= last {
			return core.Errorf(core.CodeInvalid, "model catalog: %s: the price from %s stands behind the one from %s", m.Names[0], p.From, last)
		}
		if p.Source == "" {
			return core.Errorf(core.CodeInvalid, "model catalog: %s: the price from %s names no source", m.Names[0], p.From)
		}
		if p.Input < 0 || p.Output < 0 || p.CacheRead != nil && *p.CacheRead < 0 || p.CacheWrite != nil && *p.CacheWrite < 0 {
			return core.Errorf(core.CodeInvalid, "model catalog: %s: the price from %s is below zero", m.Names[0], p.From)
		}
		last = p.From
	}
	return nil
}

// Price returns what a model of a name costs at a time. ok is false when that is not
// known: the model is not, or its first price is from a later day.
func (c *Catalog) Price(name string, at time.Time) (price Price, ok bool) {
	day := at.UTC().Format(time.DateOnly)
	for _, p := range c.all()[name].Prices {
		if p.From <= day {
			price, ok = p, true
		}
	}
	return price, ok
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *Price) UnmarshalJSON(b []byte) error {
	var read struct {
		From       string    `json:"from"`
		Input      *core.USD `json:"input"`
		Output     *core.USD `json:"output"`
		CacheRead  *core.USD `json:"cache_read"`
		CacheWrite *core.USD `json:"cache_write"`
		Source     string    `json:"source"`
	}
	decoder := json.NewDecoder(bytes.NewReader(b))
	decoder.DisallowUnknownFields() // the outer one's is not passed on
	if err := decoder.Decode(&read); err != nil {
		return err
	}
	if read.Input == nil || read.Output == nil {
		return core.Errorf(core.CodeInvalid, "the price from %q wants input and output; what is free costs 0", read.From)
	}
	*p = Price{From: read.From, Input: *read.Input, Output: *read.Output, CacheRead: read.CacheRead, CacheWrite: read.CacheWrite, Source: read.Source}
	return nil
}

const million = 1_000_000

// Cost returns what tokens cost, rounded up to a billionth of a dollar. What is below
// zero counts as none, and what is beyond an amount as the largest.
func (p Price) Cost(u core.Usage) core.USD {
	read := min(max(u.CacheRead, 0), max(u.Input, 0))
	write := min(max(u.CacheWrite, 0), max(u.Input, 0)-read)
	rate := func(special *core.USD) core.USD {
		if special == nil {
			return p.Input
		}
		return *special
	}
	var whole, rest uint64 // dollars' billionths, and millionths of those
	over := false
	add := func(tokens int, rate core.USD) {
		n, r := uint64(max(tokens, 0)), uint64(rate)
		if r > 0 && n/million > math.MaxInt64/8/r {
			over = true
			return
		}
		whole += n / million * r
		whole += r / million * (n % million)
		rest += r % million * (n % million)
	}
	add(u.Input-read-write, p.Input)
	add(read, rate(p.CacheRead))
	add(write, rate(p.CacheWrite))
	add(u.Output, p.Output)
	total := whole + (rest+million-1)/million
	if over || total > math.MaxInt64 {
		return math.MaxInt64
	}
	return core.USD(total)
}
