package run_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// placing are Choices under which each call of the first step has its place; of one that is
// to have none the place is what comes next.
type placing struct {
	*chosen
	places []int
}

func (p placing) Place(_ core.ID, step, call, next int) (int, bool) {
	if step != 1 {
		return next, false
	}
	if p.places[call] > 0 {
		return p.places[call], true
	}
	return next, true
}

// appended is a key that tells in which order calls have changed it.
var appended = state.Key[string, string]{Name: "appended", Scope: state.ScopeRun, Apply: func(had, more string) string {
	if more == "alone" && had != "" {
		panic("not alone")
	}
	return had + more
}}

// placed is a round of calls whose tools each last some seconds, and change the key as their
// arguments say.
type placed struct {
	*world
	options options
	log     strings.Builder
	puts    []string // places of the calls whose results were stored alone
	told    []string // statuses of results, as they were told
	left    string   // the key, at the step's end
	mu      sync.Mutex
	ran     []int // calls
	gate    func(c plugin.GateCall) (plugin.Verdict, error)
}

func newPlaced(t *testing.T, lasts []int, adds []string) *placed {
	t.Helper()
	p := &placed{gate: func(plugin.GateCall) (plugin.Verdict, error) { return plugin.Allow, nil }}
	var turn []string
	for range lasts {
		turn = append(turn, "add", "{}")
	}
	p.options = options{
		mode: agent.ParallelStreaming, model: replies(calls(turn...), text("ok")), logger: slog.New(slog.NewTextHandler(&p.log, nil)),
		tools: []tool.Tool{toolFunc{name: "add", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			time.Sleep(time.Duration(lasts[c.Index])*time.Second + time.Duration(c.Index)*time.Millisecond)
			p.mu.Lock()
			p.ran = append(p.ran, c.Index)
			p.mu.Unlock()
			result := tool.NewResult(fmt.Sprint("added ", c.Index))
			if adds[c.Index] != "" {
				result.Command = appended.Update(adds[c.Index])
			}
			return result, nil
		}}},
		plugins: []plugin.Plugin{pluginFunc{"placed", func(r *plugin.Registrar) {
			r.Key(appended)
			r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) { return p.gate(c) })
			r.OnStepEnd(func(_ context.Context, c plugin.StepEnd) (_ state.Command, err error) {
				if c.Step == 1 {
					p.left, err = appended.Read(c.Snapshot)
				}
				return state.Command{}, err
			})
			r.OnRunEnd(func(_ context.Context, c plugin.RunEnd) (_ state.Command, err error) {
				p.left, err = appended.Read(c.Snapshot)
				return state.Command{}, err
			})
		}}},
	}
	p.world = newWorld(t, p.options)
	p.submit(t, key, "hi", mailbox.ModeQueue)
	p.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
		if seq, ok := r.LogSeq(); ok {
			p.mu.Lock() // what is found is put side by side
			p.puts = append(p.puts, fmt.Sprint("call ", seq-3))
			p.mu.Unlock()
		}
		return p.store.Backend.Put(ctx, key, r)
	}
	return p
}

// under lets the rest be done under fixed places.
func (p *placed) under(t *testing.T, places ...int) {
	t.Helper()
	o := p.options
	o.choices = placing{&chosen{}, places}
	p.stepper = p.other(t, o)
}

func (p *placed) tell(e core.Event) error {
	if e.Type == core.EventToolCallDone {
		p.told = append(p.told, fmt.Sprintf("%s %s", e.CallID[len(e.CallID)-1:], e.Status))
	}
	return nil
}

// comesTo runs the round and compares the order of the puts, what is told, the results, the
// key, and the places.
func (p *placed) comesTo(t *testing.T, want ...[]string) {
	t.Helper()
	p.finish(t, key, p.tell)
	var places []string
	for i := range want[2] {
		places = append(places, fmt.Sprint(p.entry(t, uint64(3+i)).Place))
	}
	got := [][]string{p.puts, p.told, p.results(t), append(places, p.left)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("puts, what is told, results, places and the key (-want +got):\n%s\n%s", diff, &p.log)
	}
}

// Where the places of results are decided before, each result is kept back until those before
// it have come, whichever tool was faster; one without a change waits for none.
func TestResultsOfFixedPlacesAreKeptInTheirOrder(t *testing.T) {
	const no = ""
	tests := []struct {
		name   string
		lasts  []int
		adds   []string
		places []int
		want   [][]string // as of comesTo
	}{
		{
			"the last comes first", []int{3, 2, 1}, []string{"a", "b", "c"}, []int{1, 2, 3},
			[][]string{{"call 0", "call 1", "call 2"}, {"0 ok", "1 ok", "2 ok"}, {`ok: "added 0"`, `ok: "added 1"`, `ok: "added 2"`}, {"1", "2", "3", "abc"}},
		},
		{
			"they come in the order of the calls", []int{1, 2, 3}, []string{"a", "b", "c"}, []int{3, 1, 2},
			[][]string{{"call 1", "call 2", "call 0"}, {"1 ok", "2 ok", "0 ok"}, {`ok: "added 0"`, `ok: "added 1"`, `ok: "added 2"`}, {"3", "1", "2", "bca"}},
		},
		{
			"they come in their order", []int{2, 3, 1}, []string{"a", "b", "c"}, []int{2, 3, 1},
			[][]string{{"call 2", "call 0", "call 1"}, {"2 ok", "0 ok", "1 ok"}, {`ok: "added 0"`, `ok: "added 1"`, `ok: "added 2"`}, {"2", "3", "1", "cab"}},
		},
		{
			"one changes nothing", []int{3, 1, 2}, []string{"a", no, "c"}, []int{1, 0, 2},
			[][]string{{"call 1", "call 0", "call 2"}, {"1 ok", "0 ok", "2 ok"}, {`ok: "added 0"`, `ok: "added 1"`, `ok: "added 2"`}, {"1", "0", "2", "ac"}},
		},
		{
			"one that changes nothing comes last", []int{2, 3, 1}, []string{"a", no, "c"}, []int{1, 0, 2},
			[][]string{{"call 0", "call 2", "call 1"}, {"0 ok", "2 ok", "1 ok"}, {`ok: "added 0"`, `ok: "added 1"`, `ok: "added 2"`}, {"1", "0", "2", "ac"}},
		},
		{
			"two are held for the last one", []int{1, 2, 3}, []string{"a", "b", "c"}, []int{2, 3, 1},
			[][]string{{"call 2", "call 0", "call 1"}, {"2 ok", "0 ok", "1 ok"}, {`ok: "added 0"`, `ok: "added 1"`, `ok: "added 2"`}, {"2", "3", "1", "cab"}},
		},
		{
			"two are held, and do not come in their order", []int{3, 1, 2}, []string{"a", "b", "c"}, []int{1, 3, 2},
			[][]string{{"call 0", "call 2", "call 1"}, {"0 ok", "2 ok", "1 ok"}, {`ok: "added 0"`, `ok: "added 1"`, `ok: "added 2"`}, {"1", "3", "2", "acb"}},
		},
		{
			"one is refused behind the others", []int{1, 2, 3}, []string{"alone", "b", "c"}, []int{2, 1, 3},
			[][]string{{"call 1", "call 0", "call 2"}, {"1 ok", "0 error", "2 ok"}, {"error: execution failed: its change of the state does not apply", `ok: "added 1"`, `ok: "added 2"`}, {"0", "1", "3", "bc"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlaced(t, tt.lasts, tt.adds)
				p.under(t, tt.places...)
				p.comesTo(t, tt.want...)
				if len(p.ran) != len(tt.lasts) {
					t.Errorf("the tools of %v ran", p.ran)
				}
			})
		})
	}
}

// Results that are kept back for one that does not come are stored in their order when the
// round can go no further, and what a sibling waits for is asked before.
func TestResultsThatWaitForOneThatDoesNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaced(t, []int{1, 2, 3}, []string{"a", "b", "c"})
		p.gate = func(c plugin.GateCall) (v plugin.Verdict, err error) {
			if c.CallIndex == 1 {
				v = suspends("ask")
			}
			return v, nil
		}
		p.under(t, 3, 1, 2)
		p.step(t, key)
		if diff := cmp.Diff([]string{"call 2", "call 0"}, p.puts); diff != "" || p.stands(t) != "waiting [done suspended done]" {
			t.Errorf("the round is %s; puts (-want +got):\n%s", p.stands(t), diff)
		}
		p.mustDecide(t, 1, approve)
		p.comesTo(t, []string{"call 2", "call 0", "call 1"}, []string{"1 ok"},
			[]string{`ok: "added 0"`, `ok: "added 1" after about-ask`, `ok: "added 2"`}, []string{"3", "1", "2", "cab"})
	})
}

// A block ends the round at once: it waits for no result before it, and results that wait
// for one that is not to come are stored.
func TestABlockIsNotKeptBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaced(t, []int{2, 1, 1}, []string{"a", "b", "c"})
		p.gate = func(c plugin.GateCall) (v plugin.Verdict, err error) {
			if c.CallIndex == 2 {
				v = plugin.Block("enough").With(appended.Update("g"))
			}
			return v, nil
		}
		p.under(t, 1, 2, 3)
		p.comesTo(t, []string{"call 2", "call 0", "call 1"}, []string{"2 blocked", "0 ok", "1 ok"},
			[]string{`ok: "added 0"`, `ok: "added 1"`, "blocked: blocked: enough"}, []string{"1", "2", "3", "gab"})
	})
}

// What the store refuses of results that were kept back is the round's failure, and none is
// stored behind it; the next claim finds what was stored, and runs the others again.
func TestAStoreThatRefusesAResultThatWasKeptBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaced(t, []int{3, 2, 1}, []string{"a", "b", "c"})
		p.under(t, 1, 2, 3)
		keeps := p.store.OnPut
		p.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			if r.Name == store.LogName(4) {
				return store.ErrFenced
			}
			return keeps(ctx, key, r)
		}
		if _, err := p.stepper.Step(t.Context(), run.Work{Key: key, Head: p.take(t, key)}, p.tell); !errors.Is(err, store.ErrFenced) {
			t.Errorf("the step ended with %v", err)
		}
		if diff := cmp.Diff([]string{"call 0"}, p.puts); diff != "" {
			t.Errorf("puts (-want +got):\n%s", diff)
		}
		p.store.OnPut = keeps
		p.takeOver(t)
		p.reclaim(t)
		p.comesTo(t, []string{"call 0", "call 0", "call 1", "call 2"}, []string{"0 ok", "0 ok", "1 ok", "2 ok"},
			[]string{`ok: "added 0"`, `ok: "added 1"`, `ok: "added 2"`}, []string{"1", "2", "3", "abc"})
		if slices.Sort(p.ran); !slices.Equal(p.ran, []int{0, 1, 1, 2, 2}) {
			t.Errorf("the tools of %v ran", p.ran)
		}
	})
}

// A result that is found before one that has the place before it is kept back, and its tool
// does not run again; where the run closes nothing is kept back.
func TestAFoundResultOfAFixedPlaceWaitsForThoseBeforeIt(t *testing.T) {
	tests := []struct {
		name   string
		cancel bool
		want   [][]string
		ran    []int
	}{
		{
			"the run goes on", false, [][]string{{"call 1", "call 0", "call 1"}, {"1 ok", "0 ok", "1 ok"}, {`ok: "added 0"`, `ok: "added 1"`}, {"1", "2", "ab"}}, []int{1, 0},
		},
		{
			"the run is cancelled", true,
			[][]string{{"call 1", "call 1"}, {"1 ok", "1 ok", "0 unknown"}, {"unknown: outcome unknown: the run was ended while the tool may have run", `ok: "added 1"`}, {"0", "1", "b"}}, []int{1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlaced(t, []int{4, 1}, []string{"a", "b"})
				time.AfterFunc(2*time.Second, func() { p.store.dead.Store(true) })
				if _, err := p.stepper.Step(t.Context(), run.Work{Key: key, Head: p.take(t, key)}, p.tell); err == nil {
					t.Fatal("the process did not die")
				}
				p.ran = p.ran[:1]
				p.store.dead.Store(false)
				p.reclaim(t)
				if tt.cancel {
					if _, err := p.box.Cancel(t.Context(), key, p.head(t, key).Run.ID); err != nil {
						t.Fatal(err)
					}
				}
				p.under(t, 1, 2)
				p.comesTo(t, tt.want...)
				if diff := cmp.Diff(tt.ran, p.ran); diff != "" {
					t.Errorf("tools that ran (-want +got):\n%s", diff)
				}
			})
		})
	}
}
