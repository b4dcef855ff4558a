package mailboxtest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/store/memory"
)

// A test submits, takes the hint and does the worker's part by hand.
func ExampleQueue() {
	ctx, queue := context.Background(), &mailboxtest.Queue{}
	box, err := mailbox.New(mailbox.Options{Env: env.System(), Store: memory.New(), Waker: queue})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = box.Submit(ctx, mailbox.Submission{
		Thread: core.ThreadKey{Tenant: "acme", Thread: "t1"}, Opening: mailbox.Opening{AgentID: "demo"}, Messages: []core.Message{core.UserMessage("hi")},
	})
	fmt.Println(queue.Lines(), err)
	hint, ok := queue.Receive()
	_, claimed, err := box.Claim(ctx, hint, false)
	fmt.Println(ok, claimed, err)
	// Output:
	// [t1 0s] <nil>
	// true true <nil>
}

// at is a clock that a test moves.
type at struct{ time.Time }

func (a *at) now() time.Time { return a.Time }

func send(t *testing.T, q *mailboxtest.Queue, thread string, delay time.Duration) {
	t.Helper()
	if err := q.Wake(t.Context(), core.WakeUp{Thread: thread}, delay); err != nil {
		t.Fatal(err)
	}
}

func threads(hints []core.WakeUp) (names []string) {
	for _, h := range hints {
		names = append(names, h.Thread)
	}
	return names
}

func TestHintsComeWhenTheyAreDueLongestDueFirst(t *testing.T) {
	clock := &at{time.Unix(1000, 0)}
	q := &mailboxtest.Queue{Now: clock.now, Longest: time.Minute}
	if _, ok := q.Next(); ok {
		t.Error("an empty queue has a next hint")
	}
	send(t, q, "later", time.Hour)
	send(t, q, "second", time.Second)
	send(t, q, "first", 0)
	send(t, q, "third", time.Second)
	if diff := cmp.Diff([]string{"later 1h0m0s", "second 1s", "first 0s", "third 1s"}, q.Lines()); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	if hint, ok := q.Receive(); !ok || hint.Thread != "first" {
		t.Errorf("Receive returns %v, %v, want the hint that is due", hint, ok)
	}
	if hint, ok := q.Receive(); ok {
		t.Errorf("Receive returns %v before its time", hint)
	}
	if next, ok := q.Next(); !ok || !next.Equal(time.Unix(1001, 0)) {
		t.Errorf("the next hint is due at %s, %v, want a second from now", next, ok)
	}
	clock.Time = clock.Add(time.Minute)
	if diff := cmp.Diff([]string{"second", "third"}, threads(q.Batch(2))); diff != "" {
		t.Errorf("a batch of 2 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"later"}, threads(q.Batch(2))); diff != "" {
		t.Errorf("what was cut to a minute (-want +got):\n%s", diff)
	}
}

func TestRefusedAndLostHintsAreNotKept(t *testing.T) {
	full := errors.New("no queue")
	refused := &mailboxtest.Queue{OnWake: func(core.WakeUp, time.Duration) error { return full }}
	lost := &mailboxtest.Queue{Lose: func(core.WakeUp, time.Duration) bool { return true }}
	for q, want := range map[*mailboxtest.Queue]error{refused: full, lost: nil} {
		if err := q.Wake(t.Context(), core.WakeUp{Thread: "t1"}, 0); !errors.Is(err, want) {
			t.Errorf("Wake returns %v, want %v", err, want)
		}
		if lines := q.Lines(); lines != nil || q.Asked() != 1 {
			t.Errorf("the queue keeps %q and was asked %d times, want nothing and once", lines, q.Asked())
		}
	}
}

func TestClearForgetsWhatWasSent(t *testing.T) {
	q := &mailboxtest.Queue{}
	send(t, q, "t1", 0)
	q.Clear()
	if hint, ok := q.Receive(); ok {
		t.Errorf("Receive returns %v after Clear", hint)
	}
}
