package host_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/model/scripted"
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

// A run that keeps its claim from step to step, for its stream or since a delivery takes several,
// releases it once a suspect has waited for ten seconds: nothing else would start before its end.
// The step that runs then, and the one after it, are finished.
func TestARunOfManyStepsMakesRoomForASuspect(t *testing.T) {
	var turns []scripted.Turn
	for range 8 { // each takes four seconds
		turns = append(turns, scripted.Turn{Calls: []core.ToolCall{scripted.Call("echo", echoArguments{"more"})}})
	}
	long := agent.ModelBinding{Model: scripted.Turns(append(turns, scripted.Turn{Text: "done"})...), Name: "turns"}
	for _, streams := range []bool{true, false} {
		t.Run(fmt.Sprint("for a stream: ", streams), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				suspect, other := submission("s", "parallel: a, b"), submission("a", "go on")
				if _, err := r.process("sender", r.store).Submit(t.Context(), suspect); err != nil {
					t.Fatal(err)
				}
				for range 3 {
					diesAfter(t, r, suspect.Thread, time.Second)
				}
				process := r.process("w", r.store, leisurely(t), func(c *host.Options) {
					c.Steps = 100
					c.Agents.Models["long"] = long
					c.Agents.Specs = append(c.Agents.Specs, agent.Spec{ID: "long", Model: "long"})
				})
				other.Opening.AgentID = "long"
				began := time.Now()
				var wait sync.WaitGroup
				wait.Go(func() {
					var err error
					if streams {
						_, err = process.Stream(t.Context(), other, host.ListenerFunc(func(core.Event) error { return nil }))
					} else if _, err = process.Submit(t.Context(), other); err == nil {
						err = process.WorkLocal(t.Context(), core.WakeUp{Tenant: "local", Thread: "a"})
					}
					if err != nil {
						t.Error(err)
					}
				})
				wait.Go(func() {
					time.Sleep(time.Millisecond)
					if err := process.WorkLocal(t.Context(), core.WakeUp{Tenant: "local", Thread: "s"}); err != nil {
						t.Error(err)
					}
					if took := time.Since(began) - 8*time.Second; took != 16*time.Second { // its own calls
						t.Errorf("the suspect starts after %s, want 16s", took)
					}
					r.settle(process, other.Thread, suspect.Thread)
				})
				wait.Wait()
				if lines := transcript(t, process, "a"); len(lines) != 18 || !strings.HasSuffix(lines[17], "done") {
					t.Errorf("the other run has %d lines, the last is %q", len(lines), lines[len(lines)-1:])
				}
			})
		})
	}
}
