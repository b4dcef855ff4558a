package mailbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

func TestRequestIsPartOfWhatAKeyStandsFor(t *testing.T) {
	w := newWorld(t)
	s := keyed("one", "")
	s.Opening.Request = json.RawMessage(`{"plan": "gold"}`)
	first := w.submit(t, s)
	s.Opening.Request = json.RawMessage(`{"plan":"gold"}`) // blanks say nothing
	if again := w.submit(t, s); !again.Duplicate || again.RunID != first.RunID {
		t.Errorf("the same request: %+v, want a duplicate of %+v", again, first)
	}
	s.Opening.Request = json.RawMessage(`{"plan":"free"}`)
	if _, err := w.Submit(t.Context(), s); core.CodeOf(err) != core.CodeConflict {
		t.Errorf("another request: %v, want code conflict", err)
	}
	record, ok, err := w.store.Get(t.Context(), key, recordname.Input(first.DispatchID, 0))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	queued, err := thread.Records{}.DecodeQueued(record.Payload)
	if err != nil || string(queued.Request) != `{"plan":"gold"}` {
		t.Errorf("the input is stored with the request %s, %v", queued.Request, err)
	}
}

// Whoever made the key of the messages alone may send other fields with each try, also
// after an upgrade from a program that knew of none.
func TestRequestBesideTheKeyDoesNotMakeAnotherSubmission(t *testing.T) {
	w := newWorld(t)
	s := keyed("one", "")
	first := w.submit(t, s)
	s.Key.Loose = true
	for _, request := range []string{`{"plan":"gold"}`, `{"plan":"free"}`} {
		s.Opening.Request = json.RawMessage(request)
		if again := w.submit(t, s); !again.Duplicate || again.RunID != first.RunID {
			t.Errorf("with %s: %+v, want a duplicate of %+v", request, again, first)
		}
	}
	s.Messages = []core.Message{core.UserMessage("two").WithID("m1")}
	if _, err := w.Submit(t.Context(), s); core.CodeOf(err) != core.CodeConflict {
		t.Errorf("another message: %v, want code conflict", err)
	}
}

// A first try that is paused before its write and its retry store a message
// once, also when a step has read it before the first goes on.
func TestPausedFirstTryAndItsRetryStoreTheMessageOnce(t *testing.T) {
	for _, pointed := range []bool{false, true} { // the first try has, or has not, stored its key
		t.Run(fmt.Sprint("the key is stored: ", pointed), func(t *testing.T) {
			w := newWorld(t)
			w.submit(t, input("one", ""))
			head := w.claim(t)
			s := input("two", mailbox.ModeSteer)
			s.Key.Value = "k"
			var retry mailbox.Receipt
			w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
				w.store.OnCommit = nil
				if pointed {
					w.points(c.Pointers...)
				}
				retry = w.submit(t, s)
				w.reads(t, head, retry.DispatchID)
				return w.store.Backend.Commit(ctx, key, c)
			}
			first := w.submit(t, s)
			if first.RunID != head.Run.ID || first.DispatchID != retry.DispatchID || !first.Duplicate {
				t.Errorf("the first try's receipt is %+v, the retry's %+v; want a duplicate of it", first, retry)
			}
			if now, err := w.Head(t.Context(), key); err != nil || len(now.Inbox) != 0 || len(now.Pending) != 0 {
				t.Errorf("inbox %v, pending %v, %v; want nothing left to read", now.Inbox, now.Pending, err)
			}
		})
	}
}

// The run that was to read a steered input ends, and the input becomes a run
// under its own id. Its request comes again: while that run is queued, and while
// it is open, when it has no record yet.
func TestRepeatedRequestFindsTheRunThatSteeredInputBecame(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("one", ""))
	head := w.claim(t)
	s := input("two", mailbox.ModeSteer)
	s.Key.Value = "k"
	first := w.submit(t, s)
	w.end(t, head)
	again := func(when string) {
		t.Helper()
		r, err := w.Submit(t.Context(), s)
		if err != nil || !r.Duplicate || r.RunID != first.DispatchID || r.DispatchID != first.DispatchID {
			t.Errorf("%s: %+v, %v; want a duplicate of run %s", when, r, err, first.DispatchID)
		}
	}
	again("queued")
	if head = w.claim(t); head.Run.ID != first.DispatchID {
		t.Fatalf("run %s is open, want %s", head.Run.ID, first.DispatchID)
	}
	again("open")
}

// A request that was refused has not used up its key: with other content it is
// a first try, where a used one would be a conflict.
func TestRefusedRequestDoesNotUseUpItsKey(t *testing.T) {
	tests := []struct {
		name    string
		refused func(*mailbox.Submission)
		code    core.Code
	}{
		{"busy", func(s *mailbox.Submission) { s.Mode = mailbox.ModeReject }, core.CodeBusy},
		{"another owner's thread", func(s *mailbox.Submission) { s.User = "bob" }, core.CodeForbidden},
		{"nobody's", func(s *mailbox.Submission) { s.User = "" }, core.CodeForbidden},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.submit(t, input("one", ""))
			s := input("two", "")
			s.Key.Value = "k"
			refused := s
			tt.refused(&refused)
			if r, err := w.Submit(t.Context(), refused); core.CodeOf(err) != tt.code || r != (mailbox.Receipt{}) {
				t.Fatalf("submit: %+v, %v; want code %s and no receipt", r, err, tt.code)
			}
			s.Messages = []core.Message{core.UserMessage("something else")}
			if r, err := w.Submit(t.Context(), s); err != nil || r.Duplicate {
				t.Errorf("the key's next use: %+v, %v; want it to be the first", r, err)
			}
			s.Messages = []core.Message{core.UserMessage("and else again")}
			if _, err := w.Submit(t.Context(), s); core.CodeOf(err) != core.CodeConflict {
				t.Errorf("other content under the used key: %v, want code conflict", err)
			}
		})
	}
}

// Whoever guesses a key on another's thread reads nothing of what it stands for.
func TestKeyOfAnotherOwnerSaysNothing(t *testing.T) {
	w := newWorld(t)
	s := input("one", "")
	s.Key.Value = "k"
	w.submit(t, s)
	for _, text := range []string{"one", "two"} { // the same content and another
		guess := input(text, "")
		guess.User, guess.Key.Value = "bob", "k"
		if r, err := w.Submit(t.Context(), guess); core.CodeOf(err) != core.CodeForbidden || r != (mailbox.Receipt{}) {
			t.Errorf("%s: %+v, %v; want code forbidden and no receipt", text, r, err)
		}
	}
}

// Keys are remembered for 48 hours, run ids for good, input for 400 days: it
// must outlive the longest wait for the run before it. What lists run and thread stays.
func TestHowLongThingsAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := input("one", "")
		s.Key.Value = "k"
		var lives []time.Duration
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			for _, p := range c.Pointers {
				lives = append(lives, p.TTL)
			}
			for _, r := range c.Records {
				if r.Expires == 0 {
					lives = append(lives, 0)
					continue
				}
				lives = append(lives, time.Duration(r.Expires-time.Now().Unix())*time.Second)
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		w.submit(t, s)
		if diff := cmp.Diff([]time.Duration{48 * time.Hour, 0, 9600 * time.Hour, 0, 0}, lives); diff != "" {
			t.Errorf("lives of key, run id, input, run and thread in lists (-want +got):\n%s", diff)
		}
	})
}

// The thread was idle when an interrupt looked, and is not when it writes: it
// interrupts all the same.
func TestInterruptOfAThreadThatWasIdleWhenItLooked(t *testing.T) {
	for _, inline := range []bool{false, true} {
		t.Run(fmt.Sprint("inline ", inline), func(t *testing.T) {
			w := newWorld(t)
			w.submit(t, input("zero", ""))
			w.end(t, w.claim(t))
			var other mailbox.Receipt
			w.before(func() {
				other = w.submit(t, input("one", ""))
				w.claim(t)
			})
			s := input("two", mailbox.ModeInterrupt)
			var err error
			if inline {
				_, _, _, err = w.SubmitAndClaim(t.Context(), s)
			} else {
				_, err = w.Submit(t.Context(), s)
			}
			if got := w.status(t, other); err != nil || got != "done superseded" {
				t.Errorf("the other run is %q, %v; want it superseded", got, err)
			}
		})
	}
}

// An inline interrupt of an idle thread is an inline run.
func TestInlineInterruptOfAnIdleThreadIsClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r, head, _, err := w.SubmitAndClaim(t.Context(), input("one", mailbox.ModeInterrupt))
		if err != nil || !r.Running || head.Claim.Fence != 1 {
			t.Errorf("claimed %v under fence %d, %v", r.Running, head.Claim.Fence, err)
		}
		// Nobody is to take the run from under its stream.
		if diff := cmp.Diff([]string(nil), w.queue.Lines()); diff != "" {
			t.Errorf("hints (-want +got):\n%s", diff)
		}
	})
}

// Another try under the same key comes first, and then again, or its thread
// cannot be read: the submission fails without a receipt.
func TestTryThatAnotherOvertookTwice(t *testing.T) {
	unreadable := core.Errorf(core.CodeCorrupt, "read timed out")
	tests := []struct {
		name   string
		again  bool // its key is taken at the second try too
		look   error
		want   string
		writes int
	}{
		{"again", true, nil, "pointer key:c782045a37aeb0abe2943ad3023e7fdf holds another value", 2},
		{"unreadable", false, unreadable, "read head of t/t1: read timed out", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			writes := 0
			w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
				if writes++; writes > 1 && !tt.again {
					return w.store.Backend.Commit(ctx, key, c)
				}
				looked := false
				w.reading(func() error {
					if looked {
						return nil
					}
					looked = true
					return tt.look
				})
				return store.Outcome{Taken: c.Pointers[:1]}, nil
			}
			r, err := w.Submit(t.Context(), keyed("one", ""))
			if err == nil || err.Error() != tt.want || r != (mailbox.Receipt{}) || writes != tt.writes {
				t.Errorf("submit: %+v, %v after %d writes; want %s", r, err, writes, tt.want)
			}
		})
	}
}

// A retry is refused its input though none is stored: that is a conflict, not
// input that cannot be read.
func TestRetryThatIsRefusedWhatIsNotThere(t *testing.T) {
	w := newWorld(t)
	s := keyed("one", "")
	w.store.OnCommit = func(_ context.Context, _ core.ThreadKey, c store.Commit) (store.Outcome, error) {
		w.points(c.Pointers...)
		return store.Outcome{}, &store.RefusedError{Name: c.Records[0].Name, Cause: store.ErrConflict}
	}
	for range 2 {
		if _, err := w.Submit(t.Context(), s); !errors.Is(err, store.ErrConflict) {
			t.Errorf("submit: %v, want a conflict", err)
		}
	}
}

// The key was taken by another user's first try, which made the thread meanwhile:
// the same content under it reads nothing of that try's receipt.
func TestKeyThatAnotherOwnerTookMeanwhileSaysNothing(t *testing.T) {
	w := newWorld(t)
	w.store.OnCommit = func(ctx context.Context, at core.ThreadKey, c store.Commit) (store.Outcome, error) {
		w.store.OnCommit = nil
		w.submit(t, keyed("one", ""))
		value, ok, err := w.store.Pointer(ctx, "t", c.Pointers[0].Name)
		if err != nil || !ok {
			t.Errorf("the key is stored: %v, %v", ok, err)
		}
		return store.Outcome{Taken: []store.Pointer{{Name: c.Pointers[0].Name, Value: value}}}, nil
	}
	guess := keyed("one", "")
	guess.User = "bob"
	if r, err := w.Submit(t.Context(), guess); core.CodeOf(err) != core.CodeForbidden || r != (mailbox.Receipt{}) {
		t.Errorf("submit: %+v, %v; want code forbidden and no receipt", r, err)
	}
}

// Input that waits behind other steered input of a run that ended is hinted again
// when its request comes again.
func TestRetryOfInputBehindSteeredInputIsHinted(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("one", ""))
	head := w.claim(t)
	first := w.submit(t, input("two", mailbox.ModeSteer))
	w.submit(t, keyed("three", mailbox.ModeSteer))
	w.end(t, head)
	w.queue.Clear()
	if r := w.submit(t, keyed("three", mailbox.ModeSteer)); !r.Duplicate || r.RunID != first.DispatchID {
		t.Errorf("again: %+v, want a duplicate of run %s", r, first.DispatchID)
	}
	if diff := cmp.Diff([]string{"t1 0s"}, w.queue.Lines()); diff != "" {
		t.Errorf("hints (-want +got):\n%s", diff)
	}
}

func TestWhatAFrontendBringsIsPartOfASubmissionUnlessItIsBesideTheKey(t *testing.T) {
	w := newWorld(t)
	s := keyed("one", "")
	s.Opening.Frontend = &core.Frontend{Tools: []core.FrontendTool{{Name: "bell"}}}
	first := w.submit(t, s)
	s.Opening.Frontend = &core.Frontend{State: json.RawMessage(`{"n":1}`)}
	if _, err := w.Submit(t.Context(), s); core.CodeOf(err) != core.CodeConflict {
		t.Errorf("another frontend: %v, want code conflict", err)
	}
	beside := keyed("beside", "")
	beside.Key.Value, beside.Key.Loose = "k2", true
	kept := w.submit(t, beside)
	beside.Opening.Frontend = s.Opening.Frontend
	if again := w.submit(t, beside); !again.Duplicate || again.RunID != kept.RunID {
		t.Errorf("%+v, want a duplicate of %+v", again, kept)
	}
	head, err := w.Head(t.Context(), s.Thread)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]core.ID{s.Key.Value: first.RunID, "k2": kept.RunID, "nobody's": {}} {
		if got, ok, err := w.Submitted(t.Context(), s.Thread, head, name); got != want || ok == want.IsZero() || err != nil {
			t.Errorf("key %s leads to %s, %v, %v; want %s", name, got, ok, err, want)
		}
	}
	s = keyed("three", "")
	s.Key.Value, s.Opening.Frontend = "k3", &core.Frontend{State: json.RawMessage(`[]`)}
	if _, err := w.Submit(t.Context(), s); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("a state that is no object: %v", err)
	}
}

// A request that must have been made before is found, or refused.
func TestAKeyThatMustHaveBeenUsed(t *testing.T) {
	w := newWorld(t)
	s := keyed("one", "")
	s.Key.Used = true
	const want = "thread t1: no earlier request has this Idempotency-Key, or it is forgotten"
	if r, err := w.Submit(t.Context(), s); core.CodeOf(err) != core.CodeInvalid || err.Error() != want {
		t.Errorf("before: %+v, %v; want %s", r, err, want)
	}
	first := w.submit(t, keyed("one", ""))
	if r := w.submit(t, s); !r.Duplicate || r.RunID != first.RunID {
		t.Errorf("after: %+v, want a duplicate of %s", r, first.RunID)
	}
}
