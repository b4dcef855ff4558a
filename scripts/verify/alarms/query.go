package alarms

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/scripts/verify/deployed/stack"
)

// Query is a saved query of CloudWatch Logs Insights.
type Query struct {
	ID     string   `json:"-"` // in the template
	Name   string   // under which the console shows it
	Groups []string `json:"LogGroupNames"`
	Text   string   `json:"QueryString"`
}

// Row is a result of a query: its fields, as the console prints them.
type Row map[string]string

// Queries returns the saved queries of a stack, by their ids.
func Queries(s *stack.Stack) ([]Query, error) {
	found, err := s.Of("AWS::Logs::QueryDefinition")
	if err != nil {
		return nil, err
	}
	var all []Query
	for _, id := range slices.Sorted(maps.Keys(found)) {
		q := Query{ID: id}
		if err := json.Unmarshal(found[id], &q); err != nil {
			return nil, fmt.Errorf("query %s: %w", id, err)
		}
		all = append(all, q)
	}
	return all, nil
}

// command is a part of a query between two pipes.
type command struct {
	verb string
	rest []string // its words and signs
}

// commands are the parts of the query.
func (q *Query) commands() (all []command, err error) {
	var c command
	words, err := words(q.Text)
	for _, word := range append(words, "|") {
		switch {
		case word != "|" && c.verb == "":
			c.verb = word
		case word != "|":
			c.rest = append(c.rest, word)
		case c.verb != "":
			all, c = append(all, c), command{}
		}
	}
	return all, err
}

// words are the words, texts, patterns and signs of a query. A text keeps its opening quote,
// and a pattern its opening slash.
func words(text string) (all []string, err error) {
	for i := 0; i < len(text); {
		j := i + 1
		switch c := text[i]; {
		case c == ' ' || c == '\n' || c == '\t':
			i++
			continue
		case c == '"' || c == '/':
			end := strings.IndexByte(text[j:], c)
			if end < 0 {
				return nil, fmt.Errorf("%q is not closed", text[i:])
			}
			all = append(all, text[i:j+end])
			i = j + end + 1
			continue
		case isWord(c):
			for j < len(text) && isWord(text[j]) {
				j++
			}
		case strings.IndexByte("<>=!", c) >= 0 && j < len(text) && text[j] == '=':
			j++
		}
		all = append(all, text[i:j])
		i = j
	}
	return all, nil
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '@' || c == '.'
}

// Run runs the query on lines, those of its log groups alone, and returns its rows.
func (q *Query) Run(lines []Line) ([]Row, error) {
	commands, err := q.commands()
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", q.Name, err)
	}
	r := result{}
	for _, l := range lines {
		if len(q.Groups) == 0 || slices.Contains(q.Groups, l.Group) {
			r.lines = append(r.lines, l)
		}
	}
	for _, c := range commands {
		if err := r.apply(c); err != nil {
			return nil, fmt.Errorf("query %s: %s: %w", q.Name, c.verb, err)
		}
	}
	if r.rows == nil {
		r.show(r.shown)
	}
	return r.rows, nil
}

// Reads are the fields of lines that the query reads, sorted, without those that it computes
// and those that each line has, such as @timestamp.
func (q *Query) Reads() ([]string, error) {
	commands, err := q.commands()
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", q.Name, err)
	}
	reads, made := map[string]bool{}, map[string]bool{}
	for _, c := range commands {
		for i, word := range c.rest {
			next := ""
			if i+1 < len(c.rest) {
				next = c.rest[i+1]
			}
			switch {
			case i > 0 && c.rest[i-1] == "as":
				made[word] = true
			case !isWord(word[0]) || word[0] == '@' || next == "(" || slices.Contains(keywords, word):
			case strings.TrimLeft(word[:1], "0123456789") == "": // a number, or a duration
			default:
				reads[word] = true
			}
		}
	}
	for name := range made {
		delete(reads, name)
	}
	return slices.Sorted(maps.Keys(reads)), nil
}

var keywords = []string{"and", "or", "not", "in", "like", "as", "by", "asc", "desc"}

// result is what a query has so far.
type result struct {
	lines []Line
	shown []string
	rows  []Row
}

func (r *result) apply(c command) (err error) {
	switch c.verb {
	case "fields", "display":
		r.shown = list(c.rest)
	case "filter":
		r.lines, err = filter(r.lines, c.rest)
	case "stats":
		r.rows, err = stats(r.lines, c.rest)
	case "sort":
		return r.sort(c.rest)
	case "limit":
		n, err := strconv.Atoi(strings.Join(c.rest, ""))
		if err != nil {
			return fmt.Errorf("%q is not a number", c.rest)
		}
		if r.rows == nil {
			r.show(r.shown)
		}
		r.rows = r.rows[:min(n, len(r.rows))]
	default:
		return fmt.Errorf("unknown command")
	}
	return err
}

// list are names that commas separate.
func list(words []string) (names []string) {
	for _, w := range words {
		if w != "," {
			names = append(names, w)
		}
	}
	return names
}

// show makes a row of each line.
func (r *result) show(fields []string) {
	r.rows = []Row{}
	for _, l := range r.lines {
		row := Row{}
		for _, f := range fields {
			if value := l.value(f); value != "" {
				row[f] = value
			}
		}
		r.rows = append(r.rows, row)
	}
}

// value is a field of a line as text; empty: it has none.
func (l *Line) value(field string) string {
	switch field {
	case "@timestamp":
		return l.At.UTC().Format("2006-01-02 15:04:05.000")
	case "@message":
		return l.Text
	case "@log":
		return stack.Account + ":" + l.Group
	}
	switch v := l.Fields[field].(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}

// sort orders the rows by one field: as numbers, or else as texts.
func (r *result) sort(words []string) error {
	if len(words) != 2 || words[1] != "asc" && words[1] != "desc" {
		return fmt.Errorf("%q, want one field, and asc or desc", words)
	}
	field, sign := words[0], 1
	if words[1] == "desc" {
		sign = -1
	}
	compare := func(a, b string) int {
		x, err1 := strconv.ParseFloat(a, 64)
		y, err2 := strconv.ParseFloat(b, 64)
		switch {
		case err1 != nil || err2 != nil:
			return sign * strings.Compare(a, b)
		case x < y:
			return -sign
		case x > y:
			return sign
		}
		return 0
	}
	if r.rows != nil {
		slices.SortStableFunc(r.rows, func(a, b Row) int { return compare(a[field], b[field]) })
		return nil
	}
	slices.SortStableFunc(r.lines, func(a, b Line) int { return compare(a.value(field), b.value(field)) })
	return nil
}
