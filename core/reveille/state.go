package reveille

import "github.com/reveille-run/reveille/core/state"

// State of threads, runs and calls.
type (
	// Command is the request of a hook, a handler or a result: changes of the state, actions
	// and effects. Its zero value requests nothing.
	Command = state.Command
	// Snapshot is the state at one revision. It does not change.
	Snapshot = state.Snapshot
	// Key names a value of type V that updates of type U change: Read(snapshot), Update(u). A
	// plugin registers its keys.
	Key[V, U any] = state.Key[V, U]
	// ProfileKey names a value that outlives threads: of a user, an agent or the tenant.
	ProfileKey[V any] = state.ProfileKey[V]
)

// Scopes: how long a value lives.
const (
	ScopeRun    = state.ScopeRun    // until the run ends
	ScopeThread = state.ScopeThread // as long as the thread
	ScopeCall   = state.ScopeCall   // until the step of the tool call ends
)

// Counter returns the key of a number; an update is added to it.
func Counter(name string, scope state.Scope) Key[int, int] { return state.Counter(name, scope) }

// Value returns the key of a T; an update replaces it.
func Value[T any](name string, scope state.Scope) Key[T, T] { return state.Value[T](name, scope) }

// List returns the key of a list; an update is appended to it.
func List[E any](name string, scope state.Scope) Key[[]E, E] { return state.List[E](name, scope) }

// Map returns the key of an object, whose members Put and Delete change.
func Map[V any](name string, scope state.Scope) state.MapKey[V] { return state.Map[V](name, scope) }

// Set returns the command that sets the value of a key, and ignores the previous value.
func Set[V, U any](k Key[V, U], value V) Command { return state.Set(k, value) }

// Combine returns one command for several, in their order.
func Combine(commands ...Command) Command { return state.Combine(commands...) }
