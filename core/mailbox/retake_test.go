package mailbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// The runs of retakable's log.
var (
	runOne = core.ID{0: 1, 15: 1}
	runTwo = core.ID{0: 1, 15: 2}
)

// retakable is a world whose thread has a log of two runs that are over: the second has two
// messages of input, and was steered.
func retakable(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	r := w.submit(t, input("begin", ""))
	one, two, steered := core.ID{11}, core.ID{12}, core.ID{13}
	w.writes(t, w.claim(t), over,
		said(runOne, one, "one"), by(runOne, core.RoleAssistant, "a1"), thread.Entry{Run: runOne, Step: 1}, // 1, 2, 3
		said(runTwo, two, "two"), said(runTwo, two, "three"), by(runTwo, core.RoleAssistant, "a2"), // 4, 5, 6
		said(runTwo, steered, "steered"), by(runTwo, core.RoleAssistant, "a3"), // 7, 8
	)
	w.ranAs(t, thread.RunRecord{Run: core.Run{ID: runOne, AgentID: "first", Status: core.RunDone}})
	w.ranAs(t, thread.RunRecord{
		Run: core.Run{ID: runTwo, AgentID: "second", Status: core.RunDone}, Request: json.RawMessage(`{"plan":"gold"}`),
		Frontend: &core.Frontend{Tools: []core.FrontendTool{{Name: "bell"}}},
	})
	if status := w.status(t, r); status != "unknown" { // it has no record, and the head forgets it
		t.Fatalf("the run that wrote the log is %s", status)
	}
	return w
}

// retaking names a message, and replaces it if there are texts.
func retaking(message string, texts ...string) mailbox.Submission {
	s := mailbox.Submission{Thread: key, User: "ann", Opening: mailbox.Opening{Retake: &mailbox.Retake{Message: message}}}
	for i, text := range texts {
		s.Messages = append(s.Messages, core.UserMessage(text).WithID(fmt.Sprint("new", i)))
	}
	return s
}

// keyedRetake is retaking whose key is the run that it names.
func keyedRetake(message string, texts ...string) mailbox.Submission {
	s := retaking(message, texts...)
	s.Opening.Retake.Keyed = true
	return s
}

// input reads the stored input of a submission.
func (w *world) input(t *testing.T, r mailbox.Receipt) thread.Queued {
	t.Helper()
	record, ok, err := w.store.Backend.Get(t.Context(), key, recordname.Input(r.DispatchID, 0))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	in, err := thread.Records{}.DecodeQueued(record.Payload)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// texts are the messages of an input, each after its id.
func texts(in thread.Queued) (list []string) {
	for _, m := range in.Messages {
		list = append(list, m.ID+": "+m.Text())
	}
	return list
}

func TestARetakeSaysTheInputOfItsMessage(t *testing.T) {
	bell := `{"tools":[{"name":"bell"}]}`
	tests := []struct {
		message  string
		texts    []string
		input    string
		from     uint64
		retakes  core.ID
		agent    string
		request  string
		frontend string
	}{
		{"one", nil, "one: one", 1, runOne, "first", "", "null"},
		{"a1", nil, "one: one", 1, runOne, "first", "", "null"},
		{"one", []string{"x", "y"}, "new0: x, new1: y", 1, runOne, "first", "", "null"},
		{"two", nil, "two: two, three: three", 4, runTwo, "second", `{"plan":"gold"}`, bell},
		{"three", nil, "two: two, three: three", 4, runTwo, "second", `{"plan":"gold"}`, bell},
		{"a2", nil, "two: two, three: three", 4, runTwo, "second", `{"plan":"gold"}`, bell},
		{"two", []string{"x"}, "new0: x", 4, runTwo, "second", `{"plan":"gold"}`, bell},
		{"three", []string{"x"}, "two: two, new0: x", 4, runTwo, "second", `{"plan":"gold"}`, bell},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.message, tt.texts), func(t *testing.T) {
			w := retakable(t)
			r := w.submit(t, retaking(tt.message, tt.texts...))
			if r.Duplicate || r.Running || r.ThreadID != "t1" {
				t.Errorf("receipt: %+v", r)
			}
			in := w.input(t, r)
			if got := strings.Join(texts(in), ", "); got != tt.input || in.Supersede != tt.from || in.Retakes != tt.retakes || in.AgentID != tt.agent || string(in.Request) != tt.request {
				t.Errorf("the input is %s from %d, of run %s, for %s with %s; want %s from %d, of run %s, for %s with %s",
					got, in.Supersede, in.Retakes, in.AgentID, in.Request, tt.input, tt.from, tt.retakes, tt.agent, tt.request)
			}
			if got, err := json.Marshal(in.Frontend); err != nil || string(got) != tt.frontend {
				t.Errorf("the frontend is %s, %v; want %s", got, err, tt.frontend)
			}
			head := w.head(t)
			if len(head.Pending) != 1 || head.Pending[0].Run != r.RunID || head.Epoch != 1 {
				t.Errorf("queue %+v in epoch %d, want the run alone after an interrupt", head.Pending, head.Epoch)
			}
		})
	}
}

// What a retake says itself counts before what the earlier run had.
func TestARetakeMayBringAnotherAgentAndRequest(t *testing.T) {
	w := retakable(t)
	s := retaking("two")
	s.Mode, s.Opening.AgentID, s.Opening.Request = mailbox.ModeQueue, "third", json.RawMessage(`{}`)
	s.Opening.Frontend = &core.Frontend{State: json.RawMessage(`{"n":1}`)}
	in := w.input(t, w.submit(t, s))
	got, err := json.Marshal(in.Frontend)
	if err != nil || in.AgentID != "third" || string(in.Request) != `{}` || string(got) != `{"state":{"n":1}}` {
		t.Errorf("the input is for %s with %s and %s, %v", in.AgentID, in.Request, got, err)
	}
	if head := w.head(t); head.Epoch != 0 {
		t.Errorf("mode queue has raised the epoch to %d", head.Epoch)
	}
}

func TestARetakeIsRefused(t *testing.T) {
	nothing := func(*testing.T, *world) {}
	queued := func(mode mailbox.Mode) func(*testing.T, *world) {
		return func(t *testing.T, w *world) {
			w.submit(t, input("open", ""))
			w.claim(t)
			s := input("waits", mode)
			s.Messages[0].ID = "unread"
			w.submit(t, s)
		}
	}
	const unread = `thread t1: message "unread": no step has read the input yet: edit it as queued input instead`
	const underWay = ": it was said to a run that was under way, or answers what was: allowed is the input with which a run began"
	withdrawn := func(t *testing.T, w *world) {
		w.submit(t, input("again", ""))
		step := over
		step.Cut = 4
		head := w.claim(t)
		w.writes(t, head, step, thread.Entry{Run: head.Run.ID, Superseded: &thread.Range{From: 4, To: 8}}, said(head.Run.ID, head.Run.Dispatch, "five"))
	}
	change := func(s mailbox.Submission, f func(*mailbox.Submission)) mailbox.Submission { f(&s); return s }
	tests := []struct {
		name   string
		before func(t *testing.T, w *world)
		s      mailbox.Submission
		code   core.Code
		want   string
	}{
		{"no message of the thread", nothing, retaking("nine"), core.CodeNotFound, `thread t1: message "nine": not found`},
		{"steered input", nothing, retaking("steered"), core.CodeConflict, `thread t1: message "steered"` + underWay},
		{"the answer to steered input", nothing, retaking("a3"), core.CodeConflict, `thread t1: message "a3"` + underWay},
		{"an answer that is to be replaced", nothing, retaking("a2", "x"), core.CodeInvalid, `thread t1: message "a2" is not a person's: it can be repeated, but not replaced`},
		{"a withdrawn message", withdrawn, retaking("two"), core.CodeSuperseded, `thread t1: message "two" was withdrawn before`},
		{"a withdrawn answer", withdrawn, keyedRetake("a2"), core.CodeSuperseded, `thread t1: message "a2" was withdrawn before`},
		{"queued input", queued(""), retaking("unread"), core.CodeConflict, unread},
		{"input in an inbox", queued(mailbox.ModeSteer), retaking("unread"), core.CodeConflict, unread},
		{"an unknown agent", func(t *testing.T, w *world) { w.loses(recordname.Run(runTwo)) }, retaking("two"), core.CodeInvalid,
			"agent id is empty, and the one of run " + runTwo.String() + " is not known any more"},
		{"another user's thread", nothing, change(keyedRetake("two"), func(s *mailbox.Submission) { s.User = "bob" }), core.CodeForbidden, "it belongs to another user"},
		{"a message and a sequence", nothing, change(retaking("two"), func(s *mailbox.Submission) { s.Opening.Supersede = 4 }), core.CodeInvalid,
			"a submission withdraws from a message or from a sequence on, not both"},
		{"a message and a run", nothing, change(retaking("two"), func(s *mailbox.Submission) { s.Into = core.ID{1} }), core.CodeInvalid,
			"input for run 01000000-0000-0000-0000-000000000000 takes nothing back"},
		{"steered", nothing, change(retaking("two"), func(s *mailbox.Submission) { s.Mode = mailbox.ModeSteer }), core.CodeInvalid,
			"mode steer withdraws nothing, allowed are queue, interrupt, reject"},
		{"two keys", nothing, change(keyedRetake("two"), func(s *mailbox.Submission) { s.Key.Value = "k" }), core.CodeInvalid,
			"a submission is keyed by its Key or by the input that it withdraws, not both"},
		{"no name", nothing, retaking(""), core.CodeInvalid, "message to retake is empty"},
		{"a blank replacement", nothing, retaking("two", " "), core.CodeInvalid, "messages[0].content has no text and no file"},
		{"no replacement", nothing, change(retaking("two"), func(s *mailbox.Submission) { s.Messages = []core.Message{} }), core.CodeInvalid, "messages are empty, at least one is required"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := retakable(t)
			tt.before(t, w)
			before := w.head(t).Version
			r, err := w.Submit(t.Context(), tt.s)
			if r != (mailbox.Receipt{}) || core.CodeOf(err) != tt.code || err.Error() != tt.want {
				t.Errorf("submit: %+v, %v; want %s: %s", r, err, tt.code, tt.want)
			}
			if after := w.head(t).Version; after != before {
				t.Errorf("the head is at version %d, want %d", after, before)
			}
		})
	}
}

// A range that was withdrawn may be of one message.
func TestAWithdrawnMessageThatStandsAloneIsRefused(t *testing.T) {
	w := forkable(t)
	_, err := w.Submit(t.Context(), retaking("m2"))
	if core.CodeOf(err) != core.CodeSuperseded || fmt.Sprint(err) != `thread t1: message "m2" was withdrawn before` {
		t.Errorf("%v of code %s, want superseded", err, core.CodeOf(err))
	}
}

// The open run may have read its input and not committed it, and a queued run may withdraw
// something itself: both can be withdrawn, from where they begin.
func TestARetakeOfWhatIsNotInTheLog(t *testing.T) {
	tests := []struct {
		name    string
		first   mailbox.Submission // queued, or open when claimed
		claimed bool
		message string
		from    uint64
		input   string
	}{
		{"an open run without a commit", input("four", ""), true, "", 9, "four"},
		{"an open run that withdraws", retaking("two", "four"), true, "new0", 4, "four"},
		{"a queued run that withdraws", retaking("two", "four"), false, "new0", 4, "four"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := retakable(t)
			first := w.submit(t, tt.first)
			message := tt.message
			if message == "" {
				message = first.DispatchID.String() + ".0"
			}
			if tt.claimed {
				w.claim(t)
			}
			r := w.submit(t, retaking(message))
			in := w.input(t, r)
			if in.Supersede != tt.from || in.Retakes != first.RunID || len(in.Messages) != 1 || in.Messages[0].Text() != tt.input || in.Messages[0].ID != message {
				t.Errorf("the input is %q from %d, of run %s; want %s: %s from %d, of run %s", texts(in), in.Supersede, in.Retakes, message, tt.input, tt.from, first.RunID)
			}
			if got := w.status(t, first); got != "done superseded" {
				t.Errorf("the first run is %s", got)
			}
		})
	}
}

// A client without keys sends the same request again: as long as the run that the first
// one opened is queued or runs, it is one request.
func TestAKeyedRetakeIsOneRequestWhileItsRunIsUnderWay(t *testing.T) {
	w := retakable(t)
	first := w.submit(t, keyedRetake("two", "x"))
	again := func(when, message, text string, want *mailbox.Receipt) mailbox.Receipt {
		t.Helper()
		r, err := w.Submit(t.Context(), keyedRetake(message, text))
		if err != nil || r.Duplicate != (want != nil) || want != nil && r.RunID != want.RunID {
			t.Errorf("%s: %+v, %v; want a duplicate: %v", when, r, err, want != nil)
		}
		return r
	}
	again("queued", "two", "x", &first)
	again("queued, and named by what it says", "new0", "x", &first)
	w.claim(t)
	again("open", "two", "x", &first)
	again("open, and named by what it says", "new0", "x", &first)
	second := again("open, with another text", "new0", "y", nil)
	if in := w.input(t, second); in.Retakes != first.RunID || in.Supersede != 4 {
		t.Errorf("the second run withdraws run %s from %d, want %s from 4", in.Retakes, in.Supersede, first.RunID)
	}
	if got := w.status(t, first); got != "done superseded" {
		t.Errorf("the first run is %s", got)
	}
}

// A run that was cancelled in the queue has withdrawn nothing, and its request no longer
// counts.
func TestARetakeThatEndedInTheQueueCanBeMadeAgain(t *testing.T) {
	w := retakable(t)
	known := map[core.ID]bool{}
	for i := range 3 {
		r := w.submit(t, keyedRetake("two"))
		if r.Duplicate || known[r.RunID] {
			t.Errorf("retake %d: %+v", i, r)
		}
		known[r.RunID] = true
		if _, err := w.Cancel(t.Context(), key, r.RunID); err != nil {
			t.Fatal(err)
		}
	}
}

// A run that waits is not under way: the same text in its place is another request. The same
// request for what it withdrew is still the first one.
func TestAKeyedRetakeOfARunThatWaitsIsAnotherRequest(t *testing.T) {
	w := retakable(t)
	first := w.submit(t, keyedRetake("two", "x"))
	step := goOn
	step.Cut = 4
	head := w.writes(t, w.claim(t), step, thread.Entry{Run: first.RunID, Superseded: &thread.Range{From: 4, To: 8}}, said(first.RunID, first.DispatchID, "new0"))
	w.ranAs(t, thread.RunRecord{Run: core.Run{ID: first.RunID, Dispatch: first.DispatchID, AgentID: "second"}})
	running := w.submit(t, keyedRetake("new0", "x"))
	w.waits(t, head, asks(0))
	r := w.submit(t, keyedRetake("two", "x"))
	if !running.Duplicate || running.RunID != first.RunID || !r.Duplicate || r.RunID != first.RunID {
		t.Errorf("for what runs: %+v, for what it withdrew: %+v; want run %s", running, r, first.RunID)
	}
	second := w.submit(t, keyedRetake("new0", "x"))
	if in := w.input(t, second); second.Duplicate || in.Retakes != first.RunID || in.Supersede != 10 {
		t.Errorf("for what waits: %+v that withdraws run %s from %d; want another run, from 10", second, in.Retakes, in.Supersede)
	}
}

// The write of a retake is applied, and its response is lost.
func TestARetakeWhoseResponseIsLostIsMadeOnce(t *testing.T) {
	tests := []struct {
		name    string
		happens func(t *testing.T, w *world)
		again   bool // it is known as a duplicate
	}{
		{"and nothing else happens", func(*testing.T, *world) {}, false},
		{"and another write hides it", func(t *testing.T, w *world) { w.hide(t) }, true},
		{"and its run is claimed", func(t *testing.T, w *world) { w.claim(t) }, true},
	}
	for _, tt := range tests {
		for _, keyed := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, ", keyed: ", keyed), func(t *testing.T) {
				w := retakable(t)
				w.lose(t, func(thread.Head) { tt.happens(t, w) })
				s := retaking("two")
				s.Opening.Retake.Keyed = keyed
				r := w.submit(t, s)
				head := w.head(t)
				open := 0
				if head.Open() {
					open = 1
				}
				if r.Duplicate != tt.again || open+len(head.Pending) != 1 {
					t.Errorf("receipt %+v with %d runs, want one", r, open+len(head.Pending))
				}
				if got := w.status(t, r); got != "created" && got != "running" {
					t.Errorf("its run is %s", got)
				}
			})
		}
	}
}

// The first attempt has stored its key and died before its head: the second one continues
// under its ids, and over its records.
func TestAKeyedRetakeContinuesAnAttemptThatDied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := retakable(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var stored []store.Record
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			w.points(c.Pointers...)
			stored = c.Records
			w.put(t, c.Records[0])
			cancel()
			return store.Outcome{}, errors.New("the process ends here")
		}
		if r, err := w.Submit(ctx, keyedRetake("two", "x")); err == nil {
			t.Fatalf("the first attempt returned %+v", r)
		}
		w.store.OnCommit = nil
		r := w.submit(t, keyedRetake("two", "x"))
		if r.Duplicate || recordname.Input(r.DispatchID, 0) != stored[0].Name || w.status(t, r) != "created" {
			t.Errorf("the second attempt: %+v, %s; want the input %s", r, w.status(t, r), stored[0].Name)
		}
		if _, err := w.Submit(t.Context(), keyedRetake("two", "y")); core.CodeOf(err) != core.CodeConflict {
			t.Errorf("another text under the same key: %v, want conflict", err)
		}
	})
}

// Two send the same at once: the second finds the first one's run.
func TestTheSameRetakeTwiceAtOnceIsOneRun(t *testing.T) {
	w := retakable(t)
	var first mailbox.Receipt
	w.before(func() { first = w.submit(t, keyedRetake("two", "x")) })
	second := w.submit(t, keyedRetake("two", "x"))
	if second.RunID != first.RunID || !second.Duplicate || first.Duplicate {
		t.Errorf("receipts %+v and %+v, want one run", first, second)
	}
}

// Whichever read of a retake fails, it fails, and nothing is written.
func TestARetakeFailsWithEachOfItsReads(t *testing.T) {
	down := errors.New("no connection")
	for _, s := range []mailbox.Submission{retaking("a2"), keyedRetake("two", "x")} {
		for fails := 1; ; fails++ {
			w := retakable(t)
			w.submit(t, retaking("one", "busy"))
			w.claim(t)
			before := w.head(t).Version
			calls := 0
			w.reading(func() error {
				if calls++; calls == fails {
					return down
				}
				return nil
			})
			r, err := w.Submit(t.Context(), s)
			if calls < fails {
				if err != nil || fails < 7 {
					t.Errorf("after %d reads: %v", fails, err)
				}
				break
			}
			if err == nil { // a read after the write, which is repeated
				continue
			}
			if after := w.head(t).Version; !errors.Is(err, down) || r != (mailbox.Receipt{}) || after != before {
				t.Errorf("read %d fails: %+v, %v at version %d, want %d", fails, r, err, after, before)
			}
		}
	}
}

// The newest of several messages with one id counts.
func TestARetakeNamesTheNewestMessageOfAnID(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("begin", ""))
	var entries []thread.Entry
	for i := range 40 { // more than a first look at the log
		run := core.ID{0: 1, 15: byte(i + 1)}
		id := fmt.Sprint("m", i)
		if i == 3 || i == 20 {
			id = "twice"
		}
		entries = append(entries, said(run, core.ID{0: 2, 15: byte(i + 1)}, id))
	}
	w.writes(t, w.claim(t), over, entries...)
	for message, want := range map[string]uint64{"twice": 21, "m0": 1, "m1": 2, "m7": 8, "m8": 9, "m39": 40} {
		s := retaking(message)
		s.Opening.AgentID, s.Mode = "demo", mailbox.ModeQueue
		if in := w.input(t, w.submit(t, s)); in.Supersede != want {
			t.Errorf("%s: the log is withdrawn from %d, want %d", message, in.Supersede, want)
		}
	}
	if diff := cmp.Diff(6, len(w.head(t).Pending)); diff != "" {
		t.Errorf("queued runs (-want +got):\n%s", diff)
	}
}
