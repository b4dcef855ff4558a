package catalog

import (
	"math"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/strict"
)

// price is what tokens cost from a day on, in US dollars for a million. From, Input,
// Output and Source must be there: what is free says 0.
type price struct {
	From   string   `json:"from"` // the first day in UTC, such as 2026-01-31
	Input  core.USD `json:"input"`
	Output core.USD `json:"output"` // reasoning counts as output
	// CacheRead and CacheWrite are of prompt tokens that came from the provider's cache
	// or went there; nil: as Input.
	CacheRead  *core.USD `json:"cache_read,omitempty"`
	CacheWrite *core.USD `json:"cache_write,omitempty"`
	Source     string    `json:"source"` // where it was read
}

// check validates a price that follows one from another day.
func (p price) check(last string) error {
	switch _, err := time.Parse(time.DateOnly, p.From); {
	case err != nil:
		return core.Errorf(core.CodeInvalid, "a price is from %q, want a day such as 2026-01-31", p.From)
	case p.From <= last:
		return core.Errorf(core.CodeInvalid, "the price from %s follows the one from %s, want ascending days", p.From, last)
	case p.Source == "":
		return core.Errorf(core.CodeInvalid, "the price from %s names no source", p.From)
	case p.Input < 0 || p.Output < 0 || p.CacheRead != nil && *p.CacheRead < 0 || p.CacheWrite != nil && *p.CacheWrite < 0:
		return core.Errorf(core.CodeInvalid, "the price from %s is below zero", p.From)
	}
	return nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *price) UnmarshalJSON(b []byte) error {
	var read struct {
		From       string    `json:"from"`
		Input      *core.USD `json:"input"`
		Output     *core.USD `json:"output"`
		CacheRead  *core.USD `json:"cache_read"`
		CacheWrite *core.USD `json:"cache_write"`
		Source     string    `json:"source"`
	}
	if err := strict.Decode(b, &read); err != nil {
		return err
	}
	if read.Input == nil || read.Output == nil {
		return core.Errorf(core.CodeInvalid, "the price from %q wants input and output; what is free costs 0", read.From)
	}
	*p = price{From: read.From, Input: *read.Input, Output: *read.Output, CacheRead: read.CacheRead, CacheWrite: read.CacheWrite, Source: read.Source}
	return nil
}

const million = 1_000_000

// cost returns the cost of tokens, rounded up to a billionth of a dollar. A result below
// zero counts as none, and one beyond the largest amount as that amount.
func (p price) cost(u core.Usage) core.USD {
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
