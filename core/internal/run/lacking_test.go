package run_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

// withTool is a build with a tool that counts how often it ran.
func withTool(name string, ran *int) options {
	return options{
		model: replies(calls(name, "{}"), text("ok")),
		tools: []tool.Tool{toolFunc{name: name, run: func(context.Context, tool.Call) (tool.Result, error) {
			*ran++
			return tool.NewResult("done"), nil
		}}},
	}
}

// lacksTool is an older build, whose model says the same.
func lacksTool(name string) options {
	return options{model: replies(calls(name, "{}"), text("ok"))}
}

// given is how the thread was given back.
func given(t *testing.T, w *world) string {
	t.Helper()
	h := w.head(t, key)
	return fmt.Sprintf("%d attempts, in %s", h.Run.Attempts, time.UnixMilli(h.Run.AvailableAt).Sub(time.UnixMilli(time.Now().UnixMilli())))
}

// A build that lacks the tool of an open call gives the claim back, uncounted, and later
// with each time, until a build comes that has it.
func TestCallWhoseToolOnlyAnotherBuildHasIsLeftToIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran int
		w := newWorld(t, withTool("fresh", &ran))
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.crash(t, commitB)
		ran = 0 // its result was lost with the process
		newer := w.stepper
		began := time.Now().UnixMilli()
		w.stepper = w.other(t, lacksTool("fresh"))
		var back []string
		for range 6 {
			if stepped := w.step(t, key); stepped.Outcome != thread.Yield || !stepped.Retry {
				t.Fatalf("the step is %+v, want it given back", stepped)
			}
			back = append(back, given(t, w))
			if h := w.head(t, key); h.Run.LacksSince != began {
				t.Errorf("it is left since %d, want %d", h.Run.LacksSince, began)
			}
			time.Sleep(time.Until(time.UnixMilli(w.head(t, key).Run.AvailableAt)))
		}
		want := []string{"0 attempts, in 5s", "0 attempts, in 5s", "0 attempts, in 10s", "0 attempts, in 20s", "0 attempts, in 30s", "0 attempts, in 30s"}
		if diff := cmp.Diff(want, back); diff != "" {
			t.Errorf("given back (-want +got):\n%s", diff)
		}
		w.stepper = newer
		w.step(t, key)
		if h := w.head(t, key); ran != 1 || h.Run.LacksSince != 0 || h.Run.Attempts != 0 {
			t.Errorf("the tool ran %d times; the head says %d and %d attempts", ran, h.Run.LacksSince, h.Run.Attempts)
		}
		w.finish(t, key, nil)
		if got := w.end(t, key, receipt); got != `done 2 {"type":"natural_end"} "ok"` {
			t.Errorf("the run is %s", got)
		}
	})
}

// After ten minutes nobody is waited for, and what happens is what happened before.
func TestWhatNoBuildHasIsWaitedForTenMinutes(t *testing.T) {
	const resolution = `done 1 {"type":"error","code":"resolution","detail":"the agent of the run is not there any more, or cannot be used"} ""`
	tests := []struct {
		name     string
		older    func(t *testing.T) options
		leaveFor time.Duration
		took     time.Duration
		end      string
		result   string
	}{
		{"a tool", func(*testing.T) options { return lacksTool("fresh") }, 0, 10 * time.Minute, `done 2 {"type":"natural_end"} "ok"`, `tool: tool "fresh" not found`},
		{"the agent", func(*testing.T) options { return options{agents: gone{}} }, 0, 10 * time.Minute, resolution, "tool: outcome unknown: the run was ended while the tool may have run"},
		{"a tool that the spec names", func(t *testing.T) options {
			return options{agents: without{newRegistry(t, lacksTool("fresh").complete(t), "demo"), "fresh"}}
		}, 0, 10 * time.Minute, `done 2 {"type":"natural_end"} "ok"`, `tool: tool "fresh" not found`},
		{"a minute", func(*testing.T) options { return lacksTool("fresh") }, time.Minute, time.Minute, `done 2 {"type":"natural_end"} "ok"`, `tool: tool "fresh" not found`},
		{"not at all", func(*testing.T) options { return lacksTool("fresh") }, -1, 0, `done 2 {"type":"natural_end"} "ok"`, `tool: tool "fresh" not found`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ran int
				w := newWorld(t, withTool("fresh", &ran))
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.crash(t, commitB)
				o := tt.older(t)
				o.leaveFor = tt.leaveFor
				w.stepper = w.other(t, o)
				began := time.Now()
				w.finish(t, key, nil)
				if took := time.Since(began); took != tt.took {
					t.Errorf("it is over after %s, want %s", took, tt.took)
				}
				if got := w.end(t, key, receipt); got != tt.end {
					t.Errorf("the run is %s", got)
				}
				if log := w.log(t, key); len(log) < 3 || log[2] != tt.result {
					t.Errorf("the log is %q, want the result %q", log, tt.result)
				}
			})
		})
	}
}

// without is a registry whose agents name a tool that is not there.
type without struct {
	resolver
	tool string
}

func (w without) Resolve(id string) (*registry.Resolved, error) {
	found, err := w.resolver.Resolve(id)
	if err != nil {
		return nil, err
	}
	lacks := *found
	lacks.Gone = []string{w.tool}
	return &lacks, nil
}

// A tool that the model has invented is no build's: nobody is waited for, neither by
// the build that called the model nor by one that takes the call over.
func TestInventedToolIsWaitedForByNobody(t *testing.T) {
	for _, after := range []string{"at once", "after a crash", "by a process that reads the log"} {
		t.Run(after, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := lacksTool("none")
				w := newWorld(t, o)
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				if after != "at once" {
					w.crash(t, commitB)
				}
				if after == "by a process that reads the log" {
					w.stepper = w.other(t, o)
				}
				began := time.Now()
				w.finish(t, key, nil)
				if got := w.end(t, key, receipt); got != `done 2 {"type":"natural_end"} "ok"` || time.Since(began) != 0 {
					t.Errorf("the run is %s after %s", got, time.Since(began))
				}
			})
		})
	}
}

// An agent that only the newer build has, or has whole, is left to it from the run's first
// step on, and the log says what is missing.
func TestAgentThatOnlyAnotherBuildHas(t *testing.T) {
	tests := []struct {
		name   string
		agents func(t *testing.T) resolver
		error  string
	}{
		{"the agent", func(*testing.T) resolver { return gone{} }, `released for another build: agent "demo" not found, known are: none`},
		{"a tool of it that is not called", func(t *testing.T) resolver { return without{newRegistry(t, options{}.complete(t), "demo"), "fresh"} },
			`released for another build: this build has no tool "fresh" of agent "demo"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				w := newWorld(t, options{})
				newer := w.stepper
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.stepper = w.other(t, options{agents: tt.agents(t), logger: reports(&log)})
				w.step(t, key)
				if got := given(t, w); got != "0 attempts, in 5s" {
					t.Errorf("given back: %s", got)
				}
				if want := strconv.Quote(tt.error); !strings.Contains(log.String(), "error="+want) {
					t.Errorf("the log says %s\nwant %s", log.String(), want)
				}
				time.Sleep(5 * time.Second)
				w.stepper = newer
				w.finish(t, key, nil)
				if got := w.end(t, key, receipt); got != `done 1 {"type":"natural_end"} "You said: hi"` {
					t.Errorf("the run is %s", got)
				}
			})
		})
	}
}

// A run that a person ends while it is left to another build ends with the next claim.
func TestRunThatIsLeftToAnotherBuildCanBeEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran int
		w := newWorld(t, withTool("fresh", &ran))
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.crash(t, commitB)
		w.stepper = w.other(t, lacksTool("fresh"))
		w.step(t, key)
		if _, err := w.box.Cancel(t.Context(), key, receipt.RunID); err != nil {
			t.Fatal(err)
		}
		if stepped := w.step(t, key); stepped.Outcome != thread.Done {
			t.Errorf("the step is %s, want done", stepped.Outcome)
		}
		if got := w.end(t, key, receipt); got != `done 1 {"type":"cancelled"} ""` {
			t.Errorf("the run is %s", got)
		}
	})
}

// A run that begins to wait under a build that goes on without keeps the time: what
// follows the decision waits for nobody again.
func TestWaitUnderABuildThatLacksATool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options{
			model: replies(calls("fresh", "{}", "ask", "{}"), text("ok")), plugins: []plugin.Plugin{asking("ask")},
		}
		var w *world
		dies := func(context.Context, tool.Call) (tool.Result, error) {
			w.store.dead.Store(true)
			return tool.NewResult("lost"), nil
		}
		o.tools = []tool.Tool{toolFunc{name: "fresh", run: dies}, toolFunc{name: "ask"}}
		w = newWorld(t, o)
		w.submit(t, key, "hi", mailbox.ModeQueue)
		if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key)}, nil); !errors.Is(err, errDead) {
			t.Fatalf("the step did not crash: %v", err)
		}
		w.store.dead.Store(false)
		w.reclaim(t)
		o.tools = o.tools[1:]
		w.stepper = w.other(t, o)
		began := time.Now().UnixMilli()
		w.finish(t, key, nil)
		if h := w.head(t, key); w.stands(t) != "waiting [done suspended]" || h.Run.LacksSince != began || time.Now().UnixMilli()-began != 600_000 {
			t.Errorf("the run is %s after %d ms, left since %d, want %d", w.stands(t), time.Now().UnixMilli()-began, h.Run.LacksSince, began)
		}
	})
}
