package house

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDecisionsHaveTheirParts checks the decision records: they are numbered without a gap,
// have the same six parts, name tests that exist, and are listed in core/README.md.
func TestDecisionsHaveTheirParts(t *testing.T) {
	const folder = "core/decisions"
	entries, err := os.ReadDir(filepath.Join(root(t), folder))
	if err != nil {
		t.Fatal(err)
	}
	readme, shown := read(t, "core/README.md"), shownBy(t)
	parts := []string{"Status", "Context", "Decision", "Alternatives", "Consequences", "Tests"}
	heading := regexp.MustCompile(`(?m)^## (.*)$`)
	named := regexp.MustCompile("`([A-Z]\\w+)`")
	for i, e := range entries {
		name := folder + "/" + e.Name()
		text := read(t, name)
		if !strings.HasPrefix(e.Name(), fmt.Sprintf("%04d-", i+1)) || !strings.HasPrefix(text, fmt.Sprintf("# %d. ", i+1)) {
			t.Errorf("%s: want file and title of number %d", name, i+1)
		}
		var got []string
		for _, m := range heading.FindAllStringSubmatch(text, -1) {
			got = append(got, m[1])
		}
		if !slices.Equal(got, parts) {
			t.Errorf("%s has the parts %q, want %q", name, got, parts)
		}
		_, tests, _ := strings.Cut(text, "\n## Tests\n")
		found := named.FindAllStringSubmatch(tests, -1)
		for _, m := range found {
			if !shown[m[1]] {
				t.Errorf("%s: there is no test %s", name, m[1])
			}
		}
		if len(found) == 0 {
			t.Errorf("%s names no test", name)
		}
		if !strings.Contains(readme, "(decisions/"+e.Name()+")") {
			t.Errorf("core/README.md does not link to %s", name)
		}
	}
	if len(entries) < 10 {
		t.Errorf("%d decisions, want 10 or more", len(entries))
	}
}

// TestCostsAreThoseOfTheCostModel checks that each cost with four decimals in the decisions
// and the comparison is one of infra/cost.md, which is generated.
func TestCostsAreThoseOfTheCostModel(t *testing.T) {
	documents, err := filepath.Glob(filepath.Join(root(t), "core/decisions/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	known, count := read(t, "infra/cost.md"), 0
	for _, path := range append(documents, filepath.Join(root(t), "core/comparison.md")) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, cost := range regexp.MustCompile(`\b\d+\.\d{4}\b`).FindAllString(string(text), -1) {
			if count++; !strings.Contains(known, cost) {
				t.Errorf("%s has %s USD, which infra/cost.md does not have", filepath.Base(path), cost)
			}
		}
	}
	if count < 8 {
		t.Errorf("%d costs are found, want 8 or more", count)
	}
}
