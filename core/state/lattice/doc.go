// Package lattice has values that merge: changes in any order, each of which may arrive
// several times, lead to the same value. They are for state that hooks and tools change
// concurrently.
//
//	var Tags = lattice.Key[lattice.GSet[string]]("tags", state.ScopeThread)
//
//	command := Tags.Update(lattice.GSet[string]{}.Adding("urgent"))
//
// An update is a value of the same type, with what is new in it alone, and is merged
// into the key's value. The zero value of each type is empty and merges into any other
// without a trace. Values never change: methods return new ones.
//
//	MaxReg[T]      the largest value so far
//	MinReg[T]      the smallest
//	GCounter       a sum to which each actor adds its own share
//	GSet[T]        a set that only grows
//	ORSet[T]       a set with removal: what is added again after a removal is there
//	ORMap[V]       members that are themselves lattices, with the same removal
//
// Any other type with such a Merge is a lattice as well, such as a boolean that stays true.
//
// A removal removes elements that it has seen: each adding has a tag, and a removal names the
// tags that it observed. An adding that no removal had seen yet survives. Tags must be unique; a
// hook makes them by plugin.Context.NewID, which returns the same one when the hook runs again,
// and so adds nothing twice.
//
// A grown value does not forget: the tags of removed elements stay, since an old change may
// still arrive. A key with many removals is better one of ScopeRun, or cleared from time to
// time.
//
// The JSON of a value is the same for equal values: members and elements are sorted.
package lattice
