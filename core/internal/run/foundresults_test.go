package run_test

import (
	"context"
	"fmt"
	"slices"
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

// A result that a claim before the last one has put stands where it says, if the last one has
// gone on behind it.
func TestAResultThatALaterClaimHasGoneOnBehindStandsInTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaced(t, []int{9, 9, 1}, []string{"a", "b", "c"})
		_, _ = p.cut(t, 3*time.Second, false)
		p.leave(t, left{call: 1, place: 2, before: 1, adds: "b"}, left{call: 0, place: 3, adds: "a"})
		p.finish(t, key, nil)
		time.Sleep(20 * time.Second) // until the tools of the first claim have ended
		if p.left != "cba" || p.entry(t, 3).Place != 3 || p.entry(t, 4).Place != 2 {
			t.Errorf("the key is %q, and the results stand at %d and %d; want cba, 3 and 2", p.left, p.entry(t, 3).Place, p.entry(t, 4).Place)
		}
	})
}

// What an older program has stored of a call that it blocked, or whose result says nothing of
// its status, keeps its meaning when it is given a place.
func TestWhatAFoundResultSaysIsKeptInTheLine(t *testing.T) {
	tests := []struct {
		name    string
		change  func(e *thread.Entry)
		results []string
		end     string
	}{
		{"blocked", func(e *thread.Entry) {
			e.Blocked, e.Message.ToolResult.Status, e.Message.ToolResult.IsError = "enough", core.ResultBlocked, true
		}, []string{`blocked: "set"`, `ok: "set"`}, `done 1 {"type":"blocked","detail":"enough"} ""`},
		{"no status", func(e *thread.Entry) { e.Message.ToolResult.Status = "" }, []string{`ok: "set"`, `ok: "set"`}, `done 2 {"type":"natural_end"} "ok"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSiblings(t, [2]time.Duration{8 * time.Second, time.Second}, setsList)
				_, _ = s.cut(t, 4*time.Second, false)
				head := s.take(t, key)
				s.putResult(t, 0, s.entry(t, head.Run.Base+1), func(e *thread.Entry) {
					command := seenBy.Update([]string{"hook0"})
					e.Place, e.Attempt, e.Intents = 0, 0, &command
					tt.change(e)
				})
				s.reclaim(t)
				s.finish(t, key, nil)
				last, ok, err := s.box.Run(t.Context(), key, s.head(t, key), head.Run.ID, head.Run.Dispatch)
				if err != nil || !ok {
					t.Fatalf("run: %v, found %v", err, ok)
				}
				end := s.end(t, key, mailbox.Receipt{RunID: last.ID, DispatchID: last.Dispatch})
				got := append(s.results(t), end, fmt.Sprint(s.entry(t, head.Run.Base).Place))
				if diff := cmp.Diff(append(tt.results, tt.end, "2"), got); diff != "" {
					t.Errorf("results, end and place (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// The hooks of a result that came late, behind a wait, are shown what the calls came to that
// were merged before it.
func TestHooksOfALateResultAreShownWhatWasMergedBeforeTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // BeforeToolExecute runs side by side
		var shown []string
		asks := false
		s := &siblings{}
		s.world = newWorld(t, options{
			mode: agent.ParallelStreaming, model: replies(calls("set", "{}", "other", "{}"), text("ok")),
			tools: []tool.Tool{
				toolFunc{name: "set", run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
					<-ctx.Done()
					return tool.Result{}, ctx.Err()
				}},
				toolFunc{name: "other", run: func(context.Context, tool.Call) (tool.Result, error) {
					time.Sleep(time.Second)
					return tool.NewResult("other"), nil
				}},
			},
			plugins: []plugin.Plugin{pluginFunc{"waits", func(r *plugin.Registrar) {
				r.Key(seenBy)
				r.Gate(func(_ context.Context, c plugin.GateCall) (v plugin.Verdict, err error) {
					if asks && c.CallIndex == 0 && !slices.ContainsFunc(c.Messages, func(m core.Message) bool { return m.ToolResult != nil }) {
						v = suspends("gate0")
					}
					return v, nil
				})
				r.OnBeforeTool(func(_ context.Context, c plugin.BeforeTool) (state.Command, error) {
					line := fmt.Sprint("call ", c.CallIndex, ":")
					for _, m := range c.Messages {
						line += " " + string(m.Role)
					}
					mu.Lock()
					defer mu.Unlock()
					shown = append(shown, line)
					return seenBy.Update([]string{fmt.Sprint("hook", c.CallIndex)}), nil
				})
			}}},
		})
		s.submit(t, key, "hi", mailbox.ModeQueue)
		_, _ = s.cut(t, 10*time.Second, false)
		lost := s.head(t, key).Fence
		asks = true
		s.step(t, key)
		head := s.head(t, key)
		if got := s.stands(t); got != "waiting [suspended done]" {
			t.Fatalf("the round is %s", got)
		}
		s.putResult(t, 0, s.entry(t, head.Run.Base+1), func(e *thread.Entry) {
			base, command := uint64(0), seenBy.Update([]string{"late"})
			command.Batch.Base = &base
			e.Place, e.Attempt, e.Hooks = 1, lost, &command
		})
		s.mustDecide(t, 0, approve)
		shown = nil
		s.finish(t, key, nil)
		if diff := cmp.Diff([]string{"call 0: user assistant tool"}, shown); diff != "" {
			t.Errorf("shown (-want +got):\n%s", diff)
		}
	})
}

// A change for one revision that was passed says which it was, and a change that changes
// nothing leaves no record.
func TestChangesOfLaterRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{
			mode: agent.ParallelStreaming, model: replies(calls("same", "{}", "same", "{}"), calls("same", "{}", "same", "{}"), calls("one", "{}", "one", "{}"), text("ok")),
			tools: []tool.Tool{
				toolFunc{name: "same", run: func(context.Context, tool.Call) (tool.Result, error) {
					return tool.NewResult("ok").With(seenBy.Update([]string{"same"})), nil
				}},
				toolFunc{name: "one", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
					time.Sleep(time.Duration(c.Index) * time.Second)
					command := seenBy.Update([]string{fmt.Sprint("tool", c.Index)})
					command.Batch = command.Batch.On(c.Snapshot)
					return tool.NewResult("ok").With(command), nil
				}},
			},
			plugins: []plugin.Plugin{pluginFunc{"lists", func(r *plugin.Registrar) { r.Key(seenBy) }}},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		const two = "[same {}][same {}]"
		want := []string{
			"user: hi", "assistant: " + two, `tool: "ok"`, `tool: "ok"`, "state", "assistant: " + two, `tool: "ok"`, `tool: "ok"`,
			"assistant: [one {}][one {}]", `tool: "ok"`, "tool: execution failed: the batch is for revision 1, the state is at revision 2", "state", "assistant: ok",
		}
		if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

// A result of which one field cannot be read is no result, however much of it can be.
func TestAResultThatIsDamagedInPartIsPassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{model: replies(calls("nap", "{}"), text("ok")), tools: []tool.Tool{nap}})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.cut(t, time.Second, false)
		head := w.head(t, key)
		m := core.Message{ID: head.Run.ID.String() + ".1.0", Role: core.RoleTool, ToolResult: &core.ToolResult{Message: "left behind", Status: core.ResultOK}}
		payload, err := thread.Records{}.EncodeEntry(&thread.Entry{Run: head.Run.ID, Step: 1, Message: &m})
		if err != nil {
			t.Fatal(err)
		}
		payload = append(payload[:len(payload)-1], `,"place":"first"}`...)
		if err := w.store.Put(t.Context(), key, store.Record{Name: store.LogName(head.Run.Base), Fence: head.Fence, Payload: payload}); err != nil {
			t.Fatal(err)
		}
		w.finish(t, key, nil)
		if diff := cmp.Diff([]string{`ok: "rested"`}, w.results(t)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	})
}

// A result that changes the state, of a round whose calls run one after the other, is stored
// again as it was found: it stands in no line.
func TestAFoundResultOfASequentialRoundIsGivenNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaced(t, []int{1, 9}, []string{"a", "b"})
		p.options.mode = agent.Sequential
		p.stepper = p.other(t, p.options)
		time.AfterFunc(3*time.Second, func() { p.store.dead.Store(true) })
		_, _ = p.cut(t, 5*time.Second, false)
		p.store.dead.Store(false)
		p.reclaim(t)
		before := string(p.record(t, store.LogName(3)).Payload)
		p.finish(t, key, nil)
		time.Sleep(20 * time.Second) // until the tools of the first claim have ended
		if after := string(p.record(t, store.LogName(3)).Payload); after != before || p.left != "ab" || p.entry(t, 3).Place != 0 {
			t.Errorf("the key is %q, and the result is\n%s\nwant ab, and\n%s", p.left, after, before)
		}
	})
}
