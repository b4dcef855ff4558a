package host_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// behind submits a run that nobody has taken up, and one behind it.
func behind(t *testing.T, process *host.Host, name string) (first, queued mailbox.Receipt) {
	t.Helper()
	first, err := process.Submit(t.Context(), submission(name, "slow: 20"))
	if err != nil {
		t.Fatal(err)
	}
	if queued, err = process.Submit(t.Context(), submission(name, "hello")); err != nil {
		t.Fatal(err)
	}
	return first, queued
}

// However many follow a thread, its head is read once per interval; each reads
// what it does not know once, and nothing when the head stands still.
func TestFollowersOfAThreadShareItsReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		counting := newReadings(r.store)
		process := r.process("r", counting)
		_, queued := behind(t, r.process("w", r.store), "t1")
		ctx, leave := context.WithCancel(t.Context())
		var followers sync.WaitGroup
		for range 100 {
			followers.Go(func() {
				if err := process.Follow(ctx, local, queued.RunID, host.ListenerFunc(func(core.Event) error { return nil })); err != nil {
					t.Error(err)
				}
			})
		}
		want := func(when string, want map[string]int) {
			t.Helper()
			synctest.Wait()
			if diff := cmp.Diff(want, counting.take()); diff != "" {
				t.Errorf("read %s (-want +got):\n%s", when, diff)
			}
		}
		want("at first", map[string]int{"head": 200, "R": 100, "Q": 100})
		time.Sleep(time.Minute)
		want("in a minute", map[string]int{"head": 120})
		leave()
		followers.Wait()
		time.Sleep(time.Minute)
		want("when nobody follows any more", map[string]int{})
	})
}

// What this process commits is shown at once, however rarely it looks.
func TestFollowersSeeTheirOwnProcessAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store, func(c *host.Options) { c.FollowInterval = 24 * time.Hour })
		s := submission("t1", "parallel: a, b")
		receipt, err := process.Submit(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		got, done := r.follows(process, receipt.RunID)
		synctest.Wait()
		for hint, ok := r.queue.Receive(); ok; hint, ok = r.queue.Receive() {
			if err := process.WorkLocal(t.Context(), hint); err != nil {
				t.Fatal(err)
			}
		}
		worked := time.Since(began)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		// What is still being said comes in pieces, as many as it is early for.
		if diff := cmp.Diff(replayed, joined(got.lines)); diff != "" {
			t.Error(diff)
		}
		if late := time.Since(began) - worked; late != 0 {
			t.Errorf("the stream ended %s after its run, want at once", late)
		}
	})
}

// A write that falls between two looks of a follower is told to it, wherever it
// falls: no stream waits for the next interval.
func TestFollowersMissNoWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		meddling := &meddler{Backend: r.store}
		process := r.process("w", meddling, func(c *host.Options) { c.FollowInterval = 24 * time.Hour })
		s := submission("t1", "hello")
		receipt, err := process.Submit(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		hint, _ := r.queue.Receive()
		began := time.Now()
		meddling.after = func(reads int) {
			if reads == 2 { // the follower has read the head, and not looked at it yet
				if err := process.WorkLocal(t.Context(), hint); err != nil {
					t.Error(err)
				}
			}
		}
		var got events
		if err := process.Follow(t.Context(), local, receipt.RunID, host.ListenerFunc(got.sink)); err != nil {
			t.Fatal(err)
		}
		if n := len(got.lines); n != 6 || got.lines[n-1] != `run_finish {"type":"natural_end"}` {
			t.Errorf("events %q, want 6 and the last of them run_finish", got.lines)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("the stream ended after %s", took)
		}
	})
}

// meddler calls after when a head was read, before it is returned.
type meddler struct {
	store.Backend
	mu    sync.Mutex
	reads int
	after func(reads int)
}

func (m *meddler) Head(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
	head, err := m.Backend.Head(ctx, key)
	m.mu.Lock()
	after := m.after
	if after != nil {
		m.reads++
	}
	reads := m.reads
	m.mu.Unlock()
	if after != nil {
		after(reads)
	}
	return head, err
}

// A stream that only follows ends when the host says, and its client may come
// back.
func TestAStreamThatOnlyFollowsYields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store, func(c *host.Options) { c.FollowFor = time.Minute })
		_, queued := behind(t, process, "t1")
		for range 2 {
			began := time.Now()
			var got events
			if err := process.Follow(t.Context(), local, queued.RunID, host.ListenerFunc(got.sink)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"run_start", "run_yield"}, got.lines); diff != "" || time.Since(began) != time.Minute {
				t.Errorf("the stream ended after %s with (-want +got):\n%s", time.Since(began), diff)
			}
		}
	})
}

// The time that a run is stepped inline is not time that its stream follows.
func TestAnInlineStreamDoesNotYieldForItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store, func(c *host.Options) { c.FollowFor = time.Second })
		began := time.Now()
		var got events
		if _, err := process.Stream(t.Context(), submission("t1", "slow: 20"), host.ListenerFunc(got.sink)); err != nil {
			t.Fatal(err)
		}
		if last := got.lines[len(got.lines)-1]; last != `run_finish {"type":"natural_end"}` || time.Since(began) < 2*time.Second {
			t.Errorf("the stream ended after %s with %s", time.Since(began), last)
		}
	})
}

// unhurried is a listener that takes five seconds for whatever it is shown.
type unhurried struct{ events }

func (u *unhurried) Emit(e core.Event) error { return u.sink(e) }

func (u *unhurried) Ready(context.Context) error {
	time.Sleep(5 * time.Second)
	return nil
}

// Who reads a long replay slowly is there: the time to follow begins behind it.
func TestAReplayDoesNotYieldForItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store, func(c *host.Options) { c.FollowFor = time.Second })
		receipt, err := process.Stream(t.Context(), submission("t1", "echo: hello"), host.ListenerFunc(func(core.Event) error { return nil }))
		if err != nil {
			t.Fatal(err)
		}
		began, slow := time.Now(), &unhurried{}
		if err := process.Follow(t.Context(), local, receipt.RunID, slow); err != nil {
			t.Fatal(err)
		}
		if last := slow.lines[len(slow.lines)-1]; last != `run_finish {"type":"natural_end"}` || time.Since(began) < 10*time.Second {
			t.Errorf("the stream ended after %s with %s", time.Since(began), last)
		}
	})
}

// A store that fails now and then sends nobody away.
func TestFollowersOutlastAPassingFault(t *testing.T) {
	tests := []struct {
		name  string
		fails int // reads of the head, one after the other
		want  []string
		took  time.Duration
	}{
		{"two reads", 2, []string{"run_start", "run_yield"}, time.Minute},
		{"three reads", 3, []string{"run_start", "run_yield"}, 1500 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				failing := &unread{Backend: r.store}
				process := r.process("w", failing, func(c *host.Options) { c.FollowFor = time.Minute })
				_, queued := behind(t, process, "t1")
				began := time.Now()
				var got events
				err := process.Follow(t.Context(), local, queued.RunID, host.ListenerFunc(func(e core.Event) error {
					failing.fail(tt.fails)
					return got.sink(e)
				}))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, got.lines); diff != "" || time.Since(began) != tt.took {
					t.Errorf("the stream ended after %s, want %s (-want +got):\n%s", time.Since(began), tt.took, diff)
				}
			})
		})
	}
}

// unread is a store whose heads cannot be read for a while.
type unread struct {
	store.Backend
	mu   sync.Mutex
	left int
}

func (u *unread) fail(times int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.left = times
}

func (u *unread) Head(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
	u.mu.Lock()
	failing := u.left > 0
	u.left--
	u.mu.Unlock()
	if failing {
		return thread.Head{}, store.ErrThrottled
	}
	return u.Backend.Head(ctx, key)
}

// No read of a followed thread outlives the last stream: a process may be frozen
// when its invocation has returned.
func TestNothingReadsWhenTheLastFollowerHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		lingering := &lingers{Backend: r.store}
		process := r.process("w", lingering)
		_, queued := behind(t, process, "t1")
		ctx, cancel := context.WithTimeout(t.Context(), 22*time.Second) // of which 20 are kept; the fourth read begins with its end
		defer cancel()
		if err := process.Follow(ctx, local, queued.RunID, host.ListenerFunc(func(core.Event) error { lingering.begin(); return nil })); err != nil {
			t.Fatal(err)
		}
		if begun, under := lingering.reads(); begun == 0 || under != 0 {
			t.Errorf("%d reads have begun, and %d are under way when the stream is over", begun, under)
		}
	})
}

// lingers is a store whose heads take a second to read from some time on, even for
// whoever gives up.
type lingers struct {
	store.Backend
	mu           sync.Mutex
	begins       bool
	begun, under int
}

func (l *lingers) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begins = true
}

func (l *lingers) reads() (begun, under int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.begun, l.under
}

func (l *lingers) note(by int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.begins && by > 0 {
		l.begun++
	}
	if l.begins {
		l.under += by
	}
	return l.begins
}

func (l *lingers) Head(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
	if l.note(1) {
		time.Sleep(time.Second)
		defer l.note(-1)
	}
	return l.Backend.Head(context.WithoutCancel(ctx), key)
}

// Followers come and go while a thread moves; each sees its run to the end, and
// nothing is left behind.
func TestFollowersComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store)
		var runs []core.ID
		for i := range 5 {
			receipt, err := process.Submit(t.Context(), submission("t1", fmt.Sprintf("parallel: a%d, b", i)))
			if err != nil {
				t.Fatal(err)
			}
			runs = append(runs, receipt.RunID)
		}
		var followers sync.WaitGroup
		for i := range 50 {
			followers.Go(func() {
				time.Sleep(time.Duration(i) * 7 * time.Millisecond)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				seen := 0
				err := process.Follow(ctx, local, runs[i%5], host.ListenerFunc(func(core.Event) error {
					if seen++; i%3 == 0 && seen == i%7+1 {
						cancel()
					}
					return nil
				}))
				if err != nil || i%3 != 0 && seen != len(replayed) {
					t.Errorf("follower %d: %v after %d events, want %d", i, err, seen, len(replayed))
				}
			})
		}
		r.settle(process, core.ThreadKey{Tenant: "local", Thread: "t1"})
		followers.Wait()
	})
}
