package house

import (
	"cmp"
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// uses counts how often a file of a package names what another one declares: functions,
// types, variables, and methods and fields, too.
type uses map[[2]string]int

func (p typed) uses(fset *token.FileSet) uses {
	u := uses{}
	base := func(pos token.Pos) string {
		return strings.TrimSuffix(filepath.Base(fset.Position(pos).Filename), ".go")
	}
	for id, o := range p.info.Uses {
		if o.Pkg() != p.types || !o.Pos().IsValid() {
			continue
		}
		if _, ok := o.(*types.PkgName); ok {
			continue
		}
		if from, to := base(id.Pos()), base(o.Pos()); from != to {
			u[[2]string{from, to}]++
		}
	}
	return u
}

// cycle is the largest set of files each of which uses every other, directly or not.
func (u uses) cycle() []string {
	to := map[string][]string{}
	for edge := range u {
		to[edge[0]] = append(to[edge[0]], edge[1])
	}
	reach := map[string]map[string]bool{}
	for from := range to {
		seen, open := map[string]bool{}, []string{from}
		for len(open) > 0 {
			at := open[len(open)-1]
			open = open[:len(open)-1]
			for _, next := range to[at] {
				if !seen[next] {
					seen[next] = true
					open = append(open, next)
				}
			}
		}
		reach[from] = seen
	}
	var largest []string
	for from := range to {
		var own []string
		for other := range reach[from] {
			if reach[other][from] {
				own = append(own, other)
			}
		}
		if len(own) > len(largest) {
			largest = own
		}
	}
	slices.Sort(largest)
	return largest
}

// units reads which file of core/internal/run is in which unit; the first is the lowest.
func units(t *testing.T) (order []string, of map[string]int) {
	t.Helper()
	of = map[string]int{}
	for line := range strings.Lines(read(t, "scripts/verify/house/testdata/units.txt")) {
		name, files, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for _, file := range strings.Fields(files) {
			if _, twice := of[file]; twice {
				t.Errorf("testdata/units.txt: %s.go is in two units", file)
			}
			of[file] = len(order)
		}
		order = append(order, name)
	}
	return order, of
}

// upInRun counts the references of core/internal/run from a unit to a higher one, and says between
// which files they are, the most frequent first.
func upInRun(t *testing.T) (edges []string, count int) {
	t.Helper()
	_, of := units(t)
	fset, core := checked(t)
	u := core[slices.IndexFunc(core, func(p typed) bool { return p.room == "core/internal/run" })].uses(fset)
	byCount := func(a, b [2]string) int { return cmp.Or(u[b]-u[a], cmp.Compare(a[0]+a[1], b[0]+b[1])) }
	for _, e := range slices.SortedFunc(maps.Keys(u), byCount) {
		if of[e[0]] < of[e[1]] {
			count += u[e]
			edges = append(edges, fmt.Sprintf("%d %s > %s", u[e], e[0], e[1]))
		}
	}
	return edges, count
}

func TestEveryFileOfRunIsInAUnit(t *testing.T) {
	_, of := units(t)
	_, core := checked(t)
	for _, p := range core {
		if p.room != "core/internal/run" {
			continue
		}
		left := maps.Clone(of)
		for _, name := range p.names {
			file := strings.TrimSuffix(name, ".go")
			if _, ok := of[file]; !ok {
				t.Errorf("testdata/units.txt: add core/internal/run/%s to a unit", name)
			}
			delete(left, file)
		}
		for file := range left {
			t.Errorf("testdata/units.txt: core/internal/run/%s.go does not exist", file)
		}
	}
}
