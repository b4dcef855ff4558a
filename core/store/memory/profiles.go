package memory

import (
	"context"
	"encoding/json"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

// profilesOf returns a tenant's profiles, and makes their place.
func (s *backend) profilesOf(ctx context.Context, tenant string) (*profiles, error) {
	if err := checkTenant(ctx, tenant); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.profiles[tenant]
	if p == nil {
		p = &profiles{}
		s.profiles[tenant] = p
	}
	return p, nil
}

// ReadProfile implements [store.Backend].
func (s *backend) ReadProfile(ctx context.Context, tenant string, name state.ProfileName) (state.Profile, error) {
	p, err := s.profilesOf(ctx, tenant)
	if err != nil {
		return state.Profile{}, err
	}
	return p.Read(ctx, name)
}

// WriteProfile implements [store.Backend].
func (s *backend) WriteProfile(ctx context.Context, tenant string, name state.ProfileName, value json.RawMessage, revision uint64) (uint64, error) {
	p, err := s.profilesOf(ctx, tenant)
	if err != nil {
		return 0, err
	}
	return p.Write(ctx, name, value, revision)
}

// DeleteProfile implements [store.Backend].
func (s *backend) DeleteProfile(ctx context.Context, tenant string, name state.ProfileName, revision uint64) error {
	p, err := s.profilesOf(ctx, tenant)
	if err != nil {
		return err
	}
	return p.Delete(ctx, name, revision)
}

// ProfileKeys implements [store.Backend].
func (s *backend) ProfileKeys(ctx context.Context, tenant, namespace, prefix, after string, limit int) ([]string, error) {
	p, err := s.profilesOf(ctx, tenant)
	if err != nil {
		return nil, err
	}
	return p.Keys(ctx, namespace, prefix, after, limit)
}

// PutSnapshot implements [store.Backend]. There is no limit.
func (s *backend) PutSnapshot(ctx context.Context, hash string, content []byte) error {
	if err := checkHash(ctx, hash); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stored, ok := s.configs[hash]
	if ok && string(stored) != string(content) {
		return &store.RefusedError{Name: hash, Cause: store.ErrConflict}
	}
	if !ok {
		s.configs[hash] = copied(content)
	}
	return nil
}

// Snapshot implements [store.Backend].
func (s *backend) Snapshot(ctx context.Context, hash string) ([]byte, bool, error) {
	if err := checkHash(ctx, hash); err != nil {
		return nil, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	content, ok := s.configs[hash]
	if !ok {
		return nil, false, nil
	}
	return copied(content), true, nil
}

func checkHash(ctx context.Context, hash string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return core.CheckName("hash of a snapshot", hash)
}
