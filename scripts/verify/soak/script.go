package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// turn is one response of a model, as a log or a stream shows it.
type turn struct {
	Text      string
	Reasoning string
	Calls     []string // the text argument of each call of the tools echo and danger
}

// equal compares turns; the order of calls counts.
func (t turn) equal(u turn) bool {
	return t.Text == u.Text && t.Reasoning == u.Reasoning && strings.Join(t.Calls, "\x00") == strings.Join(u.Calls, "\x00")
}

func (t turn) String() string {
	s := fmt.Sprintf("%q", t.Text)
	if t.Reasoning != "" {
		s = fmt.Sprintf("(%q) ", t.Reasoning) + s
	}
	if len(t.Calls) > 0 {
		s += fmt.Sprintf(" calls %q", t.Calls)
	}
	return s
}

// failing is the message that the scripted model refuses.
const failing = "fail"

// danger is the tool that a person must approve.
const danger = "danger"

// scripted is what the scripted model says to a user's message, before and
// after its tools have run, or were denied; ok is false when it fails.
func scripted(user string, called, denied bool) (t turn, ok bool) {
	rule, rest, _ := strings.Cut(user, ":")
	rest = strings.TrimSpace(rest)
	switch {
	case user == failing:
		return turn{}, false
	case rule == "approve" && called && denied:
		return turn{Text: "The call of danger was denied."}, true
	case rule == "approve" && called:
		return turn{Text: "Done: " + rest}, true
	case rule == "echo" && !called, rule == "approve":
		return turn{Calls: []string{rest}}, true
	case rule == "parallel" && !called:
		return turn{Calls: strings.Split(rest, ", ")}, true
	case rule == "echo", rule == "parallel":
		return turn{Text: "Echo: " + rest}, true
	case rule == "think":
		return turn{Text: "I thought about it.", Reasoning: "Thinking about " + rest}, true
	case rule == "slow":
		return turn{Text: words(rest)}, true
	}
	return turn{Text: "You said: " + user}, true
}

func words(count string) string {
	var n int
	_, _ = fmt.Sscan(count, &n) // this program writes only numbers
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("w%d", i+1)
	}
	return strings.Join(all, " ")
}

// echoed reads the text of the tool echo's arguments or of its result.
func echoed(raw json.RawMessage) string {
	var v struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	return v.Text
}
