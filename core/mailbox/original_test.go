package mailbox_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// logged is a world whose thread has a log of an agent's runs that are over.
func logged(t *testing.T, entries ...thread.Entry) *world {
	t.Helper()
	w := newWorld(t)
	w.submit(t, input("begin", ""))
	w.writes(t, w.claim(t), over, entries...)
	for _, run := range []core.ID{runOne, runTwo} {
		w.ranAs(t, thread.RunRecord{Run: core.Run{ID: run, AgentID: "first", Status: core.RunDone}})
	}
	return w
}

// Where the input of a run begins and ends is told by run, dispatch and role.
func TestWhereTheInputOfARetakeBeginsAndEnds(t *testing.T) {
	one, two, none := core.ID{11}, core.ID{12}, core.ID{}
	step := thread.Entry{Run: runOne, Step: 1}
	tests := []struct {
		name    string
		log     []thread.Entry
		message string
		input   string // "": it is under way
		from    uint64
	}{
		{"a record of state between input and answer", []thread.Entry{said(runOne, one, "m"), step, by(runOne, core.RoleAssistant, "a")}, "a", "m: m", 1},
		{"steered input behind it", []thread.Entry{said(runOne, one, "m"), said(runOne, two, "s")}, "m", "m: m", 1},
		{"steered input itself", []thread.Entry{said(runOne, one, "m"), said(runOne, two, "s")}, "s", "", 0},
		{"another run's before it, without a dispatch", []thread.Entry{said(runOne, none, "m"), said(runTwo, none, "n")}, "n", "n: n", 2},
		{"another run's behind it, without a dispatch", []thread.Entry{said(runOne, none, "m"), said(runTwo, none, "n")}, "m", "m: m", 1},
		{"an answer behind it, without a dispatch", []thread.Entry{said(runOne, none, "m"), by(runOne, core.RoleAssistant, "a"), step}, "m", "m: m", 1},
		{"a record of state behind it, without a dispatch", []thread.Entry{said(runOne, none, "m"), step}, "m", "m: m", 1},
		{"an answer without input", []thread.Entry{by(runOne, core.RoleAssistant, "a")}, "a", "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := logged(t, tt.log...)
			r, err := w.Submit(t.Context(), retaking(tt.message))
			if tt.input == "" {
				if !errors.Is(err, mailbox.ErrUnderWay) {
					t.Errorf("submit: %+v, %v; want %v", r, err, mailbox.ErrUnderWay)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			in := w.input(t, r)
			if got := strings.Join(texts(in), ", "); got != tt.input || in.Supersede != tt.from || !in.Messages[0].RunID.IsZero() || in.Messages[0].Role != core.RoleUser {
				t.Errorf("the input is %s from %d, and says that it is of run %s; want %s from %d", got, in.Supersede, in.Messages[0].RunID, tt.input, tt.from)
			}
		})
	}
}

// What was withdrawn is told from what lies before it, and from what took its place.
func TestWhatCanBeRetakenBesideWhatWasWithdrawn(t *testing.T) {
	for message, from := range map[string]uint64{"one": 1, "five": 10} {
		w := retakable(t)
		w.submit(t, input("again", ""))
		step, head := over, w.claim(t)
		step.Cut = 4
		w.writes(t, head, step, thread.Entry{Run: head.Run.ID, Superseded: &thread.Range{From: 4, To: 8}}, said(head.Run.ID, head.Run.Dispatch, "five"))
		w.ranAs(t, thread.RunRecord{Run: core.Run{ID: head.Run.ID, AgentID: "third"}})
		if in := w.input(t, w.submit(t, retaking(message))); in.Supersede != from {
			t.Errorf("%s is withdrawn from %d, want %d", message, in.Supersede, from)
		}
	}
}

// The log has a message between two withdrawn ranges, both named by one record. The message
// itself was not withdrawn, and can be retaken.
func TestWhatCanBeRetakenBetweenTwoThatWereWithdrawn(t *testing.T) {
	w := newWorld(t)
	writes := func(cut uint64, withdrawn *thread.Range, text string, earlier ...thread.Range) {
		w.submit(t, input("begin", ""))
		step, head := over, w.claim(t)
		step.Cut = cut
		entries := []thread.Entry{said(head.Run.ID, head.Run.Dispatch, text), by(head.Run.ID, core.RoleAssistant, "to "+text)}
		if withdrawn != nil {
			entries = append([]thread.Entry{{Run: head.Run.ID, Superseded: withdrawn, Earlier: earlier}}, entries...)
		}
		w.writes(t, head, step, entries...)
		w.ranAs(t, thread.RunRecord{Run: core.Run{ID: head.Run.ID, AgentID: "first", Status: core.RunDone}})
	}
	writes(0, nil, "one")                                                          // 1, 2
	writes(1, &thread.Range{From: 1, To: 2}, "two")                                // 3 to 5
	writes(0, nil, "three")                                                        // 6, 7
	writes(6, &thread.Range{From: 6, To: 7}, "four", thread.Range{From: 1, To: 2}) // 8 to 10
	if in := w.input(t, w.submit(t, retaking("two"))); in.Supersede != 4 {
		t.Errorf("it is withdrawn from %d, want 4", in.Supersede)
	}
}

// Input that is not in the log is replaced from the named message on, for the agent and with
// the request and the frontend that it came with, but for the frontend's state.
func TestWhatARetakeTakesFromUnreadInput(t *testing.T) {
	w := retakable(t)
	s := input("u1", "")
	s.Messages = []core.Message{core.UserMessage("u1").WithID("u1"), core.UserMessage("u2").WithID("u2")}
	s.Opening.Request = json.RawMessage(`{"plan":"free"}`)
	s.Opening.Frontend = &core.Frontend{Tools: []core.FrontendTool{{Name: "bell"}}, State: json.RawMessage(`{"n":1}`)}
	w.submit(t, s)
	w.claim(t)
	in := w.input(t, w.submit(t, retaking("u2", "x")))
	frontend, err := json.Marshal(in.Frontend)
	if diff := cmp.Diff([]string{"u1: u1", "new0: x"}, texts(in)); diff != "" || err != nil || in.AgentID != "demo" || string(in.Request) != `{"plan":"free"}` || string(frontend) != `{"tools":[{"name":"bell"}]}` {
		t.Errorf("for %s with %s and %s, %v; messages (-want +got):\n%s", in.AgentID, in.Request, frontend, err, diff)
	}
}

// Of several queued runs that withdraw something each is found by its own message.
func TestARetakeOfOneOfTwoQueuedRetakes(t *testing.T) {
	w := retakable(t)
	first, second := retaking("two", "x"), retaking("one", "y")
	first.Mode, second.Mode = mailbox.ModeQueue, mailbox.ModeQueue
	second.Messages[0].ID = "other"
	one := w.submit(t, first)
	w.submit(t, second)
	if in := w.input(t, w.submit(t, retaking("new0"))); in.Retakes != one.RunID || in.Supersede != 4 {
		t.Errorf("it withdraws run %s from %d, want %s from 4", in.Retakes, in.Supersede, one.RunID)
	}
}

// A queued run is under way also behind one that waits.
func TestAKeyedRetakeOfAQueuedRunBehindOneThatWaits(t *testing.T) {
	w := retakable(t)
	w.submit(t, input("open", ""))
	w.waits(t, w.claim(t), asks(0))
	s := keyedRetake("two", "x")
	s.Mode = mailbox.ModeQueue
	first := w.submit(t, s)
	again := keyedRetake("new0", "x")
	again.Mode = mailbox.ModeQueue
	if r := w.submit(t, again); !r.Duplicate || r.RunID != first.RunID {
		t.Errorf("by its own name: %+v, want a duplicate of %s", r, first.RunID)
	}
}

// Without a key, and not keyed by what it names, a retake is a new one each time; with a Key
// it is the same.
func TestWhichRetakesAreTheSame(t *testing.T) {
	w := retakable(t)
	first := w.submit(t, retaking("two"))
	if again := w.submit(t, retaking("two")); again.Duplicate || again.RunID == first.RunID {
		t.Errorf("without a key: %+v after %+v", again, first)
	}
	s := retaking("two")
	s.Key.Value = "k"
	first = w.submit(t, s)
	if again := w.submit(t, s); !again.Duplicate || again.RunID != first.RunID {
		t.Errorf("with a key: %+v after %+v", again, first)
	}
	s.Opening.Retake = &mailbox.Retake{Message: "one"}
	if r, err := w.Submit(t.Context(), s); core.CodeOf(err) != core.CodeConflict {
		t.Errorf("of another message under the same key: %+v, %v", r, err)
	}
}

// An attempt that was cancelled in the queue is not met again by the name of the one after it.
func TestAKeyedRetakeDoesNotMeetAnAttemptThatWasCancelled(t *testing.T) {
	w := retakable(t)
	first := w.submit(t, keyedRetake("two", "x"))
	w.commit(t, thread.Cancel{Run: first.RunID})
	w.submit(t, keyedRetake("two", "x"))
	if r := w.submit(t, keyedRetake("new0", "x")); r.RunID == first.RunID {
		t.Errorf("%+v, which was cancelled", r)
	}
}

// What a keyed retake has withdrawn is gone for another text.
func TestAKeyedRetakeOfWhatAnotherHasWithdrawn(t *testing.T) {
	w := retakable(t)
	w.submit(t, keyedRetake("two", "x"))
	step, head := goOn, w.claim(t)
	step.Cut = 4
	w.writes(t, head, step, thread.Entry{Run: head.Run.ID, Superseded: &thread.Range{From: 4, To: 8}}, said(head.Run.ID, head.Run.Dispatch, "new0"))
	if r, err := w.Submit(t.Context(), keyedRetake("two", "y")); core.CodeOf(err) != core.CodeSuperseded {
		t.Errorf("another text: %+v, %v; want code superseded", r, err)
	}
	if r := w.submit(t, keyedRetake("two", "x")); !r.Duplicate || r.RunID != head.Run.ID {
		t.Errorf("the same: %+v, want a duplicate of %s", r, head.Run.ID)
	}
}

// A dead letter is retried under a key of its own, with what its client program brought.
func TestTheKeyOfARetry(t *testing.T) {
	w, run := died(t, *thread.ReasonDeadLetter.Termination(), func(r *thread.RunRecord) {
		r.Frontend = &core.Frontend{Tools: []core.FrontendTool{{Name: "bell"}}}
	})
	r, err := w.Retry(t.Context(), key, "ann", run)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok, err := w.Submitted(t.Context(), key, w.head(t), "retry:"+run.String()); err != nil || !ok || got != r.RunID {
		t.Errorf("the key stands for %s, %v, %v; want %s", got, ok, err, r.RunID)
	}
	if in := w.input(t, r); in.Frontend == nil || len(in.Frontend.Tools) != 1 {
		t.Errorf("the frontend is %+v", in.Frontend)
	}
	w.points(store.Pointer{Name: "key:c782045a37aeb0abe2943ad3023e7fdf", Value: []byte("{")})
	if got, ok, err := w.Submitted(t.Context(), key, w.head(t), "k"); ok || core.CodeOf(err) != core.CodeCorrupt || !strings.HasPrefix(err.Error(), "idempotency key: ") {
		t.Errorf("a damaged key: %s, %v, %v; want code corrupt", got, ok, err)
	}
}

// What the head remembers of requests is never 0, which stands for no key.
func TestKeysInTheHeadAreOdd(t *testing.T) {
	w := newWorld(t)
	for range 8 {
		w.submit(t, input("x", ""))
		w.interrupt(t, "")
	}
	for _, k := range w.head(t).Recent {
		if k%2 == 0 {
			t.Errorf("the head remembers %d", k)
		}
	}
}
