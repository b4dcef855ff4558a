package run_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

// numbered is the form of an answer that has a number.
var numbered = &model.ResponseFormat{Name: "numbered", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)}

// An answer that is not of its form goes back to the model as a message of the log, with the
// step and the clock of its turn, and the run's totals count it.
func TestAnAnswerThatIsNotOfItsFormGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &chosen{}
		said := replies(text("seven"), text(`{"n":7}`))
		w := newWorld(t, options{choices: c, agents: spec(t, said, agent.Spec{ResponseFormat: numbered})})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if got := w.end(t, key, receipt); got != `done 2 {"type":"natural_end"} "{\"n\":7}"` {
			t.Errorf("the run is %s", got)
		}
		e, err := thread.Records{}.DecodeEntry(w.record(t, store.LogName(3)).Payload)
		if err != nil {
			t.Fatal(err)
		}
		text := e.Message.Text()
		if !strings.HasPrefix(text, "[The answer cannot be used: ") || !strings.HasSuffix(text, ". Answer again, with nothing but JSON that matches its schema.]") {
			t.Errorf("the model is told %q", text)
		}
		if why := run.Complaint(e.Message); why == "" || strings.Contains(why, "Answer again") {
			t.Errorf("the complaint of it is %q", why)
		}
		e.Message.Content = nil
		want := thread.Entry{
			Run: receipt.RunID, Step: 1, At: 86_400_000, Totals: &thread.Totals{Steps: 1, Repairs: 1},
			Message: &core.Message{
				ID: receipt.RunID.String() + ".1.repair", Role: core.RoleUser, RunID: receipt.RunID, Step: 1, CreatedAt: 3*86_400_000 + 60_000, Repair: true,
			},
		}
		if diff := cmp.Diff(want, e); diff != "" {
			t.Errorf("entry (-want +got):\n%s", diff)
		}
	})
}

// An agent that keeps nothing at its provider says so with each request.
func TestARequestMarksNothingForACacheThatIsOff(t *testing.T) {
	for _, cached := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var asked []bool
			m := modelFunc(func(ctx context.Context, r model.Request) iterator {
				asked = append(asked, r.NoPromptCache)
				return replies(text("ok"))(ctx, model.Request{})
			})
			w := newWorld(t, options{model: m, context: &agent.ContextWindowPolicy{EnablePromptCache: &cached}})
			w.submit(t, key, "hi", mailbox.ModeQueue)
			w.finish(t, key, nil)
			if diff := cmp.Diff([]bool{!cached}, asked); diff != "" {
				t.Errorf("cached %t: nothing is kept (-want +got):\n%s", cached, diff)
			}
		})
	}
}

// What plugins of another build have asked of requests may be nothing that this one can read:
// then no model is asked.
func TestARunEndsWhoseAdjustmentsCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asks := before(func(int) state.Command {
			return plugin.AddContextMessage.Schedule(plugin.ContextMessage{Key: "k", Text: "pinned", Persistent: true})
		})
		asked := 0
		o := options{plugins: []plugin.Plugin{asks}, model: modelFunc(func(ctx context.Context, r model.Request) iterator {
			asked++
			return replies(calls("echo", `{"text":"a"}`), text("ok"))(ctx, r)
		})}
		w := newWorld(t, o)
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.step(t, key)
		turn := w.record(t, store.LogName(2))
		turn.Fence, turn.Payload = turn.Fence+1, changed(t, turn.Payload, func(e *thread.Entry) {
			for i, o := range e.Patch {
				if string(o.Value) == `{"k":{"key":"k","persistent":true,"text":"pinned"}}` {
					e.Patch[i].Value = json.RawMessage("7")
				}
			}
		})
		if err := w.store.Put(t.Context(), key, turn); err != nil {
			t.Fatal(err)
		}
		w.stepper = w.other(t, options{model: o.model})
		w.finish(t, key, nil)
		want := `done 1 {"type":"error","code":"plugin","detail":"what plugins ask of the request: a plugin failed"} ""`
		if got := w.end(t, key, receipt); got != want || asked != 1 {
			t.Errorf("the run is %s\nwant %s\nbehind %d calls of the model, want one", got, want, asked)
		}
	})
}

// A message that gives an answer back says what is wrong with it, and no other message does.
func TestComplaint(t *testing.T) {
	told := func(text string, repair bool) *core.Message {
		m := core.UserMessage(text)
		m.Repair = repair
		return &m
	}
	tests := []struct {
		name string
		m    *core.Message
		want string
	}{
		{"a complaint", told("[The answer cannot be used: n is missing. Answer again, by calling final_answer.]", true), "n is missing"},
		{"one that quotes the like", told("[The answer cannot be used: it says \". Answer again, or not\". Answer again, in JSON.]", true), `it says ". Answer again, or not"`},
		{"a person's message", told("[The answer cannot be used: n is missing. Answer again, by calling final_answer.]", false), ""},
		{"another note of the runtime's", told("[Go on. Answer again, in JSON.]", true), ""},
		{"one of another build", told("[The answer cannot be used: n is missing.]", true), ""},
		{"a longer one of another build", told("[The answer cannot be used: n is missing. It must be there.]", true), ""},
	}
	for _, tt := range tests {
		if got := run.Complaint(tt.m); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
