package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
)

// A thread stays with the member whose cache is warm, and is home again behind that; it
// counts its switches all the while.
func TestWhereAThreadStands(t *testing.T) {
	limited := busy(model.KindRateLimited, 0)
	type talk struct {
		after time.Duration // the run before
		calls string
		turn  string
	}
	const minute, ms = time.Minute, time.Millisecond
	tests := []struct {
		name   string
		change func(*agent.ModelPoolSpec)
		east   []int // calls that fail
		west   []int
		talks  []talk
	}{
		{"home again behind five minutes", nil, []int{1}, nil, []talk{
			{0, "east west", "m-west 1"}, {5*minute - ms, "west", "m-west 1"}, {5*minute - ms, "west", "m-west 1"}, {5 * minute, "east", "m-east 1"}, {0, "east", "m-east 1"},
		}},
		{"home again when the pool says", func(p *agent.ModelPoolSpec) { p.ReturnAfterMS = 60_000 }, []int{1}, nil, []talk{
			{0, "east west", "m-west 1"}, {minute - ms, "west", "m-west 1"}, {minute, "east", "m-east 1"},
		}},
		{"home again for the next run", func(p *agent.ModelPoolSpec) { p.StickyScope = agent.StickyRun }, []int{1, 2}, nil, []talk{
			{0, "east west", "m-west 1"}, {0, "east west", "m-west 1"}, {0, "east", "m-east 0"},
		}},
		{"back home because the other refuses", nil, []int{1}, []int{2}, []talk{
			{0, "east west", "m-west 1"}, {0, "west east", "m-east 2"}, {0, "east", "m-east 2"},
		}},
		{"a thread's switches are counted over its runs", func(p *agent.ModelPoolSpec) { p.Switch.MaxSwitches = 2 }, []int{1, 2, 3}, nil, []talk{
			{0, "east west", "m-west 1"}, {6 * minute, "east west", "m-west 2"}, {6 * minute, "east east", "m-east 2"},
		}},
		{"a run's are its own", func(p *agent.ModelPoolSpec) { p.Switch.MaxSwitches, p.StickyScope = 1, agent.StickyRun }, []int{1, 2}, nil, []talk{
			{0, "east west", "m-west 1"}, {0, "east west", "m-west 1"},
		}},
	}
	for _, tt := range tests {
		for _, cold := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, cold %t", tt.name, cold), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					failing := func(name string, calls []int) *vendor {
						v := answers(name)
						v.name, v.fails = name, map[int]error{}
						for _, n := range calls {
							v.fails[n] = limited
							for len(v.calls) <= n {
								v.calls = append(v.calls, thought(name))
							}
							v.calls[n-1] = nil
						}
						return &v
					}
					m := newMarket(t, func(p *agent.ModelPoolSpec, _ *agent.Spec) {
						if tt.change != nil {
							tt.change(p)
						}
					}, failing("east", tt.east), failing("west", tt.west))
					for i, talk := range tt.talks {
						if cold {
							m.stepper = m.other(t, m.options)
						}
						time.Sleep(talk.after)
						*m.log = nil
						m.talk(t, "hi", nil)
						var calls []string
						for _, line := range *m.log {
							calls = append(calls, strings.Fields(line)[0])
						}
						turns := m.turns(t)
						last, _, _ := strings.Cut(strings.TrimPrefix(turns[len(turns)-1], "pool "), " | ")
						if got := strings.Join(calls, " "); got != talk.calls || last != talk.turn {
							t.Errorf("run %d calls %s and stands at %s; want %s and %s", i+1, got, last, talk.calls, talk.turn)
						}
					}
				})
			})
		}
	}
}

// An inference that failed for good says how often the thread has switched, and leaves it
// where it stood.
func TestAFailedInferenceLeavesTheThreadWhereItStood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quota := busy(model.KindQuota, 0)
		east := vendor{name: "east", calls: [][]model.Delta{calling("a"), {}, {}, thought("e")}, fails: map[int]error{2: quota, 3: quota}}
		west := vendor{name: "west", calls: [][]model.Delta{{}, {}}, fails: map[int]error{1: quota, 2: quota}}
		m := newMarket(t, func(_ *agent.ModelPoolSpec, s *agent.Spec) {
			s.Stop = []agent.StopSpec{{Type: agent.StopConsecutiveErrors, Max: 3}}
		}, &east, &west)
		if end, want := m.talk(t, "hi", nil), fmt.Sprintf(natural, 4, "e"); end != want {
			t.Errorf("the run is %s, want %s", end, want)
		}
		want := []string{
			"pool m-east 0 | east east-1 | [echo east/east-1]", "pool m-east 1 | failed: quota", "pool m-east 2 | failed: quota", "pool m-east 2 | east east-1 | e",
		}
		if diff := cmp.Diff(want, m.turns(t)); diff != "" {
			t.Errorf("turns (-want +got):\n%s", diff)
		}
		if got := strings.Join(*m.log, ", "); got != "east 1, east 3, west 3, east 3, west 3, east 3" {
			t.Errorf("calls %s", got)
		}
	})
}

// What a run takes back says nothing of where the thread stands: the run goes on with who
// had spoken before it.
func TestARetakeStandsWhereTheThreadStoodBefore(t *testing.T) {
	for _, cold := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			limited := busy(model.KindRateLimited, 0)
			east := vendor{name: "east", calls: [][]model.Delta{thought("e1"), {}, thought("e2")}, fails: map[int]error{2: limited}}
			west := answers("w")
			west.name = "west"
			m := newMarket(t, nil, &east, &west)
			m.talk(t, "one", nil)
			from := m.head(t, key).Seq + 1
			m.talk(t, "two", nil)
			if cold {
				m.stepper = m.other(t, m.options)
			}
			if _, err := m.box.Submit(t.Context(), mailbox.Submission{
				Thread: key, Opening: mailbox.Opening{AgentID: "demo", Supersede: from}, Messages: []core.Message{core.UserMessage("two again")}, Mode: mailbox.ModeQueue,
			}); err != nil {
				t.Fatal(err)
			}
			m.finish(t, key, nil)
			if cold {
				m.stepper = m.other(t, m.options)
			}
			east.calls = [][]model.Delta{thought("e3")}
			m.talk(t, "three", nil)
			want := []string{
				"pool m-east 0 | east east-1 | e1", "pool m-west 1 | west west-1 | w",
				"pool m-east 0 | east east-1 | e2", "pool m-east 0 | east east-1 | e3",
			}
			if diff := cmp.Diff(want, m.turns(t)); diff != "" {
				t.Errorf("cold %t: turns (-want +got):\n%s", cold, diff)
			}
		})
	}
}

// Models of two providers may have one name: what a provider has kept of the request is
// of no use to the other.
func TestAnotherProvidersModelOfTheSameNameIsAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		refuses := false
		member := func(name string) modelFunc {
			return func(_ context.Context, r model.Request) iterator {
				asked = append(asked, r.Origin)
				return func(yield func(model.Delta, error) bool) {
					switch {
					case name == "east" && refuses:
						yield(model.Delta{}, busy(model.KindOverloaded, 0))
					case yield(say(name), nil):
						yield(stopped, nil)
					}
				}
			}
		}
		agents, err := registry.New(agent.Parts{
			Models: map[string]agent.ModelBinding{"a": {Model: member("east"), Name: "same", Provider: "east"}, "b": {Model: member("west"), Name: "same", Provider: "west"}},
			Pools:  []agent.ModelPoolSpec{{ID: "pool", Routing: agent.RouteFirstHealthy, Members: []agent.PoolMember{{Model: "a"}, {Model: "b"}}}},
			Specs:  []agent.Spec{{ID: "demo", Model: "pool"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, options{env: drawing(0), agents: agents})
		var changed []string
		sink := func(e core.Event) error {
			if e.Type == core.EventPrefixChanged {
				changed = append(changed, e.Reason)
			}
			return nil
		}
		for _, refuses = range []bool{false, true, false} {
			w.submit(t, key, "hi", mailbox.ModeQueue)
			w.finish(t, key, sink)
			time.Sleep(6 * time.Minute) // the thread is home again
		}
		if diff := cmp.Diff([]string{"east/same", "east/same", "west/same", "east/same"}, asked); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"model", "model"}, changed); diff != "" {
			t.Errorf("changed (-want +got):\n%s", diff)
		}
	})
}

// Where a thread stands is said of one pool: another one begins at its home, and counts
// its own switches.
func TestAThreadStandsInOnePool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		east, west := always(busy(model.KindRateLimited, 0)), answers("w")
		east.name, west.name = "east", "west"
		m := newMarket(t, nil, &east, &west)
		m.talk(t, "one", nil)
		east2, west2 := answers("e"), answers("w")
		east2.name, west2.name = "east", "west"
		m.agents = newMarket(t, func(p *agent.ModelPoolSpec, s *agent.Spec) { p.ID, s.Model = "pool2", "pool2" }, &east2, &west2).agents
		m.stepper = m.other(t, m.options)
		m.talk(t, "two", nil)
		if diff := cmp.Diff([]string{"pool m-west 1 | west west-1 | w", "pool2 m-east 0 | east east-1 | e"}, m.turns(t)); diff != "" {
			t.Errorf("turns (-want +got):\n%s", diff)
		}
	})
}
