package run_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// retaking is a world in which what a person says has the text as its id.
type retaking struct {
	*world
	seen, saw []string // what models and hooks were shown
}

func newRetaking(t *testing.T, o options) *retaking {
	t.Helper()
	r := &retaking{}
	o.plugins = append(o.plugins, counters(&r.saw, inThread))
	if o.model == nil {
		o.model = listens(&r.seen)
	}
	r.world = newWorld(t, o)
	return r
}

func (r *retaking) send(t *testing.T, s mailbox.Submission, texts ...string) (mailbox.Receipt, error) {
	t.Helper()
	s.Thread = key
	for _, text := range texts {
		s.Messages = append(s.Messages, core.UserMessage(text).WithID(text))
	}
	return r.box.Submit(t.Context(), s)
}

func (r *retaking) say(t *testing.T, texts ...string) mailbox.Receipt {
	t.Helper()
	receipt, err := r.send(t, mailbox.Submission{Opening: mailbox.Opening{AgentID: "demo"}}, texts...)
	if err != nil {
		t.Fatal(err)
	}
	r.finish(t, key, nil)
	return receipt
}

// retake names a message, and says the texts in its place, or the same again.
func (r *retaking) retake(t *testing.T, message string, texts ...string) (mailbox.Receipt, error) {
	t.Helper()
	return r.send(t, mailbox.Submission{Opening: mailbox.Opening{Retake: &mailbox.Retake{Message: message, Keyed: true}}}, texts...)
}

func (r *retaking) mustRetake(t *testing.T, message string, texts ...string) mailbox.Receipt {
	t.Helper()
	receipt, err := r.retake(t, message, texts...)
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

// Whatever message is named, the run begins where the input before it did, from the
// state of then, and its model is shown nothing of what was behind it.
func TestAMessageIsSaidAgainOrReplaced(t *testing.T) {
	tests := []struct {
		name, message string // of three runs, of which the second has two messages
		texts         []string
		shown, state  string
		back          thread.Range
	}{
		{"the newest", "four", nil, "[one ok two three ok four]", "in_thread 7", thread.Range{From: 8, To: 10}},
		{"the newest answer", "answer 3", nil, "[one ok two three ok four]", "in_thread 7", thread.Range{From: 8, To: 10}},
		{"an earlier one", "two", nil, "[one ok two three]", "in_thread 4", thread.Range{From: 4, To: 10}},
		{"the second of an input", "three", nil, "[one ok two three]", "in_thread 4", thread.Range{From: 4, To: 10}},
		{"an earlier answer", "answer 2", nil, "[one ok two three]", "in_thread 4", thread.Range{From: 4, To: 10}},
		{"the first", "one", nil, "[one]", "in_thread 1", thread.Range{From: 1, To: 10}},
		{"another in the place of the newest", "four", []string{"five"}, "[one ok two three ok five]", "in_thread 7", thread.Range{From: 8, To: 10}},
		{"another in the place of the second", "three", []string{"five"}, "[one ok two five]", "in_thread 4", thread.Range{From: 4, To: 10}},
		{"another in the place of two", "two", []string{"five"}, "[one ok five]", "in_thread 4", thread.Range{From: 4, To: 10}},
		{"two in the place of the first", "one", []string{"five", "six"}, "[five six]", "in_thread 1", thread.Range{From: 1, To: 10}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRetaking(t, options{})
				message := tt.message
				for i, texts := range [][]string{{"one"}, {"two", "three"}, {"four"}} {
					receipt := r.say(t, texts...)
					if message == fmt.Sprint("answer ", i+1) {
						message = receipt.RunID.String() + ".1"
					}
				}
				r.mustRetake(t, message, tt.texts...)
				r.finish(t, key, nil)
				if got := r.seen[len(r.seen)-1]; got != tt.shown {
					t.Errorf("the model was shown %s, want %s", got, tt.shown)
				}
				if got, want := r.saw[len(r.saw)-1], "step 1, revision 11: "+tt.state; got != want {
					t.Errorf("hooks saw %s, want %s", got, want)
				}
				if back := r.entry(t, 11).Superseded; back == nil || *back != tt.back {
					t.Errorf("superseded is %v, want %v", back, tt.back)
				}
			})
		})
	}
}

func (r *retaking) entry(t *testing.T, seq uint64) thread.Entry {
	t.Helper()
	e, err := thread.Records{}.DecodeEntry(r.record(t, fmt.Sprintf("M#%012d", seq)).Payload)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestWhatCannotBeTakenBackIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRetaking(t, options{})
		r.say(t, "one")
		first := r.say(t, "two")
		r.mustRetake(t, "two", "other")
		r.finish(t, key, nil)
		r.submit(t, key, "busy", mailbox.ModeQueue)
		r.take(t, key)
		if _, err := r.send(t, mailbox.Submission{Opening: mailbox.Opening{AgentID: "demo"}, Mode: mailbox.ModeSteer}, "steered"); err != nil {
			t.Fatal(err)
		}
		if _, err := r.send(t, mailbox.Submission{Opening: mailbox.Opening{AgentID: "demo"}}, "queued"); err != nil {
			t.Fatal(err)
		}
		before := r.head(t, key).Version
		refused := func(message string, code core.Code, want string, texts ...string) {
			t.Helper()
			_, err := r.retake(t, message, texts...)
			if core.CodeOf(err) != code || err.Error() != want {
				t.Errorf("%s: %v, want %s", message, err, want)
			}
		}
		const unread = ": no step has read the input yet: edit it as queued input instead"
		refused("nobody", core.CodeNotFound, `thread t1: message "nobody": not found`)
		refused("two", core.CodeSuperseded, `thread t1: message "two" was withdrawn before`, "again")
		refused("steered", core.CodeConflict, `thread t1: message "steered"`+unread)
		refused("queued", core.CodeConflict, `thread t1: message "queued"`+unread)
		refused("a#b", core.CodeInvalid, `message to retake "a#b" has the character '#', allowed are A-Z a-z 0-9 . _ : -`)
		answer := r.entry(t, 9).Message // of what took the second's place
		refused(answer.ID, core.CodeInvalid, `thread t1: message "`+answer.ID+`" is not a person's: it can be repeated, but not replaced`, "x")
		gone := first.RunID.String() + ".1" // the answer to the second, in whose place another was said
		refused(gone, core.CodeSuperseded, `thread t1: message "`+gone+`" was withdrawn before`)
		if after := r.head(t, key).Version; after != before {
			t.Errorf("refusals have moved the head from %d to %d", before, after)
		}
		r.reclaim(t)
		r.finish(t, key, nil)
		refused("steered", core.CodeConflict, `thread t1: message "steered": it was said to a run that was under way, or answers what was: allowed is the input with which a run began`)
	})
}

// A run is taken back again and again, each time on purpose; a request that comes
// twice is one, as long as the run that it began is under way.
func TestTheSameRetakeTwiceIsOneUntilItIsAnswered(t *testing.T) {
	for _, texts := range [][]string{nil, {"other"}} {
		t.Run(fmt.Sprint(texts), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRetaking(t, options{})
				name := "two"
				r.say(t, "one")
				answered := r.say(t, "two").RunID
				again := func(when, message string, want core.ID) mailbox.Receipt {
					t.Helper()
					got := r.mustRetake(t, message, texts...)
					if got.Duplicate != !want.IsZero() || !want.IsZero() && got.RunID != want {
						t.Errorf("%s: receipt %+v, want run %s", when, got, want)
					}
					return got
				}
				second := again("first", name, core.ID{})
				again("queued", name, second.RunID)
				r.take(t, key)
				if texts != nil {
					name = "other"
				}
				again("claimed", name, second.RunID)
				r.reclaim(t)
				r.finish(t, key, nil)
				if texts == nil {
					again("over, but the answer that is named is the first", answered.String()+".1", second.RunID)
				}
				third := again("over", name, core.ID{})
				r.finish(t, key, nil)
				if texts == nil {
					again("over, by the second's answer", second.RunID.String()+".1", third.RunID)
				}
				last := "ok " + name
				if diff := cmp.Diff([]string{"[one]", "[one ok two]", "[one " + last + "]", "[one " + last + "]"}, r.seen); diff != "" {
					t.Errorf("what models were shown (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A run that ended before it began has taken nothing back, and its request does not
// count any more.
func TestARetakeThatWasCancelledInTheQueueCanBeMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRetaking(t, options{})
		r.say(t, "one")
		for range 3 {
			receipt := r.mustRetake(t, "one")
			if receipt.Duplicate {
				t.Fatalf("it is taken for one that was cancelled: %+v", receipt)
			}
			if _, err := r.box.Cancel(t.Context(), key, receipt.RunID); err != nil {
				t.Fatal(err)
			}
		}
		r.mustRetake(t, "one")
		r.finish(t, key, nil)
		if diff := cmp.Diff([]string{"[one]", "[one]"}, r.seen); diff != "" {
			t.Errorf("what models were shown (-want +got):\n%s", diff)
		}
	})
}

// What is under way is interrupted and taken back, whether its first step is committed
// or not, and with it what was accepted before; what is accepted after it comes behind.
func TestARetakeOnABusyThread(t *testing.T) {
	tests := []struct {
		name   string
		before func(t *testing.T, r *retaking)
		texts  []string
		shown  []string // from the retake on
		log    []string
	}{
		{"the run has begun, and nothing of it is committed", func(t *testing.T, r *retaking) { r.take(t, key) }, nil,
			[]string{"[one ok two]", "[one ok two ok later]"},
			[]string{"user: one", "assistant: ok", "state", "user: two", "state", "user: two", "assistant: ok", "state", "user: later", "assistant: ok", "state"}},
		{"and another is said", func(t *testing.T, r *retaking) { r.take(t, key) }, []string{"other"},
			[]string{"[one ok other]", "[one ok other ok later]"},
			[]string{"user: one", "assistant: ok", "state", "user: two", "state", "user: other", "assistant: ok", "state", "user: later", "assistant: ok", "state"}},
		{"with input behind it", func(t *testing.T, r *retaking) {
			r.take(t, key)
			if _, err := r.send(t, mailbox.Submission{Opening: mailbox.Opening{AgentID: "demo"}}, "lost"); err != nil {
				t.Fatal(err)
			}
		}, nil,
			[]string{"[one ok two]", "[one ok two ok later]"},
			[]string{"user: one", "assistant: ok", "state", "user: two", "state", "user: two", "assistant: ok", "state", "user: later", "assistant: ok", "state"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRetaking(t, options{})
				r.say(t, "one")
				if _, err := r.send(t, mailbox.Submission{Opening: mailbox.Opening{AgentID: "demo"}}, "two"); err != nil {
					t.Fatal(err)
				}
				tt.before(t, r)
				first := r.mustRetake(t, "two", tt.texts...)
				if again := r.mustRetake(t, "two", tt.texts...); !again.Duplicate || again.RunID != first.RunID {
					t.Errorf("the same request again: %+v, want the run of %+v", again, first)
				}
				if _, err := r.send(t, mailbox.Submission{Opening: mailbox.Opening{AgentID: "demo"}}, "later"); err != nil {
					t.Fatal(err)
				}
				r.reclaim(t)
				r.finish(t, key, nil)
				if diff := cmp.Diff(tt.shown, r.seen[1:]); diff != "" {
					t.Errorf("what models were shown (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.log, r.log(t, key)); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
				if back := r.entry(t, 5).Superseded; back == nil || *back != (thread.Range{From: 4, To: 4}) {
					t.Errorf("superseded is %v, want the input of the run that was under way", back)
				}
			})
		})
	}
}

// What takes a run back that has begun is a request of its own where it says something
// else, and where that run waits: nobody sends the same again for want of a response.
func TestARetakeOfARetake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asks := toolFunc{name: "asks", run: func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Suspended(core.TicketRequest{Action: "tool:asks"}), nil
		}}
		r := newRetaking(t, options{tools: []tool.Tool{asks}, model: replies(calls("asks", "{}"))})
		r.say(t, "one")
		known := map[core.ID]bool{}
		for i, texts := range [][]string{nil, nil, {"one"}, {"one"}} { // each waits
			receipt := r.mustRetake(t, "one", texts...)
			if receipt.Duplicate || known[receipt.RunID] {
				t.Errorf("retake %d of a run that waits: %+v", i, receipt)
			}
			known[receipt.RunID] = true
			r.finish(t, key, nil)
		}
		r.mustRetake(t, "one")
		r.take(t, key) // nothing of it is committed
		if other := r.mustRetake(t, "one", "other"); other.Duplicate {
			t.Errorf("another text in the place of one that is under way: %+v", other)
		}
		key := mailbox.Submission{Opening: mailbox.Opening{Retake: &mailbox.Retake{Message: "one"}}, Key: mailbox.Key{Value: "k"}}
		if _, err := r.send(t, key, "x"); err != nil {
			t.Fatal(err)
		}
		key.Opening.Retake = &mailbox.Retake{Message: "other"}
		if _, err := r.send(t, key, "x"); core.CodeOf(err) != core.CodeConflict {
			t.Errorf("the key of a request that names another message: %v, want conflict", err)
		}
	})
}

// meanwhile does something between the look of a request at the thread and its write.
func (r *retaking) meanwhile(do func()) {
	r.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		r.store.OnCommit = nil
		do()
		return r.store.Backend.Commit(ctx, key, c)
	}
}

// What is accepted between the look at the thread and the write is before the retake:
// it is taken back, whether it has run by then, runs, or is queued.
func TestWhatIsAcceptedBeforeARetakeIsTakenBack(t *testing.T) {
	const interrupt, queue = mailbox.ModeInterrupt, mailbox.ModeQueue
	tests := []struct {
		name  string
		mode  mailbox.Mode
		do    func(t *testing.T, r *retaking)
		shown []string // behind the first
		log   []string // behind the first run, the record that takes back as "state"
	}{
		{"it has run", interrupt, func(t *testing.T, r *retaking) { r.say(t, "between") },
			[]string{"[one ok between]", "[one]"}, []string{"user: between", "assistant: ok", "state", "state", "user: one", "assistant: ok", "state"}},
		{"it runs", interrupt, func(t *testing.T, r *retaking) { r.submit(t, key, "between", queue); r.take(t, key) },
			[]string{"[one]"}, []string{"user: between", "state", "user: one", "assistant: ok", "state"}},
		{"it is queued", interrupt, func(t *testing.T, r *retaking) { r.submit(t, key, "between", queue) },
			[]string{"[one]"}, []string{"state", "user: one", "assistant: ok", "state"}},
		{"it is queued before what is queued", queue, func(t *testing.T, r *retaking) { r.submit(t, key, "between", queue) },
			[]string{"[one ok between]", "[one]"}, []string{"user: between", "assistant: ok", "state", "state", "user: one", "assistant: ok", "state"}},
		{"it is another that takes back", interrupt, func(t *testing.T, r *retaking) { r.mustRetake(t, "one", "other"); r.finish(t, key, nil) },
			[]string{"[other]", "[one]"}, []string{"state", "user: other", "assistant: ok", "state", "state", "user: one", "assistant: ok", "state"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRetaking(t, options{})
				r.say(t, "one")
				r.meanwhile(func() { tt.do(t, r) })
				if _, err := r.send(t, mailbox.Submission{Mode: tt.mode, Opening: mailbox.Opening{Retake: &mailbox.Retake{Message: "one"}}}); err != nil {
					t.Fatal(err)
				}
				r.reclaim(t)
				r.finish(t, key, nil)
				if diff := cmp.Diff(tt.shown, r.seen[1:]); diff != "" {
					t.Errorf("what models were shown (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.log, r.log(t, key)[3:]); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
				r.say(t, "after")
				if got := r.seen[len(r.seen)-1]; got != "[one ok after]" {
					t.Errorf("the next run is shown %s", got)
				}
			})
		})
	}
}

// Of two tries of one request that are under way at once, one counts, whether the other
// is answered by then or not.
func TestTriesOfOneRetakeAtOnceAreOneRun(t *testing.T) {
	for _, answered := range []bool{false, true} {
		for _, s := range []mailbox.Submission{
			{Opening: mailbox.Opening{Retake: &mailbox.Retake{Message: "one", Keyed: true}}},
			{Opening: mailbox.Opening{Retake: &mailbox.Retake{Message: "one"}}, Key: mailbox.Key{Value: "k"}},
		} {
			t.Run(fmt.Sprintf("answered %v, key %q", answered, s.Key.Value), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRetaking(t, options{})
					r.say(t, "one")
					var other mailbox.Receipt
					r.meanwhile(func() {
						var err error
						if other, err = r.send(t, s); err != nil {
							t.Fatal(err)
						}
						if answered {
							r.finish(t, key, nil)
						}
					})
					got, err := r.send(t, s)
					if err != nil || got.RunID != other.RunID || !got.Duplicate {
						t.Errorf("the try that was overtaken: %+v, %v; want the run of %+v", got, err, other)
					}
					r.finish(t, key, nil)
					if diff := cmp.Diff([]string{"[one]", "[one]"}, r.seen); diff != "" {
						t.Errorf("what models were shown (-want +got):\n%s", diff)
					}
				})
			})
		}
	}
}

// A run that waits is ended by what takes it back: its ticket is gone, and nothing that
// is said again becomes input of it.
func TestARunThatWaitsIsTakenBack(t *testing.T) {
	for _, mode := range []mailbox.Mode{"", mailbox.ModeInterrupt, mailbox.ModeQueue} {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			asks := toolFunc{name: "asks", run: func(context.Context, tool.Call) (tool.Result, error) {
				if n++; n > 1 {
					return tool.NewResult("done"), nil
				}
				return tool.Suspended(core.TicketRequest{Action: "tool:asks"}), nil
			}}
			r := newRetaking(t, options{tools: []tool.Tool{asks}, model: replies(calls("asks", "{}"), text("ok"))})
			waits := r.say(t, "one")
			ticket, err := r.box.Tickets(t.Context(), key, r.head(t, key))
			if err != nil || len(ticket) != 1 {
				t.Fatal(ticket, err)
			}
			again, err := r.send(t, mailbox.Submission{Mode: mode, Opening: mailbox.Opening{Retake: &mailbox.Retake{Message: "one"}}})
			if err != nil || again.RunID == waits.RunID {
				t.Fatalf("said again: %+v, %v", again, err)
			}
			if mode == mailbox.ModeQueue { // as it asked: behind a run that somebody may decide on in a month
				if head := r.head(t, key); head.Run.ID != waits.RunID || len(head.Pending) != 1 {
					t.Errorf("head %+v", head)
				}
				return
			}
			r.finish(t, key, nil)
			want := []string{
				"user: one", "assistant: [asks {}]", `tool: no result: the run was ended first (superseded)`,
				"state", "user: one", "assistant: [asks {}]", `tool: "done"`, "state", "assistant: ok", "state",
			}
			if diff := cmp.Diff(want, r.log(t, key)); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
			_, err = r.box.Decide(t.Context(), key, mailbox.Deciding{
				Run: waits.RunID, Target: ticket[0].Suspension.ID, Decision: core.Decision{Action: core.DecisionResume},
			})
			if core.CodeOf(err) != core.CodeNotFound {
				t.Errorf("a decision on what was taken back: %v, want not_found", err)
			}
		})
	}
}
