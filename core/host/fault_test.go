package host_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model/scripted"
)

var parallelTranscript = []string{
	`user: parallel: a, b`,
	`assistant: [echo {"text":"a"}][echo {"text":"b"}]`,
	`tool: {"text":"a"}`,
	`tool: {"text":"b"}`,
	`assistant: Echo: a, b`,
}

// cost is what a run took, at most, over all places of a fault.
type cost struct {
	seconds    int // of simulated time
	hints      int
	inferences int
	tools      int // executions of both calls together
}

func (c *cost) grow(with cost) {
	c.seconds, c.hints = max(c.seconds, with.seconds), max(c.hints, with.hints)
	c.inferences, c.tools = max(c.inferences, with.inferences), max(c.tools, with.tools)
}

// TestFaultAtEveryOperation runs the same input for every operation that its run
// makes of the store, with a fault there. Two processes share the store; the
// second takes over when the first is gone or stands still.
func TestFaultAtEveryOperation(t *testing.T) {
	ways := []struct {
		name       string
		steps      int
		inline     bool
		operations int // without a fault, the watch apart
		costs      map[string]cost
	}{
		{"one step a delivery", 1, false, 13, map[string]cost{
			"error before":                {1, 3, 2, 2},
			"error after":                 {1, 3, 2, 2},
			"throttled":                   {1, 3, 2, 2},
			"given up and done later":     {1, 3, 2, 2},
			"pause longer than the lease": {60, 3, 3, 4},
			"crash before":                {60, 4, 3, 4},
			"crash after":                 {60, 4, 2, 3},
		}},
		{"steps under one claim", 3, false, 11, map[string]cost{
			"error before":                {1, 2, 2, 2},
			"error after":                 {1, 2, 2, 2},
			"throttled":                   {1, 2, 2, 2},
			"given up and done later":     {1, 2, 2, 2},
			"pause longer than the lease": {60, 3, 3, 4},
			"crash before":                {60, 4, 3, 4},
			"crash after":                 {60, 4, 2, 3},
		}},
		{"inline", 1, true, 8, map[string]cost{
			"error before":                {1, 2, 2, 2},
			"error after":                 {1, 2, 2, 2},
			"throttled":                   {1, 2, 2, 2},
			"given up and done later":     {1, 2, 2, 2},
			"pause longer than the lease": {60, 2, 3, 4},
			"crash before":                {60, 2, 3, 4},
			"crash after":                 {60, 2, 2, 3},
		}},
	}
	for _, way := range ways {
		for _, fault := range faults {
			t.Run(way.name+"/"+fault.name, func(t *testing.T) {
				var total cost
				for k := 1; k <= way.operations; k++ {
					synctest.Test(t, func(t *testing.T) {
						took, reached := faultAt(t, fault, k, way.steps, way.inline)
						if !reached {
							t.Errorf("the run made no operation %d, want %d", k, way.operations)
						}
						total.grow(took)
					})
				}
				synctest.Test(t, func(t *testing.T) {
					if _, reached := faultAt(t, fault, way.operations+1, way.steps, way.inline); reached {
						t.Errorf("the run made an operation %d", way.operations+1)
					}
				})
				if want := way.costs[fault.name]; total != want {
					t.Errorf("at most %+v, want %+v", total, want)
				}
			})
		}
	}
}

// through begins a run and works it off, in a process whose store is the way, until it has
// died, sleeps or has nothing left to do. begun returns what the beginning came to, once
// it does not sleep any more.
func (r *rig) through(w *way, process *host.Host, begin func() (mailbox.Receipt, error)) (begun func() (mailbox.Receipt, error)) {
	var receipt mailbox.Receipt
	var refused error
	var wait sync.WaitGroup
	wait.Go(func() {
		receipt, refused = begin()
		for hint, ok := r.queue.Receive(); ok && !w.isDead(); hint, ok = r.queue.Receive() {
			if err := process.WorkLocal(r.t.Context(), hint); err != nil {
				_ = r.queue.Wake(r.t.Context(), hint, time.Minute) // it comes again
			}
		}
	})
	synctest.Wait()
	return func() (mailbox.Receipt, error) {
		wait.Wait()
		return receipt, refused
	}
}

// faultAt returns what a run took with a fault at operation k, and whether it
// came to k.
func faultAt(t *testing.T, fault fault, k, steps int, inline bool) (cost, bool) {
	r := newRig(t)
	began := time.Now()
	way := newWay(r.store)
	way.fault, way.at = fault, k
	process := r.process("first", way, func(c *host.Options) { c.Steps = steps }, parallel)
	s := submission("t1", "parallel: a, b")
	s.Key.Value = "once"
	var seen stream
	begun := r.through(way, process, func() (mailbox.Receipt, error) {
		if inline {
			return process.Stream(t.Context(), s, host.ListenerFunc(seen.sink))
		}
		return process.Submit(t.Context(), s)
	})
	if way.isDead() || way.isAsleep() {
		process = r.process("second", r.store, parallel)
	}
	r.settle(process, s.Thread)
	over := time.Now()
	receipt, refused := begun()
	if inline && refused == nil {
		seen.check(t, k)
	}
	if refused != nil { // the client tries again
		var err error
		if receipt, err = process.Submit(t.Context(), s); err != nil {
			t.Fatalf("operation %d: submit again: %v", k, err)
		}
	}
	again := time.Now()
	r.settle(process, s.Thread)
	checkParallel(t, r, receipt, k)
	took := over.Sub(began) + time.Since(again)
	r.mu.Lock()
	defer r.mu.Unlock()
	return cost{int(took.Round(time.Second).Seconds()), r.queue.Asked(), r.inferences, r.runs["t1 a"] + r.runs["t1 b"]}, way.reached()
}

// checkParallel checks what a run of "parallel: a, b" leaves behind.
func checkParallel(t *testing.T, r *rig, receipt mailbox.Receipt, k int) {
	t.Helper()
	reader := r.process("reader", r.store)
	if diff := cmp.Diff(parallelTranscript, transcript(t, reader, "t1")); diff != "" {
		t.Errorf("operation %d: transcript (-want +got):\n%s", k, diff)
	}
	head, err := r.store.Head(t.Context(), core.ThreadKey{Tenant: "local", Thread: "t1"})
	if err != nil || head.Busy(0) || head.Claim.Fence != 0 || head.DueAt != 0 {
		t.Errorf("operation %d: head %+v, %v", k, head, err)
	}
	record, err := reader.ReadRun(t.Context(), local, receipt.RunID)
	if err != nil || record.Status != core.RunDone || record.Steps != 2 || record.Response != "Echo: a, b" {
		t.Errorf("operation %d: run %+v, %v", k, record, err)
	}
}

// stream remembers the types of a stream's events and what it said in the end.
type stream struct{ types []core.EventType }

func (s *stream) sink(e core.Event) error {
	s.types = append(s.types, e.Type)
	return nil
}

// check says that the stream has one start and one end.
func (s *stream) check(t *testing.T, k int) {
	t.Helper()
	starts, ends := 0, 0
	for _, e := range s.types {
		switch e {
		case core.EventRunStart:
			starts++
		case core.EventRunFinish, core.EventRunYield:
			ends++
		}
	}
	last := s.types[len(s.types)-1]
	if starts > 1 || ends != 1 || last != core.EventRunFinish && last != core.EventRunYield {
		t.Errorf("operation %d: the stream is %v", k, s.types)
	}
}

// losing is a queue on which every hint gets lost.
func losing(core.WakeUp, time.Duration) bool { return true }

func TestLostHintsAreFoundBySweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store)
		s := submission("t1", "parallel: a, b")
		r.queue.Lose = losing
		if _, err := process.Submit(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		for range 2 { // a step each
			r.queue.Lose = nil
			if n, err := process.Sweep(t.Context()); n != 1 || err != nil {
				t.Fatalf("sweep woke %d threads, %v; want 1", n, err)
			}
			r.queue.Lose = losing
			hint, _ := r.queue.Receive()
			if err := process.WorkLocal(t.Context(), hint); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(parallelTranscript, transcript(t, process, "t1")); diff != "" {
			t.Error(diff)
		}
		if n, err := process.Sweep(t.Context()); n != 0 || err != nil {
			t.Errorf("sweep woke %d threads of none, %v", n, err)
		}
	})
}

// TestDoubledHintsAtTwoWorkers delivers every hint three times from eight
// goroutines, in an order that the seed shuffles.
func TestDoubledHintsAtTwoWorkers(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { doubledHints(t, rand.New(rand.NewPCG(seed, 0))) })
		})
	}
}

func doubledHints(t *testing.T, random *rand.Rand) {
	r := newRig(t)
	models := func(c *host.Options) {
		c.Agents.Models["m"] = binding(exclusive{scripted.New(env.System()), r})
	}
	workers := []*host.Host{r.process("one", r.store, models), r.process("two", r.store, models)}
	var keys []core.ThreadKey
	var names []string
	for i := range 5 {
		name := fmt.Sprint("t", i)
		s := submission(name, "parallel: a"+name+", b"+name)
		keys, names = append(keys, s.Thread), append(names, name)
		if _, err := workers[0].Submit(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		deliver(t, r, workers, random)
		time.Sleep(time.Second)
	}
	r.settle(workers[0], keys...)
	for _, name := range names {
		want := []string{
			"user: parallel: a" + name + ", b" + name,
			`assistant: [echo {"text":"a` + name + `"}][echo {"text":"b` + name + `"}]`,
			`tool: {"text":"a` + name + `"}`, `tool: {"text":"b` + name + `"}`,
			"assistant: Echo: a" + name + ", b" + name,
		}
		if diff := cmp.Diff(want, transcript(t, workers[1], name)); diff != "" {
			t.Errorf("thread %s (-want +got):\n%s", name, diff)
		}
	}
	for call, n := range r.runs {
		if n != 1 {
			t.Errorf("call %q was executed %d times", call, n)
		}
	}
}

// deliver gives every queued hint to the workers three times.
func deliver(t *testing.T, r *rig, workers []*host.Host, random *rand.Rand) {
	var hints []core.WakeUp
	for hint, ok := r.queue.Receive(); ok; hint, ok = r.queue.Receive() {
		hints = append(hints, hint, hint, hint)
	}
	random.Shuffle(len(hints), func(i, j int) { hints[i], hints[j] = hints[j], hints[i] })
	var wait sync.WaitGroup
	for g := range 8 {
		wait.Go(func() {
			for i := g; i < len(hints); i += 8 {
				if err := workers[(i+g)%2].WorkLocal(t.Context(), hints[i]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
}

// The submission is acknowledged once, however often and late it comes again.
func TestSameKeyIsTheSameRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store)
		s := submission("t1", "echo: hello")
		s.Key.Value = "k"
		first, err := process.Submit(t.Context(), s)
		if err != nil || first.Duplicate {
			t.Fatalf("first: %+v, %v", first, err)
		}
		queued, err := process.Submit(t.Context(), s)
		if err != nil || !queued.Duplicate || queued.RunID != first.RunID {
			t.Errorf("while queued: %+v, %v", queued, err)
		}
		r.settle(process, s.Thread)
		done, err := process.Submit(t.Context(), s)
		if err != nil || !done.Duplicate || done.RunID != first.RunID {
			t.Errorf("when done: %+v, %v", done, err)
		}
		r.settle(process, s.Thread)
		if diff := cmp.Diff(echoTranscript, transcript(t, process, "t1")); diff != "" {
			t.Error(diff)
		}
		other := s
		other.Messages = []core.Message{core.UserMessage("echo: other")}
		if _, err := process.Submit(t.Context(), other); core.CodeOf(err) != core.CodeConflict {
			t.Errorf("other content under the key: %v, want code conflict", err)
		}
		elsewhere := s
		elsewhere.Thread.Thread = "t2"
		if receipt, err := process.Submit(t.Context(), elsewhere); err != nil || receipt.Duplicate {
			t.Errorf("the key on another thread: %+v, %v", receipt, err)
		}
	})
}

// parallel makes the demo agent run its calls side by side.
func parallel(c *host.Options) { c.Agents.Specs[0].ExecutionMode = agent.ParallelStreaming }
