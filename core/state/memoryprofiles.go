package state

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

// MemoryProfiles implements [Profiles] in memory, for tests and for the in-memory
// backend. The zero value is empty. Nothing is shared with a caller.
type MemoryProfiles struct {
	mu       sync.Mutex
	values   map[ProfileName]Profile
	revision uint64 // the last that was given; none comes again
}

var _ Profiles = (*MemoryProfiles)(nil)

// Read implements [Profiles].
func (m *MemoryProfiles) Read(ctx context.Context, name ProfileName) (Profile, error) {
	if err := firstOf(ctx.Err(), name.Check()); err != nil {
		return Profile{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	stored := m.values[name]
	stored.Value = bytes.Clone(stored.Value)
	return stored, nil
}

// Write implements [Profiles].
func (m *MemoryProfiles) Write(ctx context.Context, name ProfileName, value json.RawMessage, revision uint64) (uint64, error) {
	if err := firstOf(ctx.Err(), CheckProfileWrite(name, value)); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := AdmitProfile(name, m.values[name].Revision, revision); err != nil {
		return 0, err
	}
	if m.values == nil {
		m.values = map[ProfileName]Profile{}
	}
	m.revision++
	m.values[name] = Profile{Value: bytes.Clone(value), Revision: m.revision}
	return m.revision, nil
}

// Delete implements [Profiles].
func (m *MemoryProfiles) Delete(ctx context.Context, name ProfileName, revision uint64) error {
	if err := firstOf(ctx.Err(), name.Check()); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	stored, ok := m.values[name]
	if !ok {
		return nil
	}
	if err := AdmitProfile(name, stored.Revision, revision); err != nil {
		return err
	}
	delete(m.values, name)
	return nil
}

// Keys implements [Profiles].
func (m *MemoryProfiles) Keys(ctx context.Context, namespace, prefix, after string, limit int) ([]string, error) {
	if err := firstOf(ctx.Err(), CheckProfileKeys(namespace, prefix, after)); err != nil {
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
