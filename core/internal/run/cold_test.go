package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
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
			o.records = append(o.records, string(w.record(t, recordname.Snapshot).Payload))
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
		w.stepper = w.other(t, options{agents: gone{}, leaveFor: -1}) // a cold process, which cannot even resolve the agent
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
	large := toolFunc{name: "large", run: func(context.Context, tool.Call) (tool.Result, error) { return tool.NewResult(body), nil }}
	n, since := 5000, 0
	if testing.Short() || underRace { // as many turns after a stored state, but not after a cut
		n, since = 1000, 15
	}
	tests := []struct {
		name  string
		turns int // of each run
		runs  int
		input string
		reads int
		took  time.Duration // when each read takes a second
	}{
		{"many runs of 2 messages", 1, n, body, 72 + since, 2 * time.Second},
		{"one run of many messages", n, 1, "hi", 169, 2 * time.Second}, // what the run was asked is read meanwhile
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var saw []string
				o := options{
					model: say(tt.turns), tools: []tool.Tool{large}, plugins: []plugin.Plugin{counters(&saw, inThread)},
					context: &agent.ContextWindowPolicy{MaxContextTokens: 33_000, MaxOutputTokens: 1_000},
				}
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
					input[i] = core.UserMessage("hello")
				}
				if _, err := w.box.Submit(t.Context(), mailbox.Submission{Thread: key, Opening: mailbox.Opening{AgentID: "demo"}, Messages: input}); err != nil {
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
