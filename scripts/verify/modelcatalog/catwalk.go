package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// catwalkSellers are our providers by the names of catwalk's files.
var catwalkSellers = map[string]string{
	"anthropic.json": "anthropic", "azure.json": "azure", "bedrock-europe.json": "bedrock", "bedrock-united-states.json": "bedrock",
	"deepseek.json": "deepseek", "gemini.json": "gemini", "groq.json": "groq", "openai.json": "openai", "openrouter.json": "openrouter",
	"vertexai.json": "vertex", "xai.json": "xai", "zai.json": "zai",
}

// vertexVersion is the version in a name of Claude, which Vertex writes after an at sign.
var vertexVersion = regexp.MustCompile(`-(\d{8})$`)

// guessedLevels are the files in which every model that reasons has the same levels.
var guessedLevels = []string{"openrouter.json", "groq.json"}

// catwalkModel is what catwalk has of a model. The prices are dollars for a million tokens.
type catwalkModel struct {
	ID          string
	Input       dollars  `json:"cost_per_1m_in"`
	Output      dollars  `json:"cost_per_1m_out"`
	CacheWrite  dollars  `json:"cost_per_1m_in_cached"`
	CacheRead   dollars  `json:"cost_per_1m_out_cached"`
	Window      int      `json:"context_window"`
	Reasons     bool     `json:"can_reason"`
	Levels      []string `json:"reasoning_levels"`
	Attachments bool     `json:"supports_attachments"`
}

// catwalkRows returns catwalk's models by provider and name.
func catwalkRows() (map[key]*row, error) {
	all := map[key]*row{}
	err := catwalkFiles(func(name string, content []byte) error {
		seller, known := catwalkSellers[name]
		if !known {
			return nil
		}
		var file struct{ Models []catwalkModel }
		if err := json.Unmarshal(content, &file); err != nil {
			return err
		}
		for _, m := range file.Models {
			if slices.Contains(guessedLevels, name) {
				m.Levels = nil
			}
			if seller == "vertex" {
				m.ID = vertexVersion.ReplaceAllString(m.ID, "@$1")
			}
			all[key{seller, m.ID}] = m.row(seller)
		}
		return nil
	})
	return all, err
}

// row is the model as a row of a seller.
func (m catwalkModel) row(seller string) *row {
	r := &row{Provider: seller, Names: []string{m.ID}, ContextWindow: m.Window, Reasoning: "none", Source: source(ofCatwalk)}
	if m.Reasons {
		r.Reasoning = "levels"
	}
	if m.Attachments {
		r.Inputs = []string{"image"}
	}
	if len(m.Levels) > 0 {
		r.levels = map[string]bool{}
		for _, level := range allLevels {
			r.levels[level] = slices.Contains(m.Levels, level)
		}
	}
	p := price{rates: rates{Input: m.Input, Output: m.Output}}
	// The two prices of the cache are mixed up for some models: a read costs less than the
	// input, and a write costs more.
	for _, read := range []dollars{m.CacheWrite, m.CacheRead} {
		if read > 0 && read < m.Input {
			p.CacheRead = &read
		}
	}
	if m.CacheWrite > m.Input {
		p.CacheWrite = &m.CacheWrite
	}
	if m.Input > 0 || m.Output > 0 || strings.HasSuffix(m.ID, ":free") {
		r.Prices = []price{p}
	}
	return r
}
