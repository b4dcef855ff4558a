package simtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The variables of a separate process: the scenario to play, and the file for its
// outcome.
const (
	freshScenario = "SIMTEST_SCENARIO"
	freshFile     = "SIMTEST_FILE"
)

// fresh plays a scenario in two separate processes, whose package variables have their
// initial values. Differences between those are random.
func fresh(t *testing.T, scenario string) (a, b transcript, ok bool) {
	test, _, _ := strings.Cut(t.Name(), "/"+rewritten(scenario))
	for _, out := range []*transcript{&a, &b} {
		file := filepath.Join(t.TempDir(), "world")
		c := exec.Command(os.Args[0], "-test.run", pattern(test), "-test.count", "1")
		c.Env = append(os.Environ(), freshScenario+"="+scenario, freshFile+"="+file)
		_ = c.Run() // what counts is the file
		text, err := os.ReadFile(file)
		if err != nil || json.Unmarshal(text, out) != nil {
			return a, b, false
		}
	}
	return a, b, true
}

// rewritten is the name that the testing package gives a subtest.
func rewritten(name string) string { return strings.ReplaceAll(name, " ", "_") }

// told plays the scenario that this process was started for, if it was.
func told(t *testing.T, c cast, scenarios []Scenario) bool {
	file := os.Getenv(freshFile)
	if file == "" {
		return false
	}
	for _, s := range scenarios {
		if s.Name != os.Getenv(freshScenario) {
			continue
		}
		text, err := json.Marshal(newWorld(s, c).play(t).transcript)
		if err == nil {
			err = os.WriteFile(file, text, 0o600)
		}
		if err != nil {
			t.Error(err)
		}
	}
	return true
}
