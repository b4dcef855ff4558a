package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
)

// ProfileKey names profiles of type V: values outside of threads, each under a separate
// key. A preference has a user's or an agent's name as its key, a shared value has the key
// of a [Shared]. Declare it once, as a package variable.
//
//	var Locale = state.ProfileKey[string]{Name: "locale"}
//
//	err := Locale.Write(ctx, call.Profiles, "alice", "en-GB")
//	locale, err := Locale.Read(ctx, call.Profiles, "alice")
//
// With nil profiles every method returns an error of code unsupported.
type ProfileKey[V any] struct {
	Name string // the namespace, stored: renaming it loses its values
}

// Read returns the value under a key; the zero V if no value is stored. A stored value that
// is not a V is an error with code [core.CodeCorrupt].
func (k ProfileKey[V]) Read(ctx context.Context, profiles Profiles, key string) (V, error) {
	value, _, err := k.read(ctx, profiles, key)
	return value, err
}

// Write sets the value under a key, and replaces any other: of two writers the last one
// wins. Use [ProfileKey.Update] for a value that depends on the previous one.
func (k ProfileKey[V]) Write(ctx context.Context, profiles Profiles, key string, value V) error {
	if profiles == nil {
		return errNoProfiles
	}
	raw, err := k.encode(value)
	if err != nil {
		return err
	}
	_, err = profiles.Write(ctx, k.at(key), raw, AnyRevision)
	return err
}

// updateTries is how often Update reads before it gives up. An attempt fails only if
// another writer has succeeded.
const updateTries = 16

// Update sets the value under a key to the result of change, and returns it. If another
// writer comes between, change is called again with that writer's value, 16 times at most;
// then the error is [ErrProfileConflict]. An error of change ends it and is returned
// unchanged. A value that stays the same is not written.
func (k ProfileKey[V]) Update(ctx context.Context, profiles Profiles, key string, change func(V) (V, error)) (V, error) {
	var zero V
	var lost error
	for range updateTries {
		value, stored, err := k.read(ctx, profiles, key)
		if err != nil {
			return zero, err
		}
		if value, err = change(value); err != nil {
			return zero, err
		}
		raw, err := k.encode(value)
		if err != nil {
			return zero, err
		}
		if bytes.Equal(raw, stored.Value) {
			return value, nil
		}
		_, err = profiles.Write(ctx, k.at(key), raw, stored.Revision)
		if err == nil {
			return value, nil
		}
		if lost = err; !errors.Is(err, ErrProfileConflict) {
			return zero, err
		}
	}
	return zero, fmt.Errorf("another writer updated it in all %d attempts: %w", updateTries, lost)
}

// Delete erases the value under a key; it then reads as the zero V.
func (k ProfileKey[V]) Delete(ctx context.Context, profiles Profiles, key string) error {
	if profiles == nil {
		return errNoProfiles
	}
	return profiles.Delete(ctx, k.at(key), AnyRevision)
}

// Keys lists the keys that begin with prefix and have a value, in order, from the first one
// after the given key, at most limit.
func (k ProfileKey[V]) Keys(ctx context.Context, profiles Profiles, prefix, after string, limit int) ([]string, error) {
	if profiles == nil {
		return nil, errNoProfiles
	}
	return profiles.Keys(ctx, k.Name, prefix, after, limit)
}

func (k ProfileKey[V]) at(key string) ProfileName { return ProfileName{Namespace: k.Name, Key: key} }

func (k ProfileKey[V]) read(ctx context.Context, profiles Profiles, key string) (value V, stored Profile, err error) {
	if profiles == nil {
		return value, Profile{}, errNoProfiles
	}
	stored, err = profiles.Read(ctx, k.at(key))
	if err != nil || stored.Revision == 0 {
		return value, Profile{}, err
	}
	if err := json.Unmarshal(stored.Value, &value); err != nil {
		var zero V
		return zero, Profile{}, core.Errorf(core.CodeCorrupt, "decoding profile %s: %w", k.at(key), err)
	}
	return value, stored, nil
}

func (k ProfileKey[V]) encode(value V) (json.RawMessage, error) {
	raw, err := core.EncodeJSON(value)
	if err != nil {
		return nil, fmt.Errorf("encoding a profile of %q: %w", k.Name, err)
	}
	return raw, nil
}

// Shared names who shares a profile: the threads that work for one parent thread, all runs
// of an agent, or one thread; at most one of them is set. The zero Shared is all agents and
// threads of a tenant. Its Key is that of the profile, in a namespace of any [ProfileKey];
// it is plain text, and other texts are keys too.
type Shared struct {
	ParentThread string
	Agent        string
	Thread       string
}

// Key returns the key under which the profile is stored.
func (s Shared) Key() string {
	switch {
	case s.ParentThread != "":
		return "parent_thread::" + s.ParentThread
	case s.Agent != "":
		return "agent_type::" + s.Agent
	case s.Thread != "":
		return "thread::" + s.Thread
	default:
		return "global"
	}
}
