package runtime

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

func soloKey(name string) core.ThreadKey { return core.ThreadKey{Tenant: "t", Thread: name} }

func wakeSolo(t *testing.T, s *solo, name string, delay time.Duration) {
	t.Helper()
	if err := s.Wake(t.Context(), core.WakeUp{Tenant: "t", Thread: name}, delay); err != nil {
		t.Fatal(err)
	}
}

// took is the thread whose hint is taken, or when the next one is due.
func took(s *solo, start time.Time) string {
	hint, due, at := s.pop()
	switch {
	case due:
		return hint.Thread
	case at.IsZero():
		return "nothing"
	}
	return at.Sub(start).String()
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestHintsAreTakenByTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, s := time.Now(), newSolo(env.System())
		if got := took(s, start); got != "nothing" {
			t.Errorf("of an empty queue %s is taken", got)
		}
		for _, w := range []struct {
			thread string
			delay  time.Duration
		}{{"c", 3 * time.Second}, {"a", 5 * time.Second}, {"a", time.Second}, {"a", 9 * time.Second}, {"b", 2 * time.Second}} {
			wakeSolo(t, s, w.thread, w.delay)
		}
		for _, want := range []string{"1s", "a", "2s", "b", "3s", "c", "nothing"} {
			if got := took(s, start); got != want {
				t.Fatalf("%s is taken, want %s", got, want)
			}
			if wait, err := time.ParseDuration(want); err == nil {
				time.Sleep(time.Until(start.Add(wait)))
			}
		}
		if len(s.lines) != 0 {
			t.Errorf("%d lines are left", len(s.lines))
		}
	})
}

// A thread that calls wait for is theirs: its hint is anybody's when the last has left.
func TestHintsOfAThreadThatIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, s := time.Now(), newSolo(env.System())
		s.join(soloKey("a"))
		s.join(soloKey("a"))
		s.join(soloKey("b"))
		own, other := s.next(soloKey("a")), s.next(soloKey("b"))
		if s.next(soloKey("a")) != own {
			t.Error("two who wait for one thread wait for two things")
		}
		wakeSolo(t, s, "a", 0)
		if !isClosed(own) || isClosed(other) {
			t.Errorf("told: a %v, b %v; want a alone", isClosed(own), isClosed(other))
		}
		if got := took(s, start); got != "nothing" {
			t.Errorf("%s is taken", got)
		}
		s.quit(soloKey("a"))
		if got := took(s, start); got != "nothing" || isClosed(other) {
			t.Errorf("with one who waits %s is taken, b was told: %v", got, isClosed(other))
		}
		s.quit(soloKey("a"))
		if !isClosed(other) {
			t.Error("nobody is told that there is a hint to take")
		}
		if got := took(s, start); got != "a" {
			t.Errorf("%s is taken, want a", got)
		}
		s.quit(soloKey("b"))
		if len(s.lines) != 0 {
			t.Errorf("%d lines are left", len(s.lines))
		}
	})
}

func TestWhoIsToldOfWhat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSolo(env.System())
		s.join(soloKey("a"))
		s.join(soloKey("b"))
		a, b := s.next(soloKey("a")), s.next(soloKey("b"))
		s.moved(soloKey("a"))
		s.moved(soloKey("stranger"))
		if !isClosed(a) || isClosed(b) {
			t.Errorf("a head has moved; told: a %v, b %v; want a alone", isClosed(a), isClosed(b))
		}
		a = s.next(soloKey("a"))
		if isClosed(a) {
			t.Error("what comes next has come")
		}
		wakeSolo(t, s, "nobody", time.Hour)
		if !isClosed(a) || !isClosed(b) {
			t.Errorf("a hint of a thread that nobody waits for; told: a %v, b %v; want both", isClosed(a), isClosed(b))
		}
	})
}
