package house

import (
	"cmp"
	"fmt"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// apiFile lists what programs can use of this module: each exported name of an importable
// package, with its fields and methods. A change of it is a change for users, so that it is
// read as a difference of this file.
const apiFile = "core/reveille/api.txt"

// The most exported names that programs can import, and those of core/reveille.
const (
	mostNames         = 910
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

func TestTheAPIIsWhatItsFileSays(t *testing.T) {
	var b strings.Builder
	b.WriteString("# What programs can use of this module: go test ./scripts/verify/house -run API -update\n")
	for _, p := range api(t) {
		fmt.Fprintf(&b, "\n%s\n", p.room)
		for _, o := range exported(p) {
			describe(&b, p.types, o)
		}
	}
	path := filepath.Join(root(t), apiFile)
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	was, is := strings.Split(string(kept), "\n"), strings.Split(b.String(), "\n")
	for _, line := range was {
		if !slices.Contains(is, line) {
			t.Errorf("gone: %s", line)
		}
	}
	for _, line := range is {
		if !slices.Contains(was, line) {
			t.Errorf("new: %s", line)
		}
	}
	if t.Failed() {
		t.Log("if users shall see this difference: go test ./scripts/verify/house -run API -update")
	}
}

// describe writes an object with its fields and methods, a line each.
func describe(b *strings.Builder, of *types.Package, o types.Object) {
	local := func(p *types.Package) string {
		if p == of {
			return ""
		}
		return p.Name()
	}
	fmt.Fprintf(b, "\t%s\n", types.ObjectString(withoutBody(o), local))
	name, ok := o.(*types.TypeName)
	if !ok || name.IsAlias() {
		return
	}
	named, ok := name.Type().(*types.Named)
	if !ok {
		return
	}
	if s, ok := named.Underlying().(*types.Struct); ok {
		for i := range s.NumFields() {
			if f := s.Field(i); f.Exported() {
				fmt.Fprintf(b, "\t\t%s.%s %s\n", o.Name(), f.Name(), types.TypeString(f.Type(), local))
			}
		}
	}
	var methods []string
	for m := range named.Methods() {
		if m.Exported() {
			methods = append(methods, fmt.Sprintf("\t\t%s.%s%s\n", o.Name(), m.Name(), strings.TrimPrefix(types.TypeString(m.Type(), local), "func")))
		}
	}
	if i, ok := named.Underlying().(*types.Interface); ok {
		for m := range i.Methods() {
			methods = append(methods, fmt.Sprintf("\t\t%s.%s%s\n", o.Name(), m.Name(), strings.TrimPrefix(types.TypeString(m.Type(), local), "func")))
		}
	}
	slices.Sort(methods)
	b.WriteString(strings.Join(methods, ""))
}

// withoutBody returns a type whose line in the file says what kind it is and not its body.
func withoutBody(o types.Object) types.Object {
	name, ok := o.(*types.TypeName)
	if !ok || name.IsAlias() {
		return o
	}
	switch name.Type().Underlying().(type) {
	case *types.Struct:
		return types.NewTypeName(o.Pos(), o.Pkg(), o.Name()+" struct", nil)
	case *types.Interface:
		return types.NewTypeName(o.Pos(), o.Pkg(), o.Name()+" interface", nil)
	}
	return o
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

// The list of importable packages in core/packages.md is complete.
func TestTheListOfImportablePackages(t *testing.T) {
	var listed, want []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9/]+)` \\|").FindAllStringSubmatch(read(t, "core/packages.md"), -1) {
		listed = append(listed, m[1])
	}
	for _, p := range api(t) {
		want = append(want, p.room)
	}
	for _, room := range want {
		if !slices.Contains(listed, room) {
			t.Errorf("core/packages.md does not list %s: say what it is for, or make it internal", room)
		}
	}
	for _, room := range listed {
		if !slices.Contains(want, room) {
			t.Errorf("core/packages.md lists %s, which programs cannot import", room)
		}
	}
}
