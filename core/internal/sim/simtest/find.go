package simtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// difference is the place where two worlds differ first.
type difference struct {
	who, where   string // of the parts; empty: none of their functions differs
	record       int    // of the log, from 1; 0: the logs are the same
	before, here string // what both have there
}

// String returns the difference in lines.
func (d difference) String() string {
	var b strings.Builder
	if d.who != "" {
		fmt.Fprintf(&b, "%s (%s)", d.who, d.where)
	} else {
		fmt.Fprintf(&b, "record %d of the log", d.record)
	}
	before, here := cut(d.before, d.here)
	fmt.Fprintf(&b, "\n\tgot first  %s\n\tgot second %s", before, here)
	return b.String()
}

// around is how many bytes before and after a difference are shown.
const around = 80

// cut shows two texts around the first byte that differs.
func cut(a, b string) (string, string) {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	show := func(s string) string {
		from, to := max(0, at-around), min(len(s), at+around)
		if s = s[from:to]; from > 0 {
			s = "..." + s
		}
		return s
	}
	if a == "" {
		a = "nothing"
	}
	if b == "" {
		b = "nothing"
	}
	return show(a), show(b)
}

// differ compares two worlds: the functions of their parts first, each named once, in
// the order in which they were called, since what comes first is why the rest differs;
// then their logs.
func differ(before, here transcript) (all []difference) {
	known := bySight(before.Seen)
	logs, same := differLogs(before.Log, here.Log)
	counts, named := map[string]int{}, map[string]bool{}
	for _, s := range here.Seen {
		at := s.Who + "\n" + s.Where
		n := counts[at]
		counts[at]++
		came := known[at]
		if len(came) == 0 || named[s.Who] || s.Kept {
			continue // where it was not asked there: something before it differs
		}
		if was := came[min(n, len(came)-1)]; was != s.Came && !slices.Contains(came, s.Came) {
			named[s.Who] = true
			all = append(all, difference{who: s.Who, where: s.Where, record: logs.record, before: was, here: s.Came})
		}
	}
	if len(all) == 0 && !same {
		all = append(all, logs)
	}
	return all
}

// bySight has the outcomes of the functions, by plugin and place.
func bySight(all []sight) map[string][]string {
	known := map[string][]string{}
	for _, s := range all {
		at := s.Who + "\n" + s.Where
		known[at] = append(known[at], s.Came)
	}
	return known
}

// differLogs returns the first record that differs.
func differLogs(before, here []string) (d difference, same bool) {
	for i := range max(len(before), len(here)) {
		a, b := "", ""
		if i < len(before) {
			a = before[i]
		}
		if i < len(here) {
			b = here[i]
		}
		if a != b {
			return difference{record: i + 1, before: a, here: b}, false
		}
	}
	return d, true
}

// Kind is what a mistake is.
type kind string

const (
	kindTwice   kind = "work done twice"
	kindClock   kind = "clock"
	kindRandom  kind = "randomness"
	kindPackage kind = "state in a package variable"
	kindUnclear kind = "randomness or state in a package variable"
	kindState   kind = "state that does not survive a takeover"
	kindLost    kind = "lost effect"
	kindWorld   kind = "world"
)

// mistake is something that is wrong, named once.
type mistake struct {
	kind kind
	name string // its cause: each is reported once
	text string
}

// impure finds what the parts read by themselves, from worlds without faults: one, the
// same again, and the same under another clock; of each kind the first. fresh plays two
// in separate processes, which distinguishes a package variable from randomness.
func impure(first, second, ahead transcript, shift time.Duration, fresh func() (a, b transcript, ok bool)) (found []mistake) {
	again := blamed(differ(first, second), first)
	if len(again) > 0 {
		found = unsteady(again, fresh)
	}
	for _, d := range blamed(differ(first, ahead), first) {
		if !slices.ContainsFunc(again, func(o difference) bool { return o.who == d.who }) {
			return append(found, mistake{kindClock, d.who, fmt.Sprintf("the same world with a clock that is %s ahead: %s\n\t%s", shift, d,
				"It reads the clock directly. Use Now of its context or call, which returns the same time after a takeover.")})
		}
	}
	return found
}

// blamed leaves out differences that no function has made where tools keep parts: what
// such a part is, is kept, and may be random.
func blamed(all []difference, of transcript) []difference {
	if !slices.ContainsFunc(of.Seen, func(s sight) bool { return s.Kept }) {
		return all
	}
	return slices.DeleteFunc(all, func(d difference) bool { return d.who == "" })
}

// unsteady tells randomness from package variables.
func unsteady(again []difference, fresh func() (a, b transcript, ok bool)) (found []mistake) {
	a, b, ok := fresh()
	random := differ(a, b)
	told := map[kind]bool{}
	for _, d := range again {
		k, why := kindPackage, "In a separate process the outcome is the same each time: it keeps a value in a variable of its package, which another process does not have. Keep it in a state key."
		if slices.ContainsFunc(random, func(o difference) bool { return o.who == d.who }) {
			k, why = kindRandom, "It uses its own randomness. Use NewID of its context or call for stable ids, and keep random values in the state."
		}
		if !ok {
			k, why = kindUnclear, "It uses its own randomness, or keeps a value in a variable of its package."
		}
		if !told[k] {
			told[k] = true
			found = append(found, mistake{k, d.who, "the same world twice: " + d.String() + "\n\t" + why})
		}
	}
	return found
}

// late returns a complaint if a world took too long to recover from its faults; empty: it
// did not. Work that takes time by itself may have been done again.
func (o outcome) late(clean outcome, strikes []strike) string {
	limit := clean.took
	for _, s := range strikes {
		limit += clean.took + s.costs()
	}
	if o.took <= limit {
		return ""
	}
	return fmt.Sprintf("it ended after %s, without faults after %s; at most %s is allowed", o.took, clean.took, limit)
}

// mistakes are the mistakes that a world with faults shows. pure means that worlds
// without faults are all equal, so that others can be compared with them.
func (o outcome) mistakes(clean outcome, s Scenario, allowed []string, pure bool, strikes ...strike) (found []mistake) {
	for _, p := range o.problems {
		found = append(found, mistake{kindWorld, p, p})
	}
	if pure && !o.struck && len(strikes) == 1 && s.poison == "" { // of two faults, one point may be passed only before the other
		found = append(found, mistake{kindWorld, "not passed", "the I/O point was not passed: the operations before it differ each time"})
	}
	for _, e := range o.twice {
		found = append(found, mistake{kindTwice, e.tool, fmt.Sprintf("tool %s ran twice for one call (%s) and did not use the call's key\n\t%s", e.tool, e.where,
			"Pass call.Key() to the service that it changes, keep finished parts with call.Once, or declare the tool AtMostOnce. If it changes nothing outside of the run, declare it ReadOnly.")})
	}
	if late := o.late(clean, strikes); late != "" && len(o.problems) == 0 {
		found = append(found, mistake{kindWorld, "late", late})
	}
	if s.Varies || o.unknown != clean.unknown || len(o.problems) > 0 {
		return found
	}
	if all := differ(clean.transcript, o.transcript); pure && len(all) > 0 && all[0].record > 0 {
		logs := all[0]
		m := mistake{kindWorld, fmt.Sprint(logs.record), "the log differs from the log without faults: " + logs.String()}
		if o.taken && logs.who != "" {
			m = mistake{kindState, logs.who, "after a takeover: " + logs.String() + "\n\t" +
				"It keeps a value in memory, which the process that takes over does not have. Keep it in a state key."}
		}
		return append(found, m)
	}
	if len(clean.Log) != len(o.Log) {
		return found
	}
	for _, name := range slices.Sorted(maps.Keys(clean.effects)) {
		effect, _, _ := strings.Cut(name, " ")
		switch want, got := clean.effects[name], o.effects[name]; {
		case got > want:
			found = append(found, mistake{kindWorld, name, fmt.Sprintf("effect %s happened %d times, %d without faults", name, got, want)})
		case got < want && clean.said[effect] && !slices.Contains(allowed, effect):
			found = append(found, mistake{kindLost, effect, fmt.Sprintf("effect %s was lost, but the log is the same as if it had happened\n\t%s", name,
				"Effects happen at most once. Do required work in a tool, with the call's key, or name the effect in MayBeLost.")})
		}
	}
	return found
}
