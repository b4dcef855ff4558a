package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

// A snapshot is a manifest and one value for each key, which are not stored at
// once. Where the process died between the two, a value is newer than the
// manifest: what happened to its key until then is in it already.
func TestTornSnapshotIsReadKeyByKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var saw []string
		o := options{plugins: []plugin.Plugin{counters(&saw, inThread, inRun)}}
		w := newWorld(t, o)
		manifests, values := 0, 0
		var mu sync.Mutex
		w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case r.Name == recordname.Snapshot:
				if manifests++; manifests > 1 {
					return core.Errorf(core.CodeInvalid, "the process died here")
				}
			case strings.HasPrefix(r.Name, recordname.Snapshot):
				values++
			}
			return w.store.Backend.Put(ctx, key, r)
		}
		for range 40 {
			w.submit(t, key, "hi", mailbox.ModeQueue)
			w.step(t, key)
		}
		if manifests < 2 || values < 4 {
			t.Fatalf("%d manifests and %d values were put, want a torn snapshot", manifests, values)
		}
		w.stepper = w.other(t, o)
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.step(t, key)
		if got := saw[len(saw)-1]; got != "step 1, revision 121: in_thread 121 in_run 1" {
			t.Errorf("after a torn snapshot a hook sees %q", got)
		}
	})
}

// The snapshot is a cache: damaged, ahead of the head or gone, the log says the
// same.
func TestSnapshotIsNeverNeeded(t *testing.T) {
	orphan := thread.Records{}
	ahead, err := orphan.Encode("state snapshot", map[string]any{"as_of": 1000, "revision": 1000})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		payload []byte
	}{
		{"damaged", []byte("\x00")},
		{"of a later holder", ahead},
		{"with an older value than it says", []byte(`{"schema":1,"as_of":60,"revision":60,"keys":{"/thread/in_thread":60}}`)},
		{"without its values", []byte(`{"schema":1,"as_of":2,"revision":3,"keys":{"/thread/nothing":2}}`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var saw []string
				o := options{plugins: []plugin.Plugin{counters(&saw, inThread, inRun)}}
				w := newWorld(t, o)
				for range 20 {
					w.submit(t, key, "hi", mailbox.ModeQueue)
					w.step(t, key)
				}
				if err := w.store.Backend.Put(t.Context(), key, store.Record{Name: recordname.Snapshot, Fence: 21, Payload: tt.payload}); err != nil {
					t.Fatal(err)
				}
				w.stepper = w.other(t, o)
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.step(t, key)
				if got := saw[len(saw)-1]; got != "step 1, revision 61: in_thread 61 in_run 1" {
					t.Errorf("a hook sees %q", got)
				}
			})
		})
	}
}

// A snapshot that a newer program wrote is left to it, with the log.
func TestSnapshotOfANewerProgramIsNotPassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.step(t, key)
		if err := w.store.Backend.Put(t.Context(), key, store.Record{Name: recordname.Snapshot, Fence: 1, Payload: []byte(`{"schema":3}`)}); err != nil {
			t.Fatal(err)
		}
		w.stepper = w.other(t, options{})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		if stepped := w.step(t, key); !stepped.Retry || stepped.Head.Run.AvailableAt != time.Now().Add(30*time.Second).UnixMilli() {
			t.Errorf("the step is %+v, want it given back for 30 s", stepped)
		}
	})
}

// What each run finds changed is stored with it, by its first step and after that
// has committed: runs that end through RunEnd have their state stored like others.
// A value that stands still is not written again, nor a state at all that does.
func TestStateIsStoredAtTheStartOfARunThatFindsItChanged(t *testing.T) {
	for _, listens := range []bool{false, true} {
		t.Run(fmt.Sprint("RunEnd ", listens), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var saw []string
				var seen closed
				still := state.Key[int, int]{Name: "still", Scope: state.ScopeThread, Apply: sum}
				plugins := []plugin.Plugin{
					counters(&saw, inRun),
					pluginFunc{"now-and-then", func(r *plugin.Registrar) {
						r.Key(inThread)
						r.Key(still)
						r.Hook(core.PhaseStepStart, func(_ context.Context, c plugin.Context) (state.Command, error) {
							switch c.Messages[len(c.Messages)-1].Text() {
							case "both":
								return state.Combine(inThread.Update(1), still.Update(1)), nil
							case "one":
								return inThread.Update(1), nil
							}
							return state.Command{}, nil
						})
					}},
				}
				if listens {
					plugins = append(plugins, seen.plugin())
				}
				o := options{plugins: plugins, model: sequence(func(int) []model.Delta { return text("ok") })}
				w := newWorld(t, o)
				var mu sync.Mutex // values are put side by side
				var put []string
				w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
					var v struct {
						AsOf uint64 `json:"as_of"`
					}
					if err := json.Unmarshal(r.Payload, &v); err != nil || v.AsOf >= w.head(t, key).Seq {
						t.Errorf("%s is put as of %d, %v, when the log ends at %d", r.Name, v.AsOf, err, w.head(t, key).Seq)
					}
					mu.Lock()
					put = append(put, fmt.Sprint(r.Name, " ", v.AsOf))
					mu.Unlock()
					return w.store.Backend.Put(ctx, key, r)
				}
				want := map[string][]string{ // a run has three records: input, turn, state
					"none":     nil, // no state yet
					"both":     nil,
					"one":      {"S#/thread/in_thread 6", "S#/thread/still 6", "S# 6"},
					"nothing":  {"S#/thread/in_thread 9", "S# 9"},
					"nothing ": nil,
				}
				for _, text := range []string{"none", "both", "one", "nothing", "nothing "} {
					put = nil
					w.submit(t, key, text, mailbox.ModeQueue)
					w.step(t, key)
					slices.Sort(put[:max(0, len(put)-1)])
					if diff := cmp.Diff(want[text], put); diff != "" {
						t.Errorf("stored by the run %q (-want +got):\n%s", text, diff)
					}
				}
				w.stepper = w.other(t, o) // it finds what is stored
				put = nil
				w.submit(t, key, "nothing", mailbox.ModeQueue)
				w.step(t, key)
				if put != nil {
					t.Errorf("a cold process stores %q again", put)
				}
			})
		})
	}
}

// A state that cannot be stored fails no step; the next run tries again.
func TestStateThatIsNotStoredIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var saw []string
		w := newWorld(t, options{plugins: []plugin.Plugin{counters(&saw, inThread)}})
		var put []string
		w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			if put = append(put, r.Name); len(put) <= 1 {
				return core.Errorf(core.CodeInvalid, "no such table")
			}
			return w.store.Backend.Put(ctx, key, r)
		}
		for range 3 {
			w.submit(t, key, "hi", mailbox.ModeQueue)
			if stepped := w.step(t, key); stepped.Outcome != thread.Done || stepped.Retry {
				t.Errorf("the step is %+v", stepped)
			}
		}
		if diff := cmp.Diff([]string{"S#/thread/in_thread", "S#/thread/in_thread", "S#"}, put); diff != "" {
			t.Errorf("put (-want +got):\n%s", diff)
		}
		var manifest struct {
			AsOf uint64            `json:"as_of"`
			Keys map[string]uint64 `json:"keys"`
		}
		if err := json.Unmarshal(w.record(t, recordname.Snapshot).Payload, &manifest); err != nil || manifest.AsOf != 6 || manifest.Keys["/thread/in_thread"] != 6 {
			t.Errorf("the manifest is %+v, %v, want it as of 6", manifest, err)
		}
		head := w.head(t, key) // that of the claim which stored it: one before it can put none over it
		for _, name := range []string{recordname.Snapshot, recordname.SnapshotValue("/thread/in_thread")} {
			if r := w.record(t, name); r.Fence != 3 || r.Version != head.Version {
				t.Errorf("%s has fence %d and version %d, want 3 and %d", name, r.Fence, r.Version, head.Version)
			}
		}
	})
}

// A run stores, with its first step, the state in which it found the thread: the values
// of the run before it have ended there, although they stood at the same sequence.
func TestStateAtTheEndOfARunHasTheRunsValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var saw []string
		o := options{plugins: []plugin.Plugin{counters(&saw, inThread, inRun)}}
		w := newWorld(t, o)
		first := w.submit(t, key, "one", mailbox.ModeQueue)
		w.step(t, key)
		seq := w.head(t, key).Seq
		second := w.submit(t, key, "two", mailbox.ModeQueue)
		w.step(t, key)
		for _, tt := range []struct {
			name string
			run  core.ID
			want string
		}{
			{"as the first run left it", first.RunID, "true true"},
			{"as the second run found it", second.RunID, "true false"},
		} {
			now, of, ok, err := w.other(t, o).Reader().StateAt(t.Context(), key, w.head(t, key), seq, tt.run)
			if err != nil || !ok {
				t.Fatalf("%s: known %v, %v", tt.name, ok, err)
			}
			if of != tt.run {
				now = now.BeginRun()
			}
			if got := fmt.Sprint(inThread.Has(now), inRun.Has(now)); got != tt.want {
				t.Errorf("%s: the thread's value and the run's are there: %s, want %s", tt.name, got, tt.want)
			}
		}
	})
}
