package catalog

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// decode reads a line of the built-in catalog. encoding/json, whose first use of a type
// costs a start 0.1 ms, reads only lines that the scanner does not know.
func decode(line []byte) (entry, error) {
	line = bytes.TrimRight(line, ",\n")
	s := scanner{rest: line}
	m := s.model()
	if s.next(); !s.failed && len(s.rest) == 0 {
		return m, nil
	}
	m = entry{}
	err := json.Unmarshal(line, &m)
	return m, err
}

// scanner reads JSON of few forms, without escapes. It has failed where it met another.
type scanner struct {
	rest   []byte
	failed bool
}

func (s *scanner) model() (m entry) {
	s.object(func(member string) {
		switch member {
		case "provider":
			m.Provider = s.string()
		case "names":
			m.Names = nil
			s.array(func() { m.Names = append(m.Names, s.string()) })
		case "context_window":
			m.ContextWindow = s.int()
		case "max_input_tokens":
			m.MaxInputTokens = s.int()
		case "max_output_tokens":
			m.MaxOutputTokens = s.int()
		case "inputs":
			m.Inputs = nil
			s.array(func() { m.Inputs = append(m.Inputs, s.string()) })
		case "knowledge_cutoff":
			m.Cutoff = s.string()
		case "reasoning":
			m.Reasoning = model.Reasoning(s.string())
		case "prompt_cache":
			m.PromptCache = s.string()
		case "reasoning_levels":
			m.Levels = nil
			s.array(func() { m.Levels = append(m.Levels, s.string()) })
		case "retired":
			m.Retired = s.string()
		case "successor":
			m.Successor = s.string()
		case "native_format":
			m.NativeFormat = s.bool()
		case "source":
			m.Source = s.string()
		case "prices":
			m.Prices = nil
			s.array(func() { m.Prices = append(m.Prices, s.price()) })
		default:
			s.failed = true
		}
	})
	return m
}

func (s *scanner) price() (p price) {
	s.object(func(member string) {
		switch {
		case member == "from":
			p.From = s.string()
		case member == "source":
			p.Source = s.string()
		case member == "above":
			p.Above = new(s.above())
		default:
			s.rate(&p.rates, member)
		}
	})
	s.failed = s.failed || p.Input == nil || p.Output == nil
	return p
}

func (s *scanner) above() (a above) {
	s.object(func(member string) {
		if member == "tokens" {
			a.Tokens = s.int()
			return
		}
		s.rate(&a.rates, member)
	})
	return a
}

// rate reads a price into its place.
func (s *scanner) rate(r *rates, member string) {
	usd := new(s.dollars())
	switch member {
	case "input":
		r.Input = usd
	case "output":
		r.Output = usd
	case "cache_read":
		r.CacheRead = usd
	case "cache_write":
		r.CacheWrite = usd
	case "cache_write_hour":
		r.CacheWriteHour = usd
	default:
		s.failed = true
	}
}

// next drops white space, and returns what comes; 0 at the end.
func (s *scanner) next() byte {
	if s.rest = bytes.TrimLeft(s.rest, " \t"); len(s.rest) == 0 {
		return 0
	}
	return s.rest[0]
}

// expect drops a byte that has to come.
func (s *scanner) expect(b byte) {
	if s.next() != b {
		s.rest, s.failed = nil, true
		return
	}
	s.rest = s.rest[1:]
}

// list reads the items between two brackets, with commas between.
func (s *scanner) list(begin, end byte, item func()) {
	s.expect(begin)
	for more := s.next() != end; more && !s.failed; {
		item()
		if more = s.next() == ','; more {
			s.expect(',')
		}
	}
	s.expect(end)
}

func (s *scanner) array(item func()) { s.list('[', ']', item) }

func (s *scanner) object(member func(name string)) {
	s.list('{', '}', func() {
		name := s.string()
		s.expect(':')
		member(name)
	})
}

func (s *scanner) string() string {
	s.expect('"')
	end := bytes.IndexByte(s.rest, '"')
	plain := func(b byte) bool { return b >= ' ' && b != '\\' && b < utf8.RuneSelf }
	for i := 0; i < end; i++ {
		s.failed = s.failed || !plain(s.rest[i])
	}
	if end < 0 {
		s.rest, s.failed = nil, true
		return ""
	}
	text := string(s.rest[:end])
	s.rest = s.rest[end+1:]
	return text
}

// word is a number, or true and the like.
func (s *scanner) word() []byte {
	s.next()
	end := bytes.IndexAny(s.rest, ",]} ")
	if end <= 0 {
		s.rest, s.failed = nil, true
		return nil
	}
	word := s.rest[:end]
	s.rest = s.rest[end:]
	return word
}

func (s *scanner) bool() bool {
	word := string(s.word())
	s.failed = s.failed || word != "true" && word != "false"
	return word == "true"
}

func (s *scanner) int() int {
	n, err := strconv.Atoi(string(s.word()))
	s.failed = s.failed || err != nil
	return n
}

func (s *scanner) dollars() (usd core.USD) {
	err := usd.UnmarshalJSON(s.word())
	s.failed = s.failed || err != nil
	return usd
}
