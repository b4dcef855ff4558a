package run_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// sleeps is a tool whose arguments say how long it takes.
var sleeps = toolFunc{name: "sleeps", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
	d, err := time.ParseDuration(strings.Trim(string(c.Arguments), `"`))
	time.Sleep(d)
	return tool.NewResult("slept"), err
}}

// Calls that end while the scheduler is busy are taken in call order, whichever was
// first.
func TestCallsThatEndTogetherAreTakenInCallOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{
			mode: agent.ParallelStreaming, tools: []tool.Tool{sleeps},
			model: replies(calls("sleeps", `"3s"`, "sleeps", `"2500ms"`, "sleeps", `"2s"`, "sleeps", `"1s"`, "sleeps", `"9s"`), text("ok")),
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		var put []string
		w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			time.Sleep(5 * time.Second) // that of the call that takes 1 s ends at 6 s
			put = append(put, r.Name)
			return w.store.Backend.Put(ctx, key, r)
		}
		w.step(t, key)
		want := []string{store.LogName(6), store.LogName(3), store.LogName(4), store.LogName(5)} // the last result goes with the commit
		if diff := cmp.Diff(want, put); diff != "" {
			t.Errorf("puts (-want +got):\n%s", diff)
		}
	})
}

// The write that makes a ticket known beside a call that runs may find a decision
// that the watch has not seen yet: its call goes on at once.
func TestDecisionThatTheSuspendWriteMeets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var resumed time.Duration
		ask := toolFunc{name: "ask", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			switch {
			case c.Resume == nil:
				time.Sleep(2500 * time.Millisecond)
				return tool.Suspended(core.TicketRequest{}), nil
			case resumed == 0:
				resumed = time.Since(began)
			}
			return tool.NewResult("ok"), nil
		}}
		w := newWorld(t, options{
			model: replies(calls("ask", "{}", "gated", "{}", "nap", "{}"), text("ok")), mode: agent.ParallelStreaming,
			tools: []tool.Tool{ask, toolFunc{name: "gated", run: func(context.Context, tool.Call) (tool.Result, error) {
				resumed = time.Since(began)
				return tool.NewResult("ok"), nil
			}}, nap},
			plugins: []plugin.Plugin{asking("gated")},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		time.AfterFunc(2300*time.Millisecond, func() { w.mustDecide(t, 1, approve) }) // the watch looks at 2 s and at 4 s
		w.finish(t, key, nil)
		if resumed != 2500*time.Millisecond {
			t.Errorf("the call went on after %s, want 2.5s", resumed)
		}
	})
}

// Whichever hook fails first, the run ends with the error of the first call whose
// hook has failed.
func TestErrorOfTheFirstCallCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{
			mode: agent.ParallelStreaming, model: replies(calls("echo", `{"text":"a"}`, "echo", `{"text":"b"}`, "echo", `{"text":"c"}`)),
			plugins: []plugin.Plugin{pluginFunc{"fails", func(r *plugin.Registrar) {
				r.OnBeforeTool(func(_ context.Context, c plugin.BeforeTool) (state.Command, error) {
					if c.CallIndex == 0 { // the last of them to end
						time.Sleep(4 * time.Second)
						return state.Command{}, nil
					}
					time.Sleep(time.Duration(3-c.CallIndex) * time.Second)
					return state.Command{}, fmt.Errorf("call %d", c.CallIndex)
				})
			}}},
		})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		got := w.end(t, key, receipt)
		if !strings.Contains(got, `"code":"plugin"`) || !strings.Contains(got, `_1_1: plugin \"fails\" failed`) {
			t.Errorf("the run is %s, want the error of call 1", got)
		}
	})
}

// Of tools that fail the run, the first in call order counts, not the first in time;
// after a failure nothing new starts, and what runs is waited for.
func TestNothingStartsAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		fatal := toolFunc{name: "fatal", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			d, err := time.ParseDuration(strings.Trim(string(c.Arguments), `"`))
			time.Sleep(d)
			return tool.Result{}, tool.Fatal(errors.Join(err, fmt.Errorf("after %s", d)))
		}}
		w := newWorld(t, options{
			mode: agent.ParallelStreaming, tools: []tool.Tool{fatal, counted("ask", false, &ran), nap}, plugins: []plugin.Plugin{asking("ask")},
			model: replies(calls("fatal", `"5s"`, "fatal", `"1s"`, "ask", "{}", "nap", "{}")),
		})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		time.AfterFunc(1500*time.Millisecond, func() { w.mustDecide(t, 2, approve) })
		w.finish(t, key, nil)
		got := w.end(t, key, receipt)
		if !strings.Contains(got, `"code":"tool"`) || !strings.Contains(got, "_1_0 of tool fatal") || ran != 0 {
			t.Errorf("the run is %s, and the call that was decided ran %d times; want the error after 5s, and none", got, ran)
		}
		want := []core.ResultStatus{core.ResultError, core.ResultError, core.ResultNotExecuted, core.ResultOK}
		if diff := cmp.Diff(want, w.statuses(t)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	})
}

// A large ticket is put before the write that makes it count, under the claim's
// fence and the head's version, so that this write replaces it.
func TestLargeTicketIsPutBeforeItCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{plugins: []plugin.Plugin{gates(func(plugin.GateCall) (plugin.Verdict, error) {
			v := suspends("large")
			v.Suspend.Message = strings.Repeat("x", 70_000)
			return v, nil
		})}})
		var put []string
		w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			head := w.head(t, key)
			put = append(put, fmt.Sprintf("%s %t %t %d", r.Name[:2], r.Fence == head.Claim.Fence, r.Version == head.Version, len(head.Tickets)))
			return w.store.Backend.Put(ctx, key, r)
		}
		w.submit(t, key, "echo: a", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if diff := cmp.Diff([]string{"C# true true 0"}, put); diff != "" {
			t.Errorf("puts (-want +got):\n%s", diff)
		}
		w.mustDecide(t, 0, approve)
		w.finish(t, key, nil)
		if diff := cmp.Diff([]string{`ok: {"text":"a"} after about-large`}, w.results(t)); diff != "" {
			t.Errorf("result (-want +got):\n%s", diff)
		}
	})
}

// What a ticket waits for is told to the head, which knows three kinds.
func TestKindsOfTickets(t *testing.T) {
	tests := []struct {
		kind core.TicketKind
		want thread.TicketKind
	}{
		{"", thread.TicketPerson},
		{core.TicketPerson, thread.TicketPerson},
		{core.TicketClient, thread.TicketClient},
		{core.TicketChild, thread.TicketChild},
	}
	for _, tt := range tests {
		t.Run(string(tt.kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, options{plugins: []plugin.Plugin{gates(func(plugin.GateCall) (plugin.Verdict, error) {
					v := suspends("ask")
					v.Suspend.Kind = tt.kind
					return v, nil
				})}})
				w.submit(t, key, "echo: a", mailbox.ModeQueue)
				w.step(t, key)
				if tickets := w.head(t, key).Tickets; len(tickets) != 1 || tickets[0].Kind != tt.want || tickets[0].Deadline != 0 {
					t.Errorf("tickets %+v, want one of kind %d without a deadline", tickets, tt.want)
				}
			})
		})
	}
}

// The hooks of a call that was refused are not asked again for what a sibling has
// changed: what they asked for first counts.
func TestNobodyIsAskedAgainAboutARefusedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		w := newWorld(t, options{
			mode: agent.ParallelStreaming, model: replies(calls("echo", `{"text":"a"}`, "ask", "{}", "nap", "{}"), text("ok")),
			tools: []tool.Tool{toolFunc{name: "ask"}, nap},
			plugins: []plugin.Plugin{pluginFunc{"listing", func(r *plugin.Registrar) {
				r.Key(seenBy)
				r.Gate(func(_ context.Context, c plugin.GateCall) (v plugin.Verdict, err error) {
					asked = append(asked, c.Call.Name)
					if c.Call.Name == "ask" {
						v = suspends("ask")
					}
					if c.Call.Name != "nap" {
						v.Command, err = adds(c.Snapshot, c.Call.Name)
					}
					return v, err
				})
			}}},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		time.AfterFunc(time.Second, func() { w.mustDecide(t, 1, deny) })
		w.step(t, key)
		if diff := cmp.Diff([]string{"echo", "ask", "nap"}, asked); diff != "" {
			t.Errorf("gates (-want +got):\n%s", diff)
		}
		if got := w.results(t); !slices.Contains(got, "denied: denied: not today after about-ask") {
			t.Errorf("results %q", got)
		}
	})
}

// A call that found no place among the tickets is not asked again when the run is
// blocked by a call behind it.
func TestBlockEndsACallThatFoundNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turn []string
		for i := range 10 {
			turn = append(turn, map[bool]string{true: "late", false: "ask"}[i == 7], fmt.Sprint(i))
		}
		ran := 0
		late := toolFunc{name: "late", run: func(context.Context, tool.Call) (tool.Result, error) {
			time.Sleep(time.Second)
			ran++
			return tool.Suspended(core.TicketRequest{}), nil
		}}
		w := newWorld(t, options{
			mode: agent.ParallelStreaming, model: replies(calls(append(turn[:18], "nap", "{}")...)),
			tools: []tool.Tool{late, toolFunc{name: "ask"}, nap},
			plugins: []plugin.Plugin{gates(func(c plugin.GateCall) (v plugin.Verdict, err error) {
				switch {
				case c.Resume != nil:
					v = plugin.Block("on second thoughts")
				case c.Call.Name == "ask":
					v = suspends(fmt.Sprintf("gate%d", c.CallIndex))
				}
				return v, nil
			})},
		})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		time.AfterFunc(3*time.Second, func() {
			if got := w.stands(t); got != "running [suspended suspended suspended suspended suspended suspended suspended new suspended new]" {
				t.Errorf("the run is %s", got)
			}
			w.mustDecide(t, 8, approve)
		})
		w.finish(t, key, nil)
		if got := w.end(t, key, receipt); got != `done 1 {"type":"blocked","detail":"on second thoughts"} ""` || ran != 1 {
			t.Errorf("the run is %s, and the call that found no place ran %d times", got, ran)
		}
	})
}

// Hooks that are asked again on what a sibling has changed may fail as they could at
// first: the run ends with their error, and the results stand.
func TestHooksThatFailWhenTheyAreAskedAgain(t *testing.T) {
	tests := []struct{ point, want string }{
		{"gate", "gate of call"},
		{"before", "phase before_tool_execute of call"},
	}
	for _, tt := range tests {
		t.Run(tt.point, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex // BeforeToolExecute runs side by side
				asked := [2]int{}
				fails := func(call int, s state.Snapshot) (state.Command, error) {
					mu.Lock()
					defer mu.Unlock()
					if asked[call]++; asked[call] == 2 {
						return state.Command{}, errors.New("not again")
					}
					return adds(s, "x")
				}
				w := newWorld(t, options{
					mode: agent.ParallelStreaming, model: replies(calls("echo", `{"text":"a"}`, "echo", `{"text":"b"}`)),
					plugins: []plugin.Plugin{pluginFunc{"fails", func(r *plugin.Registrar) {
						r.Key(seenBy)
						if tt.point == "before" {
							r.OnBeforeTool(func(_ context.Context, c plugin.BeforeTool) (state.Command, error) {
								return fails(c.CallIndex, c.Snapshot)
							})
							return
						}
						r.Gate(func(_ context.Context, c plugin.GateCall) (v plugin.Verdict, err error) {
							v.Command, err = fails(c.CallIndex, c.Snapshot)
							return v, err
						})
					}}},
				})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if got := w.end(t, key, receipt); !strings.Contains(got, `"code":"plugin"`) || !strings.Contains(got, tt.want) {
					t.Errorf("the run is %s", got)
				}
				if diff := cmp.Diff([]string{`ok: {"text":"a"}`, `ok: {"text":"b"}`}, w.results(t)); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A result of a newer program raises the head with the first write of the round that
// adopts it: before a tool that must not run twice has ended, and when the round
// comes to wait.
func TestAdoptedResultRaisesTheHeadsSchemaBeforeTheRoundEnds(t *testing.T) {
	tests := []struct {
		name string
		then func(o *options, last tool.Tool) // what the next program has instead
	}{
		{"a call is marked", func(o *options, last tool.Tool) { o.tools[1] = last }},
		{"the round waits", func(o *options, _ tool.Tool) { o.plugins = []plugin.Plugin{asking("last")} }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := options{
					model: replies(calls("first", "{}", "last", "{}"), text("ok")), mode: agent.ParallelStreaming,
					tools: []tool.Tool{counted("first", false, new(int)), slowly("last", new(int))},
				}
				w := newWorld(t, o)
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.crash(t, commitB)
				result := w.record(t, store.LogName(3))
				if err := w.store.Backend.Put(t.Context(), key, store.Record{
					Name: result.Name, Fence: 2, Payload: inSchema3(t, result.Payload),
				}); err != nil {
					t.Fatal(err)
				}
				w.take(t, key)
				w.reclaim(t)
				var schema uint16
				tt.then(&o, toolFunc{name: "last", atMostOnce: true, run: func(context.Context, tool.Call) (tool.Result, error) {
					schema = w.head(t, key).Schema
					return tool.NewResult("ok"), nil
				}})
				o.records = thread.Records{Schemas: thread.Schemas{Reads: 3, Writes: 1}, Extra: "x"}
				w.withRecords(t, o)
				if stepped := w.step(t, key); stepped.Outcome == thread.Wait {
					schema = stepped.Head.Schema
				}
				if schema != 3 {
					t.Errorf("the head has schema %d, want 3", schema)
				}
			})
		})
	}
}
