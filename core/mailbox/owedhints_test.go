package mailbox_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// owing is a world with eight messages to a run that is queued.
func owing(t *testing.T) sender {
	t.Helper()
	s := sending(t)
	for n := range byte(8) {
		if err := s.Send(t.Context(), key, thread.Head{}, s.message(n+1, mailbox.Recipient{Thread: "t2", Run: s.sub.RunID})); err != nil {
			t.Fatal(err)
		}
	}
	s.queue.Clear()
	return s
}

// hintsOf are the hints of a thread that were sent.
func (s sender) hintsOf(thread string) (lines []string) {
	for _, line := range s.queue.Lines() {
		if strings.HasPrefix(line, thread+" ") {
			lines = append(lines, line)
		}
	}
	return lines
}

// One hint is enough for all that a worker could not deliver: who comes by it delivers all that is
// due then.
func TestWhatIsPutOffHasOneHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := owing(t)
		for minute := range 3 {
			if owed := s.passes(t); len(owed) != 8 {
				t.Fatalf("owed is %+v", owed)
			}
			if diff := cmp.Diff([]string{"t1 1m0s"}, s.queue.Lines()); diff != "" {
				t.Errorf("hints in minute %d (-want +got):\n%s", minute, diff)
			}
			s.queue.Clear()
			time.Sleep(time.Minute)
		}
	})
}

// Several workers that have read the same head put each entry off once, and each that has put one
// off sends one hint: the others send none. So the hints of a thread never become more.
func TestConcurrentWorkersLeaveOneHintEach(t *testing.T) {
	for name, tt := range map[string]struct{ at, hints int }{"before the first write": {1, 1}, "between two": {4, 2}, "after all": {9, 1}} {
		t.Run(name, func(t *testing.T) {
			at := tt.at
			synctest.Test(t, func(t *testing.T) {
				s := owing(t)
				seen, writes, written := s.head(t), 0, 0
				other := func(ctx context.Context) {
					time.Sleep(time.Millisecond)
					if err := s.Deliver(ctx, key, seen, thread.Head{}); err != nil {
						t.Error(err)
					}
				}
				s.store.OnCommit = func(ctx context.Context, k core.ThreadKey, c store.Commit) (store.Outcome, error) {
					if writes++; writes == at {
						other(ctx)
					}
					outcome, err := s.store.Backend.Commit(ctx, k, c)
					if outcome.Written {
						written++
					}
					return outcome, err
				}
				if err := s.Deliver(t.Context(), key, seen, thread.Head{}); err != nil {
					t.Fatal(err)
				}
				if at == 9 {
					other(t.Context())
				}
				if lines := s.queue.Lines(); written != 8 || len(lines) != tt.hints {
					t.Errorf("%d writes, hints %q; want 8 and %d", written, lines, tt.hints)
				}
			})
		})
	}
}

// A failed try of a notice that two workers make concurrently is one, with one hint.
func TestAConcurrentTryOfANoticeIsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *world
		var seen thread.Head
		published := 0
		w = telling(t, publish(func(mailbox.Announcement) error {
			if published++; published == 1 {
				if err := w.Deliver(t.Context(), key, seen, atFirst); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Millisecond)
			}
			return errors.New("down")
		}), new(bytes.Buffer))
		r := w.submit(t, input("one", ""))
		w.commit(t, thread.Cancel{Run: r.RunID})
		w.queue.Clear()
		seen = w.head(t)
		if err := w.Deliver(t.Context(), key, seen, atFirst); err != nil {
			t.Fatal(err)
		}
		if owed := w.head(t).Outbox; published != 2 || len(owed) != 1 || owed[0].Tries != 1 || len(w.queue.Lines()) != 1 {
			t.Errorf("published %d times, owed is %+v, hints %q", published, owed, w.queue.Lines())
		}
	})
}

// The hint is for the first entry that is left, unless that is far away or another program's. Of
// two workers that deliver concurrently only that sends it whose delivery is noted.
func TestWhichRestIsHinted(t *testing.T) {
	const far = time.Hour
	for _, tt := range []struct {
		name          string
		second, third time.Duration // when more entries are tried next
		kind          thread.OutboxKind
		want          []string
	}{
		{"soon", 9 * time.Minute, far, thread.OutboxMessage, []string{"t1 9m0s"}},
		{"later than the other", far, 8 * time.Minute, thread.OutboxMessage, []string{"t1 8m0s"}},
		{"at the limit", 10 * time.Minute, far, thread.OutboxMessage, []string{"t1 10m0s"}},
		{"above it", 10*time.Minute + time.Millisecond, far, thread.OutboxMessage, nil},
		{"another program's", time.Minute, 2 * time.Minute, 9, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := sending(t)
				s.opens(t)
				s.sends(t, 1)
				head := s.head(t)
				for i, in := range []time.Duration{tt.second, tt.third} {
					head.Outbox = append(head.Outbox, thread.OutboxEntry{ID: numbered(byte(i + 2)), Kind: tt.kind, Next: time.Now().Add(in).UnixMilli()})
				}
				for range 2 {
					if err := s.Deliver(t.Context(), key, head, thread.Head{}); err != nil {
						t.Fatal(err)
					}
				}
				if owed := s.head(t).Outbox; len(owed) != 2 {
					t.Errorf("owed is %+v, want the second and the third", owed)
				}
				if diff := cmp.Diff(tt.want, s.hintsOf("t1")); diff != "" {
					t.Errorf("hints (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// What was sent while a worker delivers is delivered by another, which sends its own hint; the
// worker's is for what it has put off.
func TestWhatIsSentMeanwhileIsNotHinted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := owing(t)
		s.commit(t, thread.Delivered{ID: numbered(8), Kind: thread.OutboxMessage})
		seen, raced := s.head(t), false
		s.store.OnCommit = func(ctx context.Context, k core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if !raced {
				raced = true
				s.sends(t, 9)
			}
			return s.store.Backend.Commit(ctx, k, c)
		}
		if err := s.Deliver(t.Context(), key, seen, thread.Head{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"t1 1m0s"}, s.queue.Lines()); diff != "" || len(s.head(t).Outbox) != 8 {
			t.Errorf("owed is %+v, hints (-want +got):\n%s", s.head(t).Outbox, diff)
		}
	})
}

// A worker that announces, and one that meanwhile puts a message off, send a hint each.
func TestWhatIsPutOffDuringAnAnnouncementIsHinted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sender
		var seen thread.Head
		s.world = telling(t, publish(func(mailbox.Announcement) error {
			return s.Deliver(t.Context(), key, seen, thread.Head{})
		}), new(bytes.Buffer))
		over := s.submit(t, input("over", ""))
		s.commit(t, thread.Cancel{Run: over.RunID})
		s.submit(t, input("one", ""))
		s.run = s.claim(t).Run.ID
		other := input("two", "")
		other.Thread = otherKey
		to := s.submit(t, other).RunID
		if err := s.Send(t.Context(), key, thread.Head{}, s.message(1, mailbox.Recipient{Thread: "t2", Run: to})); err != nil {
			t.Fatal(err)
		}
		s.queue.Clear()
		seen = s.head(t)
		if owed := s.passes(t); len(owed) != 1 || len(s.head(t).Outbox) != 1 {
			t.Errorf("owed is %+v, want the message", s.head(t).Outbox)
		}
		if diff := cmp.Diff([]string{"t1 1m0s", "t1 1m0s"}, s.queue.Lines()); diff != "" {
			t.Errorf("hints (-want +got):\n%s", diff)
		}
	})
}
