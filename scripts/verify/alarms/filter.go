package alarms

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// filter returns the lines for which a condition holds.
func filter(lines []Line, words []string) (kept []Line, err error) {
	for _, l := range lines {
		c := condition{line: &l, rest: words}
		holds, err := c.any()
		if err == nil && len(c.rest) > 0 {
			err = fmt.Errorf("unexpected %q", c.rest[0])
		}
		if err != nil {
			return nil, err
		}
		if holds {
			kept = append(kept, l)
		}
	}
	return kept, nil
}

// condition decides about a line while it reads.
type condition struct {
	line *Line
	rest []string
}

// take takes the next word; empty: there is none.
func (c *condition) take() (word string) {
	if len(c.rest) > 0 {
		word, c.rest = c.rest[0], c.rest[1:]
	}
	return word
}

func (c *condition) is(word string) bool {
	if len(c.rest) > 0 && c.rest[0] == word {
		c.rest = c.rest[1:]
		return true
	}
	return false
}

// any is conditions with or between them, all with and.
func (c *condition) any() (holds bool, err error) {
	for {
		one, err := c.all()
		if err != nil {
			return false, err
		}
		holds = holds || one
		if !c.is("or") {
			return holds, nil
		}
	}
}

func (c *condition) all() (holds bool, err error) {
	holds = true
	for {
		one, err := c.one()
		if err != nil {
			return false, err
		}
		holds = holds && one
		if !c.is("and") {
			return holds, nil
		}
	}
}

// one is a single condition.
func (c *condition) one() (bool, error) {
	if c.is("(") {
		holds, err := c.any()
		if err == nil && !c.is(")") {
			err = fmt.Errorf("a parenthesis is open")
		}
		return holds, err
	}
	field := c.take()
	if field == "ispresent" && c.is("(") {
		value := c.line.value(c.take())
		if !c.is(")") {
			return false, fmt.Errorf("the parenthesis of ispresent is open")
		}
		return value != "", nil
	}
	sign := c.take()
	value := c.line.value(field)
	switch sign {
	case "in":
		return c.in(value)
	case "like":
		pattern, err := regexp.Compile(strings.TrimPrefix(c.take(), "/"))
		return err == nil && pattern.MatchString(value), err
	case "=", "!=":
		want := strings.TrimPrefix(c.take(), `"`)
		return value != "" && (value == want) == (sign == "="), nil
	}
	return compare(value, sign, c.take())
}

// in decides about a list in brackets.
func (c *condition) in(value string) (holds bool, err error) {
	if !c.is("[") {
		return false, fmt.Errorf("in without a list")
	}
	for {
		word := c.take()
		if word == "" || word == "]" {
			return false, fmt.Errorf("a list is not closed, or has an empty place")
		}
		holds = holds || value == strings.TrimPrefix(word, `"`)
		if c.is("]") {
			return holds, nil
		}
		if !c.is(",") {
			return false, fmt.Errorf("a list without a comma")
		}
	}
}

// compare compares numbers. A line without the field does not fit.
func compare(value, sign, with string) (bool, error) {
	limit, err := strconv.ParseFloat(with, 64)
	if err != nil {
		return false, fmt.Errorf("%q is not a number", with)
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return false, nil
	}
	switch sign {
	case ">":
		return n > limit, nil
	case ">=":
		return n >= limit, nil
	case "<":
		return n < limit, nil
	case "<=":
		return n <= limit, nil
	}
	return false, fmt.Errorf("unknown sign %q", sign)
}
