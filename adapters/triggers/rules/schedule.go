package rules

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// schedule is when something happens again and again, in UTC.
type schedule struct {
	every time.Duration // of a rate; 0: the fields count
	// Each is a set of numbers; a day must be in both sets of days.
	minutes, hours, days, months, weekdays, years set
	lastDay                                       bool // L among the days: the month's last
}

// set is a bit for each number.
type set map[int]bool

// parseSchedule reads an expression of EventBridge:
//
//	rate(1 minute), rate(5 minutes), rate(1 hour), rate(2 days)
//	cron(minutes hours day-of-month month day-of-week year)
//
// The fields of cron have numbers, the names JAN to DEC and SUN to SAT, lists (1,15),
// ranges (MON-FRI), steps (0/15, 10-50/10) and * for all; one of the two fields for
// days is ?. A week begins with SUN, which is 1. L as a day of the month is its last.
// W, # and L as a day of the week are not supported. A rate counts from midnight, so that
// every process fires at the same times.
func parseSchedule(expression string) (schedule, error) {
	kind, rest, ok := strings.Cut(expression, "(")
	inside, closed := strings.CutSuffix(rest, ")")
	if ok && closed {
		switch kind {
		case "rate":
			return parseRate(inside)
		case "cron":
			return parseCron(inside)
		}
	}
	return schedule{}, fmt.Errorf("%q is not a schedule, want rate(5 minutes) or cron(0 9 * * ? *)", expression)
}

var units = map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}

func parseRate(inside string) (schedule, error) {
	number, unit, _ := strings.Cut(inside, " ")
	n, err := digits(number)
	singular := strings.TrimSuffix(unit, "s")
	length, known := units[singular]
	if err != nil || n < 1 || n > 10_000 || !known || (n == 1) != (unit == singular) {
		return schedule{}, fmt.Errorf("rate(%s) is not a rate, want a number from 1 to 10000 and minute, minutes, hour, hours, day or days, the singular for 1", inside)
	}
	return schedule{every: time.Duration(n) * length}, nil
}

// part is a field of cron.
type part struct {
	name        string
	least, most int
	names       []string // of the numbers from least on
}

var parts = []part{
	{"minutes", 0, 59, nil},
	{"hours", 0, 23, nil},
	{"day-of-month", 1, 31, nil},
	{"month", 1, 12, []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}},
	{"day-of-week", 1, 7, []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}},
	{"year", 1970, 2199, nil},
}

func parseCron(inside string) (s schedule, err error) {
	fields := strings.Fields(inside)
	if len(fields) != len(parts) {
		return s, fmt.Errorf("cron(%s) has %d fields, required are six: minutes hours day-of-month month day-of-week year", inside, len(fields))
	}
	if (fields[2] == "?") == (fields[4] == "?") {
		return s, fmt.Errorf("cron(%s): exactly one of day-of-month and day-of-week must be ?", inside)
	}
	if fields[2] == "L" {
		s.lastDay, fields[2] = true, "*"
	}
	for i, into := range []*set{&s.minutes, &s.hours, &s.days, &s.months, &s.weekdays, &s.years} {
		if *into, err = parts[i].parse(fields[i]); err != nil {
			return schedule{}, fmt.Errorf("cron(%s): %s: %w", inside, parts[i].name, err)
		}
	}
	return s, nil
}

// parse reads a field.
func (p part) parse(field string) (set, error) {
	all := set{}
	if field == "?" && strings.HasPrefix(p.name, "day-") {
		field = "*"
	}
	for item := range strings.SplitSeq(strings.ToUpper(field), ",") {
		span, stepText, stepped := strings.Cut(item, "/")
		from, to, err := p.span(span, stepped)
		if err != nil {
			return nil, err
		}
		step := 1
		if stepped {
			if step, err = digits(stepText); err != nil || step < 1 || step > p.most {
				return nil, fmt.Errorf("step %q is not a number from 1 to %d", stepText, p.most)
			}
		}
		for n := from; n <= to; n += step {
			all[n] = true
		}
	}
	return all, nil
}

// span reads "*", "5" or "5-10". With a step, the span extends to the field's end.
func (p part) span(text string, stepped bool) (from, to int, err error) {
	if text == "*" {
		return p.least, p.most, nil
	}
	first, last, ranged := strings.Cut(text, "-")
	if from, err = p.number(first); err != nil {
		return 0, 0, err
	}
	switch {
	case ranged:
		if to, err = p.number(last); err == nil && to < from {
			err = fmt.Errorf("%s ends before it begins", text)
		}
		return from, to, err
	case stepped:
		return from, p.most, nil
	}
	return from, from, nil
}

func (p part) number(text string) (int, error) {
	for i, name := range p.names {
		if text == name {
			return p.least + i, nil
		}
	}
	n, err := digits(text)
	if err != nil || n < p.least || n > p.most {
		names := ""
		if p.names != nil {
			names = fmt.Sprintf(" or %s to %s", p.names[0], p.names[len(p.names)-1])
		}
		return 0, fmt.Errorf("%q is not allowed, allowed are %d to %d%s", text, p.least, p.most, names)
	}
	return n, nil
}

// digits reads a number without a sign.
func digits(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	return int(n), err
}

// errOver is returned for a schedule without a further time.
var errOver = errors.New("the schedule has no further time")

// next returns the first moment after a time, or [errOver].
func (s schedule) next(after time.Time) (time.Time, error) {
	after = after.UTC()
	if s.every > 0 {
		return after.Truncate(s.every).Add(s.every), nil // Truncate counts from a midnight
	}
	minute := after.Truncate(time.Minute).Add(time.Minute)
	for day := minute; day.Year() <= 2199; day = startOfNext(day) {
		if !s.onDay(day) {
			continue
		}
		for at := day; at.Day() == day.Day(); at = at.Add(time.Minute) {
			if s.hours[at.Hour()] && s.minutes[at.Minute()] {
				return at, nil
			}
		}
	}
	return time.Time{}, errOver
}

func startOfNext(day time.Time) time.Time {
	return time.Date(day.Year(), day.Month(), day.Day()+1, 0, 0, 0, 0, time.UTC)
}

func (s schedule) onDay(day time.Time) bool {
	return s.years[day.Year()] && s.months[int(day.Month())] && s.days[day.Day()] && s.weekdays[int(day.Weekday())+1] &&
		(!s.lastDay || startOfNext(day).Day() == 1)
}
