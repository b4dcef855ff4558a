package house

import (
	"cmp"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The most exported names that programs can import, and those of core/reveille.
const (
	mostNames         = 1420
	mostNamesReveille = 120
)

// public reports whether programs may import a package. The commands of scripts and what
// a user edits are no part of the API.
func public(room string) bool {
	parts := strings.Split(room, "/")
	return parts[0] != "scripts" && !slices.Contains(parts, "internal") && room != "functions/app" && !strings.HasPrefix(room, "functions/app/")
}

// api returns the importable packages of the module, sorted by room.
func api(t *testing.T) []typed {
	t.Helper()
	_, all := checkedAll(t)
	packages := slices.DeleteFunc(slices.Clone(all), func(p typed) bool { return !public(p.room) || p.types.Name() == "main" })
	slices.SortFunc(packages, func(a, b typed) int { return cmp.Compare(a.room, b.room) })
	return packages
}

// exported returns the exported names of a package, sorted.
func exported(p typed) []types.Object {
	var objects []types.Object
	for _, name := range p.types.Scope().Names() {
		if o := p.types.Scope().Lookup(name); o.Exported() {
			objects = append(objects, o)
		}
	}
	return objects
}

func TestFewNamesAreImportable(t *testing.T) {
	total := 0
	for _, p := range api(t) {
		n := len(exported(p))
		total += n
		if p.room == "core/reveille" && n > mostNamesReveille {
			t.Errorf("core/reveille has %d exported names, at most %d", n, mostNamesReveille)
		}
	}
	t.Logf("%d exported names are importable", total)
	if total > mostNames {
		t.Errorf("%d exported names are importable, at most %d: what no program needs is internal", total, mostNames)
	}
}

// The list of importable packages in core/README.md is complete.
func TestTheListOfImportablePackages(t *testing.T) {
	var listed, want []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9/]+)` \\|").FindAllStringSubmatch(read(t, "core/README.md"), -1) {
		listed = append(listed, m[1])
	}
	for _, p := range api(t) {
		want = append(want, p.room)
	}
	for _, room := range want {
		if !slices.Contains(listed, room) {
			t.Errorf("core/README.md does not list %s: say what it is for, or make it internal", room)
		}
	}
	for _, room := range listed {
		if !slices.Contains(want, room) {
			t.Errorf("core/README.md lists %s, which programs cannot import", room)
		}
	}
}
