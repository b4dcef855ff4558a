package host_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/tool"
)

// leisurely makes each call of echo take four seconds.
func leisurely(t *testing.T) func(*host.Options) {
	t.Helper()
	echo := tool.New(tool.Spec{Name: "echo"}, func(_ context.Context, _ tool.Call, a echoArguments) (tool.Result, error) {
		time.Sleep(4 * time.Second)
		return tool.NewResult(map[string]string{"text": a.Text}), nil
	})
	return func(c *host.Options) { c.Agents.Tools = []tool.Tool{echo} }
}

// diesAfter claims a thread in a process that dies so long after that, and takes the
// claim back.
func diesAfter(t *testing.T, r *rig, key core.ThreadKey, d time.Duration, change ...func(*host.Options)) {
	t.Helper()
	way := newWay(r.store)
	process := r.process("dying", way, append(change, leisurely(t))...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() { done <- process.WorkLocal(ctx, core.WakeUp{Tenant: key.Tenant, Thread: key.Thread}) }()
	time.Sleep(d)
	way.kill()
	cancel()
	<-done
	time.Sleep(5 * time.Second) // whatever ran has ended
	if err := r.process("start", r.store).Reclaim(t.Context(), []core.ThreadKey{key}); err != nil {
		t.Fatal(err)
	}
}

// A result that the suspect's own claim made and stored says that what ran there takes no
// process down: others are claimed from then on, however many calls its round still has.
// One that it only adopts says nothing.
func TestAStoredResultSettlesASuspect(t *testing.T) {
	tests := []struct {
		name   string
		deaths []time.Duration // of the claims before, after that long
		stored int             // results that they left in the log
		starts time.Duration   // of the other run, after the suspect's
		ends   time.Duration   // of the suspect's step
	}{
		{"none is stored", []time.Duration{time.Second, time.Second, time.Second}, 0, 4 * time.Second, 16 * time.Second},
		{"one is adopted", []time.Duration{time.Second, time.Second, 6 * time.Second}, 1, 4 * time.Second, 12 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				suspect := submission("s", "parallel: a, b, c, d")
				if _, err := r.process("sender", r.store).Submit(t.Context(), suspect); err != nil {
					t.Fatal(err)
				}
				for _, d := range tt.deaths {
					diesAfter(t, r, suspect.Thread, d)
				}
				if head := r.head(suspect.Thread); !head.Suspect() || head.Run.Lost != 3 {
					t.Fatalf("the run is no suspect: %+v", head)
				}
				process := r.process("w", r.store, leisurely(t))
				other := submission("a", "echo: hello")
				if _, err := process.Submit(t.Context(), other); err != nil {
					t.Fatal(err)
				}
				began, got := time.Now(), [2]time.Duration{}
				var wait sync.WaitGroup
				wait.Go(func() {
					if err := process.WorkLocal(t.Context(), core.WakeUp{Tenant: "local", Thread: "s"}); err != nil {
						t.Error(err)
					}
					got[1] = time.Since(began)
				})
				wait.Go(func() {
					time.Sleep(time.Millisecond)
					if err := process.WorkLocal(t.Context(), core.WakeUp{Tenant: "local", Thread: "a"}); err != nil {
						t.Error(err)
					}
					got[0] = time.Since(began) - 4*time.Second // its own call
				})
				wait.Wait()
				if diff := cmp.Diff([2]time.Duration{tt.starts, tt.ends}, got); diff != "" {
					t.Errorf("start of the other run, end of the suspect's step (-want +got):\n%s", diff)
				}
			})
		})
	}
}
