package lattice

import "github.com/reveille-run/reveille/core/state"

// Key returns a commutative key of lattice T, which is any type with a method Merge: it
// returns the least value that has both in it, is commutative, associative and idempotent,
// and changes neither. An update is merged into the value. Such updates go together in any
// order; state.Set and Clear do not.
func Key[T interface{ Merge(T) T }](name string, scope state.Scope) state.Key[T, T] {
	return state.Key[T, T]{
		Name: name, Scope: scope, Commutative: true,
		Apply: func(value, delta T) T { return value.Merge(delta) },
	}
}
