package sim

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/store"
)

// Waiting implements [store.Backend].
func (b backend) Waiting(ctx context.Context, tenant string, after *store.Waiting, limit int) (found []store.Waiting, err error) {
	order := func(a, b store.Waiting) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), strings.Compare(a.Thread, b.Thread))
	}
	err = b.one(ctx, SiteGet, "", func() {
		for _, p := range b.host.world.storage.partitions {
			w := store.Waiting{Thread: p.key.Thread, Since: p.head.Run.WaitsSince}
			if p.key.Tenant == tenant && w.Since != 0 && (after == nil || order(w, *after) > 0) {
				found = append(found, w)
			}
		}
	})
	slices.SortFunc(found, order)
	return found[:min(len(found), limit)], err
}

// Records implements [store.Backend].
func (b backend) Records(ctx context.Context, key core.ThreadKey, prefix, after string, limit int) (found []store.Record, err error) {
	err = b.one(ctx, SiteGet, prefix, func() {
		p := b.host.world.partition(key)
		for _, r := range p.log {
			if r.Name > after && strings.HasPrefix(r.Name, prefix) {
				found = append(found, r)
			}
		}
		for name, r := range p.records {
			if name > after && strings.HasPrefix(name, prefix) {
				found = append(found, r)
			}
		}
	})
	slices.SortFunc(found, func(a, b store.Record) int { return strings.Compare(a.Name, b.Name) })
	return b.host.world.lagging(found[:min(len(found), limit)]), err
}

// lagging leaves an event chunk or a follow mark out of a list at times, as a list may that
// lags.
func (w *World) lagging(found []store.Record) []store.Record {
	if w.config.People.Followed && len(found) == 1 && found[0].Name == recordname.Follow && w.config.Faults > 0 && w.now < w.stop && w.random.chance(0.2) {
		w.strike(SiteGet, FaultStale)
		return nil
	}
	if len(found) == 0 || !strings.HasPrefix(found[0].Name, "E#") || w.config.Faults == 0 || w.now >= w.stop || !w.random.chance(0.1) {
		return found
	}
	w.strike(SiteGet, FaultStale)
	i := w.random.below(len(found))
	return slices.Delete(found, i, i+1)
}

// RecordsBackwards implements [store.Backend].
func (b backend) RecordsBackwards(ctx context.Context, key core.ThreadKey, prefix, before string, limit int) ([]store.Record, error) {
	found, err := b.Records(ctx, key, prefix, "", math.MaxInt)
	slices.Reverse(found)
	if before != "" {
		found = slices.DeleteFunc(found, func(r store.Record) bool { return r.Name >= before })
	}
	return found[:min(len(found), limit)], err
}

// Listed implements [store.Backend].
func (b backend) Listed(ctx context.Context, tenant, list string, before *store.Place, limit int) (all []store.Listed, err error) {
	err = b.one(ctx, SiteGet, list, func() {
		for _, p := range b.host.world.storage.partitions {
			for _, r := range p.records {
				in, at, err := r.Place(p.key.Thread)
				if r.Kind() == store.KindLatest && err == nil && p.key.Tenant == tenant && in == list && (before == nil || at.Compare(*before) < 0) {
					all = append(all, store.Listed{Place: at, Payload: r.Payload})
				}
			}
		}
	})
	slices.SortFunc(all, func(a, b store.Listed) int { return b.Compare(a.Place) })
	return all[:min(len(all), limit)], err
}
