package mailbox_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// submitInline is Submit for an inline run.
func (w *world) submitInline(ctx context.Context, s mailbox.Submission) (mailbox.Receipt, error) {
	receipt, _, _, err := w.SubmitAndClaim(ctx, s)
	return receipt, err
}

func prior(priority uint8, s mailbox.Submission) mailbox.Submission {
	s.Opening.Priority = &priority
	return s
}

func TestRunsOpenInTheOrderOfTheirPriority(t *testing.T) {
	w := newWorld(t)
	names := map[core.ID]string{}
	for _, s := range []struct {
		name string
		mailbox.Submission
	}{
		{"default", input("a", "")}, {"last", prior(255, input("b", ""))}, {"first", prior(0, input("c", ""))},
		{"default by its number", prior(128, input("d", ""))}, {"before the default", prior(127, input("e", ""))},
	} {
		names[w.submit(t, s.Submission).RunID] = s.name
	}
	var got []string
	for range len(names) {
		head := w.claim(t)
		got = append(got, names[head.Run.ID])
		w.end(t, head)
	}
	want := []string{"first", "before the default", "default", "default by its number", "last"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// A delayed run is hinted and due at its time, and not claimed before.
func TestADelayedRunBeginsAtItsTime(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(s *mailbox.Submission)
		inline bool
	}{
		{"available_at", func(s *mailbox.Submission) { s.Opening.AvailableAt = time.Now().Add(time.Hour).UnixMilli() }, false},
		{"a delay", func(s *mailbox.Submission) { s.Opening.Delay = time.Hour }, false},
		{"inline", func(s *mailbox.Submission) { s.Opening.Delay = time.Hour }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				s, began := input("later", ""), time.Now().UnixMilli()
				tt.change(&s)
				submit := w.Submit
				if tt.inline {
					submit = w.submitInline
				}
				if receipt, err := submit(t.Context(), s); err != nil || receipt.Running {
					t.Fatalf("receipt %+v, %v", receipt, err)
				}
				head := w.head(t)
				if len(head.Delayed) != 1 || head.Delayed[0].AvailableAt != began+3_600_000 || head.DueAt != began+3_600_000 {
					t.Errorf("delayed %+v, due at %d, want both at %d", head.Delayed, head.DueAt, began+3_600_000)
				}
				if diff := cmp.Diff([]string{"t1 1h0m0s"}, w.queue.Lines()); diff != "" {
					t.Errorf("hints (-want +got):\n%s", diff)
				}
				if _, claimed, err := w.Claim(t.Context(), hint, false); claimed || err != nil {
					t.Errorf("claimed %v before its time, %v", claimed, err)
				}
				time.Sleep(time.Hour)
				w.claim(t)
			})
		})
	}
}

// What is due is at once: no head compares two machines' clocks for it.
func TestARunThatIsDueIsQueuedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, at := range []int64{1, time.Now().UnixMilli()} {
			w := newWorld(t)
			s := input("now", "")
			s.Opening.AvailableAt = at
			w.submit(t, s)
			if head := w.head(t); head.Pending[0].AvailableAt != 0 {
				t.Errorf("of %d the head keeps %d, want 0", at, head.Pending[0].AvailableAt)
			}
		}
	})
}

// What is due answers a run that waits as if nothing were said of a time.
func TestInputThatIsDueAnswersAWaitingRun(t *testing.T) {
	w, head := waiting(t, asks(1))
	s := input("now", "")
	s.Opening.AvailableAt = 1
	if r := w.submit(t, s); r.RunID != head.Run.ID || len(w.head(t).Inbox) != 1 {
		t.Errorf("receipt %+v, inbox %v", r, w.head(t).Inbox)
	}
	synctest.Test(t, func(t *testing.T) { // and so does what is due in this very millisecond
		w, head := waiting(t, asks(1))
		s.Opening.AvailableAt = time.Now().UnixMilli()
		if r := w.submit(t, s); r.RunID != head.Run.ID {
			t.Errorf("receipt %+v of what is due now", r)
		}
	})
}

// Delayed input is for later: it answers no run that waits now, and opens behind what
// can open before it.
func TestDelayedInputDoesNotAnswerAWaitingRun(t *testing.T) {
	w, head := waiting(t, asks(1))
	s := input("tomorrow", "")
	s.Opening.Delay = 24 * time.Hour
	receipt := w.submit(t, s)
	now := w.head(t)
	if receipt.RunID == head.Run.ID || len(now.Tickets) != 1 || len(now.Delayed) != 1 {
		t.Errorf("receipt %+v, tickets %v, delayed %v", receipt, now.Tickets, now.Delayed)
	}
}

func TestBadDelaysAreRefused(t *testing.T) {
	const year = 365 * 24 * time.Hour
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for _, tt := range []struct {
			name   string
			change func(s *mailbox.Submission)
			want   string
		}{
			{"a year", func(s *mailbox.Submission) { s.Opening.Delay = year }, ""},
			{"more than a year", func(s *mailbox.Submission) { s.Opening.Delay = year + 1 }, "delay of 8760h0m0.000000001s, allowed are 0 to 8760h0m0s"},
			{"a time in a year", func(s *mailbox.Submission) { s.Opening.AvailableAt = now.Add(year).UnixMilli() }, ""},
			{"later", func(s *mailbox.Submission) { s.Opening.AvailableAt = now.Add(year).UnixMilli() + 1 }, "available_at 978220800001 lies more than 8760h0m0s ahead"},
			{"before 1970", func(s *mailbox.Submission) { s.Opening.AvailableAt = -1 }, "available_at is -1, allowed are unix milliseconds from 0 on"},
			{"a negative delay", func(s *mailbox.Submission) { s.Opening.Delay = -1 }, "delay of -1ns, allowed are 0 to 8760h0m0s"},
			{"both", func(s *mailbox.Submission) { s.Opening.AvailableAt, s.Opening.Delay = 1, 1 }, "both available_at and a delay are given, at most one is allowed"},
			{"steered", func(s *mailbox.Submission) { s.Mode, s.Opening.Delay = mailbox.ModeSteer, 1 }, "input of mode steer cannot be delayed, only queue and reject can"},
			{"an interrupt", func(s *mailbox.Submission) { s.Mode, s.Opening.AvailableAt = mailbox.ModeInterrupt, 1 }, "input of mode interrupt cannot be delayed, only queue and reject can"},
			{"a child", func(s *mailbox.Submission) {
				s.Opening.Delay, s.Opening.Parent = time.Hour, &mailbox.Parent{Thread: "t2", Run: core.ID{1}}
			}, "a child run cannot be delayed: its parent waits for it"},
			{"one that is refused when busy", func(s *mailbox.Submission) { s.Mode, s.Opening.Delay = mailbox.ModeReject, time.Hour }, ""},
		} {
			w, s, got := newWorld(t), input("later", ""), ""
			tt.change(&s)
			_, err := w.Submit(t.Context(), s)
			if err != nil {
				got = err.Error()
			}
			if got != tt.want || err != nil && core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("%s: error %q with code %s, want %q", tt.name, got, core.CodeOf(err), tt.want)
			}
		}
	})
}

// Whoever tries again does so later: a delay counts from the first try. What a
// submission asks of the queue is part of what its key stands for.
func TestPriorityAndDelayArePartOfWhatAKeyStandsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := prior(7, keyed("later", ""))
		s.Opening.Delay = time.Minute
		first := w.submit(t, s)
		at := w.head(t).Delayed[0].AvailableAt
		time.Sleep(time.Second)
		if again := w.submit(t, s); !again.Duplicate || again.RunID != first.RunID || w.head(t).Delayed[0].AvailableAt != at {
			t.Errorf("again: %+v at %d, the first %+v at %d", again, w.head(t).Delayed[0].AvailableAt, first, at)
		}
		for name, change := range map[string]func(s *mailbox.Submission){
			"priority": func(s *mailbox.Submission) { *s = prior(8, *s) },
			"none":     func(s *mailbox.Submission) { s.Opening.Priority = nil },
			"delay":    func(s *mailbox.Submission) { s.Opening.Delay++ },
			"time":     func(s *mailbox.Submission) { s.Opening.Delay, s.Opening.AvailableAt = 0, at },
			"into":     func(s *mailbox.Submission) { s.Into = core.ID{1} },
		} {
			other := s
			change(&other)
			if _, err := w.Submit(t.Context(), other); core.CodeOf(err) != core.CodeConflict {
				t.Errorf("another %s: %v, want code conflict", name, err)
			}
		}
	})
}

// Input that is meant for one run never reaches the inbox of another.
func TestInputGoesIntoTheRunThatItIsFor(t *testing.T) {
	w := newWorld(t)
	one := w.submit(t, input("one", ""))
	w.claim(t)
	into := func(run core.ID) mailbox.Submission {
		s := input("and", mailbox.ModeSteer)
		s.Into = run
		return s
	}
	if got := w.submit(t, into(one.RunID)); got.RunID != one.RunID || len(w.head(t).Inbox) != 1 {
		t.Errorf("into the open run: %+v, inbox %v", got, w.head(t).Inbox)
	}
	if got := w.submit(t, into(core.ID{1})); got.RunID == one.RunID || len(w.head(t).Inbox) != 1 || len(w.head(t).Pending) != 1 {
		t.Errorf("into another: %+v, inbox %v, queue %v", got, w.head(t).Inbox, w.head(t).Pending)
	}
	waits, head := waiting(t, asks(1))
	other := into(core.ID{1})
	other.Mode = ""
	if got := waits.submit(t, other); got.RunID == head.Run.ID || len(waits.head(t).Tickets) != 1 {
		t.Errorf("a run that waits was answered by what another was told: %+v", got)
	}
}
