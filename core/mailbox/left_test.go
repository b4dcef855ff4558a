package mailbox_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// A host that stops, a tool's time that is over, a client that leaves: whoever submits
// may go while the head is written. The work that stands in it then has its hint.
func TestAWriteWhoseCallerLeavesIsSeenThrough(t *testing.T) {
	type commit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error)
	tests := []struct {
		name string
		// try is one write, the n-th; leave ends the caller's context.
		try    func(w *world, leave func(), n int) commit
		writes int
		took   time.Duration
		queued bool
		hints  []string
		left   bool // the caller's error is that it has left
	}{
		{"the response comes in time", func(w *world, leave func(), n int) commit {
			return func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
				leave()
				return w.store.Backend.Commit(context.WithoutCancel(ctx), key, c)
			}
		}, 1, 0, true, []string{"t1 0s"}, false},
		{"it is applied, the response is not waited for", func(w *world, leave func(), n int) commit {
			return func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
				if _, err := w.store.Backend.Commit(ctx, key, c); err != nil {
					return store.Outcome{}, err
				}
				leave()
				return store.Outcome{}, ctx.Err()
			}
		}, 1, 0, true, []string{"t1 0s"}, false},
		{"it is still on its way, and comes second", func(w *world, leave func(), n int) commit {
			return func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
				if n > 1 {
					return w.store.Backend.Commit(ctx, key, c)
				}
				leave()
				time.AfterFunc(10*time.Millisecond, func() { _, _ = w.store.Backend.Commit(context.Background(), key, c) })
				return store.Outcome{}, ctx.Err()
			}
		}, 2, 0, true, []string{"t1 0s"}, false},
		{"it is still on its way, and comes first", func(w *world, leave func(), n int) commit {
			return func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
				if n > 1 {
					time.Sleep(20 * time.Millisecond)
					return w.store.Backend.Commit(ctx, key, c)
				}
				leave()
				time.AfterFunc(10*time.Millisecond, func() { _, _ = w.store.Backend.Commit(context.Background(), key, c) })
				return store.Outcome{}, ctx.Err()
			}
		}, 2, 20 * time.Millisecond, true, []string{"t1 0s"}, false},
		{"it leaves before it tries again", func(w *world, leave func(), n int) commit {
			return func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
				switch n {
				case 1: // sent, and not applied yet
					w.store.OnHead = func(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
						defer leave()
						return w.store.Backend.Head(ctx, key)
					}
					return store.Outcome{}, errors.New("connection reset by peer")
				case 2:
					return store.Outcome{}, ctx.Err()
				}
				return w.store.Backend.Commit(ctx, key, c)
			}
		}, 3, 0, true, []string{"t1 0s"}, false},
		{"the store does not respond any more", func(w *world, leave func(), n int) commit {
			return func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
				leave()
				<-ctx.Done()
				return store.Outcome{}, ctx.Err()
			}
		}, 2, time.Second, false, nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				writes := 0
				w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
					writes++
					return tt.try(w, leave, writes)(ctx, key, c)
				}
				began := time.Now()
				_, err := w.Submit(ctx, input("hello", ""))
				if took := time.Since(began); writes != tt.writes || took != tt.took {
					t.Errorf("%d writes in %s, want %d in %s", writes, took, tt.writes, tt.took)
				}
				if tt.left && !errors.Is(err, context.Canceled) || !tt.left && err != nil {
					t.Errorf("submit: %v", err)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				head, err := w.store.Backend.Head(t.Context(), key)
				if err != nil || len(head.Pending) == 1 != tt.queued {
					t.Errorf("%d runs are queued, %v", len(head.Pending), err)
				}
				if diff := cmp.Diff(tt.hints, w.queue.Lines()); diff != "" {
					t.Errorf("hints (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A store that fails at once is asked some times more, for a second.
func TestAWriteIsSeenThroughForASecondAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		writes := 0
		w.store.OnCommit = func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
			writes++
			leave()
			return store.Outcome{}, fmt.Errorf("the caller is gone: %w", context.Canceled)
		}
		began := time.Now()
		if _, err := w.Submit(ctx, input("hello", "")); !errors.Is(err, context.Canceled) {
			t.Errorf("submit: %v", err)
		}
		if took := time.Since(began); writes < 3 || writes > 8 || took > time.Second {
			t.Errorf("%d writes in %s, want 3 to 8 in 1s at most", writes, took)
		}
		if hints := w.queue.Lines(); len(hints) != 0 {
			t.Errorf("%q was sent for what is not known to be written", hints)
		}
	})
}

// Who has left before anything was sent sends nothing more; nor is there anything to see
// through where another's write came first, or where nobody waits for a hint.
func TestWhatLeavesNothingBehindIsNotSeenThrough(t *testing.T) {
	renew := func(w *world, ctx context.Context, head thread.Head) error {
		_, _, err := w.Commit(ctx, key, head, thread.ExtendLease{Fence: head.Claim.Fence, Lease: 60_000}, nil)
		return err
	}
	submit := func(w *world, ctx context.Context, _ thread.Head) error {
		_, err := w.Submit(ctx, input("more", ""))
		return err
	}
	tests := []struct {
		name   string
		left   bool  // before it begins
		failed error // of the first write; nil: that of the context, which ends
		raced  bool  // the head has moved when the first write comes
		do     func(w *world, ctx context.Context, head thread.Head) error
		writes int
	}{
		{"nothing was sent", true, nil, false, submit, 0},
		{"what was sent was refused", false, nil, true, submit, 2},
		{"what was sent was overtaken", false, errors.New("connection reset by peer"), true, submit, 1}, // what became of it is not looked for any more
		{"a renewal asks for no hint", false, nil, false, renew, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.submit(t, input("hello", ""))
				head := w.claim(t)
				w.end(t, head)
				w.queue.Clear()
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				if tt.left {
					leave()
				}
				writes := 0
				var on func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error)
				on = func(inner context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
					if writes++; !tt.raced || writes > 1 {
						leave()
						return store.Outcome{}, errors.Join(inner.Err(), errors.New("not sent"))
					}
					w.store.OnCommit = nil
					w.commit(t, thread.Touch{})
					w.store.OnCommit = on
					if tt.failed != nil {
						w.store.OnHead = func(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
							defer leave()
							return w.store.Backend.Head(ctx, key)
						}
						return store.Outcome{}, tt.failed
					}
					leave()
					return w.store.Backend.Commit(context.WithoutCancel(inner), key, c)
				}
				w.store.OnCommit = on
				began := time.Now()
				if err := tt.do(w, ctx, head); !errors.Is(err, context.Canceled) {
					t.Errorf("%v, want that the caller has left", err)
				}
				if took := time.Since(began); writes != tt.writes || took != 0 {
					t.Errorf("%d writes in %s, want %d at once", writes, took, tt.writes)
				}
				if hints := w.queue.Lines(); len(hints) != 0 {
					t.Errorf("hints: %q", hints)
				}
			})
		})
	}
}

// What the look at the head says for certain is the answer: here, that the thread is gone.
func TestARefusalOfAWriteThatIsSeenThroughIsReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.submit(t, input("hello", ""))
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			w.store.OnCommit = nil
			w.commit(t, thread.Delete{Owner: "ann"})
			leave()
			return store.Outcome{}, ctx.Err()
		}
		if _, err := w.Submit(ctx, input("more", "")); !errors.Is(err, thread.ErrDeleted) {
			t.Errorf("submit: %v, want that the thread is deleted", err)
		}
	})
}
