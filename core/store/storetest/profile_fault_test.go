package storetest_test

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// profileFaults are those of profiles and snapshots.
var profileFaults = []fault{
	{name: "the revision is not compared", clause: "ProfileWritesCompareTheRevision", text: "want ErrProfileConflict", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnWriteProfile: func(ctx context.Context, tenant string, name state.ProfileName, value json.RawMessage, _ uint64) (uint64, error) {
			return m.WriteProfile(ctx, tenant, name, value, state.AnyRevision)
		}}
	}},
	{name: "a deletion compares nothing", clause: "ProfileWritesCompareTheRevision", text: "DeleteProfile at the previous revision returns the error <nil>", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnDeleteProfile: func(ctx context.Context, tenant string, name state.ProfileName, _ uint64) error {
			return m.DeleteProfile(ctx, tenant, name, state.AnyRevision)
		}}
	}},
	{name: "revisions begin again after a deletion", clause: "ProfileRevisionsNeverComeAgain", text: "for the second time", backend: countsWrites},
	{name: "the comparison of profiles comes before the write", clause: "OneOfRacingProfileWritersWins", text: "must be one atomic step", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnWriteProfile: func(ctx context.Context, tenant string, name state.ProfileName, value json.RawMessage, revision uint64) (uint64, error) {
			if revision == 0 { // the first of all, which finds nothing to compare with
				revision = state.AnyRevision
			}
			return m.WriteProfile(ctx, tenant, name, value, revision)
		}}
	}},
	{name: "names are joined with a colon", clause: "ProfilesNeverMeet", text: `at revision 0`, backend: func(m store.Backend) store.Backend {
		join := func(name state.ProfileName) state.ProfileName {
			return state.ProfileName{Namespace: "x", Key: name.Namespace + ":" + name.Key}
		}
		return &storetest.Faulty{
			Backend: m,
			OnReadProfile: func(ctx context.Context, tenant string, name state.ProfileName) (state.Profile, error) {
				return m.ReadProfile(ctx, tenant, join(name))
			},
			OnWriteProfile: func(ctx context.Context, tenant string, name state.ProfileName, value json.RawMessage, revision uint64) (uint64, error) {
				return m.WriteProfile(ctx, tenant, join(name), value, revision)
			},
		}
	}},
	{name: "all tenants share their profiles", clause: "ProfilesNeverMeet", text: "want  at 0", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnReadProfile: func(ctx context.Context, tenant string, name state.ProfileName) (state.Profile, error) {
			return m.ReadProfile(ctx, strings.Replace(tenant, ".b", ".a", 1), name)
		}}
	}},
	{name: "names of profiles are not checked", clause: "ProfileNamesThatFailCheckAreInvalid", text: "would reach another's value", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnReadProfile: func(context.Context, string, state.ProfileName) (state.Profile, error) { return state.Profile{}, nil }}
	}},
	{name: "the list of keys starts with the key after", clause: "ProfileKeysAreListedInOrder", text: `after "global", limit 2) returns ["global" "thread"]`, backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnProfileKeys: func(ctx context.Context, tenant, namespace, prefix, after string, limit int) ([]string, error) {
			if after == "global" {
				after = "b"
			}
			return m.ProfileKeys(ctx, tenant, namespace, prefix, after, limit)
		}}
	}},
	{name: "a conflict of snapshots is silent", clause: "SnapshotsAreCreateOnly", text: "want a *RefusedError with ErrConflict", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnPutSnapshot: func(ctx context.Context, hash string, content []byte) error {
			if _, ok, _ := m.Snapshot(ctx, hash); ok {
				return nil
			}
			return m.PutSnapshot(ctx, hash, content)
		}}
	}},
	{name: "hashes are not checked", clause: "SnapshotHashesThatFailCheckAreInvalid", text: "Snapshot(", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnSnapshot: func(context.Context, string) ([]byte, bool, error) { return nil, false, nil }}
	}},
}

// countsWrites has the number of writes since a deletion as the revision.
func countsWrites(m store.Backend) store.Backend {
	revisions := map[state.ProfileName]uint64{}
	return &storetest.Faulty{
		Backend: m,
		OnWriteProfile: func(ctx context.Context, tenant string, name state.ProfileName, value json.RawMessage, _ uint64) (uint64, error) {
			revisions[name]++
			_, err := m.WriteProfile(ctx, tenant, name, value, state.AnyRevision)
			return revisions[name], err
		},
		OnDeleteProfile: func(ctx context.Context, tenant string, name state.ProfileName, _ uint64) error {
			delete(revisions, name)
			return m.DeleteProfile(ctx, tenant, name, state.AnyRevision)
		},
	}
}
