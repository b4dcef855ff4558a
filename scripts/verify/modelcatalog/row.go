package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
)

// row is a line of the catalog: package catalog describes the members.
type row struct {
	Provider        string   `json:"provider"`
	Names           []string `json:"names"`
	ContextWindow   int      `json:"context_window,omitempty"`
	MaxInputTokens  int      `json:"max_input_tokens,omitempty"`
	MaxOutputTokens int      `json:"max_output_tokens,omitempty"`
	Inputs          []string `json:"inputs,omitempty"`
	Cutoff          string   `json:"knowledge_cutoff,omitempty"`
	Reasoning       string   `json:"reasoning,omitempty"`
	Levels          []string `json:"reasoning_levels,omitempty"`
	PromptCache     string   `json:"prompt_cache,omitempty"`
	NativeFormat    bool     `json:"native_format,omitempty"`
	Retired         string   `json:"retired,omitempty"`
	Successor       string   `json:"successor,omitempty"`
	Source          string   `json:"source,omitempty"`
	Prices          []price  `json:"prices,omitempty"`

	levels map[string]bool // what the source says of single levels
}

// price is what tokens cost from a day on, in dollars for a million.
type price struct {
	From string `json:"from,omitempty"`
	rates
	Above  *tier  `json:"above,omitempty"`
	Source string `json:"source,omitempty"`
}

// tier is what all tokens of a request cost that has more than Tokens of input.
type tier struct {
	Tokens int `json:"tokens"`
	rates
}

type rates struct {
	Input          dollars  `json:"input"`
	Output         dollars  `json:"output"`
	CacheRead      *dollars `json:"cache_read,omitempty"`
	CacheWrite     *dollars `json:"cache_write,omitempty"`
	CacheWriteHour *dollars `json:"cache_write_hour,omitempty"`
}

func (r rates) same(o rates) bool { return reflect.DeepEqual(r, o) }

// same reports whether two prices are the same but for their days and sources.
func (p price) same(o price) bool {
	p.From, p.Source, o.From, o.Source = "", "", "", ""
	return reflect.DeepEqual(p, o)
}

// key identifies the row of a name.
type key struct{ provider, name string }

func (r *row) keys() (all []key) {
	for _, name := range r.Names {
		all = append(all, key{r.Provider, name})
	}
	return all
}

// read returns the rows of a catalog by each of their names.
func read(path string) (map[key]*row, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Models []*row `json:"models"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	all := map[key]*row{}
	for _, r := range file.Models {
		for _, k := range r.keys() {
			all[k] = r
		}
	}
	return all, nil
}

// write stores the rows, one a line, those of a provider together: the catalog searches its
// text.
func write(path string, rows []*row) error {
	slices.SortStableFunc(rows, func(a, b *row) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Names[0], b.Names[0]))
	})
	var text strings.Builder
	fmt.Fprintf(&text, "{\"day\":%q,\"sources\":\"litellm %s, catwalk %s\",\"models\":[\n", day, litellmVersion, catwalkVersion)
	for i, r := range rows {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		text.Write(line)
		if i < len(rows)-1 {
			text.WriteByte(',')
		}
		text.WriteByte('\n')
	}
	text.WriteString("]}\n")
	return os.WriteFile(path, []byte(text.String()), 0o644)
}
