package state

// Counter returns a key that counts: an update is added, and two hooks may add
// concurrently. Its sum wraps around as an int does.
//
//	var Visits = state.Counter("visits", state.ScopeThread)
func Counter(name string, scope Scope) Key[int, int] {
	return Key[int, int]{Name: name, Scope: scope, Commutative: true, Apply: func(sum, more int) int { return sum + more }}
}

// Value returns a key whose updates replace the value. If two hooks do so concurrently, the
// later one runs again, on the value that the earlier one has set.
//
//	var Draft = state.Value[Mail]("draft", state.ScopeRun)
func Value[T any](name string, scope Scope) Key[T, T] {
	return Key[T, T]{Name: name, Scope: scope, Apply: func(_, next T) T { return next }}
}

// List returns a key whose updates append one element each. Hooks may append concurrently:
// the elements are in the order in which the hooks are registered, those of tools in the
// order of their calls. Its patches hold the element alone.
//
//	var Notes = state.List[string]("notes", state.ScopeThread)
func List[E any](name string, scope Scope) Key[[]E, E] {
	return Key[[]E, E]{
		Name: name, Scope: scope, Commutative: true,
		Apply:  func(list []E, element E) []E { return append(list, element) },
		change: appendElement[E](name),
	}
}

// MapKey is a key whose value is an object and whose updates set members; nil removes
// one. [Map] makes one; [Set] takes the Key in it.
type MapKey[V any] struct {
	Key[map[string]V, map[string]*V]
}

// Map returns a key whose updates set and remove members of an object. Hooks may do so
// concurrently: if two set one member, the one that is registered last wins. Its patches
// hold the changed members alone.
//
//	var Seen = state.Map[time.Time]("seen", state.ScopeThread)
//
//	command := state.Combine(Seen.Put("a", now), Seen.Delete("b"))
func Map[V any](name string, scope Scope) MapKey[V] {
	return MapKey[V]{Key[map[string]V, map[string]*V]{
		Name: name, Scope: scope, Commutative: true, change: setMembers[*V](name),
	}}
}

// Put returns the command that sets a member. A V that encodes as null removes it.
func (k MapKey[V]) Put(member string, value V) Command {
	return k.Update(map[string]*V{member: &value})
}

// Delete returns the command that removes members; those that are not there are
// passed over.
func (k MapKey[V]) Delete(members ...string) Command {
	update := make(map[string]*V, len(members))
	for _, member := range members {
		update[member] = nil
	}
	return k.Update(update)
}

// Member returns one member of the value; ok is false when it is not there. Its errors
// are those of [Key.Read].
func (k MapKey[V]) Member(s Snapshot, member string) (value V, ok bool, err error) {
	all, err := k.Read(s)
	value, ok = all[member]
	return value, ok, err
}
