package mailbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// How long a decision holds is a part of what it says.
func TestADecisionThatIsRememberedOtherwiseIsAnother(t *testing.T) {
	w, _ := waiting(t, asks(0), asks(1))
	w.decide(t, deciding("c0", "d", remembers))
	for _, other := range []func(*mailbox.Deciding){
		func(*mailbox.Deciding) {},
		func(d *mailbox.Deciding) { d.Decision.Remember = core.RememberThread },
		func(d *mailbox.Deciding) {
			d.Decision.Remember, d.Decision.RememberAs = core.RememberRun, core.RememberRule
		},
	} {
		if _, err := w.Decide(t.Context(), key, deciding("c0", "d", other)); core.CodeOf(err) != core.CodeConflict {
			t.Errorf("the same id: %v, want code conflict", err)
		}
	}
	w.decide(t, deciding("c1", "", remembers))
	if got := w.decide(t, deciding("c1", "", remembers)); !got.Duplicate {
		t.Error("the same without an id is no duplicate")
	}
	if _, err := w.Decide(t.Context(), key, deciding("c1", "")); core.CodeOf(err) != core.CodeDecided {
		t.Errorf("another without an id: %v, want code decided", err)
	}
}

func TestDecision(t *testing.T) {
	tests := []struct {
		name   string
		d      mailbox.Deciding
		id     string
		record string
		calls  []thread.CallStatus
	}{
		{"by the call", deciding("c1", "d"), "d", `{"schema":1,"decision_id":"d","action":"resume","user":"ann","suspension":"s1"}`,
			[]thread.CallStatus{thread.CallSuspended, thread.CallResuming}},
		{"by the suspension", deciding("s1", "d"), "d", `{"schema":1,"decision_id":"d","action":"resume","user":"ann","suspension":"s1"}`,
			[]thread.CallStatus{thread.CallSuspended, thread.CallResuming}},
		{"with a payload", deciding("s1", "d", says(`{ "approved": true }`)), "d", `{"schema":1,"decision_id":"d","action":"resume","payload":{"approved":true},"user":"ann","suspension":"s1"}`,
			[]thread.CallStatus{thread.CallSuspended, thread.CallResuming}},
		{"that refuses", deciding("s1", "d", says(`{"approved":false}`)), "d", `{"schema":1,"decision_id":"d","action":"resume","payload":{"approved":false},"user":"ann","suspension":"s1"}`,
			[]thread.CallStatus{thread.CallSuspended, thread.CallCancelling}},
		{"that cancels", deciding("c1", "d", cancels, func(d *mailbox.Deciding) { d.Decision.Reason = "no" }), "d", `{"schema":1,"decision_id":"d","action":"cancel","reason":"no","user":"ann","suspension":"s1"}`,
			[]thread.CallStatus{thread.CallSuspended, thread.CallCancelling}},
		{"to be remembered", deciding("s1", "d", remembers), "d", `{"schema":1,"decision_id":"d","action":"resume","remember":"thread","remember_as":"rule","user":"ann","suspension":"s1"}`,
			[]thread.CallStatus{thread.CallSuspended, thread.CallResuming}},
		{"with a payload that says nothing, and without an id", deciding("s1", "", says("null")), "auto-c6a3861a62173a40dbf1edf7373dcdce", `{"schema":1,"decision_id":"auto-c6a3861a62173a40dbf1edf7373dcdce","action":"resume","user":"ann","suspension":"s1"}`,
			[]thread.CallStatus{thread.CallSuspended, thread.CallResuming}},
		{"without an id", deciding("s1", ""), "auto-c6a3861a62173a40dbf1edf7373dcdce", `{"schema":1,"decision_id":"auto-c6a3861a62173a40dbf1edf7373dcdce","action":"resume","user":"ann","suspension":"s1"}`,
			[]thread.CallStatus{thread.CallSuspended, thread.CallResuming}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, head := waiting(t, asks(0), asks(1))
			want := mailbox.Decided{ThreadID: "t1", RunID: head.Run.ID, CallID: "c1", SuspensionID: "s1", DecisionID: tt.id, Turn: 1, Index: 1}
			if diff := cmp.Diff(want, w.decide(t, tt.d)); diff != "" {
				t.Errorf("receipt (-want +got):\n%s", diff)
			}
			head, err := w.Head(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.record, w.stored(t, head, 1)); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.calls, head.Run.Calls); diff != "" || head.Run.Status != thread.Running {
				t.Errorf("status %v; calls (-want +got):\n%s", head.Run.Status, diff)
			}
			want.Duplicate = true
			if diff := cmp.Diff(want, w.decide(t, tt.d)); diff != "" {
				t.Errorf("receipt of the same again (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"t1 0s", "t1 0s"}, w.queue.Lines()); diff != "" {
				t.Errorf("hints (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefusedDecision(t *testing.T) {
	object := func(mode core.ResumeMode) func(*core.Ticket) {
		return func(t *core.Ticket) {
			t.Mode = mode
			t.Suspension.ResponseSchema = json.RawMessage(`{"type":"object","required":["text"]}`)
		}
	}
	long := func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }
	none := func(*core.Ticket) {}
	tests := []struct {
		name   string
		ticket func(*core.Ticket)
		d      mailbox.Deciding
		code   core.Code // "": it is taken
		text   string
	}{
		{"an id of the clock", none, deciding("s", "wake-1"), core.CodeInvalid, `the decision_id begins with "wake-", which only decisions of the clock may`},
		{"no target", none, deciding("", "d"), core.CodeInvalid, "the decision names neither a tool call nor a suspension"},
		{"an unknown action", none, deciding("c0", "d", func(d *mailbox.Deciding) { d.Decision.Action = "allow" }), core.CodeInvalid, `invalid action "allow", allowed are "resume" and "cancel"`},
		{"a payload that is not JSON", none, deciding("c0", "d", says(`{`)), core.CodeInvalid, "payload is not JSON"},
		{"a payload that is not text", none, deciding("c0", "d", says("\"\xff\"")), core.CodeInvalid, "the decision is not UTF-8"},
		{"a target that is not text", none, deciding("c0\xff", "d"), core.CodeInvalid, "the decision is not UTF-8"},
		{"a reason that is not text", none, deciding("c0", "d", cancels, func(d *mailbox.Deciding) { d.Decision.Reason = "\xff" }), core.CodeInvalid, "the decision is not UTF-8"},
		{"an id that is no name", none, deciding("c0", "a#b"), core.CodeInvalid, ""},
		{"an unknown call", none, deciding("c7", "d"), core.CodeNotFound, `tool call or suspension "c7" that waits: not found`},
		{"another run's", none, deciding("c0", "d", func(d *mailbox.Deciding) { d.Run = core.ID{9} }), core.CodeNotFound, ""},
		{"another user's", none, deciding("c0", "d", func(d *mailbox.Deciding) { d.User = "bob" }), core.CodeForbidden, "thread t1: it belongs to another user"},
		{"nothing where an object is asked for", object(core.ResumeAsResult), deciding("c0", "d"), core.CodeInvalid, `property "payload": got null, want object`},
		{"something else", object(core.ResumeAsArguments), deciding("c0", "d", says(`{"txt":1}`)), core.CodeInvalid, `property "payload.text" is missing`},
		{"something else to replay with", object(core.ResumeReplay), deciding("c0", "d", says(`7`)), core.CodeInvalid, `property "payload": got integer, want object`},
		{"nothing to replay with", object(core.ResumeReplay), deciding("c0", "d"), "", ""},
		{"an approval that is no yes or no", none, deciding("c0", "d", says(`{"approved":"false"}`)), core.CodeInvalid, `payload.approved is "false", want true or false`},
		{"an approval that is nothing", none, deciding("c0", "d", says(`{"approved":null}`)), core.CodeInvalid, "payload.approved is null, want true or false"},
		{"the same, and it cancels", none, deciding("c0", "d", cancels, says(`{"approved":"false"}`)), "", ""},
		{"a result with an approval of its own", func(t *core.Ticket) { t.Mode = core.ResumeAsResult }, deciding("c0", "d", says(`{"approved":"by Ann"}`)), "", ""},
		{"an approval as its schema has it", func(t *core.Ticket) { t.Suspension.ResponseSchema = json.RawMessage(`{"type":"object"}`) }, deciding("c0", "d", says(`{"approved":"by Ann"}`)), "", ""},
		{"something else, and it cancels", object(core.ResumeAsResult), deciding("c0", "d", says(`7`), cancels), "", ""},
		{"something else, and it refuses", object(core.ResumeAsResult), deciding("c0", "d", says(`{"approved":false}`)), "", ""},
		{"a result at its limit", func(t *core.Ticket) { t.Mode = core.ResumeAsResult }, deciding("c0", "d", says(long(toolcall.MaxResult))), "", ""},
		{"a result over it", func(t *core.Ticket) { t.Mode = core.ResumeAsResult }, deciding("c0", "d", says(long(toolcall.MaxResult+1))), core.CodeTooLarge, "payload and reason of the decision have 1048577 bytes, at most 1048576 are allowed"},
		{"arguments at their limit", func(t *core.Ticket) { t.Mode = core.ResumeAsArguments }, deciding("c0", "d", says(long(tool.MaxArguments))), "", ""},
		{"arguments over it", func(t *core.Ticket) { t.Mode = core.ResumeAsArguments }, deciding("c0", "d", says(long(tool.MaxArguments+1))), core.CodeTooLarge, "payload and reason of the decision have 262145 bytes, at most 262144 are allowed"},
		{"a reason over it", none, deciding("c0", "d", cancels, func(d *mailbox.Deciding) { d.Decision.Reason = strings.Repeat("x", 262145) }), core.CodeTooLarge, ""},
		{"a schema that is none", func(t *core.Ticket) { t.Suspension.ResponseSchema = json.RawMessage(`7`) }, deciding("c0", "d", says(`1`)), core.CodeInternal, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, before := waiting(t, asks(0, tt.ticket))
			got, err := w.Decide(t.Context(), key, tt.d)
			if core.CodeOf(err) != tt.code || tt.text != "" && err.Error() != tt.text {
				t.Fatalf("%v of code %q, want %q of %q", err, core.CodeOf(err), tt.text, tt.code)
			}
			if tt.code == "" {
				return
			}
			after, err := w.Head(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, after); diff != "" || got != (mailbox.Decided{}) || len(w.queue.Messages()) != 0 {
				t.Errorf("receipt %+v, hints %v, head (-before +after):\n%s", got, w.queue.Lines(), diff)
			}
		})
	}
	w := newWorld(t)
	if _, err := w.Decide(t.Context(), key, deciding("c0", "d")); core.CodeOf(err) != core.CodeNotFound || err.Error() != "thread t1 not found" {
		t.Errorf("no thread: %v, want code not_found", err)
	}
	w, _ = waiting(t, asks(0))
	w.commit(t, thread.Delete{Owner: "ann"})
	if _, err := w.Decide(t.Context(), key, deciding("c0", "d")); core.CodeOf(err) != core.CodeDeleted {
		t.Errorf("a deleted thread: %v, want code deleted", err)
	}
}

// A ticket takes one decision. Its id again is a duplicate, however it is
// addressed and whatever has become of ticket and run; with other content it is a
// conflict, and another id is refused.
func TestDecisionsOnADecidedTicket(t *testing.T) {
	stages := []struct {
		name    string
		arrange func(t *testing.T, w *world)
	}{
		{"decided", func(*testing.T, *world) {}},
		{"claimed", func(t *testing.T, w *world) { w.claim(t) }},
		{"gone on", func(t *testing.T, w *world) { w.goesOn(t) }},
		{"over", func(t *testing.T, w *world) { w.end(t, w.goesOn(t)) }},
		{"over, and the next one runs", func(t *testing.T, w *world) {
			w.end(t, w.goesOn(t))
			w.submit(t, input("two", ""))
			w.claim(t)
		}},
	}
	for _, stage := range stages {
		for _, first := range []string{"c0", "s0"} {
			t.Run(stage.name+", first by "+first, func(t *testing.T) {
				w, head := waiting(t, asks(0))
				taken := w.decide(t, deciding(first, "d", says(`{"approved":true}`)))
				stage.arrange(t, w)
				want := taken
				want.Duplicate = true
				for _, target := range []string{"c0", "s0"} {
					for _, run := range []core.ID{{}, head.Run.ID} {
						of := func(d *mailbox.Deciding) { d.Run = run }
						got, err := w.Decide(t.Context(), key, deciding(target, "d", of, says(` {"approved":true}`)))
						if diff := cmp.Diff(want, got); diff != "" || err != nil {
							t.Errorf("again by %s of run %s: %v (-want +got):\n%s", target, run, err, diff)
						}
						got, err = w.Decide(t.Context(), key, deciding(target, "d", of, says(`{"approved":false}`)))
						if core.CodeOf(err) != core.CodeConflict || got != (mailbox.Decided{}) {
							t.Errorf("other content by %s: %+v, %v; want code conflict", target, got, err)
						}
						got, err = w.Decide(t.Context(), key, deciding(target, "d2", of, says(`{"approved":true}`)))
						if !errors.Is(err, thread.ErrDecided) || got != (mailbox.Decided{}) {
							t.Errorf("another id by %s: %+v, %v; want code decided", target, got, err)
						}
						got, err = w.Decide(t.Context(), key, deciding("c9", "d2", of))
						if core.CodeOf(err) != core.CodeNotFound || got != (mailbox.Decided{}) {
							t.Errorf("another call: %+v, %v; want code not_found", got, err)
						}
					}
				}
			})
		}
	}
}

// The list of decisions lags behind the head, which remembers enough to know the
// decision again.
func TestDuplicateDecisionThatIsNotListedYet(t *testing.T) {
	for target, want := range map[string]mailbox.Decided{
		"s0": {ThreadID: "t1", SuspensionID: "s0", DecisionID: "d", Duplicate: true},
		"c0": {ThreadID: "t1", CallID: "c0", DecisionID: "d", Duplicate: true},
	} {
		t.Run(target, func(t *testing.T) {
			w, head := waiting(t, asks(0))
			w.decide(t, deciding(target, "d"))
			w.goesOn(t)
			w.store.OnRecords = func(context.Context, core.ThreadKey, string, string, int) ([]store.Record, error) { return nil, nil }
			want.RunID = head.Run.ID
			if diff := cmp.Diff(want, w.decide(t, deciding(target, "d"))); diff != "" {
				t.Errorf("receipt (-want +got):\n%s", diff)
			}
			if got, err := w.Decide(t.Context(), key, deciding(target, "d2")); core.CodeOf(err) != core.CodeNotFound {
				t.Errorf("another: %+v, %v; want code not_found", got, err)
			}
		})
	}
}

// A decision without an id that repeats one of the call's earlier suspension may
// be that one's, sent again, or mean the new one: nobody guesses.
func TestDecisionOnACallThatSuspendsAgain(t *testing.T) {
	again := asks(0, func(t *core.Ticket) { t.Suspension.ID = "s0b" })
	suspended := func(t *testing.T, id string) *world {
		w, _ := waiting(t, asks(0))
		w.decide(t, deciding("c0", id))
		w.suspend(t, w.claim(t), thread.Wait, again)
		return w
	}
	w := suspended(t, "")
	if got, err := w.Decide(t.Context(), key, deciding("c0", "")); core.CodeOf(err) != core.CodeConflict {
		t.Errorf("without an id: %+v, %v; want code conflict", got, err)
	}
	if got := w.decide(t, deciding("s0b", "")); got.Duplicate || got.SuspensionID != "s0b" {
		t.Errorf("by the suspension: %+v, want it taken", got)
	}
	w = suspended(t, "d")
	if got := w.decide(t, deciding("c0", "d")); !got.Duplicate || got.SuspensionID != "s0" {
		t.Errorf("with the first one's id: %+v, want its duplicate", got)
	}
	if got := w.decide(t, deciding("c0", "d2")); got.Duplicate || got.SuspensionID != "s0b" {
		t.Errorf("with another id: %+v, want it taken", got)
	}
}

// One decision lets the others of its round wait on.
func TestDecisionOnOneOfTwoWhileTheOtherRuns(t *testing.T) {
	w := newWorld(t)
	w.last = w.submit(t, input("one", ""))
	head := w.waits(t, w.claim(t), asks(0), asks(1))
	w.decide(t, deciding("c0", "d0"))
	w.claim(t) // it runs again
	got := w.decide(t, deciding("c1", "d1"))
	if got.Duplicate || w.head(t).Run.Calls[1] != thread.CallResuming || got.RunID != head.Run.ID {
		t.Errorf("receipt %+v, calls %v", got, w.head(t).Run.Calls)
	}
}

// A closing run takes no decision.
func TestDecisionOnARunThatWasCancelled(t *testing.T) {
	w, _ := waiting(t, asks(0))
	if _, err := w.Cancel(t.Context(), key, core.ID{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Decide(t.Context(), key, deciding("c0", "d")); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("%v, want code not_found", err)
	}
}

// A refused write has left its decision's record. The same content passes over
// it, also in another schema; other content is a conflict.
func TestDecisionOverAnOrphan(t *testing.T) {
	for _, tt := range []struct {
		name, orphan string
		code         core.Code
	}{
		{"the same", `{"schema":1,"decision_id":"d","action":"resume","suspension":"s0"}`, ""},
		{"the same in another form", `{"schema":1,"decision_id":"d","action":"resume","suspension":"s0","more":1}`, ""},
		{"another", `{"schema":1,"decision_id":"d","action":"cancel","suspension":"s0"}`, core.CodeConflict},
		{"garbage", `no JSON`, core.CodeCorrupt},
		{"a newer program's", `{"schema":9,"decision_id":"d"}`, core.CodeSchema},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, head := waiting(t, asks(0))
			name := recordname.Decision(head.Run.ID, 1, 0, thread.DecisionKey(head.Run.ID, "s0", "d"))
			w.put(t, store.Record{Name: name, Payload: []byte(tt.orphan)})
			got, err := w.Decide(t.Context(), key, deciding("c0", "d"))
			if core.CodeOf(err) != tt.code || got.Duplicate || (err == nil) != (w.head(t).Tickets[0].Decision != 0) {
				t.Errorf("%+v, %v; want code %q", got, err, tt.code)
			}
		})
	}
}

// The response to the write is lost: the decision is not taken twice, nor is it a
// duplicate of itself.
func TestDecisionWhoseResponseIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := waiting(t, asks(0))
		w.lose(t, func(thread.Head) {})
		if got := w.decide(t, deciding("c0", "d")); got.Duplicate {
			t.Errorf("receipt %+v", got)
		}
	})
}

// The ticket goes between look and write: another decision, or the same.
func TestDecisionThatIsOvertaken(t *testing.T) {
	for _, tt := range []struct {
		name  string
		other mailbox.Deciding
		code  core.Code
	}{
		{"by the same", deciding("s0", "d"), ""},
		{"by another", deciding("s0", "d2"), core.CodeDecided},
		{"by the same with other content", deciding("s0", "d", cancels), core.CodeConflict},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, _ := waiting(t, asks(0))
			w.before(func() { w.decide(t, tt.other) })
			got, err := w.Decide(t.Context(), key, deciding("c0", "d"))
			if core.CodeOf(err) != tt.code || got.Duplicate != (err == nil) {
				t.Errorf("%+v, %v; want code %q", got, err, tt.code)
			}
		})
	}
}

// An attempt that another decision has overtaken has left its record. Its client's next attempt
// was taken on the suspension that followed: the receipts of both name that one.
func TestAnOvertakenDecisionThatIsTakenOnTheNextSuspension(t *testing.T) {
	for name, left := range map[string]string{
		"the record of this form":    `{"schema":1,"decision_id":"d","action":"resume","suspension":"s0"}`,
		"the record of another form": `{"schema":1,"decision_id":"d","action":"resume","suspension":"s0","more":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			w, head := waiting(t, asks(0))
			w.put(t, store.Record{Name: recordname.Decision(head.Run.ID, 1, 0, thread.DecisionKey(head.Run.ID, "s0", "d")), Payload: []byte(left)})
			w.before(func() {
				w.decide(t, deciding("s0", "other"))
				w.suspend(t, w.claim(t), thread.Wait, asks(0, func(t *core.Ticket) { t.Suspension.ID = "s0b" }))
				w.decide(t, deciding("c0", "d"))
			})
			want := mailbox.Decided{ThreadID: "t1", RunID: head.Run.ID, CallID: "c0", SuspensionID: "s0b", DecisionID: "d", Duplicate: true, Turn: 1}
			if diff := cmp.Diff(want, w.decide(t, deciding("c0", "d"))); diff != "" {
				t.Errorf("receipt (-want +got):\n%s", diff)
			}
		})
	}
}

// The head has forgotten the decision, and its ticket has it still.
func TestADecisionThatItsTicketRemembers(t *testing.T) {
	w := newWorld(t)
	w.last = w.submit(t, input("one", ""))
	w.suspend(t, w.calls(t, w.claim(t), true, asks(0), asks(1)), thread.Wait, asks(0), asks(1))
	want := w.decide(t, deciding("s0", "d"))
	want.Duplicate = true
	for i := range 16 {
		w.commit(t, thread.Enqueue{Dispatch: core.ID{byte(i), 1}, Run: core.ID{byte(i), 2}, Dedupe: uint64(i) + 100, Owner: "ann"})
		w.commit(t, thread.Cancel{Run: core.ID{byte(i), 2}})
	}
	if diff := cmp.Diff(want, w.decide(t, deciding("s0", "d"))); diff != "" {
		t.Errorf("receipt (-want +got):\n%s", diff)
	}
}

// A later turn's call waits under the id of the one that was looked at.
func TestDecisionIsNotTakenOverToTheNextTurn(t *testing.T) {
	w, _ := waiting(t, asks(0))
	w.before(func() {
		w.decide(t, deciding("s0", "other"))
		w.waits(t, w.goesOn(t), asks(0))
	})
	got, err := w.Decide(t.Context(), key, deciding("s0", "d"))
	if !errors.Is(err, thread.ErrNotFound) || w.head(t).Tickets[0].Decision != 0 {
		t.Errorf("%+v, %v; want not found", got, err)
	}
}

// The caller claims next: no worker is to come first.
func TestAnInlineDecisionSendsNoHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := waiting(t, asks(0))
		_, head, err := w.DecideInline(t.Context(), key, deciding("c0", "d"))
		if err != nil || !head.Ready() {
			t.Errorf("%v, ready %v", err, head.Ready())
		}
		if diff := cmp.Diff([]string(nil), w.queue.Lines()); diff != "" {
			t.Errorf("hints (-want +got):\n%s", diff)
		}
	})
}
