package doctor

import (
	"fmt"
	"strings"
)

// Status is the result of a check.
type Status string

// The statuses. A warning may become a problem; a problem needs an operator.
const (
	OK      Status = "ok"
	Warn    Status = "warn"
	Problem Status = "problem"
)

// Line is the result of one check.
type Line struct {
	Check  string `json:"check"` // such as "overdue"; the names never change
	Status Status `json:"status"`
	Count  int    `json:"count"` // what the check has found; 0 with status ok, unless the text says more
	Text   string `json:"text"`
	// Examples are at most five of the threads or tenants that were found, such as
	// "acme/t1 (12m0s)".
	Examples []string `json:"examples,omitempty"`
	Remedy   string   `json:"remedy,omitempty"` // empty with status ok
}

// String returns the line for people, without a line end:
//
//	problem overdue          2  threads are late, the first by 12m0s: acme/t1 (12m0s), acme/t2 (7m0s). Remedy: ...
//
// Status, check and count are separated by spaces and never contain one.
func (l Line) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-7s %-13s %4d  %s", l.Status, l.Check, l.Count, l.Text)
	if len(l.Examples) > 0 {
		b.WriteString(": " + strings.Join(l.Examples, ", "))
		if l.Count > len(l.Examples) {
			fmt.Fprintf(&b, ", and %d more", l.Count-len(l.Examples))
		}
	}
	if l.Remedy != "" {
		b.WriteString(". Remedy: " + l.Remedy)
	}
	return b.String()
}

// maxExamples is how many examples a line has.
const maxExamples = 5

// found is what a check has found so far.
type found struct {
	count    int
	examples []string
}

// add counts something, with its example.
func (f *found) add(example string) {
	f.count++
	if len(f.examples) < maxExamples {
		f.examples = append(f.examples, example)
	}
}

// line returns the line of a check: text and remedy if anything was found, else the text for
// nothing.
func (f *found) line(check string, status Status, text, remedy, none string) Line {
	if f.count == 0 {
		return Line{Check: check, Status: OK, Text: none}
	}
	return Line{Check: check, Status: status, Count: f.count, Text: text, Examples: f.examples, Remedy: remedy}
}
