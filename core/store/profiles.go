package store

import (
	"context"
	"encoding/json"

	"github.com/reveille-run/reveille/core/state"
)

// ProfilesOf returns one tenant's profiles, and nothing of another's. A tenant
// that does not pass core.CheckName is refused by every call.
func ProfilesOf(backend Backend, tenant string) state.Profiles {
	return tenantProfiles{backend, tenant}
}

type tenantProfiles struct {
	of     Backend
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
