package catalog

import (
	"cmp"
	"math"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/strict"
)

// price is what tokens cost from a day on, in US dollars for a million. Input and Output
// must be there: what is free says 0.
type price struct {
	From string // the first day in UTC, such as 2026-01-31; empty: always
	rates
	Above  *above // of long requests; nil: they cost the same
	Source string // where it was read; empty: where its model was
}

// rates are the prices of a million tokens. Of a price that is not said another counts.
type rates struct {
	Input  *core.USD `json:"input,omitempty"`
	Output *core.USD `json:"output,omitempty"` // reasoning counts as output
	// CacheRead and CacheWrite are of prompt tokens that came from the provider's cache
	// or went there; nil: as Input.
	CacheRead  *core.USD `json:"cache_read,omitempty"`
	CacheWrite *core.USD `json:"cache_write,omitempty"`
	// CacheWriteHour is of tokens that the cache keeps for an hour; nil: as CacheWrite.
	CacheWriteHour *core.USD `json:"cache_write_hour,omitempty"`
}

// above are the rates of all tokens of a request whose input has more than Tokens. Rates
// that it does not say are those of shorter requests.
type above struct {
	Tokens int `json:"tokens"`
	rates
}

// check validates a price of a model with a source.
func (p price) check(source string) error {
	_, err := time.Parse(time.DateOnly, p.From)
	switch {
	case p.From != "" && err != nil:
		return core.Errorf(core.CodeInvalid, "a price is from %q, want a day such as 2026-01-31", core.Excerpt(p.From))
	case p.Source == "" && source == "":
		return core.Errorf(core.CodeInvalid, "the price from %q names no source", p.From)
	case p.negative():
		return core.Errorf(core.CodeInvalid, "the price from %q is below zero", p.From)
	case p.Above == nil:
	case p.Above.Tokens <= 0:
		return core.Errorf(core.CodeInvalid, "the price from %q is above %d tokens, want 1 or more", p.From, p.Above.Tokens)
	case p.Above.negative():
		return core.Errorf(core.CodeInvalid, "the price from %q above %d tokens is below zero", p.From, p.Above.Tokens)
	}
	return nil
}

func (r rates) negative() bool {
	for _, rate := range []*core.USD{r.Input, r.Output, r.CacheRead, r.CacheWrite, r.CacheWriteHour} {
		if rate != nil && *rate < 0 {
			return true
		}
	}
	return false
}

// over returns the rates, and those of the second where nothing is said.
func (r rates) over(below rates) rates {
	return rates{
		cmp.Or(r.Input, below.Input), cmp.Or(r.Output, below.Output), cmp.Or(r.CacheRead, below.CacheRead),
		cmp.Or(r.CacheWrite, below.CacheWrite), cmp.Or(r.CacheWriteHour, below.CacheWriteHour),
	}
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *price) UnmarshalJSON(b []byte) error {
	var read struct {
		From string `json:"from"`
		rates
		Above  *above `json:"above"`
		Source string `json:"source"`
	}
	if err := strict.Decode(b, &read); err != nil {
		return err
	}
	if read.Input == nil || read.Output == nil {
		return core.Errorf(core.CodeInvalid, "the price from %q wants input and output; what is free costs 0", read.From)
	}
	*p = price{read.From, read.rates, read.Above, read.Source}
	return nil
}

// cost returns the cost of tokens, rounded up to a billionth of a dollar. A result below
// zero counts as none, and one beyond the largest amount as that amount.
func (p price) cost(u core.Usage) core.USD {
	var b bill
	if l := u.Long; l != nil && p.Above != nil {
		long := core.Usage{Input: l.Input, Output: l.Output, CacheRead: l.CacheRead, CacheWrite: l.CacheWrite, CacheWriteHour: l.CacheWriteHour}
		b.add(long, p.Above.over(p.rates))
		u = u.Minus(long)
	}
	b.add(u, p.rates)
	return b.total()
}

// bill adds up what tokens cost.
type bill struct {
	whole, rest uint64 // billionths of a dollar, and millionths of those
	over        bool   // it is beyond the largest amount
}

const million = 1_000_000

func (b *bill) add(u core.Usage, r rates) {
	read := min(max(u.CacheRead, 0), max(u.Input, 0))
	write := min(max(u.CacheWrite, 0), max(u.Input, 0)-read)
	hour := min(max(u.CacheWriteHour, 0), write)
	b.tokens(u.Input-read-write, r.Input)
	b.tokens(read, r.CacheRead, r.Input)
	b.tokens(write-hour, r.CacheWrite, r.Input)
	b.tokens(hour, r.CacheWriteHour, r.CacheWrite, r.Input)
	b.tokens(u.Output, r.Output)
}

// tokens adds tokens at the first rate that there is.
func (b *bill) tokens(tokens int, rates ...*core.USD) {
	rate := cmp.Or(rates...)
	if rate == nil {
		return
	}
	n, r := uint64(max(tokens, 0)), uint64(*rate)
	if r > 0 && n/million > math.MaxInt64/8/r {
		b.over = true
		return
	}
	b.whole += n / million * r
	b.whole += r / million * (n % million)
	b.rest += r % million * (n % million)
	b.whole, b.rest = b.whole+b.rest/million, b.rest%million
}

func (b *bill) total() core.USD {
	total := b.whole + (b.rest+million-1)/million
	if b.over || total > math.MaxInt64 {
		return math.MaxInt64
	}
	return core.USD(total)
}
