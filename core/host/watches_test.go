package host

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// watched is a store of one head, each of whose reads takes the time lag: it returns
// what stood when it began.
type watched struct {
	mu   sync.Mutex
	head thread.Head
	lag  time.Duration
	err  error
}

func (s *watched) read(context.Context, core.ThreadKey) (thread.Head, error) {
	s.mu.Lock()
	head, lag, err := s.head, s.lag, s.err
	s.mu.Unlock()
	time.Sleep(lag)
	return head, err
}

func (s *watched) write(version uint64) thread.Head {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.head = thread.Head{Version: version, Incarnation: 1}
	return s.head
}

var watchedKey = core.ThreadKey{Tenant: "acme", Thread: "t1"}

// followed collects the versions that a follower learns of within a time.
func followed(t *testing.T, s *watched, within time.Duration, meanwhile func(*watches)) (versions []uint64, err error) {
	t.Helper()
	w := newWatches(env.System(), s.read, time.Second, slog.New(slog.DiscardHandler))
	at := w.join(watchedKey)
	defer at.quit()
	head, err := at.newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	var beside sync.WaitGroup
	beside.Go(func() { meanwhile(w) })
	for {
		if head, err = at.after(ctx, head); err != nil {
			break
		}
		versions = append(versions, head.Version)
	}
	beside.Wait()
	return versions, err
}

func TestWhatAFollowerLearnsOfAThread(t *testing.T) {
	at := func(d time.Duration) { time.Sleep(d) }
	tests := []struct {
		name      string
		lag       time.Duration // of a read
		meanwhile func(*watched, *watches)
		want      []uint64
	}{
		{"nothing new", 0, func(*watched, *watches) {}, nil},
		{"a write of another process", 0, func(s *watched, _ *watches) { at(500 * time.Millisecond); s.write(2) }, []uint64{2}},
		{"a write of this one, and of another", 0, func(s *watched, w *watches) {
			at(100 * time.Millisecond)
			w.moved(watchedKey, s.write(2))
			at(100 * time.Millisecond)
			s.write(3)
		}, []uint64{2, 3}},
		{"writes that tell of themselves in another order", 0, func(s *watched, w *watches) {
			second, third := s.write(2), s.write(3)
			w.moved(watchedKey, third)
			w.moved(watchedKey, second)
		}, []uint64{3}},
		{"a write beside a read that does not see it", 800 * time.Millisecond, func(s *watched, w *watches) {
			at(1300 * time.Millisecond) // the first read on the interval is under way
			w.moved(watchedKey, s.write(2))
		}, []uint64{2}},
		{"another thread's write", 0, func(s *watched, w *watches) {
			at(100 * time.Millisecond)
			w.moved(core.ThreadKey{Tenant: "acme", Thread: "t2"}, thread.Head{Version: 9, Incarnation: 1})
		}, nil},
		{"its end", 0, func(s *watched, _ *watches) { at(100 * time.Millisecond); s.write(0) }, []uint64{0}},
		{"its end, and the first write of the next of its name", 0, func(s *watched, w *watches) {
			at(100 * time.Millisecond)
			w.moved(watchedKey, thread.Head{Version: 1, Incarnation: 2})
			w.moved(watchedKey, thread.Head{Version: 3, Incarnation: 1})
			s.mu.Lock()
			s.head = thread.Head{Version: 1, Incarnation: 2}
			s.mu.Unlock()
		}, []uint64{1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &watched{lag: tt.lag}
				s.write(1)
				got, err := followed(t, s, 10*time.Second, func(w *watches) { tt.meanwhile(s, w) })
				if diff := cmp.Diff(tt.want, got); diff != "" || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v, versions (-want +got):\n%s", err, diff)
				}
			})
		})
	}
}

// Workers are woken once for each head that is left alone, however often it is read.
func TestAWatchWakesWorkersOfAThreadThatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &watched{}
		s.write(1)
		var asked, woken []uint64
		w := newWatches(env.System(), s.read, time.Second, slog.New(slog.DiscardHandler))
		w.left = func(_ context.Context, key core.ThreadKey, head thread.Head) bool {
			asked = append(asked, head.Version)
			left := key == watchedKey && len(asked) != 1 && head.Version != 2
			if left {
				woken = append(woken, head.Version)
			}
			return left
		}
		at := w.join(watchedKey)
		head, err := at.newest(t.Context())
		for version := range uint64(3) {
			ctx, cancel := context.WithTimeout(t.Context(), 3300*time.Millisecond)
			for err == nil {
				head, err = at.after(ctx, head)
			}
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			err = nil
			s.write(version + 2)
		}
		at.quit()
		if !slices.Equal(asked, []uint64{1, 1, 2, 2, 2, 3}) || !slices.Equal(woken, []uint64{1, 3}) {
			t.Errorf("asked under heads %v, woken under %v", asked, woken)
		}
	})
}

// A watch that has failed tells all who follow, and is over for those who come then.
func TestAWatchThatFailedIsNotJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, broken := &watched{}, errors.New("no route")
		s.write(1)
		w := newWatches(env.System(), s.read, time.Second, slog.New(slog.DiscardHandler))
		at := w.join(watchedKey)
		head, err := at.newest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		s.err = broken
		s.mu.Unlock()
		began := time.Now()
		if _, err := at.after(t.Context(), head); !errors.Is(err, broken) || time.Since(began) != 3*time.Second {
			t.Errorf("after %s: %v, want the third failed read", time.Since(began), err)
		}
		s.mu.Lock()
		s.err = nil
		s.mu.Unlock()
		later := w.join(watchedKey) // before the first one leaves
		if head, err = later.newest(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.write(2)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if head, err = later.after(ctx, head); err != nil || head.Version != 2 {
			t.Errorf("version %d, %v for who came later, want 2", head.Version, err)
		}
		at.quit()
		w.moved(watchedKey, s.write(3))
		if head, err = later.after(ctx, head); err != nil || head.Version != 3 {
			t.Errorf("version %d, %v when the first one has left, want 3", head.Version, err)
		}
		later.quit()
		if len(w.threads) != 0 {
			t.Errorf("%d threads are watched still", len(w.threads))
		}
	})
}
