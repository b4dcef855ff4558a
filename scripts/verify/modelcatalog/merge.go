package main

import (
	"cmp"
	"iter"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// merge makes the rows of the catalog from those of the sources and the earlier ones.
type merge struct {
	first, second, before map[key]*row
	all                   map[key]*row
}

// ordered returns the rows by the order of their keys.
func ordered(all map[key]*row) iter.Seq2[key, *row] {
	keys := slices.SortedFunc(maps.Keys(all), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.provider, b.provider), cmp.Compare(a.name, b.name))
	})
	return func(yield func(key, *row) bool) {
		for _, k := range keys {
			if !yield(k, all[k]) {
				return
			}
		}
	}
}

func newMerge(catwalk, litellm, before map[key]*row) *merge {
	return &merge{catwalk, litellm, before, map[key]*row{}}
}

func (m *merge) rows() []*row {
	versions := map[key]*row{} // catwalk's models without the dates of their names
	for _, r := range ordered(m.first) {
		correct(ofCatwalk, r)
		versions[key{r.Provider, r.undated()}] = r
	}
	for k, r := range m.second {
		correct(ofLitellm, r)
		m.all[k] = r
		if other := cmp.Or(m.first[k], versions[key{r.Provider, r.undated()}]); other != nil && r.Provider != "bedrock" || m.first[k] != nil {
			r.join(other)
		}
	}
	for k, r := range m.first {
		if m.all[k] == nil {
			m.all[k] = r
		}
	}
	for _, r := range m.all {
		r.finish()
		correct("", r)
	}
	m.vendors()
	m.regions()
	cutoffs := map[key]string{}
	for _, old := range ordered(m.before) {
		cutoffs[key{old.Provider, old.undated()}] = max(old.Cutoff, cutoffs[key{old.Provider, old.undated()}])
	}
	for k, r := range m.all {
		r.Cutoff = cutoffs[key{r.Provider, r.undated()}]
		if old := m.before[k]; old != nil {
			r.history(old)
		}
	}
	m.keep()
	m.drop()
	m.succeed()
	return grouped(m.all)
}

// join adds what catwalk has of the model of a row.
func (r *row) join(catwalk *row) {
	r.Source = source(ofLitellm, ofCatwalk)
	w := catwalk.ContextWindow
	switch {
	case r.MaxOutputTokens > 0 && w == r.ContextWindow+r.MaxOutputTokens: // litellm has the bound of the input
		r.MaxInputTokens, r.ContextWindow = r.ContextWindow, w
	case w > 0:
		r.ContextWindow = min(r.ContextWindow, w)
	}
	if catwalk.levels != nil && r.Reasoning == "levels" {
		for level, has := range catwalk.levels {
			if _, said := r.levels[level]; !said {
				r.levels[level] = has
			}
		}
	}
	switch {
	case len(catwalk.Prices) == 0:
	case len(r.Prices) == 0:
		r.Prices = catwalk.Prices
	default:
		own, other := &r.Prices[0].rates, catwalk.Prices[0].rates
		own.Input, own.Output = max(own.Input, other.Input), max(own.Output, other.Output)
		if own.CacheRead = cmp.Or(own.CacheRead, other.CacheRead); own.CacheRead != nil && r.PromptCache == "none" {
			r.PromptCache = "automatic"
		}
		own.CacheWrite = cmp.Or(own.CacheWrite, other.CacheWrite)
	}
}

// assumed are the sellers whose models with levels have the three usual ones at least.
var assumed = []string{"anthropic", "azure", "bedrock", "gemini", "openai", "vertex"}

// finish computes what follows from the facts of both sources.
func (r *row) finish() {
	name := r.Names[0]
	if r.Provider == "openai" || r.Provider == "azure" || strings.Contains(name, "openai.gpt-") {
		switch { // their window is that of input and output together
		case r.MaxInputTokens > 0 || r.MaxOutputTokens != 128_000:
		case r.ContextWindow == 272_000 || r.ContextWindow == 922_000: // of litellm alone: the bound of the input
			r.MaxInputTokens, r.ContextWindow = r.ContextWindow, r.ContextWindow+r.MaxOutputTokens
		case r.ContextWindow >= 400_000:
			r.MaxInputTokens = r.ContextWindow - r.MaxOutputTokens
		}
	}
	if r.Reasoning == "levels" || r.levels != nil {
		usual := slices.Contains(assumed, r.Provider) || strings.Contains(name, "gpt-oss")
		for _, level := range allLevels {
			has, said := r.levels[level]
			if has || !said && usual && (level == "low" || level == "medium" || level == "high") {
				r.Levels = append(r.Levels, level)
			}
		}
		if !usual && !slices.ContainsFunc(r.Levels, func(l string) bool { return r.levels[l] }) {
			r.Levels = nil
		}
	}
	if r.PromptCache == "" { // of catwalk alone
		switch {
		case claude(name):
			r.PromptCache = "marks"
		case len(r.Prices) > 0 && r.Prices[0].CacheRead != nil:
			r.PromptCache = "automatic"
		default:
			r.PromptCache = "none"
		}
		r.NativeFormat = slices.Contains([]string{"openai", "azure", "gemini", "vertex"}, r.Provider) || strings.HasPrefix(name, "openai/") || strings.HasPrefix(name, "google/")
	}
	if r.MaxOutputTokens > r.ContextWindow {
		r.MaxOutputTokens = 0
	}
}

// makers are the sellers of models that OpenRouter has by the maker before the name.
var makers = map[string]string{"openai": "openai", "anthropic": "anthropic", "google": "gemini"}

// vendors adds to OpenRouter's models what is known of them where their makers sell them.
// OpenRouter names versions with a dot.
func (m *merge) vendors() {
	for k, r := range m.all {
		maker, name, ok := strings.Cut(k.name, "/")
		if k.provider != "openrouter" || !ok || makers[maker] == "" {
			continue
		}
		if maker == "anthropic" {
			name = strings.ReplaceAll(name, ".", "-")
		}
		own := m.all[key{makers[maker], name}]
		if own == nil {
			continue
		}
		r.Inputs, r.Reasoning, r.MaxOutputTokens = own.Inputs, own.Reasoning, own.MaxOutputTokens
		if r.ContextWindow >= own.ContextWindow {
			r.ContextWindow, r.MaxInputTokens = own.ContextWindow, own.MaxInputTokens
		}
		if len(r.Prices) > 0 && len(own.Prices) > 0 { // some are those of slower requests
			p, q := &r.Prices[0], own.Prices[0]
			if p.Input < q.Input || p.Output < q.Output {
				p.rates, p.Above = q.rates, q.Above
			}
		}
	}
}

// regions gives models of Bedrock without a profile the price of the profiles of one region,
// which litellm has for those alone. The profile of all regions costs less.
func (m *merge) regions() {
	for k, r := range ordered(m.all) {
		base := m.all[key{k.provider, region.ReplaceAllString(k.name, "")}]
		if k.provider != "bedrock" || base == r || base == nil || !strings.HasPrefix(k.name, "us.") || len(r.Prices) == 0 {
			continue
		}
		if len(base.Prices) == 0 || base.Prices[0].Input <= r.Prices[0].Input {
			base.Prices = r.Prices
		}
	}
}

// history puts the earlier prices before that of now, if it has changed. Prices that were
// written by hand are not history.
func (r *row) history(old *row) {
	if len(r.Prices) == 0 || len(old.Prices) == 0 || !generated(old.Source) {
		return
	}
	last := old.Prices[len(old.Prices)-1]
	now := r.Prices[0]
	switch {
	case now.same(last):
		r.Prices = old.Prices
	case strings.HasSuffix(old.Source, day): // another run with the same data
		now.From = last.From
		r.Prices = append(slices.Clone(old.Prices[:len(old.Prices)-1]), now)
	default:
		now.From = day
		r.Prices = append(slices.Clone(old.Prices), now)
	}
}

func generated(source string) bool {
	return strings.Contains(source, "litellm") || strings.Contains(source, "catwalk")
}

// keep adds the earlier rows that neither source has any more, as retired.
func (m *merge) keep() {
	for _, old := range ordered(m.before) {
		if slices.ContainsFunc(old.keys(), func(k key) bool { return m.all[k] != nil }) {
			continue
		}
		if old.Provider != "scripted" && old.Retired == "" {
			old.Retired = day
		}
		for i := range old.Prices {
			if old.Prices[i].Source == old.Source {
				old.Prices[i].Source = ""
			}
		}
		m.all[old.keys()[0]] = old
	}
}

// drop removes the models that were retired more than a year ago.
func (m *merge) drop() {
	today, err := time.Parse(time.DateOnly, day)
	if err != nil {
		panic(err)
	}
	oldest := today.AddDate(-1, 0, 0).Format(time.DateOnly)
	for k, r := range m.all {
		if r.Retired != "" && r.Retired < oldest {
			delete(m.all, k)
		}
	}
}

// dated is what names of versions have after the name of the model, and regions of Bedrock
// before it.
var (
	dated  = regexp.MustCompile(`(-latest|@.*|-\d{4}-\d{2}-\d{2}|-\d{8}|-\d{4}|-\d{8}-v\d(:0)?|-v\d:0)$`)
	region = regexp.MustCompile(`^(us|eu|apac|global|jp|au|ca|sa|in|us-gov)\.`)
)

// undated is the name of a model without that of its version.
func (r *row) undated() string {
	name := r.Names[0]
	if r.Provider == "bedrock" {
		name = region.ReplaceAllString(name, "")
	}
	return dated.ReplaceAllString(name, "")
}

// grouped puts names of one model whose facts are the same into one row.
func grouped(all map[key]*row) []*row {
	versions := map[key][]*row{}
	for _, r := range ordered(all) {
		k := key{r.Provider, r.undated()}
		versions[k] = append(versions[k], r)
	}
	var rows []*row
	for _, group := range versions {
		slices.SortFunc(group, func(a, b *row) int {
			return cmp.Or(cmp.Compare(len(a.Names[0]), len(b.Names[0])), cmp.Compare(a.Names[0], b.Names[0]))
		})
		var apart []*row
		for _, r := range group {
			if i := slices.IndexFunc(apart, r.same); i < 0 {
				apart = append(apart, r)
			} else if !r.regional(apart[i]) {
				apart[i].Names = append(apart[i].Names, r.Names...)
			}
		}
		rows = append(rows, apart...)
	}
	return rows
}

// same reports whether two rows have the same facts.
func (r *row) same(o *row) bool {
	a, b := *r, *o
	a.Names, b.Names, a.levels, b.levels, a.Source, b.Source = nil, nil, nil, nil, "", ""
	return reflect.DeepEqual(a, b)
}

// regional reports whether a row needs no name, since the catalog finds models of Bedrock
// without their region as well.
func (r *row) regional(of *row) bool {
	return r.Provider == "bedrock" && region.MatchString(r.Names[0]) && slices.Contains(of.Names, region.ReplaceAllString(r.Names[0], ""))
}
