package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
	"github.com/reveille-run/reveille/core/tool"
)

// seeded is an Env whose ids come in the same order in every world.
func seeded() *env.Env {
	e := env.System()
	random := rand.New(rand.NewPCG(1, 2))
	var mu sync.Mutex
	e.Random = func(b []byte) {
		mu.Lock()
		defer mu.Unlock()
		for i := range b {
			b[i] = byte(random.Uint32())
		}
	}
	return e
}

// talk is a model that calls a tool now and then, and notes what it was asked.
func talk(requests *[]string) modelFunc {
	n := 0
	return func(ctx context.Context, r model.Request) iterator {
		b, _ := json.Marshal(r)
		*requests = append(*requests, string(b))
		n++
		deltas := text(fmt.Sprint("turn ", n, strings.Repeat(" word", n%7*10)))
		if n%3 != 0 {
			deltas = calls("echo", `{"text":"a"}`, "echo", fmt.Sprintf(`{"text":"%s"}`, strings.Repeat("b", n%5*40)))
		}
		return replies(deltas, deltas)(ctx, model.Request{})
	}
}

// What a model is asked and what a step writes are the same byte for byte,
// whether the step found the conversation in memory or read it from the log, and
// however little of it.
func TestColdStepAsksAndWritesWhatAWarmOneDoes(t *testing.T) {
	type outcome struct {
		requests []string
		records  []string
	}
	play := func(t *testing.T, cold bool) (o outcome) {
		synctest.Test(t, func(t *testing.T) {
			var saw []string
			opts := options{
				model: talk(&o.requests), env: seeded(), window: 300,
				plugins: []plugin.Plugin{counters(&saw, inThread, inRun)},
			}
			w := newWorld(t, opts)
			for i := range 30 {
				w.submit(t, key, fmt.Sprint("question ", i), mailbox.ModeQueue)
				for steps := 0; w.head(t, key).DueAt != 0; steps++ {
					if steps == 1 && i%2 == 0 {
						w.submit(t, key, fmt.Sprint("besides ", i), mailbox.ModeSteer)
					}
					if cold {
						w.stepper = w.other(t, opts)
					}
					w.step(t, key)
				}
			}
			for seq := uint64(1); seq <= w.head(t, key).Seq; seq++ {
				o.records = append(o.records, string(w.record(t, store.LogName(seq)).Payload))
			}
			o.records = append(o.records, string(w.record(t, store.SnapshotName).Payload))
			o.requests = append(o.requests, saw...)
		})
		return o
	}
	warm, cold := play(t, false), play(t, true)
	if diff := cmp.Diff(warm.requests, cold.requests); diff != "" {
		t.Errorf("requests (-warm +cold):\n%s", diff)
	}
	if diff := cmp.Diff(warm.records, cold.records); diff != "" {
		t.Errorf("records (-warm +cold):\n%s", diff)
	}
	if len(warm.requests) < 100 || len(warm.records) < 150 {
		t.Errorf("only %d requests and %d records were compared", len(warm.requests), len(warm.records))
	}
}

// A step that fails leaves the committed prefix in memory: its retry reads what
// is new and nothing else.
func TestRetryOfAFailedStepReadsOnlyWhatIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		for range 200 {
			w.submit(t, key, "hi", mailbox.ModeQueue)
			w.step(t, key)
		}
		w.stepper = w.other(t, options{agents: gone{}}) // a cold process, which cannot even resolve the agent
		var readsOf []int
		read := func(step func()) {
			before := w.store.reads
			step()
			readsOf = append(readsOf, w.store.reads-before)
		}
		w.submit(t, key, "and this", mailbox.ModeQueue)
		read(func() { w.step(t, key) })
		w.submit(t, key, "and that", mailbox.ModeQueue)
		read(func() { w.step(t, key) })
		// 400 messages are far from filling the window: the first reads them all, the
		// second one new record, and both their input and no run record.
		if diff := cmp.Diff([]int{402, 2}, readsOf); diff != "" {
			t.Errorf("records read (-want +got):\n%s", diff)
		}
	})
}

// A process that fell behind reads the run's record and what is new of the log,
// and not what the run was asked again, which is part of that.
func TestProcessThatFellBehindReadsOnlyWhatIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := 0
		o := options{model: modelFunc(func(ctx context.Context, _ model.Request) iterator {
			if turns++; turns == 1 {
				return replies(text("ok"))(ctx, model.Request{})
			}
			return replies(calls("echo", `{"text":"a"}`))(ctx, model.Request{})
		})}
		w := newWorld(t, o)
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.step(t, key)
		behind := w.stepper
		w.stepper = w.other(t, o)
		w.submit(t, key, "a long one", mailbox.ModeQueue)
		for range 20 { // one input, and 20 turns and results
			w.step(t, key)
		}
		w.stepper = behind
		before := w.store.reads
		w.step(t, key)
		if got := w.store.reads - before; got != 42 {
			t.Errorf("%d records were read, want the run's and 41 of the log", got)
		}
	})
}

// The process that has a cancelled run in memory ends it without a read.
func TestWarmProcessClosesARunWithoutARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		receipt := w.submit(t, key, "echo: a", mailbox.ModeQueue)
		w.step(t, key)
		if _, err := w.box.Cancel(t.Context(), key, receipt.RunID); err != nil {
			t.Fatal(err)
		}
		before := w.store.reads
		if stepped := w.step(t, key); stepped.Outcome != thread.Done || w.store.reads != before {
			t.Errorf("the step is %s after %d reads, want done after none", stepped.Outcome, w.store.reads-before)
		}
	})
}

// However long a thread is, a cold step reads its window, the stored state and
// the little that came after it.
func TestColdStepReadsNoMoreThanItsWindow(t *testing.T) {
	body := strings.Repeat("x", 2<<10) // with the frame 520 tokens: 62 fill the window of 32,000
	say := func(n int) modelFunc {
		turns := 0
		return func(ctx context.Context, _ model.Request) iterator {
			if turns++; turns%n == 0 {
				return replies(text(body))(ctx, model.Request{})
			}
			return replies(calls("large", "{}"))(ctx, model.Request{})
		}
	}
	large := toolFunc{name: "large", run: func(context.Context, tool.Call) (tool.Result, error) { return tool.Text(body), nil }}
	n := 5000
	if testing.Short() || underRace { // as many turns after a stored state
		n = 1000
	}
	tests := []struct {
		name  string
		turns int // of each run
		runs  int
		input string
		reads int
		took  time.Duration // when each read takes a second
	}{
		{"many runs of 2 messages", 1, n, body, 99, 5 * time.Second},
		{"one run of many messages", n, 1, "hi", 189, 6 * time.Second}, // what the run was asked is read meanwhile
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var saw []string
				o := options{model: say(tt.turns), tools: []tool.Tool{large}, plugins: []plugin.Plugin{counters(&saw, inThread)}}
				w := newWorld(t, o)
				for range tt.runs {
					w.submit(t, key, tt.input, mailbox.ModeQueue)
					for steps := 0; w.head(t, key).DueAt != 0 && steps < tt.turns-1; steps++ {
						w.step(t, key)
					}
					if tt.turns == 1 {
						w.step(t, key)
					}
				}
				if tt.turns == 1 {
					w.submit(t, key, "hi", mailbox.ModeQueue)
				}
				o.model = sequence(func(int) []model.Delta { return text("ok") })
				w.stepper = w.other(t, o)
				before, began := w.store.reads, time.Now()
				head := w.take(t, key)
				w.store.takes = time.Second
				if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); err != nil {
					t.Fatal(err)
				}
				if got := w.store.reads - before; got != tt.reads {
					t.Errorf("%d records were read of %d, want %d", got, head.Seq, tt.reads)
				}
				if took := time.Since(began); took != tt.took {
					t.Errorf("the step took %s, want %s", took, tt.took)
				}
			})
		})
	}
}

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
			case r.Name == store.SnapshotName:
				if manifests++; manifests > 1 {
					return core.Errorf(core.CodeInvalid, "the process died here")
				}
			case strings.HasPrefix(r.Name, store.SnapshotName):
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
				if err := w.store.Backend.Put(t.Context(), key, store.Record{Name: store.SnapshotName, Fence: 21, Payload: tt.payload}); err != nil {
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

// A step that finds nothing wrong logs nothing, whatever is stored already.
func TestColdStepsLogNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		var saw []string
		o := options{logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})), plugins: []plugin.Plugin{counters(&saw, inThread)}}
		w := newWorld(t, o)
		for range 17 {
			w.submit(t, key, "echo: a", mailbox.ModeQueue)
			for w.head(t, key).DueAt != 0 {
				w.stepper = w.other(t, o)
				w.step(t, key)
			}
		}
		if log.Len() != 0 {
			t.Errorf("the log has:\n%s", &log)
		}
	})
}

// A snapshot that a newer program wrote is left to it, with the log.
func TestSnapshotOfANewerProgramIsNotPassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.step(t, key)
		if err := w.store.Backend.Put(t.Context(), key, store.Record{Name: store.SnapshotName, Fence: 1, Payload: []byte(`{"schema":2}`)}); err != nil {
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
				var put []string
				w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
					var v struct {
						AsOf uint64 `json:"as_of"`
					}
					if err := json.Unmarshal(r.Payload, &v); err != nil || v.AsOf >= w.head(t, key).Seq {
						t.Errorf("%s is put as of %d, %v, when the log ends at %d", r.Name, v.AsOf, err, w.head(t, key).Seq)
					}
					put = append(put, fmt.Sprint(r.Name, " ", v.AsOf))
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
		if err := json.Unmarshal(w.record(t, store.SnapshotName).Payload, &manifest); err != nil || manifest.AsOf != 6 || manifest.Keys["/thread/in_thread"] != 6 {
			t.Errorf("the manifest is %+v, %v, want it as of 6", manifest, err)
		}
		head := w.head(t, key) // that of the claim which stored it: one before it can put none over it
		for _, name := range []string{store.SnapshotName, store.SnapshotValueName("/thread/in_thread")} {
			if r := w.record(t, name); r.Fence != 3 || r.Version != head.Version {
				t.Errorf("%s has fence %d and version %d, want 3 and %d", name, r.Fence, r.Version, head.Version)
			}
		}
	})
}

// What a step writes has nothing to do with the length of its thread: its own
// messages, and a head of a few hundred bytes.
func TestStepWritesTheSameInALongThread(t *testing.T) {
	long := 10_000
	if underRace {
		long = 2_000
	}
	written := func(messages int) (bytes []int) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, options{})
			const runs = 5 // in both cases: a head remembers the newest of them
			for range runs {
				input := make([]core.Message, messages/runs-1) // and the turn
				for i := range input {
					input[i] = core.UserMessage("", "hello")
				}
				if _, err := w.box.Submit(t.Context(), mailbox.Submission{Thread: key, AgentID: "demo", Messages: input}); err != nil {
					t.Fatal(err)
				}
				w.step(t, key)
			}
			w.submit(t, key, "echo: "+strings.Repeat("y", 2<<10), mailbox.ModeQueue)
			for range 2 {
				before := w.store.written
				w.step(t, key)
				bytes = append(bytes, w.store.written-before)
			}
		})
		return bytes
	}
	few, many := written(10), written(long)
	for i := range few {
		if few[i] < 2<<10 || many[i] > few[i]+few[i]/100 {
			t.Errorf("step %d writes %d bytes behind 10 messages, and %d behind %d: at most 1 %% more is wanted", i+1, few[i], many[i], long)
		}
	}
	t.Logf("bytes written by two steps: %v behind 10 messages, %v behind %d", few, many, long)
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
			now, of, ok, err := w.other(t, o).StateAt(t.Context(), key, w.head(t, key), seq, tt.run)
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
