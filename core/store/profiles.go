package store

import (
	"context"
	"encoding/json"

	"github.com/reveille-run/reveille/core/state"
)

// Profiles keeps the profiles of all tenants: [state.Profiles] with the tenant
// said in each call. Code that runs on behalf of one gets [ProfilesOf] it. What a
// name or a value may be, and which errors there are, package state says; it does
// the same on every backend.
type Profiles interface {
	// ReadProfile is [state.Profiles] Read.
	ReadProfile(ctx context.Context, tenant string, name state.ProfileName) (state.Profile, error)
	// WriteProfile is [state.Profiles] Write.
	WriteProfile(ctx context.Context, tenant string, name state.ProfileName, value json.RawMessage, revision uint64) (uint64, error)
	// DeleteProfile is [state.Profiles] Delete.
	DeleteProfile(ctx context.Context, tenant string, name state.ProfileName, revision uint64) error
	// ProfileKeys is [state.Profiles] Keys.
	ProfileKeys(ctx context.Context, tenant, namespace, prefix, after string, limit int) ([]string, error)
}

// ProfilesOf returns one tenant's profiles, and nothing of another's. A tenant
// that does not pass core.CheckName is refused by every call.
func ProfilesOf(profiles Profiles, tenant string) state.Profiles {
	return tenantProfiles{profiles, tenant}
}

type tenantProfiles struct {
	of     Profiles
	tenant string
}

func (p tenantProfiles) Read(ctx context.Context, name state.ProfileName) (state.Profile, error) {
	return p.of.ReadProfile(ctx, p.tenant, name)
}

func (p tenantProfiles) Write(ctx context.Context, name state.ProfileName, value json.RawMessage, revision uint64) (uint64, error) {
	return p.of.WriteProfile(ctx, p.tenant, name, value, revision)
}

func (p tenantProfiles) Delete(ctx context.Context, name state.ProfileName, revision uint64) error {
	return p.of.DeleteProfile(ctx, p.tenant, name, revision)
}

func (p tenantProfiles) Keys(ctx context.Context, namespace, prefix, after string, limit int) ([]string, error) {
	return p.of.ProfileKeys(ctx, p.tenant, namespace, prefix, after, limit)
}
