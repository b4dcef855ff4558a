package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/reveille-run/reveille/core/state"
)

// profiles implements [state.Profiles] for one tenant. The zero value is empty. Nothing is
// shared with a caller.
type profiles struct {
	mu       sync.Mutex
	values   map[state.ProfileName]state.Profile
	revision uint64 // the last that was given; none is used again
}

var _ state.Profiles = (*profiles)(nil)

// Read implements [state.Profiles].
func (m *profiles) Read(ctx context.Context, name state.ProfileName) (state.Profile, error) {
	if err := firstOf(ctx.Err(), name.Check()); err != nil {
		return state.Profile{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	stored := m.values[name]
	stored.Value = bytes.Clone(stored.Value)
	return stored, nil
}

// Write implements [state.Profiles].
func (m *profiles) Write(ctx context.Context, name state.ProfileName, value json.RawMessage, revision uint64) (uint64, error) {
	if err := firstOf(ctx.Err(), name.CheckWrite(value)); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := name.Admit(m.values[name].Revision, revision); err != nil {
		return 0, err
	}
	if m.values == nil {
		m.values = map[state.ProfileName]state.Profile{}
	}
	m.revision++
	m.values[name] = state.Profile{Value: bytes.Clone(value), Revision: m.revision}
	return m.revision, nil
}

// Delete implements [state.Profiles].
func (m *profiles) Delete(ctx context.Context, name state.ProfileName, revision uint64) error {
	if err := firstOf(ctx.Err(), name.Check()); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	stored, ok := m.values[name]
	if !ok {
		return nil
	}
	if err := name.Admit(stored.Revision, revision); err != nil {
		return err
	}
	delete(m.values, name)
	return nil
}

// Keys implements [state.Profiles].
func (m *profiles) Keys(ctx context.Context, namespace, prefix, after string, limit int) ([]string, error) {
	if err := firstOf(ctx.Err(), (state.ProfileName{Namespace: namespace, Key: prefix}).CheckKeys(after)); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []string
	for name := range m.values {
		if name.Namespace == namespace && name.Key > after && strings.HasPrefix(name.Key, prefix) {
			keys = append(keys, name.Key)
		}
	}
	slices.Sort(keys)
	return keys[:min(len(keys), max(limit, 0))], nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
