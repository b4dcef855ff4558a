package house

import (
	"go/types"
	"maps"
	"slices"
)

// structs calls f with each named struct type of a package.
func (p typed) structs(f func(name string, n *types.Named, s *types.Struct)) {
	scope := p.types.Scope()
	for _, name := range scope.Names() {
		o, ok := scope.Lookup(name).(*types.TypeName)
		if !ok || o.IsAlias() {
			continue
		}
		n, ok := o.Type().(*types.Named)
		if !ok {
			continue
		}
		if s, ok := n.Underlying().(*types.Struct); ok {
			f(name, n, s)
		}
	}
}

// methods is how many methods a value of a type or its pointer has, own and promoted.
func methods(n *types.Named) int { return types.NewMethodSet(types.NewPointer(n)).Len() }

// fields is how many names of fields can be selected of a struct: its own, and those that
// it is lent by what it embeds.
func fields(pkg *types.Package, n *types.Named) (count int) {
	for name := range fieldNames(n, map[types.Type]bool{}) {
		if o, _, _ := types.LookupFieldOrMethod(types.NewPointer(n), true, pkg, name); o != nil {
			if v, ok := o.(*types.Var); ok && v.IsField() {
				count++
			}
		}
	}
	return count
}

func fieldNames(t types.Type, seen map[types.Type]bool) map[string]bool {
	names := map[string]bool{}
	s, ok := deref(t).Underlying().(*types.Struct)
	if !ok || seen[deref(t)] {
		return names
	}
	seen[deref(t)] = true
	for v := range s.Fields() {
		names[v.Name()] = true
		if v.Embedded() {
			maps.Copy(names, fieldNames(v.Type(), seen))
		}
	}
	return names
}

func deref(t types.Type) types.Type {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	return types.Unalias(t)
}

// hidden lists the names of a struct's own fields and methods that hide one of a type that
// it embeds: the same word means two things, by the type of the variable in front of it.
func hidden(pkg *types.Package, n *types.Named, s *types.Struct) []string {
	own := map[string]bool{}
	for m := range n.Methods() {
		own[m.Name()] = true
	}
	for v := range s.Fields() {
		own[v.Name()] = true
	}
	found := map[string]bool{}
	for v := range s.Fields() {
		if !v.Embedded() || types.IsInterface(v.Type()) { // who decorates an interface hides it on purpose
			continue
		}
		for name := range own {
			if o, _, _ := types.LookupFieldOrMethod(v.Type(), true, pkg, name); o != nil {
				found[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}
