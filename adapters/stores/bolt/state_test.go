package bolt_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
	"github.com/reveille-run/reveille/core/tool"
)

// visits counts the steps of a thread when they begin: a result waits for no hook.
type visits struct{}

var visited = state.Key[int, int]{Name: "visited", Scope: state.ScopeThread, Apply: func(n, more int) int { return n + more }}

func (visits) ID() string { return "visits" }

func (visits) Register(r *plugin.Registrar) error {
	r.Key(visited)
	r.OnStepStart(func(context.Context, plugin.StepStart) (state.Command, error) { return visited.Update(1), nil })
	return nil
}

// A run of two steps that change the state is four transactions with two
// syncs each, and apart from them what is stored of the state at its start: a
// value and the manifest, when an earlier run has changed it.
func TestATwoStepRunWithStateIsFourTransactionsAndItsState(t *testing.T) {
	var mu sync.Mutex
	var states []string // names of stored states, which are kept out of the file: nothing ever needs them
	s := open(t, newPath(t), bolt.Options{})
	apart := &storetest.Faulty{Backend: s, OnPut: func(ctx context.Context, key core.ThreadKey, r store.Record) error {
		if !strings.HasPrefix(r.Name, "S#") {
			return s.Put(ctx, key, r)
		}
		mu.Lock()
		defer mu.Unlock()
		states = append(states, r.Name)
		return nil
	}}
	echo := tool.New(tool.Spec{Name: "echo"}, func(_ context.Context, _ tool.Call, a struct {
		Text string `json:"text"`
	}) (tool.Result, error) {
		return tool.NewResult(a), nil
	})
	e := env.System()
	program, err := host.New(host.Options{Env: e, Store: apart, Waker: &mailboxtest.Queue{}, Agents: agent.Parts{
		Models:  map[string]agent.ModelBinding{"m": {Model: scripted.New(e), Name: "scripted"}},
		Tools:   []tool.Tool{echo},
		Plugins: []plugin.Plugin{visits{}},
		Specs:   []agent.Spec{{ID: "demo", Model: "m", Plugins: []string{"visits"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	costs := [][2]int64{{5, 10}, {4, 8}, {4, 8}} // the first run of a process stores its agent, too
	for i, want := range [][]string{nil, {"S#", "S#/thread/visited"}, {"S#", "S#/thread/visited"}} {
		before := counted(s)
		states = nil
		if _, err := program.Stream(t.Context(), mailbox.Submission{
			Thread: key, Opening: mailbox.Opening{AgentID: "demo"}, Messages: []core.Message{core.UserMessage("echo: hello")},
		}, host.ListenerFunc(func(core.Event) error { return nil })); err != nil {
			t.Fatal(err)
		}
		after := counted(s)
		if got, want := [2]int64{after[0] - before[0], after[1] - before[1]}, costs[i]; got != want {
			t.Errorf("run %d: %d transactions and syncs, want %d", i+1, got, want)
		}
		slices.Sort(states)
		if diff := cmp.Diff(want, states); diff != "" {
			t.Errorf("run %d: stored of the state (-want +got):\n%s", i+1, diff)
		}
	}
}
