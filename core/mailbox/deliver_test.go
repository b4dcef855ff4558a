package mailbox_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// delivers delivers what a head owes, for whoever has claimed a head, and returns how many
// heads were written for it.
func (w *world) delivers(t *testing.T, head, claimed thread.Head) (writes int) {
	t.Helper()
	w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		writes++
		return w.store.Backend.Commit(ctx, key, c)
	}
	defer func() { w.store.OnCommit = nil }()
	if err := w.Deliver(t.Context(), key, head, claimed); err != nil {
		t.Fatal(err)
	}
	return writes
}

// What a worker has caused itself it announces at once, with one write. What others have left
// it begins by a write of its own, when they have had their time.
func TestWhoseAnnouncementItIs(t *testing.T) {
	givesUp := func(t *testing.T, w *world) {
		for range 5 {
			w.claimAlone(t)
			w.commit(t, thread.Reclaim{})
		}
		w.claimAlone(t)
	}
	tests := []struct {
		name   string
		do     func(t *testing.T, w *world) (claimed thread.Head)
		writes int
		want   []string
	}{
		{"it has ended the run", func(t *testing.T, w *world) thread.Head {
			claimed := w.claim(t)
			w.end(t, claimed)
			return claimed
		}, 1, []string{"run.ended  error corrupt"}},
		{"it has claimed nothing", func(t *testing.T, w *world) thread.Head {
			w.end(t, w.claim(t))
			return thread.Head{}
		}, 0, nil},
		{"others have ended one before, and it another", func(t *testing.T, w *world) thread.Head {
			w.end(t, w.claim(t))
			w.submit(t, input("two", ""))
			claimed := w.claim(t)
			w.end(t, claimed)
			return claimed
		}, 1, []string{"run.ended  error corrupt"}},
		{"it has given the run up by its claim", func(t *testing.T, w *world) thread.Head {
			givesUp(t, w)
			return w.head(t)
		}, 1, []string{"run.dead_lettered demo error dead_letter"}},
		{"others have given the run up", func(t *testing.T, w *world) thread.Head {
			givesUp(t, w)
			w.commit(t, thread.Reclaim{})
			return w.claim(t)
		}, 0, nil},
		{"others have given the run up, and it has ended it", func(t *testing.T, w *world) thread.Head {
			givesUp(t, w)
			w.commit(t, thread.Reclaim{})
			claimed := w.claim(t)
			w.commit(t, thread.CommitClose{Fence: claimed.Claim.Fence, From: claimed.Seq, Seq: claimed.Seq})
			return claimed
		}, 1, []string{"run.ended  error corrupt"}},
		{"it has given the run up, and others have left an end", func(t *testing.T, w *world) thread.Head {
			w.end(t, w.claim(t))
			w.submit(t, input("two", ""))
			givesUp(t, w)
			return w.head(t)
		}, 1, []string{"run.dead_lettered demo error dead_letter"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, lines := listening(t)
				w.submit(t, input("one", ""))
				claimed := tt.do(t, w)
				if writes := w.delivers(t, w.head(t), claimed); writes != tt.writes {
					t.Errorf("%d writes, want %d", writes, tt.writes)
				}
				if diff := cmp.Diff(tt.want, *lines); diff != "" {
					t.Errorf("announced (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A publisher is enough for announcements to be left in the head.
func TestAPublisherIsAnnouncedTo(t *testing.T) {
	w := newWorld(t)
	box, err := mailbox.New(mailbox.Options{
		Env: env.System(), Store: w.store, Waker: w.queue, Logger: slog.New(slog.DiscardHandler), Publisher: publish(func(mailbox.Announcement) error { return nil }),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.submit(t, input("one", ""))
	if _, err := box.Cancel(t.Context(), key, core.ID{}); err != nil || len(w.head(t).Outbox) != 1 {
		t.Errorf("%v; %+v is owed", err, w.head(t).Outbox)
	}
}

// Others look after an announcement when its holder has had two seconds, or nearly: the clock
// of whoever comes may be half a second slow.
func TestWhenOthersAnnounce(t *testing.T) {
	for after, writes := range map[time.Duration]int{1499 * time.Millisecond: 0, 1500 * time.Millisecond: 2} {
		synctest.Test(t, func(t *testing.T) {
			w, lines := listening(t)
			w.submit(t, input("one", ""))
			w.end(t, w.claim(t))
			w.queue.Clear()
			time.Sleep(after)
			if got := w.delivers(t, w.head(t), thread.Head{}); got != writes || len(*lines) != writes/2 || len(w.queue.Lines()) != 0 {
				t.Errorf("after %s: %d writes, announced %q, hints %q; want %d writes and no hint", after, got, *lines, w.queue.Lines(), writes)
			}
		})
	}
}

// A worker that comes while another publishes stands aside, for as long as a publisher has.
func TestAWorkerThatComesWhileAnotherPublishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		published := 0
		var w *world
		var head thread.Head
		w = telling(t, publish(func(mailbox.Announcement) error {
			published++
			if got, want := w.head(t).Outbox[0].Next, time.Now().UnixMilli()+15_000; got != want {
				t.Errorf("it is begun until %d, want %d", got, want)
			}
			time.Sleep(time.Millisecond)
			if published == 1 {
				if err := w.Deliver(t.Context(), key, head, thread.Head{}); err != nil {
					t.Error(err)
				}
			}
			return nil
		}), new(bytes.Buffer))
		w.submit(t, input("one", ""))
		w.end(t, w.claim(t))
		time.Sleep(3 * time.Second)
		head = w.head(t)
		if err := w.Deliver(t.Context(), key, head, thread.Head{}); err != nil || published != 1 || len(w.head(t).Outbox) != 0 {
			t.Errorf("published %d times, %v; %+v is owed", published, err, w.head(t).Outbox)
		}
	})
}

// A head that cannot be written is the error, and holds up nothing else; what was not begun is
// not published. No hint is sent: the caller wakes a worker at once.
func TestADeliveryThatCannotBeWritten(t *testing.T) {
	for name, own := range map[string]bool{"its own": true, "of others": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, lines := listening(t)
				for range 2 {
					r := w.submit(t, input("one", ""))
					w.commit(t, thread.Cancel{Run: r.RunID})
				}
				claimed := thread.Head{}
				if own {
					claimed = atFirst
				}
				writes := 0
				w.queue.Clear()
				w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
					if writes++; writes == 1 {
						return store.Outcome{}, store.ErrCorrupt
					}
					return w.store.Backend.Commit(ctx, key, c)
				}
				err := w.Deliver(t.Context(), key, w.head(t), claimed)
				want := 1
				if own { // the first is published, and will be again
					want = 2
				}
				if !errors.Is(err, store.ErrCorrupt) || len(*lines) != want || len(w.head(t).Outbox) != 1 || len(w.queue.Lines()) != 0 {
					t.Errorf("%v; published %q, %+v is owed, hints %q", err, *lines, w.head(t).Outbox, w.queue.Lines())
				}
			})
		})
	}
}

// Whoever has no time left begins nothing.
func TestADeliveryEndsWithItsCaller(t *testing.T) {
	w, lines := listening(t)
	for range 2 {
		r := w.submit(t, input("one", ""))
		w.commit(t, thread.Cancel{Run: r.RunID})
	}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if err := w.Deliver(ctx, key, w.head(t), atFirst); err == nil || err.Error() != "context canceled" || len(*lines) != 0 || len(w.head(t).Outbox) != 2 {
		t.Errorf("%v; published %q, %+v is owed", err, *lines, w.head(t).Outbox)
	}
}

// The hint that told of two things is used up when the first is delivered: the second gets
// another, for its time.
func TestWhatIsLeftBehindADeliveryIsHinted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, lines := listening(t)
		r := w.submit(t, input("one", ""))
		w.commit(t, thread.Cancel{Run: r.RunID})
		w.submit(t, input("two", ""))
		w.end(t, w.claim(t)) // whose holder announces it within two seconds
		w.queue.Clear()
		if writes := w.delivers(t, w.head(t), thread.Head{}); writes != 2 || len(*lines) != 1 {
			t.Errorf("%d writes, announced %q; want the first", writes, *lines)
		}
		if diff := cmp.Diff([]string{"t1 2s"}, w.queue.Lines()); diff != "" {
			t.Errorf("hints (-want +got):\n%s", diff)
		}
	})
}

func TestWhatAHeadOwesIsHintedForItsTime(t *testing.T) {
	owed := func(kind thread.OutboxKind, in time.Duration) thread.OutboxEntry {
		return thread.OutboxEntry{ID: core.ID{1}, Kind: kind, Next: time.Now().Add(in).UnixMilli()}
	}
	for _, tt := range []struct {
		name string
		owed func() []thread.OutboxEntry
		want []string
	}{
		{"nothing", func() []thread.OutboxEntry { return nil }, nil},
		{"what another program delivers", func() []thread.OutboxEntry { return []thread.OutboxEntry{owed(9, 0)} }, nil},
		{"what is due", func() []thread.OutboxEntry { return []thread.OutboxEntry{owed(thread.OutboxEnded, -time.Second)} }, []string{"t1 0s"}},
		{"soon", func() []thread.OutboxEntry {
			return []thread.OutboxEntry{owed(thread.OutboxEnded, 20*time.Second), owed(thread.OutboxChildEnded, 10*time.Second), owed(thread.OutboxWaiting, 30*time.Second)}
		}, []string{"t1 10s"}},
		{"much later", func() []thread.OutboxEntry { return []thread.OutboxEntry{owed(thread.OutboxEnded, time.Hour)} }, []string{"t1 1m0s"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			head := thread.Head{Version: 1, Outbox: tt.owed()}
			if w.WakeToDeliver(t.Context(), key, head); cmp.Diff(tt.want, w.queue.Lines()) != "" {
				t.Errorf("%s: hints %q, want %q", tt.name, w.queue.Lines(), tt.want)
			}
			w.queue.Clear()
			if tt.name == "what another program delivers" {
				if writes := w.delivers(t, head, atFirst); writes != 0 || len(w.queue.Lines()) != 0 {
					t.Errorf("%s: %d writes, hints %q", tt.name, writes, w.queue.Lines())
				}
			}
		})
	}
}

// The next try of what could not be told comes after half of the time that it has been owed,
// and up to as long again at random.
func TestHowLongATryIsPutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := telling(t, nil, &log)
		outside := env.System()
		outside.Random = func(b []byte) { clear(b) }
		box, err := mailbox.New(mailbox.Options{
			Env: outside, Store: w.store, Waker: w.queue, Logger: slog.New(slog.DiscardHandler),
			Publisher: publish(func(mailbox.Announcement) error { return errors.New("no receiver") }),
		})
		if err != nil {
			t.Fatal(err)
		}
		r := w.submit(t, input("one", ""))
		w.commit(t, thread.Cancel{Run: r.RunID})
		for _, tt := range []struct{ after, want time.Duration }{{0, 251}, {10 * time.Second, 5001}, {4 * time.Hour, 1_800_001}} {
			time.Sleep(tt.after)
			w.queue.Clear()
			if err := box.Deliver(t.Context(), key, w.head(t), atFirst); err != nil || len(w.queue.Lines()) > 1 {
				t.Fatalf("%v, hints %q", err, w.queue.Lines())
			}
			if got := w.head(t).Outbox[0].Next - time.Now().UnixMilli(); got != int64(tt.want) {
				t.Errorf("after %s more: tried again in %d ms, want %d", tt.after, got, tt.want)
			}
		}
	})
}

// A deleted thread is announced without a look at its records, and a run that is over without
// one at its input.
func TestWhatAnAnnouncementDoesNotRead(t *testing.T) {
	for name, deleted := range map[string]bool{"a deleted thread": true, "a run that is over": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, lines := listening(t)
				r := w.submit(t, input("one", ""))
				want := []string{"run.ended demo natural_end "}
				if deleted {
					w.delete(t)
					want = []string{"run.ended  cancelled deleted"}
				} else {
					w.over(t, key, w.claim(t), "done")
				}
				w.store.OnGet = func(ctx context.Context, at core.ThreadKey, name string) (store.Record, bool, error) {
					if deleted || name == recordname.Input(r.DispatchID, 0) {
						return store.Record{}, false, errors.New("no connection")
					}
					return w.store.Backend.Get(ctx, at, name)
				}
				w.tellAll(t)
				if diff := cmp.Diff(want, *lines); diff != "" {
					t.Errorf("announced (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A wait that was announced, and ended, is not that of a later one, which a program that
// announces nothing has written.
func TestAnEarlierWaitIsNotAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, lines := listening(t)
		w.submit(t, input("one", ""))
		w.waits(t, w.claim(t), asks(0))
		box := w.Service
		w.Service = newWorldOver(t, w)
		w.decide(t, deciding("s0", "d"))
		w.suspend(t, w.claim(t), thread.Wait, asks(0, func(k *core.Ticket) { k.Suspension.ID = "s0b" }))
		w.Service = box
		if head := w.tellAll(t); head.Run.Status != thread.Waiting || len(*lines) != 0 {
			t.Errorf("the run is %s, announced %q", head.Run.Status, *lines)
		}
	})
}

// Whose child a run was says its input where its record is lost or damaged.
func TestTheParentOfAChildWhoseRecordIsDamaged(t *testing.T) {
	damaged := func(t *testing.T, c child, name string) {
		if err := c.store.Backend.Put(t.Context(), childKey, store.Record{Name: name, Fence: 9, Version: 9, Payload: []byte("{")}); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name string
		do   func(t *testing.T, c child)
		told bool
		owed int
		log  string
	}{
		{"its record is whole", func(t *testing.T, c child) {
			c.failing(recordname.Input(c.receipt.DispatchID, 0), errors.New("no connection"))
		}, true, 0, ""},
		{"its input is there", func(*testing.T, child) {}, true, 0, ""},
		{"its input cannot be read now", func(t *testing.T, c child) {
			c.failing(recordname.Input(c.receipt.DispatchID, 0), errors.New("no connection"))
		}, false, 1, "read the parent of child run"},
		{"its input is damaged, too", func(t *testing.T, c child) {
			get := c.store.OnGet
			c.store.OnGet = func(ctx context.Context, key core.ThreadKey, name string) (store.Record, bool, error) {
				if name == recordname.Input(c.receipt.DispatchID, 0) {
					return store.Record{Name: name, Payload: []byte("{")}, true, nil
				}
				if get != nil {
					return get(ctx, key, name)
				}
				return c.store.Backend.Get(ctx, key, name)
			}
		}, false, 0, "parent of an ended child run unknown"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				c := awaiting(t, telling(t, nil, &log))
				c.ends(t, "done")
				if tt.name != "its record is whole" {
					damaged(t, c, recordname.Run(c.receipt.RunID))
				}
				tt.do(t, c)
				c.tells(t)
				c.store.OnGet = nil
				parent := c.head(t)
				if told := parent.Run.Status == thread.Running; told != tt.told || len(c.owed(t)) != tt.owed || !strings.Contains(log.String(), tt.log) {
					t.Errorf("told %v, %+v is owed, the log says %s", told, c.owed(t), &log)
				}
				if tt.told && tt.name != "its record is whole" && !bytes.Contains(c.decision(t, parent).Payload, []byte(`"termination":{"type":"error","code":"corrupt"}`)) {
					t.Errorf("told is %s", c.decision(t, parent).Payload)
				}
			})
		})
	}
}

// A child that was deleted an hour ago is told of less often than one of now.
func TestHowLongTheEndOfADeletedChildIsPutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := awaiting(t, telling(t, nil, new(bytes.Buffer)))
		if err := c.Delete(t.Context(), childKey, "ann"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		c.store.OnHead = func(ctx context.Context, k core.ThreadKey) (thread.Head, error) {
			if k == key {
				return thread.Head{}, store.ErrThrottled
			}
			return c.store.Backend.Head(ctx, k)
		}
		if err := c.Deliver(t.Context(), childKey, c.at(t, "c1"), thread.Head{}); err != nil {
			t.Fatal(err)
		}
		c.store.OnHead = nil
		if err := c.Deliver(t.Context(), childKey, c.at(t, "c1"), atFirst); err != nil || c.owed(t)[0].Tries != 1 { // nobody's own
			t.Errorf("%v; it was tried %d times", err, c.owed(t)[0].Tries)
		}
		if wait := c.owed(t)[0].Next - time.Now().UnixMilli(); wait < 30_000 || wait > 60_001 {
			t.Errorf("it is told again in %d ms, want 30 s to 60 s", wait)
		}
	})
}
