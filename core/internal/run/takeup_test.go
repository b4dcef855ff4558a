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
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
)

// A run that ended with an error goes on where its last commit left it, as a run of its
// own: the model is shown what was said and done, once, and the state of then.
func TestARunThatFailedIsTakenUpAtItsLastCommit(t *testing.T) {
	failure := []model.Delta{{Text: "broken pipe"}}
	tests := []struct {
		name    string
		answers [][]model.Delta
		lost    int // claims of the first run that bring nothing
		log     []string
		shown   string // to the run that goes on
		saw     string
		end     string
	}{
		{
			name: "before its first commit", answers: [][]model.Delta{failure, text("ok")},
			log: []string{"user: hi", "assistant: ok", "state"}, shown: "[hi]", saw: "step 1, revision 1: in_thread 1",
			end: `done 1 {"type":"natural_end"} "ok"`,
		},
		{
			name: "behind a round", answers: [][]model.Delta{calls("echo", `{"text":"a"}`), failure, calls("echo", `{"text":"b"}`), text("ok")},
			log: []string{
				"user: hi", `assistant: [echo {"text":"a"}]`, `tool: {"text":"a"}`, "state",
				`assistant: [echo {"text":"b"}]`, `tool: {"text":"b"}`, "state", "assistant: ok", "state",
			},
			shown: `[hi  {"text":"a"}]`, saw: "step 1, revision 4: in_thread 4", end: `done 2 {"type":"natural_end"} "ok"`,
		},
		{
			name: "dead-lettered", answers: [][]model.Delta{text("ok")}, lost: 5,
			log: []string{"user: hi", "assistant: ok", "state"}, shown: "[hi]", saw: "step 1, revision 1: in_thread 1",
			end: `done 1 {"type":"natural_end"} "ok"`,
		},
	}
	for _, tt := range tests {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, ", restart ", restart), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var saw, shown []string
					says := inOrder(tt.answers...)
					o := options{
						plugins: []plugin.Plugin{counters(&saw, inThread)},
						model: modelFunc(func(ctx context.Context, r model.Request) iterator {
							var texts []string
							for _, m := range r.Messages {
								texts = append(texts, m.Text())
							}
							shown = append(shown, fmt.Sprint(texts))
							return says(ctx, r)
						}),
					}
					w := newWorld(t, o)
					failed, err := w.box.Submit(t.Context(), mailbox.Submission{
						Thread: key, Opening: mailbox.Opening{AgentID: "demo", Request: json.RawMessage(`{"plan":"gold"}`)}, Messages: []core.Message{core.UserMessage("hi")},
					})
					if err != nil {
						t.Fatal(err)
					}
					for range tt.lost {
						w.take(t, key)
						w.reclaim(t)
					}
					w.finish(t, key, nil)
					if got := w.end(t, key, failed); !strings.HasPrefix(got, "done") || !strings.Contains(got, `"type":"error"`) {
						t.Fatalf("the first run is %s, want an error", got)
					}
					before, sawBefore := len(shown), len(saw)
					if restart {
						w.stepper = w.other(t, o)
					}
					receipt, err := w.box.TakeUp(t.Context(), key, "", failed.RunID)
					if err != nil {
						t.Fatal(err)
					}
					again, err := w.box.TakeUp(t.Context(), key, "", failed.RunID)
					if err != nil || again.RunID != receipt.RunID || !again.Duplicate || receipt.Duplicate {
						t.Errorf("taken up again: %+v, %v; want the run of %+v", again, err, receipt)
					}
					queued, err := thread.Records{}.DecodeQueued(w.record(t, recordname.Input(receipt.DispatchID, 0)).Payload)
					if err != nil {
						t.Fatal(err)
					}
					first, _, err := w.box.Run(t.Context(), key, w.head(t, key), failed.RunID, failed.DispatchID)
					if err != nil || queued.Resolution != first.Resolution || first.Resolution == "" ||
						queued.TakesUp != failed.RunID || string(queued.Request) != `{"plan":"gold"}` || queued.AgentID != "demo" {
						t.Errorf("it is queued as %+v, %v; the run that failed was pinned to %q", queued, err, first.Resolution)
					}
					w.finish(t, key, nil)
					if diff := cmp.Diff(tt.log, w.log(t, key)); diff != "" {
						t.Errorf("log (-want +got):\n%s", diff)
					}
					if got := shown[before]; got != tt.shown {
						t.Errorf("the model was shown %s, want %s", got, tt.shown)
					}
					if got := saw[sawBefore]; got != tt.saw {
						t.Errorf("hooks saw %s, want %s", got, tt.saw)
					}
					if got := w.end(t, key, receipt); got != tt.end {
						t.Errorf("the run that goes on is %s, want %s", got, tt.end)
					}
				})
			})
		}
	}
}

func TestOnlyTheLastRunAndAnErrorCanBeTakenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failure := []model.Delta{{Text: "broken pipe"}}
		w := newWorld(t, options{model: inOrder(text("ok"), failure, failure, text("on"), text("then"))})
		refused := func(run core.ID, code core.Code, want string) {
			t.Helper()
			if _, err := w.box.TakeUp(t.Context(), key, "", run); core.CodeOf(err) != code || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("taken up: %v, want %s %s", err, code, want)
			}
		}
		say := func(text string) core.ID {
			t.Helper()
			receipt := w.submit(t, key, text, mailbox.ModeQueue)
			w.finish(t, key, nil)
			return receipt.RunID
		}
		refused(core.ID{9}, core.CodeNotFound, "not found")
		refused(say("one"), core.CodeConflict, `it ended with "natural_end": allowed is one that ended with "error"`)
		earlier, failed := say("two"), say("three")
		refused(earlier, core.CodeConflict, "only the newest run can be taken up")
		queued := w.submit(t, key, "four", mailbox.ModeQueue)
		refused(queued.RunID, core.CodeBusy, "")
		refused(failed, core.CodeBusy, "")
		if _, err := w.box.Cancel(t.Context(), key, queued.RunID); err != nil {
			t.Fatal(err)
		}
		// One that was cancelled before it began can be taken up again.
		first, err := w.box.TakeUp(t.Context(), key, "", failed)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.box.Cancel(t.Context(), key, first.RunID); err != nil {
			t.Fatal(err)
		}
		second, err := w.box.TakeUp(t.Context(), key, "", failed)
		if err != nil || second.Duplicate || second.RunID == first.RunID {
			t.Fatalf("taken up again: %+v, %v", second, err)
		}
		w.finish(t, key, nil)
		if diff := cmp.Diff([]string{"user: one", "assistant: ok", "user: two", "user: three", "assistant: on"}, w.log(t, key)); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		// Its answer is taken back to the input that it goes on with.
		if _, err := w.box.Submit(t.Context(), mailbox.Submission{Thread: key, Opening: mailbox.Opening{Retake: &mailbox.Retake{Message: second.RunID.String() + ".1"}}}); err != nil {
			t.Fatal(err)
		}
		w.finish(t, key, nil)
		want := []string{"user: one", "assistant: ok", "user: two", "user: three", "assistant: on", "state", "user: three", "assistant: then"}
		if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
			t.Errorf("log after that (-want +got):\n%s", diff)
		}
	})
}

// A run that goes on with another and fails as well, before it has said anything, is taken
// up in its turn: the log still ends with the first.
func TestARunThatFailsAgainBeforeItSaysAnythingIsTakenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failure := []model.Delta{{Text: "broken pipe"}}
		w := newWorld(t, options{model: inOrder(failure, failure, failure, text("ok"), failure)})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		runs := []core.ID{receipt.RunID}
		for range 3 {
			var err error
			if receipt, err = w.box.TakeUp(t.Context(), key, "", receipt.RunID); err != nil {
				t.Fatalf("taken up for the %d. time: %v", len(runs), err)
			}
			runs = append(runs, receipt.RunID)
			w.finish(t, key, nil)
		}
		if diff := cmp.Diff([]string{"user: hi", "assistant: ok"}, w.log(t, key)); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		for i, run := range runs[:3] {
			if again, err := w.box.TakeUp(t.Context(), key, "", run); err != nil || again.RunID != runs[i+1] || !again.Duplicate {
				t.Errorf("run %d is taken up again: %+v, %v, want run %d", i, again, err, i+1)
			}
		}
		// Once somebody else has come, none of them is.
		other := w.submit(t, key, "on", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if got := w.end(t, key, other); !strings.Contains(got, `"type":"error"`) {
			t.Fatalf("the run of somebody else is %s, want an error", got)
		}
		if _, err := w.box.TakeUp(t.Context(), key, "", runs[3]); core.CodeOf(err) != core.CodeConflict {
			t.Errorf("taken up behind somebody else: %v, want a conflict", err)
		}
	})
}

// Nobody comes between a run and the one that goes on with it, whatever the priority of
// what comes meanwhile, or was delayed until then.
func TestNothingOpensBeforeARunThatTakesAnotherUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{model: inOrder([]model.Delta{{Text: "broken pipe"}}, text("on"), text("later"), text("urgent"))})
		submit := func(text string, priority uint8, delay time.Duration) {
			t.Helper()
			_, err := w.box.Submit(t.Context(), mailbox.Submission{
				Thread: key, Opening: mailbox.Opening{AgentID: "demo", Priority: &priority, Delay: delay}, Messages: []core.Message{core.UserMessage(text)},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		failed := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		submit("later", 1, time.Minute)
		if _, err := w.box.TakeUp(t.Context(), key, "", failed.RunID); err != nil {
			t.Fatal(err)
		}
		submit("urgent", 1, 0)
		time.Sleep(2 * time.Minute)
		w.finish(t, key, nil)
		want := []string{"user: hi", "assistant: on", "user: later", "assistant: later", "user: urgent", "assistant: urgent"}
		if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

// inOrder is a model whose nth inference says the nth list of deltas, as replies has
// them.
func inOrder(turns ...[]model.Delta) modelFunc {
	return func(ctx context.Context, _ model.Request) iterator {
		next := turns[0]
		turns = turns[1:]
		return replies(next)(ctx, model.Request{})
	}
}

// What a run was asked stays before the conversation when the oldest messages are left
// out, also in a run that takes it up, and in one that takes that up: in processes that
// remember the thread, and in those that read it for each step.
func TestARunThatTakesAnotherUpKeepsWhatThatWasAsked(t *testing.T) {
	play := func(t *testing.T, cold bool) (outcome, begins []string) {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			o := options{
				env: seeded(), context: &agent.ContextWindowPolicy{MaxContextTokens: 6000, MaxOutputTokens: 500, MinRecentMessages: new(2)},
				model: modelFunc(func(ctx context.Context, r model.Request) iterator {
					request, _ := json.Marshal(r)
					outcome, begins = append(outcome, string(request)), append(begins, fmt.Sprint(r.Messages[0].Text(), len(r.Messages)))
					switch n++; n {
					case 3, 12:
						return replies([]model.Delta{{Text: "broken pipe"}})(ctx, model.Request{})
					case 90:
						return replies(text("done"))(ctx, model.Request{})
					}
					return replies(calls("echo", fmt.Sprintf(`{"text":"%d%s"}`, n, strings.Repeat("b", 2000))))(ctx, model.Request{})
				}),
			}
			w := newWorld(t, o)
			finish := func() {
				for w.head(t, key).DueAt != 0 {
					if cold {
						w.stepper = w.other(t, o)
					}
					w.step(t, key)
				}
			}
			receipt := w.submit(t, key, "the task ", mailbox.ModeQueue)
			finish()
			for range 2 {
				var err error
				if receipt, err = w.box.TakeUp(t.Context(), key, "", receipt.RunID); err != nil {
					t.Fatal(err)
				}
				finish()
			}
			if got, want := w.end(t, key, receipt), `done 78 {"type":"natural_end"} "done"`; got != want {
				t.Errorf("the run is %s, want %s", got, want)
			}
			for seq := uint64(1); seq <= w.head(t, key).Seq; seq++ {
				outcome = append(outcome, string(w.record(t, store.LogName(seq)).Payload))
			}
		})
		return outcome, begins
	}
	warm, begins := play(t, false)
	want := []string{
		"the task 1", "the task 3", "the task 5", // which fails
		"the task 5", "the task 7", "the task 9", "the task 11", "the task 7", "the task 9", "the task 11", "the task 7", "the task 9", // which fails
		"the task 9", "the task 11", "the task 7", "the task 9", "the task 11", "the task 7", "the task 9", "the task 11",
	}
	if diff := cmp.Diff(want, begins[:len(want)]); diff != "" {
		t.Errorf("first message of each request, and how many there are (-want +got):\n%s", diff)
	}
	for i, shown := range begins { // the later ones without the beginning of the log, behind a snapshot of the state
		if !strings.HasPrefix(shown, "the task ") {
			t.Errorf("request %d begins with %q", i+1, shown)
		}
	}
	cold, _ := play(t, true)
	if diff := cmp.Diff(warm, cold); diff != "" {
		t.Errorf("requests and records (-warm +cold):\n%s", diff)
	}
}

// A run that ended behind an answer goes on from a message of the runtime's own: there are
// providers that refuse a conversation which a model has ended.
func TestARunThatEndedBehindAnAnswerIsTakenUpWithANote(t *testing.T) {
	stopped := func(said string, why core.StopReason) []model.Delta {
		return []model.Delta{say(said), {Type: model.DeltaStop, Stop: why}}
	}
	tests := []struct {
		name    string
		answers [][]model.Delta
		shown   string // to the last run
	}{
		{
			name: "of another form", answers: [][]model.Delta{text("[]"), text(`{"a":1}`)},
			shown: `user: the task | assistant: [] | user: [The answer cannot be used: property "answer": got array, want object. Answer again, in the form that was asked for.]`,
		},
		{
			name: "that was cut off", answers: [][]model.Delta{stopped(`{"a`, core.StopMaxTokens), text(`{"a":1}`)},
			shown: `user: the task | assistant: {"a | user: [The answer cannot be used: the answer was cut off at the limit of its tokens. Answer again, in the form that was asked for.]`,
		},
		{
			name: "again of another form", answers: [][]model.Delta{text("[]"), text("[1]"), text(`{"a":1}`)},
			shown: `user: the task | assistant: [] | user: [The answer cannot be used: property "answer": got array, want object. Answer again, in the form that was asked for.] | assistant: [1] | user: [The answer cannot be used: property "answer": got array, want object. Answer again, in the form that was asked for.]`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var shown []string
				says := inOrder(tt.answers...)
				m := modelFunc(func(ctx context.Context, r model.Request) iterator {
					shown = nil
					for _, m := range r.Messages {
						shown = append(shown, string(m.Role)+": "+m.Text())
					}
					return says(ctx, r)
				})
				form := &model.ResponseFormat{Name: "a", Schema: json.RawMessage(`{"type":"object"}`)}
				w := newWorld(t, options{agents: spec(t, m, agent.Spec{MaxRepairs: new(0), ResponseFormat: form})})
				receipt := w.submit(t, key, "the task", mailbox.ModeQueue)
				w.finish(t, key, nil)
				for range len(tt.answers) - 1 {
					if got := w.end(t, key, receipt); !strings.Contains(got, `"code":"invalid_output"`) {
						t.Fatalf("the run is %s, want its output to be invalid", got)
					}
					var err error
					if receipt, err = w.box.TakeUp(t.Context(), key, "", receipt.RunID); err != nil {
						t.Fatal(err)
					}
					w.finish(t, key, nil)
				}
				if got := strings.Join(shown, " | "); got != tt.shown {
					t.Errorf("the model was shown %s\nwant %s", got, tt.shown)
				}
				if got, want := w.end(t, key, receipt), `done 1 {"type":"natural_end"} "{\"a\":1}"`; got != want {
					t.Errorf("the run is %s, want %s", got, want)
				}
			})
		})
	}
}
