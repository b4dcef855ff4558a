package host

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

func queueKey(name string) core.ThreadKey { return core.ThreadKey{Tenant: "t", Thread: name} }

func wakeThread(t *testing.T, q *Queue, name string, delay time.Duration) {
	t.Helper()
	if err := q.Wake(t.Context(), core.WakeUp{Tenant: "t", Thread: name}, delay); err != nil {
		t.Fatal(err)
	}
}

// popped is the thread whose hint is taken, or when the next one is due.
func popped(q *Queue, start time.Time) string {
	d, due, at := q.pop()
	switch {
	case due:
		return d.Hint.Thread
	case at.IsZero():
		return "nothing"
	}
	return at.Sub(start).String()
}

func TestHintsAreTakenByTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, q := time.Now(), NewQueue(env.System())
		if got := popped(q, start); got != "nothing" {
			t.Errorf("of an empty queue %s is taken", got)
		}
		for _, w := range []struct {
			thread string
			delay  time.Duration
		}{{"c", 3 * time.Second}, {"a", 5 * time.Second}, {"a", time.Second}, {"a", 9 * time.Second}, {"b", 2 * time.Second}} {
			wakeThread(t, q, w.thread, w.delay)
		}
		for _, want := range []string{"1s", "a", "2s", "b", "3s", "c", "nothing"} {
			if got := popped(q, start); got != want {
				t.Fatalf("%s is taken, want %s", got, want)
			}
			if wait, err := time.ParseDuration(want); err == nil {
				time.Sleep(time.Until(start.Add(wait)))
			}
		}
		if len(q.lines) != 0 || len(q.known) != 0 {
			t.Errorf("%d lines and %d hints are left", len(q.lines), len(q.known))
		}
	})
}

// Of the hints of a thread the earliest of each purpose is kept, whatever run it is for. When
// the thread is forgotten there is none, also of those that a call holds back.
func TestHintsOfOneThread(t *testing.T) {
	q := NewQueue(env.System())
	send := func() {
		for i, hint := range []core.WakeUp{
			{Tenant: "t", Thread: "a", Dispatch: core.ID{1}}, {Tenant: "t", Thread: "a", Dispatch: core.ID{2}},
			{Tenant: "t", Thread: "a", Sweep: true}, {Tenant: "t", Thread: "a", Kind: core.WakeCompact}, {Tenant: "t", Thread: "a", Sweep: true},
			{Tenant: "u", Thread: "a"},
		} {
			_ = q.Wake(t.Context(), hint, -time.Duration(i)*time.Second)
		}
	}
	receive := func(what string, want ...string) {
		t.Helper()
		var got []string
		for _, d := range q.Receive(t.Context(), 10) {
			got = append(got, fmt.Sprint(d.Hint.Tenant, " ", d.Hint.Dispatch.String()[:2], " ", d.Hint.Kind, " ", d.Hint.Sweep))
		}
		if diff := cmp.Diff(want, got); diff != "" || len(q.known) != 0 {
			t.Errorf("%s: %d are left, (-want +got):\n%s", what, len(q.known), diff)
		}
	}
	send()
	receive("all", "u 00  false", "t 00  true", "t 00 compact false", "t 02  false")
	send()
	q.forget(queueKey("a"))
	receive("a thread that is forgotten", "u 00  false")
	w := q.join(queueKey("a"))
	send()
	if d, due, _ := q.pop(); !due || d.Hint.Tenant != "u" {
		t.Errorf("beside a call %+v is taken", d)
	}
	if _, due, _ := q.pop(); due {
		t.Error("a hint of a thread that a call waits for is taken")
	}
	q.forget(queueKey("a"))
	w.quit()
	if len(q.known) != 0 || len(q.messages) != 0 || len(q.lines) != 0 {
		t.Errorf("%d hints and %d lines are left", len(q.known), len(q.lines))
	}
}

// A hint that takes the place of the hint of a ticket, or comes after it, has its time, so that a
// worker which follows it too early sends the ticket's again. The newest time counts.
func TestAHintKeepsTheTimeOfATicket(t *testing.T) {
	for _, tt := range []struct {
		name  string
		hints []core.WakeUp // each is due a second before the last
		later bool          // or after it
		want  int64
	}{
		{"none", []core.WakeUp{{}, {}}, false, 0},
		{"an earlier hint", []core.WakeUp{{WakeAt: 7}, {}}, false, 7},
		{"a later hint", []core.WakeUp{{WakeAt: 7}, {}}, true, 7},
		{"an earlier time", []core.WakeUp{{WakeAt: 7}, {WakeAt: 5}}, false, 5},
		{"a later time", []core.WakeUp{{WakeAt: 5}, {WakeAt: 7}}, true, 7},
		{"a time that comes later", []core.WakeUp{{}, {WakeAt: 7}}, true, 7},
	} {
		q, delay := NewQueue(env.System()), -time.Hour
		for _, hint := range tt.hints {
			hint.Tenant, hint.Thread = "t", "a"
			if delay -= time.Second; tt.later {
				delay += 2 * time.Second
			}
			_ = q.Wake(t.Context(), hint, delay)
		}
		if got := q.Receive(t.Context(), 10); len(got) != 1 || got[0].Hint.WakeAt != tt.want {
			t.Errorf("%s: %+v, want one hint with the time %d", tt.name, got, tt.want)
		}
	}
}

// withNews are the names of the waiters that have news.
func withNews(waiters map[string]*waiter) (names []string) {
	for _, name := range []string{"a", "a2", "b"} {
		if w := waiters[name]; w != nil && w.news {
			names = append(names, name)
			w.look()
		}
	}
	return names
}

// A thread that calls wait for is theirs: its hint is anybody's when the last has left.
func TestHintsOfAThreadThatIsWaitedFor(t *testing.T) {
	start, q := time.Now(), NewQueue(env.System())
	w := map[string]*waiter{"a": q.join(queueKey("a")), "a2": q.join(queueKey("a")), "b": q.join(queueKey("b"))}
	step := func(what string, do func(), taken string, want ...string) {
		t.Helper()
		do()
		if diff := cmp.Diff(want, withNews(w)); diff != "" {
			t.Errorf("%s: told (-want +got):\n%s", what, diff)
		}
		if got := popped(q, start); got != taken {
			t.Errorf("%s: %s is taken, want %s", what, got, taken)
		}
	}
	step("a hint", func() { wakeThread(t, q, "a", 0) }, "nothing", "a", "a2")
	step("its head moves", func() { q.moved(queueKey("a")) }, "nothing", "a", "a2")
	step("a stranger's head moves", func() { q.moved(queueKey("stranger")) }, "nothing")
	step("one leaves", w["a"].quit, "nothing")
	var back func()
	step("the other is away", func() { back = w["a2"].away() }, "a", "a2", "b")
	back()
	step("another hint", func() { wakeThread(t, q, "a", 0) }, "nothing", "a2")
	step("a hint of a thread without calls", func() { wakeThread(t, q, "c", 0) }, "c", "a2", "b")
	step("the last leaves", w["a2"].quit, "a", "b")
	w["b"].quit()
	if len(q.lines) != 0 || len(q.known) != 0 {
		t.Errorf("%d lines and %d hints are left", len(q.lines), len(q.known))
	}
}

// A pause ends with news, also with those that came before it, and at its time.
func TestAPauseEndsWithNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(env.System())
		w := q.join(queueKey("a"))
		paused := func(at time.Time) time.Duration {
			began := time.Now()
			until, end := w.pause(t.Context(), at)
			defer end()
			<-until.Done()
			w.look()
			return time.Since(began)
		}
		if took := paused(time.Now().Add(time.Second)); took != time.Second {
			t.Errorf("%s, want its second", took)
		}
		wakeThread(t, q, "a", 0)
		if took := paused(time.Now().Add(time.Second)); took != 0 {
			t.Errorf("%s with news that came before", took)
		}
		time.AfterFunc(time.Minute, func() { q.moved(queueKey("a")) })
		if took := paused(time.Time{}); took != time.Minute {
			t.Errorf("%s, want the minute until the news", took)
		}
		q.moved(queueKey("a")) // between two pauses
		if !w.news || w.wake != nil {
			t.Errorf("news %t, a pause %t", w.news, w.wake != nil)
		}
	})
}

// Workers receive hints when they are due; what failed returns with its count. Calls leave
// workers the hints for a second.
func TestHintsThatWorkersReceive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, q := time.Now(), NewQueue(env.System())
		wakeThread(t, q, "b", 2*time.Second)
		time.AfterFunc(time.Second, func() { wakeThread(t, q, "a", 0); wakeThread(t, q, "c", 0); wakeThread(t, q, "d", 0) })
		got := q.Receive(t.Context(), 2)
		if len(got) != 2 || got[0].Hint.Thread != "a" || got[1].Hint.Thread != "c" || got[0].Receives != 1 || time.Since(start) != time.Second {
			t.Fatalf("%+v after %s", got, time.Since(start))
		}
		q.Return(got[0], 3*time.Second)
		time.Sleep(1500 * time.Millisecond)
		if ready, delayed, oldest := q.Depth(); ready != 2 || delayed != 1 || oldest != 1500*time.Millisecond {
			t.Errorf("%d ready, %d delayed, the oldest for %s; want 2, 1 and 1.5s", ready, delayed, oldest)
		}
		end := q.work()
		if got := popped(q, start); got != "d" { // due for more than a second
			t.Errorf("a call takes %s, want d", got)
		}
		if got := popped(q, start); got != "3s" {
			t.Errorf("a call takes %s, want nothing until 3s", got)
		}
		end()
		if got := popped(q, start); got != "b" {
			t.Errorf("without workers a call takes %s, want b", got)
		}
		if got := q.Receive(t.Context(), 10); len(got) != 1 || got[0].Hint.Thread != "a" || got[0].Receives != 2 || time.Since(start) != 4*time.Second {
			t.Errorf("%+v after %s", got, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if got := q.Receive(ctx, 1); got != nil || time.Since(start) != 64*time.Second {
			t.Errorf("%+v after %s, want nothing when the time is over", got, time.Since(start))
		}
	})
}
