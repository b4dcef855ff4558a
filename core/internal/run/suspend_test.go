package run_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

// once is a gate that lets call 0 wait in a resume mode.
func once(mode core.ResumeMode) plugin.Plugin {
	return gates(func(plugin.GateCall) (plugin.Verdict, error) {
		v := suspends("ask")
		v.Suspend.Mode = mode
		return v, nil
	})
}

func TestResumeModes(t *testing.T) {
	payload := func(s string) core.Decision {
		return core.Decision{Action: core.DecisionResume, Payload: json.RawMessage(s)}
	}
	tests := []struct {
		name     string
		mode     core.ResumeMode
		decision core.Decision
		did      []string
		result   string
	}{
		{"replay", "", approve, []string{`echo {"text":"a"}`}, `ok: {"text":"a"} after about-ask`},
		{"replay, with something to say", core.ResumeReplay, payload(`{"approved":true}`), []string{`echo {"text":"a"}`}, `ok: {"text":"a"} after about-ask`},
		{"replay, refused", core.ResumeReplay, deny, nil, "denied: denied: not today after about-ask"},
		{"replay, cancelled", core.ResumeReplay, cancels, nil, "denied: denied: too late after about-ask"},
		{"as the result", core.ResumeAsResult, payload(`{"text":"b"}`), nil, `set: {"text":"b"} after about-ask`},
		{"as the result, of nothing", core.ResumeAsResult, approve, nil, `set: null after about-ask`},
		{"as the result, refused", core.ResumeAsResult, deny, nil, "denied: denied: not today after about-ask"},
		{"as the result, cancelled", core.ResumeAsResult, cancels, nil, "cancelled: cancelled: too late after about-ask"},
		{
			"as the result, too large", core.ResumeAsResult, payload(`"` + strings.Repeat("x", toolcall.MaxResult-1) + `"`), nil,
			"error: the decision cannot be the result: result is larger than 1048576 bytes after about-ask",
		},
		{"as the arguments", core.ResumeAsArguments, payload(`{"text":"b"}`), []string{`echo {"text":"b"}`}, `ok: {"text":"b"} after about-ask`},
		{
			"as arguments that are not valid", core.ResumeAsArguments, payload(`{"txet":"b"}`), nil,
			`invalid: invalid arguments: property "text" is missing after about-ask`,
		},
		{"as the arguments, cancelled", core.ResumeAsArguments, cancels, nil, "cancelled: cancelled: too late after about-ask"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var did []string
				w := newWorld(t, options{plugins: []plugin.Plugin{once(tt.mode), pluginFunc{"did", func(r *plugin.Registrar) {
					r.OnBeforeTool(notes(&did))
				}}}})
				w.submit(t, key, "echo: a", mailbox.ModeQueue)
				w.finish(t, key, nil)
				w.mustDecide(t, 0, tt.decision)
				w.finish(t, key, nil)
				if diff := cmp.Diff([]string{tt.result}, w.results(t)); diff != "" {
					t.Errorf("result (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.did, did); diff != "" {
					t.Errorf("executions (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A waiting run holds no claim, has its tickets, and its record says that it waits.
func TestRunThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{plugins: []plugin.Plugin{gates(func(plugin.GateCall) (plugin.Verdict, error) {
			return plugin.Suspend(core.TicketRequest{
				Action: "tool:Permission", Message: "May it?", Parameters: json.RawMessage(`{"a":1}`), Response: json.RawMessage(`true`),
				Kind: core.TicketClient, Timeout: time.Hour,
			}), nil
		})}})
		receipt := w.submit(t, key, "echo: a", mailbox.ModeQueue)
		var seen core.Event
		stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key), Keep: true}, func(e core.Event) error {
			if e.Type == core.EventToolCallSuspended {
				seen = e
				if h := w.head(t, key); len(h.Tickets) != 1 {
					t.Errorf("a ticket is announced that the head does not have")
				}
			}
			return nil
		})
		if err != nil || stepped.Outcome != thread.Wait || stepped.Retry {
			t.Fatalf("the step is %+v, %v; want it to wait", stepped, err)
		}
		now := time.Now().UnixMilli()
		head := w.head(t, key)
		if head.Claim != (thread.Claim{}) || head.Run.Status != thread.Waiting || head.DueAt != now+3600_000 {
			t.Errorf("the head is %+v, want it to wait without a claim for an hour", head)
		}
		id := receipt.RunID.String() + ".1.0.gates"
		want := core.Ticket{
			Suspension: core.Suspension{ID: id, Action: "tool:Permission", Message: "May it?", Parameters: json.RawMessage(`{"a":1}`), ResponseSchema: json.RawMessage(`true`)},
			CallID:     "call-1", Tool: "echo", Arguments: json.RawMessage(`{"text":"a"}`),
			Mode: core.ResumeReplay, Kind: core.TicketClient, CreatedAt: 946684800000, Deadline: now + 3600_000,
		}
		want.CallID = seen.CallID
		if seen.Ticket == nil || seen.Position != "" {
			t.Fatalf("the event is %+v, want a ticket without a position", seen)
		}
		if diff := cmp.Diff(want, *seen.Ticket); diff != "" {
			t.Errorf("announced ticket (-want +got):\n%s", diff)
		}
		wantHead := thread.Tickets{{Call: 0, Kind: thread.TicketClient, ID: thread.TicketKey(receipt.RunID, id), Deadline: now + 3600_000}}
		if diff := cmp.Diff(wantHead, head.Tickets); diff != "" {
			t.Errorf("tickets of the head (-want +got):\n%s", diff)
		}
		if r := w.runRecord(t, receipt.RunID); r.Status != core.RunWaiting || r.Steps != 1 {
			t.Errorf("the run's record is %+v, want one that waits after a step", r.Run)
		}
		time.Sleep(time.Hour) // nobody decides
		w.finish(t, key, nil)
		if got := w.end(t, key, receipt); got != `done 1 {"type":"error","code":"expired","detail":"a decision did not come in time"} ""` {
			t.Errorf("the run is %s", got)
		}
		if diff := cmp.Diff([]string{"not_executed: no result: the run was ended first (expired)"}, w.results(t)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	})
}

// What a person says on a waiting run is read by the same run, and nobody is asked
// any more.
func TestInputSupersedesTickets(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, options{
					model: replies(calls("ask", "{}", "echo", `{"text":"a"}`), text("ok")), mode: mode,
					tools: []tool.Tool{toolFunc{name: "ask"}}, plugins: []plugin.Plugin{asking("ask")},
				})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				w.submit(t, key, "never mind", mailbox.ModeSteer)
				w.finish(t, key, nil)
				want := []string{
					"user: hi", `assistant: [ask {}][echo {"text":"a"}]`, "tool: cancelled: the user went on without deciding", `tool: {"text":"a"}`,
					"user: never mind", "assistant: ok",
				}
				if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]string{"cancelled: cancelled: the user went on without deciding", `ok: {"text":"a"}`}, w.results(t)); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
				if got := w.end(t, key, receipt); got != `done 2 {"type":"natural_end"} "ok"` {
					t.Errorf("the run is %s", got)
				}
			})
		})
	}
}

// Nine calls want to wait, and there are eight places: the ninth is asked again
// when one is free, and never announced before.
func TestNinthSuspensionWaitsForAPlace(t *testing.T) {
	for _, mode := range modes[1:] {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var turn []string
				for i := range 9 {
					turn = append(turn, "act", fmt.Sprintf(`{"n":%d}`, i))
				}
				var did []string
				w := newWorld(t, options{
					model: replies(calls(turn...), text("ok")), mode: mode,
					tools: []tool.Tool{noted("act", &did, nil)}, plugins: []plugin.Plugin{asking("act")},
				})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				var got events
				w.finish(t, key, got.sink)
				suspended := func(line string) bool { return strings.HasPrefix(line, "tool_call_suspended") }
				if n := len(slices.DeleteFunc(got.lines, func(l string) bool { return !suspended(l) })); n != 8 {
					t.Errorf("%d tickets were announced, want 8", n)
				}
				if names := w.stored(t, "C#", receipt.RunID); len(names) != 10 { // with the open round's record; the ninth ticket is not believed
					t.Errorf("stored are %q", names)
				}
				if got := w.stands(t); got != "waiting [suspended suspended suspended suspended suspended suspended suspended suspended new]" {
					t.Errorf("the run is %s", got)
				}
				for i := range 8 {
					w.mustDecide(t, i, approve)
					w.finish(t, key, nil)
				}
				if got := w.stands(t); got != "waiting [done done done done done done done done suspended]" {
					t.Errorf("the run is %s", got)
				}
				w.mustDecide(t, 8, approve)
				w.finish(t, key, nil)
				slices.Sort(did)
				want := []string{}
				for i := range 9 {
					want = append(want, fmt.Sprintf(`act {"n":%d} after about-gate%d`, i, i))
				}
				if diff := cmp.Diff(want, did); diff != "" {
					t.Errorf("executions (-want +got):\n%s", diff)
				}
				if got := w.end(t, key, receipt); got != `done 2 {"type":"natural_end"} "ok"` {
					t.Errorf("the run is %s", got)
				}
			})
		})
	}
}

// The program that goes on with the run may not have the tool any more.
func TestToolThatIsGoneWhenItsCallGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options{model: replies(calls("ask", "{}"), text("ok")), tools: []tool.Tool{toolFunc{name: "ask"}}, plugins: []plugin.Plugin{asking("ask")}}
		w := newWorld(t, o)
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		w.mustDecide(t, 0, approve)
		o.tools = nil
		w.stepper = w.other(t, o)
		w.finish(t, key, nil)
		if diff := cmp.Diff([]string{`invalid: tool "ask" not found after about-gate0`}, w.results(t)); diff != "" {
			t.Errorf("result (-want +got):\n%s", diff)
		}
	})
}

// Whoever cancels or interrupts a run that waits ends it: no ticket is left, and each of
// its calls has a result, without having run.
func TestCancellingAWaitingRunEndsIt(t *testing.T) {
	for _, tt := range []struct {
		name, reason string
		act          func(w *world, receipt mailbox.Receipt) error
	}{
		{"cancelled", "cancelled", func(w *world, r mailbox.Receipt) error {
			_, err := w.box.Cancel(t.Context(), key, r.RunID)
			return err
		}},
		{"interrupted", "superseded", func(w *world, _ mailbox.Receipt) error {
			_, err := w.box.Interrupt(t.Context(), key, "", "")
			return err
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, options{
					model: replies(calls("ask", "{}", "nap", "{}"), text("ok")), mode: agent.ParallelStreaming,
					tools: []tool.Tool{toolFunc{name: "ask"}, nap}, plugins: []plugin.Plugin{asking("ask")},
				})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if head := w.head(t, key); len(head.Tickets) != 1 {
					t.Fatalf("the run waits with %d tickets", len(head.Tickets))
				}
				if err := tt.act(w, receipt); err != nil {
					t.Fatal(err)
				}
				if head := w.head(t, key); len(head.Tickets) != 0 {
					t.Errorf("tickets %v are left", head.Tickets)
				}
				w.finish(t, key, nil)
				want := []string{"not_executed: no result: the run was ended first (" + tt.reason + ")", `ok: "rested"`}
				if diff := cmp.Diff(want, w.results(t)); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
				head := w.head(t, key)
				record, ok, err := w.box.Run(t.Context(), key, head, receipt.RunID, receipt.DispatchID)
				if err != nil || !ok || record.Status != core.RunDone || string(record.Termination.Type) != tt.reason || head.Open() {
					t.Errorf("the run is %+v, %v, %v", record, ok, err)
				}
			})
		})
	}
}
