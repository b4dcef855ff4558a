package storetest_test

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// lists is a backend whose list of what waits is wrong.
func lists(m store.Backend, waiting func(ctx context.Context, tenant string, after *store.Waiting, limit int) ([]store.Waiting, error)) store.Backend {
	return &storetest.Faulty{Backend: m, OnWaiting: waiting}
}

// waitingFaults are mistakes in the list of what waits, and in what else a suite
// about heads, logs and conditions does not meet.
var waitingFaults = []fault{
	{name: "tenants share a list", clause: "WaitingThreadIsListedForItsTenantOnly", text: "Thread: \"t1\"", backend: func(m store.Backend) store.Backend {
		return lists(m, func(ctx context.Context, tenant string, after *store.Waiting, limit int) ([]store.Waiting, error) {
			all, err := m.Waiting(ctx, tenant, after, limit)
			more, _ := m.Waiting(ctx, tenant+"x", after, limit) // a prefix of the key
			more2, _ := m.Waiting(ctx, tenant+".x", after, limit)
			return slices.Concat(all, more, more2), err
		})
	}},
	{name: "what waited once is listed for ever", clause: "WaitingGoesWithTheTicket", text: "Since: 5000", backend: func(m store.Backend) store.Backend {
		var first []store.Waiting
		return lists(m, func(ctx context.Context, tenant string, after *store.Waiting, limit int) ([]store.Waiting, error) {
			all, err := m.Waiting(ctx, tenant, after, limit)
			if first == nil {
				first = all
			}
			if len(all) == 0 {
				all = first
			}
			return all, err
		})
	}},
	{name: "last come first", clause: "LongestWaitingFirst", text: "limit 100", backend: func(m store.Backend) store.Backend {
		return lists(m, func(ctx context.Context, tenant string, after *store.Waiting, limit int) ([]store.Waiting, error) {
			all, err := m.Waiting(ctx, tenant, after, limit)
			slices.Reverse(all)
			return all, err
		})
	}},
	{name: "a page starts with the last thread of the previous one", clause: "WaitingThreadsArePaged", text: "which no longer waits by then", backend: func(m store.Backend) store.Backend {
		return lists(m, func(ctx context.Context, tenant string, after *store.Waiting, limit int) ([]store.Waiting, error) {
			all, err := m.Waiting(ctx, tenant, after, limit)
			if after != nil {
				all = append([]store.Waiting{*after}, all...)
			}
			return all[:min(len(all), limit)], err
		})
	}},
	{name: "a cancelled log just ends", clause: "ACancelledLogIsNeverShort", text: "ends after 3 with the error <nil>", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnLog: func(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
			return func(yield func(store.Record, error) bool) {
				for record := range m.Log(context.WithoutCancel(ctx), key, from, to) {
					if ctx.Err() != nil || !yield(record, nil) {
						return
					}
				}
			}
		}}
	}},
	{name: "backwards ends one too early", clause: "LogBackwardsIsTheLogTheOtherWay", text: "has other records than Log", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnLogBackwards: func(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
			return m.LogBackwards(ctx, key, from+1, to)
		}}
	}},
	{name: "a rewrite keeps the old expiry", clause: "ARewriteHasItsOwnExpiry", text: "expires=0", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnPut: func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			if stored, ok, _ := m.Get(ctx, key, r.Name); ok {
				r.Expires = stored.Expires
			}
			return m.Put(ctx, key, r)
		}}
	}},
	{name: "what a newer program left is cut off", clause: "TheLargestHeadRoundTrips", text: "Extensions", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnHead: func(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
			h, err := m.Head(ctx, key)
			h.Extensions = nil
			return h, err
		}}
	}},
	{name: "pointers have no limit", clause: "PointersTakeNoMoreThanTheLimit", text: "one over the limit, returns {Written:true", options: storetest.Options{MaxPayload: 300 << 10},
		backend: func(m store.Backend) store.Backend { return m }},
	{name: "memory is all there is", clause: "WhatIsAcknowledgedOutlivesTheProcess", text: "want \"t\"",
		options: storetest.Options{Reopen: func(*testing.T, store.Backend) store.Backend { return memory.New() }},
		backend: func(m store.Backend) store.Backend { return m }},
}
