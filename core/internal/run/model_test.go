package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// failing is a model that fails so often, then says ok.
func failing(n int, failure error, calls *int) modelFunc {
	return func(ctx context.Context, r model.Request) iterator {
		if *calls++; *calls <= n {
			return func(yield func(model.Delta, error) bool) { yield(model.Delta{}, failure) }
		}
		return replies(text("ok"))(ctx, model.Request{})
	}
}

// impatient is an agent that does not wait for its provider, with or without a stream: its run
// fails after the usual number of calls.
func impatient() agent.Spec { return agent.Spec{Retry: agent.Retry{PatienceMS: new(0)}} }

// A step calls its model three times over all its deliveries together; what can
// never succeed is called once.
func TestModelCallsOfAStepAreCountedOverItsDeliveries(t *testing.T) {
	overloaded := &model.Error{Kind: model.KindOverloaded, Message: "overloaded"}
	tests := []struct {
		name    string
		failure error
		times   int
		calls   int
		claims  int
		end     string
	}{
		{"it passes", overloaded, 2, 3, 3, `done 1 {"type":"natural_end"} "ok"`},
		{"it stays", overloaded, 10, 3, 3, `done 0 {"type":"error","code":"model","detail":"the model failed"} ""`},
		{"the stream breaks off", &model.Error{Kind: model.KindInterrupted, Message: "cut"}, 10, 3, 3,
			`done 0 {"type":"error","code":"model","detail":"the model failed"} ""`},
		{"it is permanent", &model.Error{Kind: model.KindUnauthorized, Message: "no key"}, 10, 1, 1,
			`done 0 {"type":"error","code":"model","detail":"the model failed"} ""`},
		{"the provider asks for more than 5 minutes", &model.Error{Kind: model.KindRateLimited, Message: "later", RetryAfter: 5*time.Minute + 1}, 10, 1, 1,
			`done 0 {"type":"error","code":"rate_limited","detail":"the provider asks for a pause of 5m0.000000001s, at most 5m0s are waited"} ""`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				called := 0
				w := newWorld(t, options{agents: spec(t, failing(tt.times, tt.failure, &called), impatient())})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if got := w.end(t, key, receipt); called != tt.calls || got != tt.end {
					t.Errorf("after %d calls the run is %s, want %d and %s", called, got, tt.calls, tt.end)
				}
				if h := w.head(t, key); h.Fence != uint64(tt.claims) {
					t.Errorf("%d claims, want %d", h.Fence, tt.claims)
				}
			})
		})
	}
}

// The pause that a provider asks for is waited for in the mailbox, and the
// claim is not counted as an attempt.
func TestRetryAfterIsWaitedInTheMailbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		called := 0
		w := newWorld(t, options{model: failing(1, &model.Error{Kind: model.KindRateLimited, Message: "later", RetryAfter: 5 * time.Minute}, &called)})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		head := w.take(t, key)
		w.queue.Clear()
		began := time.Now()
		stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
		if err != nil || !stepped.Retry || time.Since(began) != 0 {
			t.Fatalf("the step is %+v, %v after %s; want it given back at once", stepped, err, time.Since(began))
		}
		if h := w.head(t, key); h.Run.Attempts != 0 || h.Run.ModelFailed != 1 || h.Run.AvailableAt != began.Add(5*time.Minute).UnixMilli() {
			t.Errorf("the run is %+v; want one failed model call, no attempt, available in 5m", h.Run)
		}
		if diff := cmp.Diff([]string{"t1 5m0s"}, w.queue.Lines()); diff != "" {
			t.Errorf("hints (-want +got):\n%s", diff)
		}
		w.finish(t, key, nil)
		if took := time.Since(began); called != 2 || took != 5*time.Minute {
			t.Errorf("%d calls in %s, want 2 in 5m", called, took)
		}
	})
}

// A claim that was lost while its model ran may have cost a call, but never the
// last one.
func TestLostClaimsCountAsModelCallsButForTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		called := 0
		w := newWorld(t, options{agents: spec(t, failing(10, &model.Error{Kind: model.KindOverloaded, Message: "overloaded"}, &called), impatient())})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		for range 4 {
			w.take(t, key)
			w.reclaim(t)
		}
		w.finish(t, key, nil)
		if got := w.end(t, key, receipt); called != 1 || got != `done 0 {"type":"error","code":"model","detail":"the model failed"} ""` {
			t.Errorf("after %d calls the run is %s, want 1", called, got)
		}
	})
}

// What a run costs is the sum of its steps, also where each was another
// process's; results that are errors are counted, calls have fingerprints.
func TestTotalsOfARunAreSummedOverItsSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		usage := func(in, out int, deltas []model.Delta) []model.Delta {
			return append([]model.Delta{{Type: model.DeltaUsage, Usage: core.Usage{Input: in, Output: out}}}, deltas...)
		}
		o := options{
			model: replies(usage(10, 1, calls("fails", "{}", "echo", `{"text":"a"}`)), usage(20, 2, calls("fails", "{}")), usage(40, 4, text("ok")),
				usage(80, 8, text("ok"))),
			tools: []tool.Tool{fails},
		}
		w := newWorld(t, o)
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		for w.head(t, key).DueAt != 0 {
			w.stepper = w.other(t, o)
			w.step(t, key)
		}
		r := w.runRecord(t, receipt.RunID)
		if r.Steps != 3 || r.Usage.Input != 70 || r.Usage.Output != 7 {
			t.Errorf("%d steps used %+v, want 3, 70 and 7", r.Steps, r.Usage)
		}
		entry, err := thread.Records{}.DecodeEntry(w.record(t, store.LogName(7)).Payload)
		if err != nil || entry.Totals == nil || entry.Totals.Failures != 2 || len(entry.Totals.Calls) != 12 {
			t.Errorf("the last turn's totals are %+v, %v; want 2 failures and 3 fingerprints of 4 bytes", entry.Totals, err)
		}
		second := w.submit(t, key, "again", mailbox.ModeQueue)
		w.step(t, key)
		if r := w.runRecord(t, second.RunID); r.Steps != 1 || r.Usage.Input != 80 || r.Usage.Output != 8 {
			t.Errorf("the next run's %d steps used %+v, want its own 1, 80 and 8", r.Steps, r.Usage)
		}
	})
}

// What an agent's spec says of its model goes with every inference.
func TestModelIsAskedAsTheAgentSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked model.Request
		warm := 0.5
		agents, err := registry.New(agent.Parts{
			Models: map[string]agent.ModelBinding{"m": {Name: "small", Model: modelFunc(func(ctx context.Context, r model.Request) iterator {
				asked = r
				return replies(text("ok"))(ctx, r)
			})}},
			Tools: []tool.Tool{echoTool(t), fails},
			Specs: []agent.Spec{{ID: "demo", Model: "m", SystemPrompt: "be brief", MaxTokens: 7, Temperature: &warm, ExcludedTools: []string{"echo"}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, options{agents: agents})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		said := core.UserMessage("hi").WithID(receipt.DispatchID.String() + ".0")
		said.RunID, said.CreatedAt = receipt.RunID, time.Now().UnixMilli()
		want := model.Request{
			Step: 1, Model: "small", Origin: "small", System: "be brief", Messages: []core.Message{said}, MaxTokens: 7, Temperature: &warm,
			Tools: []model.ToolDefinition{{Name: "fails", Parameters: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)}},
		}
		if diff := cmp.Diff(want, asked); diff != "" {
			t.Errorf("request (-want +got):\n%s", diff)
		}
	})
}

// A long run does not forget its task: its first message stays before the
// window, in a warm process and in a cold one, and goes with the run.
func TestModelIsShownWhatTheRunWasAsked(t *testing.T) {
	for _, cold := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var shown []string
			n := 0
			o := options{window: 100, model: modelFunc(func(ctx context.Context, r model.Request) iterator {
				var texts []string
				for _, m := range r.Messages {
					said := m.Text()
					texts = append(texts, string(m.Role)+" "+said[max(0, len(said)-4):])
				}
				shown = append(shown, strings.Join(texts, ", "))
				if n++; n%4 == 0 {
					return replies(text("ok"))(ctx, model.Request{})
				}
				return replies(calls("echo", fmt.Sprintf(`{"text":"%0100d"}`, n)))(ctx, model.Request{})
			})}
			w := newWorld(t, o)
			for _, task := range []string{"one", "two"} {
				w.submit(t, key, task, mailbox.ModeQueue)
				for w.head(t, key).DueAt != 0 {
					if cold {
						w.stepper = w.other(t, o)
					}
					w.step(t, key)
				}
			}
			want := []string{
				"user one",
				`user one, assistant , tool 01"}`,
				`user one, assistant , tool 02"}`,
				`user one, assistant , tool 03"}`,
				`user one, assistant , tool 03"}, assistant ok, user two`,
				`user two, assistant , tool 05"}`,
				`user two, assistant , tool 06"}`,
				`user two, assistant , tool 07"}`,
			}
			if diff := cmp.Diff(want, shown); diff != "" {
				t.Errorf("cold %v: shown (-want +got):\n%s", cold, diff)
			}
		})
	}
}
