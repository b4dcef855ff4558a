package run_test

import (
	"context"
	"iter"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/sent"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/model"
)

// receivedRequests has the requests that the models of a world received.
type receivedRequests struct {
	mu       sync.Mutex
	requests []model.Request
	watched  map[*registry.BoundModel]bool
}

// watch has the models of an agent note their requests.
func (g *receivedRequests) watch(agent *registry.Resolved) *registry.Resolved {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range agent.CallableModels() {
		if _, ok := m.Model.(interface{ watched() }); ok || g.watched[m] {
			continue
		}
		if g.watched == nil {
			g.watched = map[*registry.BoundModel]bool{}
		}
		g.watched[m] = true
		w := watchedModel{m.Model, g}
		if c, ok := m.Model.(model.Checker); ok {
			m.Model = watchedChecker{w, c}
			continue
		}
		m.Model = w
	}
	return agent
}

type watchedModel struct {
	inner model.Model
	to    *receivedRequests
}

func (w watchedModel) watched() {}

func (w watchedModel) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	w.to.mu.Lock()
	w.to.requests = append(w.to.requests, r)
	w.to.mu.Unlock()
	return w.inner.Stream(ctx, r)
}

type watchedChecker struct {
	watchedModel
	model.Checker
}

// mostChecked is how many records at each end of a log are checked.
const mostChecked = 40

// check makes the request of each turn of the world's threads again: a model received
// exactly that.
func (g *receivedRequests) check(tb testing.TB, w *world) {
	tb.Helper()
	ctx := context.WithoutCancel(tb.Context())
	raw := w.store.Faulty.Backend
	w.store.mu.Lock()
	keys := slices.Clone(w.store.keys)
	w.store.mu.Unlock()
	if len(g.requests) == 0 { // the test makes its own steppers
		return
	}
	checked := map[core.ThreadKey]uint64{}
	for _, key := range keys {
		head, err := raw.Head(ctx, key)
		if err != nil || head.Seq == 0 {
			continue
		}
		r := sent.Reader{Store: raw, Records: w.records}
		for e, err := range threadlog.Entries(ctx, raw, r.Records, key, 1, head.Seq) {
			if err != nil {
				return // a test has spoiled the log
			}
			if checked[key]++; e.Prompt == "" || checked[key] > mostChecked && e.Seq+mostChecked < head.Seq {
				continue
			}
			made, err := r.Read(ctx, key, e)
			if err != nil {
				tb.Errorf("the request of the turn at %d: %v", e.Seq, err)
				continue
			}
			g.compare(tb, e, made.Sent)
		}
	}
}

// compare looks for a request.
func (g *receivedRequests) compare(tb testing.TB, turn threadlog.Entry, made model.Request) {
	tb.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	var nearest *model.Request
	for i := len(g.requests) - 1; i >= 0; i-- {
		r := &g.requests[i]
		if sameRequest(r, &made) {
			return
		}
		if r.Step == made.Step && (nearest == nil || len(r.Messages) == len(made.Messages) && len(nearest.Messages) != len(made.Messages)) {
			nearest = r
		}
	}
	diff := "none of its step"
	if nearest != nil {
		diff = cmp.Diff(*nearest, made, cmpopts.EquateEmpty())
	}
	tb.Errorf("step %d at %d was made again as a request that no model has received (-nearest +made):\n%s", turn.Step, turn.Seq, diff)
}

// sameRequest compares each byte of two requests; an empty list is none.
func sameRequest(a, b *model.Request) bool {
	if a.Step != b.Step || len(a.Messages) != len(b.Messages) || len(a.Tools) != len(b.Tools) || len(a.StopSequences) != len(b.StopSequences) {
		return false
	}
	x, y := *a, *b
	for _, r := range []*model.Request{&x, &y} {
		if len(r.Messages) == 0 {
			r.Messages = nil
		}
		if len(r.Tools) == 0 {
			r.Tools = nil
		}
		if len(r.StopSequences) == 0 {
			r.StopSequences = nil
		}
		if len(r.ProviderOptions) == 0 {
			r.ProviderOptions = nil
		}
	}
	return reflect.DeepEqual(x, y)
}
