package host_test

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/scripted"
)

// poison is a model that takes its process down a second after it was asked for
// the text "poison".
type poison struct {
	model.Model
	die func()
}

func (m poison) Stream(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	if request.Messages[0].Text() != "poison" {
		return m.Model.Stream(ctx, request)
	}
	return func(func(model.Delta, error) bool) {
		time.Sleep(time.Second)
		m.die()
	}
}

// sandbox is a process that dies as a whole: nothing that it does afterwards is
// carried out.
type sandbox struct {
	*host.Host
	way  *way
	ctx  context.Context
	work sync.WaitGroup
}

func (r *rig) sandbox(name string) *sandbox {
	ctx, cancel := context.WithCancel(r.t.Context())
	s := &sandbox{way: newWay(r.store), ctx: ctx}
	die := func() {
		s.way.kill()
		cancel()
	}
	r.t.Cleanup(cancel)
	s.Host = r.process(name, s.way, func(c *host.Options) {
		c.Agents.Models["m"] = binding(poison{scripted.New(steady()), die})
	})
	return s
}

// host is how a fleet gives work to its processes.
type machine struct {
	name        string
	batch       int  // hints of one invocation
	invocations int  // of a process at the same time
	local       bool // one process that does everything, and takes all claims back when it starts
	deaths      int  // of processes, in the end
	claims      uint64
}

// run starts processes one after the other until nothing is due, and returns
// how many died. The hints of a dead process are lost; there is a sweep every
// minute.
func (h machine) run(t *testing.T, r *rig, keys []core.ThreadKey) (deaths int) {
	t.Helper()
	sweep := time.Now().Add(sweepEvery)
	for began := time.Now(); ; deaths++ {
		s := r.sandbox(fmt.Sprint("process ", deaths))
		if h.local && deaths > 0 {
			if err := s.Reclaim(t.Context(), keys); err != nil {
				t.Fatal(err)
			}
		}
		free := make(chan struct{}, h.invocations)
		for !s.way.isDead() && r.due(keys) {
			if time.Since(began) > time.Hour {
				t.Fatal("a thread is still due after an hour")
			}
			if !time.Now().Before(sweep) {
				sweep = time.Now().Add(sweepEvery)
				if _, err := s.Sweep(t.Context()); err != nil && !s.way.isDead() {
					t.Fatal(err)
				}
			}
			for len(free) < h.invocations {
				hints := r.queue.Batch(h.batch)
				if len(hints) == 0 {
					break
				}
				free <- struct{}{}
				s.work.Go(func() {
					s.invoke(r, hints, h.local)
					<-free
				})
			}
			time.Sleep(100 * time.Millisecond)
		}
		s.work.Wait()
		if !s.way.isDead() {
			return deaths
		}
	}
}

// invoke works on the hints of one delivery. What fails comes again.
func (s *sandbox) invoke(r *rig, hints []core.WakeUp, local bool) {
	errs := make([]error, len(hints))
	if local {
		errs[0] = s.WorkLocal(s.ctx, hints[0])
	} else {
		errs = s.WorkBatch(s.ctx, hints)
	}
	for i, err := range errs {
		if err != nil && !s.way.isDead() {
			_ = r.queue.Wake(s.ctx, hints[i], time.Minute)
		}
	}
}

func (r *rig) due(keys []core.ThreadKey) bool {
	for _, key := range keys {
		if head := r.head(key); head.DueAt != 0 {
			return true
		}
	}
	return false
}

// One run that takes its process down every time is dead-lettered after five
// claims. It takes the runs beside it along at most twice; then it goes alone.
func TestAPoisonRunTakesNoInnocentAlong(t *testing.T) {
	hosts := []machine{
		{name: "batches of ten", batch: 10, invocations: 1, deaths: 5, claims: 3},
		{name: "batches of ten, three at once", batch: 10, invocations: 3, deaths: 5, claims: 3},
		{name: "single hints, eight at once", batch: 1, invocations: 8, deaths: 5, claims: 3},
		{name: "a local host with sixteen workers", batch: 1, invocations: 16, local: true, deaths: 5, claims: 3},
	}
	for _, h := range hosts {
		t.Run(h.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				sender := r.process("sender", r.store)
				var keys []core.ThreadKey
				var receipts []mailbox.Receipt
				for i := range 21 {
					text := "slow: 20" // two seconds
					if i == 5 {
						text = "poison"
					}
					s := submission(fmt.Sprint("t", i), text)
					receipt, err := sender.Submit(t.Context(), s)
					if err != nil {
						t.Fatal(err)
					}
					keys, receipts = append(keys, s.Thread), append(receipts, receipt)
				}
				if deaths := h.run(t, r, keys); deaths != h.deaths {
					t.Errorf("%d processes died, want %d", deaths, h.deaths)
				}
				for i, receipt := range receipts {
					record, err := sender.ReadRun(t.Context(), local, receipt.RunID)
					if err != nil || record.Status != core.RunDone {
						t.Fatalf("run %d: %+v, %v", i, record, err)
					}
					claims := r.head(keys[i]).Fence
					if i == 5 {
						if record.Termination.Code != "dead_letter" || claims != 6 {
							t.Errorf("the poison run ended with %+v after %d claims, want dead_letter after 5 and one to close it", record.Termination, claims)
						}
						continue
					}
					if record.Termination.Type != core.TerminationNatural || claims > h.claims {
						t.Errorf("run %d ended with %+v after %d claims, want naturally after at most %d", i, record.Termination, claims, h.claims)
					}
				}
			})
		})
	}
}

// suspicious makes a run on the thread that has lost two claims.
func suspicious(t *testing.T, r *rig, name string) core.ThreadKey {
	t.Helper()
	s := submission(name, "slow: 20")
	if _, err := r.process("sender", r.store).Submit(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		killed(t, r, s.Thread)
	}
	if head := r.head(s.Thread); !head.Suspect() || head.Run.Attempts != 2 {
		t.Fatalf("the run is no suspect: %+v", head)
	}
	r.queue.Batch(1000)
	return s.Thread
}

func wakeUps(names ...string) (hints []core.WakeUp) {
	for _, name := range names {
		hints = append(hints, core.WakeUp{Tenant: "local", Thread: name})
	}
	return hints
}

// A batch with a suspect: it goes alone, the others' hints are sent again, and
// every one of them is acknowledged.
func TestASuspectOfABatchGoesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		first, second := suspicious(t, r, "t2"), suspicious(t, r, "t3")
		process := r.process("w", r.store)
		for _, name := range []string{"t0", "t1", "t4"} {
			if _, err := process.Submit(t.Context(), submission(name, "slow: 20")); err != nil {
				t.Fatal(err)
			}
		}
		r.queue.Batch(1000)
		began := time.Now()
		errs := process.WorkBatch(t.Context(), wakeUps("t0", "t1", "t2", "t3", "t4", "forged"))
		for i, err := range errs {
			if err != nil {
				t.Errorf("hint %d: %v", i, err)
			}
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("the batch took %s, want 2s", took)
		}
		for name, fence := range map[string]uint64{"t0": 0, "t1": 0, "t2": 3, "t3": 2, "t4": 0} {
			if head := r.head(core.ThreadKey{Tenant: "local", Thread: name}); head.Fence != fence {
				t.Errorf("thread %s was claimed %d times, want %d", name, head.Fence, fence)
			}
		}
		again := map[string]time.Duration{}
		for _, it := range r.queue.Messages() {
			again[it.Hint.Thread] = it.At.Sub(began)
		}
		want := map[string]time.Duration{"t0": time.Second, "t1": time.Second, "t3": time.Second, "t4": time.Second, "forged": time.Second}
		if diff := cmp.Diff(want, again); diff != "" {
			t.Errorf("hints sent again (-want +got):\n%s", diff)
		}
		r.settle(process, first, second, core.ThreadKey{Tenant: "local", Thread: "t0"})
	})
}

// Two suspects of different invocations do not run at once, and neither starts
// while the process has other work.
func TestASuspectIsAloneInItsProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		suspicious(t, r, "s1")
		suspicious(t, r, "s2")
		process := r.process("w", r.store)
		for _, name := range []string{"a", "b"} {
			if _, err := process.Submit(t.Context(), submission(name, "slow: 30")); err != nil {
				t.Fatal(err)
			}
		}
		began, ends := time.Now(), make([]time.Duration, 3)
		var wait sync.WaitGroup
		for i, names := range [][]string{{"a", "b"}, {"s1", "forged"}, {"s2"}} {
			wait.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				for _, err := range process.WorkBatch(t.Context(), wakeUps(names...)) {
					if err != nil {
						t.Error(err)
					}
				}
				ends[i] = time.Since(began).Round(time.Second)
			})
		}
		wait.Wait()
		want := []time.Duration{3 * time.Second, 5 * time.Second, 7 * time.Second}
		if diff := cmp.Diff(want, ends); diff != "" {
			t.Errorf("ends of the invocations (-want +got):\n%s", diff)
		}
	})
}

// A thread that cannot be read is one failure of its batch, and no other's.
func TestAFailedHintOfABatchTouchesNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store)
		for _, name := range []string{"t0", "t1"} {
			if _, err := process.Submit(t.Context(), submission(name, "echo: hello")); err != nil {
				t.Fatal(err)
			}
		}
		hints := wakeUps("t0", "in/valid", "t1")
		errs := process.WorkBatch(t.Context(), hints)
		if errs[0] != nil || core.CodeOf(errs[1]) != core.CodeInvalid || errs[2] != nil {
			t.Errorf("errors %v, want code invalid for the second", errs)
		}
		for _, key := range []core.ThreadKey{hints[0].Key(), hints[2].Key()} {
			if head := r.head(key); head.Run.Step != 1 {
				t.Errorf("thread %s is at step %d, want 1", key, head.Run.Step)
			}
		}
	})
}

// A host that stops is no failure of the run that it worked on.
func TestGracefulRestartsAreNoAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		s := submission("t1", "slow: 60") // six seconds
		receipt, err := r.process("sender", r.store).Submit(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for restart := range uint64(5) {
			process := r.process("w", r.store)
			ctx, stop := context.WithCancelCause(t.Context())
			done := make(chan error)
			go func() {
				hint, ok := r.queue.Receive()
				if !ok {
					t.Error("no hint is due")
				}
				done <- process.WorkLocal(ctx, hint)
			}()
			time.Sleep(3 * time.Second)
			stop(host.ErrStopping)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			head := r.head(s.Thread)
			if head.Run.Attempts != 0 || head.Run.Lost != 0 || head.Fence != restart+1 || head.Run.Status != thread.Running {
				t.Errorf("after restart %d the head is %+v", restart+1, head)
			}
		}
		r.settle(r.process("last", r.store), s.Thread)
		record, err := r.process("reader", r.store).ReadRun(t.Context(), local, receipt.RunID)
		if err != nil || record.Status != core.RunDone || record.Termination.Type != core.TerminationNatural {
			t.Errorf("run %+v, %v", record, err)
		}
	})
}
