package alarms

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// aggregate is a function of stats.
type aggregate struct{ function, field, name string }

// stats groups lines, and returns a row for each group, in the order of their first lines.
func stats(lines []Line, words []string) ([]Row, error) {
	all, by, err := readStats(words)
	if err != nil {
		return nil, err
	}
	var keys []string
	groups, rows := map[string][]Line{}, map[string]Row{}
	for _, l := range lines {
		row := Row{}
		for _, g := range by {
			value, err := g.of(&l)
			if err != nil {
				return nil, err
			}
			if value != "" {
				row[g.name] = value
			}
		}
		key := fmt.Sprint(row)
		if _, ok := rows[key]; !ok {
			keys, rows[key] = append(keys, key), row
		}
		groups[key] = append(groups[key], l)
	}
	result := []Row{}
	for _, key := range keys {
		for _, a := range all {
			if rows[key][a.name], err = a.of(groups[key]); err != nil {
				return nil, err
			}
		}
		result = append(result, rows[key])
	}
	return result, nil
}

// readStats reads the functions and the groups: f(x) as n, ... by g, ...
func readStats(words []string) (all, by []aggregate, err error) {
	list := &all
	for len(words) > 0 {
		var a aggregate
		a.field, words = words[0], words[1:]
		if len(words) > 0 && words[0] == "(" {
			end := slices.Index(words, ")")
			if end < 0 {
				return nil, nil, fmt.Errorf("the parenthesis of %s is open", a.field)
			}
			a.function, a.field, words = a.field, strings.Join(words[1:end], ""), words[end+1:]
		}
		a.name = a.field
		if a.function != "" {
			a.name = a.function + "(" + a.field + ")"
		}
		if len(words) > 1 && words[0] == "as" {
			a.name, words = words[1], words[2:]
		}
		*list = append(*list, a)
		switch {
		case len(words) == 0:
		case words[0] == ",":
			words = words[1:]
		case words[0] == "by" && list == &all:
			list, words = &by, words[1:]
		default:
			return nil, nil, fmt.Errorf("unexpected %q", words[0])
		}
	}
	return all, by, nil
}

// of is the value of a group, or of a function of a group's lines.
func (a aggregate) of(of any) (string, error) {
	switch lines := of.(type) {
	case *Line:
		if a.function == "" {
			return lines.value(a.field), nil
		}
		length, err := time.ParseDuration(a.field)
		if a.function != "bin" || err != nil {
			return "", fmt.Errorf("unknown group %s", a.name)
		}
		return lines.At.UTC().Truncate(length).Format("2006-01-02 15:04:05.000"), nil
	case []Line:
		return a.compute(lines)
	}
	return "", fmt.Errorf("unknown group %s", a.name)
}

func (a aggregate) compute(lines []Line) (string, error) {
	var numbers []float64
	texts := map[string]bool{}
	for _, l := range lines {
		if text := l.value(a.field); text != "" {
			texts[text] = true
			if n, err := strconv.ParseFloat(text, 64); err == nil {
				numbers = append(numbers, n)
			}
		}
	}
	sum := 0.0
	for _, n := range numbers {
		sum += n
	}
	switch {
	case a.function == "count" && a.field == "*":
		return strconv.Itoa(len(lines)), nil
	case a.function == "count_distinct":
		return strconv.Itoa(len(texts)), nil
	case a.function == "sum":
		return number(sum), nil
	case a.function == "max" && len(numbers) > 0:
		return number(slices.Max(numbers)), nil
	case a.function == "avg" && len(numbers) > 0:
		return number(sum / float64(len(numbers))), nil
	case a.function == "max", a.function == "avg":
		return "", nil
	}
	return "", fmt.Errorf("unknown function %s", a.name)
}

func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
