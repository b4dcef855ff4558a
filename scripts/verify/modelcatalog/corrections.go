package main

import (
	"slices"
	"strings"
)

// correction changes a row of a source that is wrong.
type correction struct {
	source   string // empty: the row made from all sources
	provider string // several are separated by commas
	names    string // several are separated by commas; a star at the end stands for any text
	why      string
	change   func(*row)
}

var corrections = []correction{
	{ofCatwalk, "anthropic", "claude-opus-4-6,claude-sonnet-4-6", "the window is 1,000,000 since 2026-03; catwalk has the earlier one",
		func(r *row) { r.ContextWindow = 0 }},
	{ofCatwalk, "xai", "*", "catwalk has the length at which the higher price begins, not the window",
		func(r *row) { r.ContextWindow = 0 }},
	{ofCatwalk, "gemini", "gemini-3.6-flash", "catwalk has the price before it was halved",
		func(r *row) { r.Prices = nil }},
	{"", "openai,azure", "gpt-5-pro*", "OpenAI's reference: it has high alone",
		levels("high")},
	{"", "openai,azure", "gpt-5.2-pro*", "OpenAI's reference: it has no lower level than medium",
		levels("medium", "high", "xhigh")},
	{"", "openai,azure", "gpt-5-codex*,gpt-5.1-codex*,gpt-5.2-codex*,gpt-5.3-codex*", "OpenAI's reference: models for code refuse minimal, which catwalk names",
		func(r *row) { r.Levels = slices.DeleteFunc(r.Levels, func(l string) bool { return l == "minimal" }) }},
	{"", "openai,azure", "gpt-5-chat*", "it does not reason",
		func(r *row) { r.Reasoning, r.Levels = "none", nil }},
	{"", "openai,azure", "gpt-5.1-chat*,gpt-5.2-chat*,gpt-5.3-chat*", "they have medium alone, as chat-latest",
		levels("medium")},
	{"", "deepseek", "deepseek-chat,deepseek-reasoner", "its names for the two ways of the model of 2026-04",
		func(r *row) { r.Successor = "deepseek-v4-flash" }},
	{ofLitellm, "zai", "glm-4.5*", "it reasons, as catwalk has it",
		func(r *row) { r.Reasoning = "levels" }},
	{"", "groq", "moonshotai/kimi-k2-instruct-0905", "it does not reason",
		func(r *row) { r.Reasoning = "none" }},
	{"", "groq", "qwen/qwen3-32b", "it reasons",
		func(r *row) { r.Reasoning = "levels" }},
}

func levels(all ...string) func(*row) { return func(r *row) { r.Levels = all } }

// correct applies the corrections of a source.
func correct(source string, r *row) {
	for _, c := range corrections {
		if c.source == source && slices.Contains(strings.Split(c.provider, ","), r.Provider) && matches(c.names, r.Names[0]) {
			c.change(r)
		}
	}
}

func matches(names, name string) bool {
	return slices.ContainsFunc(strings.Split(names, ","), func(pattern string) bool {
		prefix, open := strings.CutSuffix(pattern, "*")
		return name == pattern || open && strings.HasPrefix(name, prefix)
	})
}
