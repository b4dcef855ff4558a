package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// suite is one package's tests.
type suite struct {
	name string // the package, from the module's root
	long bool   // without -short: asked last, of those that survived the rest
}

func (s suite) String() string {
	if s.long {
		return s.name + "+long"
	}
	return s.name
}

// defaultSuites says whose tests are to kill a package's mutants. The rules of
// a layer are held by the tests of those above it, too: what a lost hint or a
// wrong fence costs shows in a run, not in a head.
var defaultSuites = map[string][]suite{
	"core/internal/thread":     {{name: "core/internal/thread"}, {name: "core/mailbox"}, {name: "core/internal/run"}, {name: "core/host"}, {name: "core/internal/sim"}},
	"core/mailbox":             {{name: "core/mailbox"}, {name: "core/internal/run"}, {name: "core/host"}, {name: "core/internal/sim"}},
	"core/internal/accounting": {{name: "core/internal/accounting"}, {name: "core/internal/run"}, {name: "core/mailbox"}, {name: "core/host"}, {name: "core/internal/sim"}},
	"core/internal/run":        {{name: "core/internal/run"}, {name: "core/host"}, {name: "core/internal/sim"}},

	"core/internal/run/compaction": {{name: "core/internal/run/compaction"}, {name: "core/internal/run"}, {name: "core/host"}, {name: "core/internal/sim"}},
	"core/internal/run/checkpoint": {{name: "core/internal/run/checkpoint"}, {name: "core/internal/run"}, {name: "core/host"}, {name: "core/internal/sim"}},
	"core/internal/run/history":    {{name: "core/internal/run/history"}, {name: "core/internal/run"}, {name: "core/host"}, {name: "core/internal/sim"}},
	"core/internal/run/inference":  {{name: "core/internal/run/inference"}, {name: "core/internal/run"}, {name: "core/host"}, {name: "core/internal/sim"}},
	"core/internal/run/live":       {{name: "core/internal/run/live"}, {name: "core/internal/run"}, {name: "core/host"}, {name: "core/internal/sim"}},

	"core/host": {{name: "core/host"}, {name: "core/internal/sim"}},

	// The parts of a step run only their own tests: these are quick, and a rule
	// that only a whole run shows is found too late.
	"core/state":                   {{name: "core/state"}, {name: "core/store/memory"}}, // it has profiles in memory, too
	"core/state/lattice":           {{name: "core/state/lattice"}},
	"core/secret":                  {{name: "core/secret"}},
	"core/tool":                    {{name: "core/tool"}, {name: "core/internal/toolrun"}},
	"core/internal/show":           {{name: "core/tool"}},
	"core/internal/toolcall":       {{name: "core/internal/toolcall"}, {name: "core/internal/toolrun"}, {name: "core/tool"}},
	"core/internal/toolrun":        {{name: "core/internal/toolrun"}},
	"core/plugin":                  {{name: "core/plugin"}, {name: "core/internal/engine"}}, // which looks at what hooks are shown
	"core/internal/engine":         {{name: "core/internal/engine"}},
	"core/internal/stop":           {{name: "core/agent"}, {name: "core/internal/registry"}, {name: "core/internal/run"}},
	"core/agent":                   {{name: "core/agent"}, {name: "core/agent/internal/spectext"}, {name: "core/internal/registry"}}, // specs that are read, and resolved
	"core/agent/internal/spectext": {{name: "core/agent/internal/spectext"}},
	"core/internal/registry":       {{name: "core/internal/registry"}},
	"core/internal/finalanswer":    {{name: "core/internal/finalanswer"}},
	"core/internal/toolname":       {{name: "core/internal/toolname"}},
	"core/strict":                  {{name: "core/strict"}},
	"core/agent/specfile":          {{name: "core/agent/specfile"}},
}

// parseSuites reads the table as the flag -tests has it.
func parseSuites(text string) (map[string][]suite, error) {
	table := map[string][]suite{}
	for entry := range strings.SplitSeq(text, ";") {
		code, tests, ok := strings.Cut(entry, "=")
		if !ok || tests == "" {
			return nil, fmt.Errorf("-tests: %q is not of the form package=package,package", entry)
		}
		for name := range strings.SplitSeq(tests, ",") {
			name, long := strings.CutSuffix(name, "+long")
			table[code] = append(table[code], suite{name, long})
		}
	}
	return table, nil
}

// order sorts a package's suites: its own first, since they build fastest and
// kill most, then the fastest, those without -short last.
func order(code string, suites []suite, took map[suite]time.Duration) []suite {
	suites = slices.Clone(suites)
	slices.SortStableFunc(suites, func(a, b suite) int {
		switch {
		case a.long != b.long:
			return before(b.long)
		case (a.name == code) != (b.name == code):
			return before(a.name == code)
		}
		return int(took[a] - took[b])
	})
	return suites
}

func before(yes bool) int {
	if yes {
		return -1
	}
	return 1
}
