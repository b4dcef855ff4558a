package storetest

import (
	"context"
	"encoding/json"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
)

// ReadProfile implements [store.Backend].
func (f *Faulty) ReadProfile(ctx context.Context, tenant string, name state.ProfileName) (state.Profile, error) {
	method := f.OnReadProfile
	if method == nil {
		method = f.Backend.ReadProfile
	}
	var profile state.Profile
	err := f.around(ctx, onProfile("ReadProfile", tenant, name), func(ctx context.Context) (err error) {
		profile, err = method(ctx, tenant, name)
		return err
	})
	if err != nil {
		return state.Profile{}, err
	}
	return profile, nil
}

// WriteProfile implements [store.Backend].
func (f *Faulty) WriteProfile(ctx context.Context, tenant string, name state.ProfileName, value json.RawMessage, revision uint64) (uint64, error) {
	method := f.OnWriteProfile
	if method == nil {
		method = f.Backend.WriteProfile
	}
	var next uint64
	err := f.around(ctx, onProfile("WriteProfile", tenant, name), func(ctx context.Context) (err error) {
		next, err = method(ctx, tenant, name, value, revision)
		return err
	})
	if err != nil {
		return 0, err
	}
	return next, nil
}

// DeleteProfile implements [store.Backend].
func (f *Faulty) DeleteProfile(ctx context.Context, tenant string, name state.ProfileName, revision uint64) error {
	method := f.OnDeleteProfile
	if method == nil {
		method = f.Backend.DeleteProfile
	}
	return f.around(ctx, onProfile("DeleteProfile", tenant, name), func(ctx context.Context) error {
		return method(ctx, tenant, name, revision)
	})
}

// ProfileKeys implements [store.Backend].
func (f *Faulty) ProfileKeys(ctx context.Context, tenant, namespace, prefix, after string, limit int) ([]string, error) {
	method := f.OnProfileKeys
	if method == nil {
		method = f.Backend.ProfileKeys
	}
	op := onProfile("ProfileKeys", tenant, state.ProfileName{Namespace: namespace, Key: prefix})
	var keys []string
	err := f.around(ctx, op, func(ctx context.Context) (err error) {
		keys, err = method(ctx, tenant, namespace, prefix, after, limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	return keys, nil
}

func onProfile(method, tenant string, name state.ProfileName) Operation {
	return Operation{Method: method, Key: core.ThreadKey{Tenant: tenant}, Name: name.Namespace + "/" + name.Key}
}

// PutSnapshot implements [store.Backend].
func (f *Faulty) PutSnapshot(ctx context.Context, hash string, content []byte) error {
	method := f.OnPutSnapshot
	if method == nil {
		method = f.Backend.PutSnapshot
	}
	return f.around(ctx, Operation{Method: "PutSnapshot", Name: hash}, func(ctx context.Context) error { return method(ctx, hash, content) })
}

// Snapshot implements [store.Backend]. With an error it also returns ok = true, as Get
// does.
func (f *Faulty) Snapshot(ctx context.Context, hash string) ([]byte, bool, error) {
	method := f.OnSnapshot
	if method == nil {
		method = f.Backend.Snapshot
	}
	var content []byte
	var ok bool
	err := f.around(ctx, Operation{Method: "Snapshot", Name: hash}, func(ctx context.Context) (err error) {
		content, ok, err = method(ctx, hash)
		return err
	})
	if err != nil {
		return nil, true, err
	}
	return content, ok, nil
}
