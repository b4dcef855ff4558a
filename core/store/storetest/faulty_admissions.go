package storetest

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

func onTenant(method, tenant string) Operation {
	return Operation{Method: method, Key: core.ThreadKey{Tenant: tenant}}
}

// Admission implements [store.Backend].
func (f *Faulty) Admission(ctx context.Context, tenant string, day int64) (store.Admission, error) {
	method := f.OnAdmission
	if method == nil {
		method = f.Backend.Admission
	}
	var a store.Admission
	err := f.around(ctx, onTenant("Admission", tenant), func(ctx context.Context) (err error) {
		a, err = method(ctx, tenant, day)
		return err
	})
	if err != nil {
		return store.Admission{}, err
	}
	return a, nil
}

// Admit implements [store.Backend].
func (f *Faulty) Admit(ctx context.Context, tenant string, a store.Admitting) (store.Admission, bool, error) {
	method := f.OnAdmit
	if method == nil {
		method = f.Backend.Admit
	}
	var after store.Admission
	var admitted bool
	err := f.around(ctx, onTenant("Admit", tenant), func(ctx context.Context) (err error) {
		after, admitted, err = method(ctx, tenant, a)
		return err
	})
	if err != nil {
		return store.Admission{}, false, err
	}
	return after, admitted, nil
}

// Charge implements [store.Backend].
func (f *Faulty) Charge(ctx context.Context, tenant string, c store.Use) (store.Admission, bool, error) {
	method := f.OnCharge
	if method == nil {
		method = f.Backend.Charge
	}
	var after store.Admission
	var charged bool
	err := f.around(ctx, onTenant("Charge", tenant), func(ctx context.Context) (err error) {
		after, charged, err = method(ctx, tenant, c)
		return err
	})
	if err != nil {
		return store.Admission{}, false, err
	}
	return after, charged, nil
}

// Release implements [store.Backend].
func (f *Faulty) Release(ctx context.Context, tenant string, r store.Use) (bool, error) {
	method := f.OnRelease
	if method == nil {
		method = f.Backend.Release
	}
	var released bool
	err := f.around(ctx, onTenant("Release", tenant), func(ctx context.Context) (err error) {
		released, err = method(ctx, tenant, r)
		return err
	})
	return released && err == nil, err
}

// Occupied implements [store.Backend].
func (f *Faulty) Occupied(ctx context.Context, after string, limit int) ([]store.Occupied, error) {
	method := f.OnOccupied
	if method == nil {
		method = f.Backend.Occupied
	}
	var list []store.Occupied
	err := f.around(ctx, Operation{Method: "Occupied"}, func(ctx context.Context) (err error) {
		list, err = method(ctx, after, limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}
