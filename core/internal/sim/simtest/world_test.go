package simtest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/point"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/tool"
)

// A fault that was seen is seen again: also where calls run side by side, and where a
// child runs beside its parent.
func TestTheSameFaultIsTheSameWorld(t *testing.T) {
	made, err := newCast(func() World { return World{Parts: matrixParts} })
	if err != nil {
		t.Fatal(err)
	}
	scenarios := []Scenario{
		people(agent.ParallelStreaming, "approved", Approve(), Approve()),
		{Name: "child", Person: []Act{Say(`call: delegate {"prompt":"echo: hello"}`)}},
	}
	for _, s := range scenarios {
		t.Run(s.Name, func(t *testing.T) {
			if raced && s.Name == "child" {
				t.Skip("nothing runs side by side")
			}
			for _, at := range newWorld(s, made).play(t).sites {
				if at.n > passings {
					continue
				}
				for _, fault := range faults(at.point) {
					samePlay(t, made, s, strike{at, fault})
				}
			}
		})
	}
}

// samePlay plays a world twice.
func samePlay(t *testing.T, made cast, s Scenario, struck strike) {
	t.Helper()
	a, b := newWorld(s, made, struck).play(t), newWorld(s, made, struck).play(t)
	if diff := cmp.Diff(fmt.Sprint(a.sites), fmt.Sprint(b.sites)); diff != "" || !a.struck || !b.struck {
		t.Errorf("%s: struck %t and %t, points that were passed (-first +second):\n%s", struck, a.struck, b.struck, diff)
	}
	if diff := cmp.Diff(a.transcript, b.transcript); diff != "" {
		t.Errorf("%s: what was seen, and the logs (-first +second):\n%s", struck, diff)
	}
}

// A run of two steps passes these, in this order.
func TestPointsOfARun(t *testing.T) {
	made, err := newCast(func() World { return World{Parts: matrixParts} })
	if err != nil {
		t.Fatal(err)
	}
	out := newWorld(Scenario{Person: []Act{Say(`call: echo {"text":"a"}`)}}, made).play(t)
	want := "[E3.1 E4.1 E5.1 W1.1 W2.1 W3.1 W4.1 W7.1 W6.1 W8.1 W9.1 W10.1 W11.1 W1.2 W2.2 W3.2 W4.2 W9.2 W9.3 W11.2]"
	if got := fmt.Sprint(out.sites); got != want {
		t.Errorf("points\n%s, want\n%s", got, want)
	}
}

// What each fault does, by what is left of the process and what is done again.
func TestFaultsDoWhatTheySay(t *testing.T) {
	made, err := newCast(func() World { return World{Parts: matrixParts} })
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		strike     strike
		processes  int // one takes requests, one works
		inferences int
		runs       int // of the tool
	}{
		{strike{}, 2, 2, 1},
		{strike{site{point.Model, 1}, CrashBefore}, 3, 2, 1},
		{strike{site{point.Model, 1}, CrashAfter}, 3, 3, 1},
		{strike{site{point.Tool, 1}, CrashBefore}, 3, 3, 1}, // it starts before its turn is committed
		{strike{site{point.Tool, 1}, CrashAfter}, 3, 2, 2},
		{strike{site{point.PutResult, 1}, CrashAfter}, 3, 2, 1},
		{strike{site{point.Tool, 1}, PauseBefore}, 3, 3, 1},
		{strike{site{point.Tool, 1}, PauseAfter}, 3, 2, 2},
		{strike{site{point.Enqueue, 1}, CrashAfter}, 3, 2, 1},
		{strike{site{point.CommitTurn, 1}, Ambiguous}, 2, 2, 1},
		{strike{site{point.CommitTurn, 1}, Refused}, 2, 2, 1},
		{strike{site{point.Hint, 1}, Lost}, 2, 2, 1},
		{strike{site{point.Hint, 1}, Duplicate}, 2, 2, 1},
		{strike{site{point.Receive, 1}, Duplicate}, 2, 2, 1},
		{strike{site{point.Respond, 1}, Duplicate}, 2, 2, 1},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.strike.String(), "/", "_"), func(t *testing.T) {
			var strikes []strike
			if tt.strike.site.n > 0 {
				strikes = append(strikes, tt.strike)
			}
			w := newWorld(Scenario{Person: []Act{Say(`call: echo {"text":"a"}`)}}, made, strikes...)
			out := w.play(t)
			got := fmt.Sprint(w.processes, out.ended.Inferences, out.ended.Executions["echo"], out.problems)
			if want := fmt.Sprint(tt.processes, tt.inferences, tt.runs, []string{}); got != want {
				t.Errorf("processes, inferences, runs of the tool, problems: %s, want %s", got, want)
			}
		})
	}
}

// bank is an outside: it books once for each key that it is given.
type bank struct {
	mu    sync.Mutex
	keyed map[string]int
	total int
}

func (b *bank) book(key string, amount int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.keyed[key]; !ok || key == "" {
		b.total += amount
		b.keyed[key] = b.total
	}
	return b.keyed[key]
}

// banking is a world with a bank.
func banking(keyed bool) func() World {
	return func() World {
		b := &bank{keyed: map[string]int{}}
		pay := tool.New(tool.Spec{Name: "pay"}, func(_ context.Context, call tool.Call, a struct{ Amount int }) (int, error) {
			key := ""
			if keyed {
				key = call.Key()
			}
			return b.book(key, a.Amount), nil
		})
		return World{
			Parts: func() (agent.Parts, error) {
				return agent.Parts{
					Models: map[string]agent.ModelBinding{"m": {Model: model.None{}}}, Tools: []tool.Tool{pay},
					Specs: []agent.Spec{{ID: "payer", Model: "m"}}, Default: "payer",
				}, nil
			},
			Check: func(Ended) error {
				if b.total != 12 {
					return fmt.Errorf("booked %d, want 12", b.total)
				}
				return nil
			},
		}
	}
}

func TestOutsideOutlivesProcesses(t *testing.T) {
	s := Scenario{Name: "payments", Person: []Act{Say(`call: pay {"Amount":5}`), Say(`call: pay {"Amount":7}`)}}
	if got := foundIn(t, banking(true), s); got != nil {
		t.Errorf("found %q, want nothing", got)
	}
	want := []string{"world: booked 17, want 12", "work done twice: pay", "world: booked 19, want 12"}
	if diff := cmp.Diff(want, foundIn(t, banking(false), s)); diff != "" {
		t.Errorf("without a key (-want +got):\n%s", diff)
	}
}

// What is random and kept is the same whenever it is looked at.
func TestKeptPartsMayBeRandom(t *testing.T) {
	draw := tool.New(tool.Spec{Name: "draw"}, func(ctx context.Context, call tool.Call, _ struct{}) (json.RawMessage, error) {
		return call.Once(ctx, "number", func(context.Context) (json.RawMessage, error) {
			return json.RawMessage(fmt.Sprint(rand.Uint32())), nil
		})
	})
	parts := func() (agent.Parts, error) {
		return agent.Parts{
			Models: map[string]agent.ModelBinding{"m": {Model: model.None{}}}, Tools: []tool.Tool{draw},
			Specs: []agent.Spec{{ID: "a", Model: "m"}}, Default: "a",
		}, nil
	}
	if got := found(t, parts, Scenario{Name: "draw", Person: []Act{Say("call: draw")}}); got != nil {
		t.Errorf("found %q, want nothing", got)
	}
}

// A tool of a process that has died may go on for long: the world waits for it.
func TestSleepingToolsEnd(t *testing.T) {
	nap := tool.New(tool.Spec{Name: "nap"}, func(_ context.Context, call tool.Call, _ struct{}) (string, error) {
		_ = call.Key()
		time.Sleep(3 * time.Hour)
		return "", nil
	})
	made, err := newCast(func() World {
		return World{Parts: func() (agent.Parts, error) {
			return agent.Parts{
				Models: map[string]agent.ModelBinding{"m": {Model: model.None{}}}, Tools: []tool.Tool{nap},
				Specs: []agent.Spec{{ID: "a", Model: "m"}}, Default: "a",
			}, nil
		}}
	})
	if err != nil {
		t.Fatal(err)
	}
	out := newWorld(Scenario{Person: []Act{Say("call: nap")}}, made).play(t)
	if len(out.problems) != 1 || !strings.HasPrefix(out.problems[0], "the end of all work was not reached within 30m0s") {
		t.Errorf("problems %q", out.problems)
	}
}

func TestDifferencesAreShownWhereTheyAre(t *testing.T) {
	long := strings.Repeat("x", 200)
	a, b := cut(long+"one"+long, long+"two"+long)
	around := strings.Repeat("x", 80)
	if want := "..." + around + "one" + around[:77]; a != want {
		t.Errorf("%q, want %q", a, want)
	}
	if want := "..." + around + "two" + around[:77]; b != want {
		t.Errorf("%q, want %q", b, want)
	}
	if a, b := cut("", "here"); a != "nothing" || b != "here" {
		t.Errorf("%q and %q", a, b)
	}
}
