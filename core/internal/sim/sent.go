package sim

import (
	"context"
	"iter"
	"reflect"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/sent"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
)

// received are the requests that models received for a run's steps.
type received map[core.ID][]model.Request

// receive reads a request as its model does, and notes it. The slices that it shares with
// the run do not change: the check in the end finds out if they do.
func (w *World) receive(r model.Request) script {
	w.Stats.Steps.Inferences++
	s := w.scripted.read(r)
	w.received[s.run] = append(w.received[s.run], r)
	return s
}

// checkRequests makes the request of each turn again, from the log alone: after any crash
// and takeover, it is one that a model received for that step. A turn says that none is
// stored only in a world whose store refuses large records.
func (au *auditor) checkRequests() {
	for _, p := range au.w.storage.partitions {
		if p.head.Exists() && !p.head.Deleted {
			au.checkRequestsOf(p)
		}
	}
}

func (au *auditor) checkRequestsOf(p *partition) {
	ctx := context.Background()
	reader := sent.Reader{Store: remaking{p}, Records: au.w.checks}
	for e, err := range threadlog.Entries(ctx, remaking{p}, au.w.checks, p.key, 1, p.head.Seq) {
		if err != nil {
			au.w.fail(p, "its log: %v", err)
			return
		}
		if e.Message == nil || e.Message.Role != core.RoleAssistant || e.Prompt == "" {
			continue
		}
		made, err := reader.Read(ctx, p.key, e)
		if err != nil {
			au.w.fail(p, "the request of step %d of run %s: %v", e.Step, e.Run, err)
			return
		}
		au.w.Stats.Steps.Remade++
		if !au.w.received.has(e.Run, &made.Sent) {
			au.w.fail(p, "no model received the request of step %d of run %s as it is made again:\n%+v\nthey received:\n%+v", e.Step, e.Run, made.Sent, au.w.received[e.Run])
			return
		}
	}
}

// has reports whether a model received a request for a run.
func (a received) has(run core.ID, made *model.Request) bool {
	for i := range a[run] {
		if r := a[run][i]; r.Step == made.Step && reflect.DeepEqual(r, *made) {
			return true
		}
	}
	return false
}

// remaking reads a partition as a store that nothing disturbs.
type remaking struct{ p *partition }

var _ sent.Store = remaking{}

// Get implements sent.Store.
func (r remaking) Get(_ context.Context, _ core.ThreadKey, name string) (store.Record, bool, error) {
	record, ok := r.p.record(name)
	return record, ok, nil
}

// Log implements sent.Store.
func (r remaking) Log(_ context.Context, _ core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for seq := from; seq <= to; seq++ {
			if record, ok := r.p.record(store.LogName(seq)); ok && !yield(record, nil) {
				return
			}
		}
	}
}

// LogBackwards implements sent.Store.
func (r remaking) LogBackwards(_ context.Context, _ core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for seq := to; seq >= from && seq > 0; seq-- {
			if record, ok := r.p.record(store.LogName(seq)); ok && !yield(record, nil) {
				return
			}
		}
	}
}
