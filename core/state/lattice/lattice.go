package lattice

import "github.com/reveille-run/reveille/core/state"

// Value is a value that merges. Merge returns the least value that has both in it; it
// is commutative, associative and idempotent, and changes neither.
type Value[T any] interface {
	Merge(T) T
}

// Key returns a commutative key of lattice T: an update is merged into the value. Such
// updates go together in any order; state.Set and Clear do not.
func Key[T Value[T]](name string, scope state.Scope) state.Key[T, T] {
	return state.Key[T, T]{
		Name: name, Scope: scope, Commutative: true,
		Apply: func(value, delta T) T { return value.Merge(delta) },
	}
}
