package run_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

// A state of more keys than are read at once is not stored, and that is no failure; one that
// the store does not take is, and is logged.
func TestAStateThatIsNotStored(t *testing.T) {
	tests := []struct {
		name string
		keys int
		err  error
		puts int64
		log  []string
	}{
		{"as many keys as are read", 999, nil, 1000, nil},
		{"a key more", 1000, nil, 0, nil},
		{"a store that fails", 1, core.Errorf(core.CodeInvalid, "no such table"), 1,
			[]string{`level=WARN msg="state snapshot not stored" tenant=t thread=t1 run=RUN step=1 error="put S#/thread/k0: no such table"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				var many []state.Key[int, int]
				for i := range tt.keys {
					many = append(many, state.Key[int, int]{Name: fmt.Sprint("k", i), Scope: state.ScopeThread, Apply: sum})
				}
				w := newWorld(t, options{logger: warnings(&log), plugins: []plugin.Plugin{pluginFunc{"many", func(r *plugin.Registrar) {
					var all []state.Command
					for _, k := range many {
						r.Key(k)
						all = append(all, k.Update(1))
					}
					started := false
					r.Hook(core.PhaseRunStart, func(context.Context, plugin.Context) (state.Command, error) {
						if started {
							return state.Command{}, nil
						}
						started = true
						return state.Combine(all...), nil
					})
				}}}})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.step(t, key)
				var puts atomic.Int64 // values are put side by side
				w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
					if puts.Add(1); tt.err != nil {
						return tt.err
					}
					return w.store.Backend.Put(ctx, key, r)
				}
				receipt := w.submit(t, key, "on", mailbox.ModeQueue)
				w.step(t, key)
				if got := w.end(t, key, receipt); got != `done 1 {"type":"natural_end"} "You said: on"` || puts.Load() != tt.puts {
					t.Errorf("behind %d puts the run is %s, want %d", puts.Load(), got, tt.puts)
				}
				last := w.submit(t, key, "then", mailbox.ModeQueue) // the state stands still
				w.step(t, key)
				if tt.err != nil {
					tt.puts, tt.log = 2*tt.puts, append(tt.log, strings.ReplaceAll(tt.log[0], "RUN", "LAST"))
				}
				if puts.Load() != tt.puts {
					t.Errorf("%d puts behind the next run, want %d", puts.Load(), tt.puts)
				}
				var lines []string
				for line := range strings.Lines(strings.NewReplacer(receipt.RunID.String(), "RUN", last.RunID.String(), "LAST").Replace(log.String())) {
					lines = append(lines, strings.TrimSpace(line))
				}
				if diff := cmp.Diff(tt.log, lines); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
			})
		})
	}
}
