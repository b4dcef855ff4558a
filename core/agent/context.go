package agent

import "github.com/reveille-run/reveille/core"

// Compaction is the time at which older messages are summarized. The zero Compaction, which
// is background in a file, is concurrent with the run, which continues until then; the
// first step that finds the summary uses it. Without a threshold there is no summary; off
// means the same in a file.
type Compaction string

// CompactInline has the step that needs the summary make it, before its inference.
const CompactInline Compaction = "inline"

// The other kinds, which WithDefaults fills in.
const (
	compactOff        Compaction = "off"
	compactBackground Compaction = "background"
)

// The modes of a compaction: the first leaves CompactionRawSuffixMessages raw, the second is
// another name for none.
const (
	keepRecentRawSuffix   = "keep_recent_raw_suffix"
	compactToSafeFrontier = "compact_to_safe_frontier"
)

// ContextWindowPolicy limits the size of a model's window, in tokens, and decides when
// older messages are summarized. A field that is nil or 0 has its default. The model's own
// limit bounds it: a request and the turn fit its window.
type ContextWindowPolicy struct {
	MaxContextTokens  int   `json:"max_context_tokens,omitempty"`  // 0 is 200,000
	MaxOutputTokens   int   `json:"max_output_tokens,omitempty"`   // kept free for the turn; 0 is 16,384
	MinRecentMessages *int  `json:"min_recent_messages,omitempty"` // shown at any cost; nil is 10
	EnablePromptCache *bool `json:"enable_prompt_cache,omitempty"` // nil is true
	// AutocompactThreshold is the size, in tokens, from which on a conversation is
	// compacted; 0: never.
	AutocompactThreshold int `json:"autocompact_threshold,omitempty"`
	// Compaction decides when the summary is made; empty: background if there is a
	// threshold, else off.
	Compaction Compaction `json:"compaction,omitempty"`
	// CompactionMode is keep_recent_raw_suffix, which the empty one is too, or
	// compact_to_safe_frontier: another name for CompactionRawSuffixMessages 0.
	CompactionMode              string `json:"compaction_mode,omitempty"`
	CompactionRawSuffixMessages *int   `json:"compaction_raw_suffix_messages,omitempty"` // nil is 2
	SummaryMaxTokens            int    `json:"summary_max_tokens,omitempty"`             // of the model's turn that is the summary; 0 is 2,048
	// MinSavingsRatio is the part of the summarized messages that a summary must save, in
	// tokens, 0 to 1: else it is dropped. nil is 0.3.
	MinSavingsRatio *float64 `json:"min_savings_ratio,omitempty"`
}

// The defaults that more than one place needs.
const (
	maxOutputTokens   = 16_384
	minRecentMessages = 10
)

// WithDefaults returns the policy with every field set.
func (p ContextWindowPolicy) WithDefaults() ContextWindowPolicy {
	if p.MaxContextTokens == 0 {
		p.MaxContextTokens = 200_000
	}
	if p.MaxOutputTokens == 0 {
		p.MaxOutputTokens = maxOutputTokens
	}
	if p.EnablePromptCache == nil {
		p.EnablePromptCache = new(true)
	}
	if p.CompactionMode == "" {
		p.CompactionMode = keepRecentRawSuffix
	}
	if p.Compaction == "" {
		p.Compaction = compactBackground
		if p.AutocompactThreshold == 0 {
			p.Compaction = compactOff
		}
	}
	if p.SummaryMaxTokens == 0 {
		p.SummaryMaxTokens = 2048
	}
	p.MinSavingsRatio = new(or(p.MinSavingsRatio, 0.3))
	p.MinRecentMessages = new(or(p.MinRecentMessages, minRecentMessages))
	p.CompactionRawSuffixMessages = new(or(p.CompactionRawSuffixMessages, 2))
	if p.CompactionMode == compactToSafeFrontier {
		*p.CompactionRawSuffixMessages = 0
	}
	return p
}

// Cached reports whether what providers may keep of a request is marked.
func (p *ContextWindowPolicy) Cached() bool {
	return p == nil || p.EnablePromptCache == nil || *p.EnablePromptCache
}

// check looks at the effective values, so that a small window with the default
// output is refused, too.
func (p ContextWindowPolicy) check(s *Spec) error {
	full := p.WithDefaults()
	for _, n := range []struct {
		field string
		value int
	}{
		{"context.max_context_tokens", full.MaxContextTokens},
		{"context.max_output_tokens", full.MaxOutputTokens},
		{"context.min_recent_messages", *full.MinRecentMessages},
		{"context.autocompact_threshold", full.AutocompactThreshold},
		{"context.compaction_raw_suffix_messages", or(p.CompactionRawSuffixMessages, 0)},
		{"context.summary_max_tokens", full.SummaryMaxTokens},
	} {
		if n.value < 0 {
			return s.invalid(n.field, "is %d, want 0 or more", n.value)
		}
	}
	free := full.MaxContextTokens - full.MaxOutputTokens
	switch {
	case free < 0:
		return s.invalid("context.max_output_tokens", "is %d, more than the %d of max_context_tokens", full.MaxOutputTokens, full.MaxContextTokens)
	case p.MaxOutputTokens > 0 && s.MaxTokens > p.MaxOutputTokens:
		return s.invalid("max_tokens", "is %d, context.max_output_tokens keeps %d free for the turn", s.MaxTokens, p.MaxOutputTokens)
	case full.AutocompactThreshold > free:
		return s.invalid("context.autocompact_threshold", "is %d, want at most %d: max_context_tokens less max_output_tokens", full.AutocompactThreshold, free)
	case full.CompactionMode != keepRecentRawSuffix && full.CompactionMode != compactToSafeFrontier:
		return s.invalid("context.compaction_mode", "is %q, allowed are %q and %q", core.Excerpt(full.CompactionMode), keepRecentRawSuffix, compactToSafeFrontier)
	case full.Compaction != compactOff && full.Compaction != compactBackground && full.Compaction != CompactInline:
		return s.invalid("context.compaction", "is %q, allowed are %q, %q and %q", excerpt(full.Compaction), compactOff, compactBackground, CompactInline)
	case full.Compaction != compactOff && full.AutocompactThreshold == 0:
		return s.invalid("context.compaction", "is %q without an autocompact_threshold: nothing would ever be compacted", full.Compaction)
	case !(*full.MinSavingsRatio >= 0 && *full.MinSavingsRatio <= 1): // not a number is neither
		return s.invalid("context.min_savings_ratio", "is %v, want 0 to 1", *full.MinSavingsRatio)
	}
	return nil
}

func (p *ContextWindowPolicy) clone() *ContextWindowPolicy {
	c := *p
	c.MinRecentMessages, c.CompactionRawSuffixMessages, c.EnablePromptCache = copied(c.MinRecentMessages), copied(c.CompactionRawSuffixMessages), copied(c.EnablePromptCache)
	c.MinSavingsRatio = copied(c.MinSavingsRatio)
	return &c
}
