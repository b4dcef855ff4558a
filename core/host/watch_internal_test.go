package host

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
)

func at(version, incarnation uint64) thread.Head {
	return thread.Head{Version: version, Incarnation: incarnation}
}

// Heads come in any order: the newest stays, of a later incarnation whatever its version.
// What was read while nobody wrote counts, also if it is older.
func TestWhichHeadIsTheNewest(t *testing.T) {
	for name, test := range map[string]struct {
		known, head thread.Head
		told, read  bool // whether it is taken from a writer, and from a read without a write
	}{
		"the first":         {at(0, 0), at(1, 7), true, true},
		"a later one":       {at(4, 7), at(5, 7), true, true},
		"the same":          {at(4, 7), at(4, 7), false, false},
		"an earlier one":    {at(4, 7), at(3, 7), false, true},
		"made anew":         {at(4, 7), at(1, 8), true, true},
		"of a gone thread":  {at(1, 8), at(9, 7), false, true},
		"erased":            {at(4, 7), at(0, 0), false, true},
		"anew, same number": {at(4, 7), at(4, 8), true, true},
	} {
		for kind, want := range map[string]bool{"told": test.told, "read": test.read, "read beside a write": test.told} {
			ws := newWatches(env.System(), nil, time.Hour, nil)
			a := ws.join(roundKey)
			a.head, a.offers, a.changed = test.known, 3, make(chan struct{})
			changed := a.changed
			switch kind {
			case "told":
				ws.moved(roundKey, test.head)
			case "read":
				a.polled(test.head, 3)
			default:
				a.polled(test.head, 2)
			}
			if took := a.head.Version == test.head.Version && a.head.Incarnation == test.head.Incarnation && a.offers == 4; took != want {
				t.Errorf("%s, %s: %t, offers %d", name, kind, took, a.offers)
			}
			if isClosed(changed) != want || (a.changed == nil) != want {
				t.Errorf("%s, %s: followers are told %t", name, kind, isClosed(changed))
			}
		}
	}
}

// The first look reads the head, and returns a newer one that was written meanwhile.
func TestTheFirstLookAtAThread(t *testing.T) {
	no := errors.New("no")
	for name, test := range map[string]struct {
		read, written thread.Head
		err           error
		want          thread.Head
	}{
		"as it was read":    {at(4, 7), at(0, 0), nil, at(4, 7)},
		"written meanwhile": {at(4, 7), at(5, 7), nil, at(5, 7)},
		"written before":    {at(4, 7), at(3, 7), nil, at(4, 7)},
		"it cannot be read": {at(4, 7), at(5, 7), no, at(4, 7)},
		"it is not there":   {at(0, 0), at(0, 0), nil, at(0, 0)},
	} {
		var a *watch
		ws := newWatches(env.System(), nil, time.Hour, nil)
		ws.read = func(context.Context, core.ThreadKey) (thread.Head, error) {
			if test.written.Version > 0 {
				ws.moved(roundKey, test.written)
			}
			return test.read, test.err
		}
		a = ws.join(roundKey)
		got, err := a.newest(t.Context())
		if differs(got, test.want) || !errors.Is(err, test.err) {
			t.Errorf("%s: %d, %v", name, got.Version, err)
		}
	}
}

// polls are the reads of a watch, each a second apart.
type polls struct {
	*watches
	heads []thread.Head // of the reads, the last one stays
	errs  []error       // nil: it is read
	reads int
	log   strings.Builder
}

func newPolls(heads ...thread.Head) *polls {
	p := &polls{heads: heads}
	p.watches = newWatches(env.System(), func(context.Context, core.ThreadKey) (thread.Head, error) {
		i := p.reads
		p.reads++
		if i < len(p.errs) && p.errs[i] != nil {
			return thread.Head{}, p.errs[i]
		}
		return p.heads[min(i, len(p.heads)-1)], nil
	}, time.Second, slog.New(slog.NewTextHandler(&p.log, nil)))
	return p
}

// A watch ends with its third failed read in a row: its followers have the error, and who
// comes later another watch.
func TestAWatchThatCannotRead(t *testing.T) {
	no := errors.New("no")
	for name, test := range map[string]struct {
		errs []error
		took time.Duration // until after returns
		err  error
		logs int
	}{
		"never":               {nil, time.Second, nil, 0},
		"once":                {[]error{no}, 2 * time.Second, nil, 1},
		"twice":               {[]error{no, no}, 3 * time.Second, nil, 2},
		"three times":         {[]error{no, no, no}, 3 * time.Second, no, 3},
		"read in between":     {[]error{no, no, nil, no, no}, 6 * time.Second, nil, 4},
		"with one in between": {[]error{no, no, nil, no, no, no}, 3 * time.Second, nil, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPolls(at(5, 7))
			if p.errs = test.errs; name == "read in between" {
				p.heads = []thread.Head{at(4, 7), at(4, 7), at(4, 7), at(4, 7), at(4, 7), at(5, 7)}
			}
			a := p.join(roundKey)
			a.head = at(4, 7)
			began := time.Now()
			head, err := a.after(t.Context(), at(4, 7))
			if !errors.Is(err, test.err) || (err == nil) != (test.err == nil) || time.Since(began) != test.took || p.reads != int(test.took/time.Second) {
				t.Errorf("%s: %v after %s and %d reads", name, err, time.Since(began), p.reads)
			}
			if want := at(5, 7); err == nil && differs(head, want) || err != nil && differs(head, at(4, 7)) {
				t.Errorf("%s: head %d", name, head.Version)
			}
			if n := strings.Count(p.log.String(), `level=WARN msg="followed thread cannot be read" tenant=acme thread=t error=no`); n != test.logs {
				t.Errorf("%s: logged %q", name, p.log.String())
			}
			b := p.join(roundKey)
			if (b == a) != (test.err == nil) {
				t.Errorf("%s: who comes later has the same watch: %t", name, b == a)
			}
			if test.err != nil {
				time.Sleep(time.Minute)
				if p.reads != len(test.errs) {
					t.Errorf("%s: it reads on, %d times", name, p.reads)
				}
				if _, err := a.after(t.Context(), at(4, 7)); !errors.Is(err, test.err) {
					t.Errorf("%s: the next look: %v", name, err)
				}
			}
			b.quit()
			a.quit()
			if len(p.threads) != 0 {
				t.Errorf("%s: %d watches are left", name, len(p.threads))
			}
			reads := p.reads
			time.Sleep(time.Minute)
			if p.reads != reads {
				t.Errorf("%s: it reads on when all have left", name)
			}
		})
	}
}

// A read that panics is one that failed.
func TestAWatchWhoseReadPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPolls(at(5, 7))
		p.read = func(context.Context, core.ThreadKey) (thread.Head, error) { panic("no") }
		a := p.join(roundKey)
		a.head = at(4, 7)
		if _, err := a.after(t.Context(), at(4, 7)); err == nil {
			t.Error("no error")
		}
		a.quit()
	})
}

// A read that the last follower's leaving ends is no failure.
func TestAReadThatIsLeftIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPolls(at(5, 7))
		p.read = func(ctx context.Context, _ core.ThreadKey) (thread.Head, error) {
			<-ctx.Done()
			return thread.Head{}, ctx.Err()
		}
		a := p.join(roundKey)
		a.head = at(4, 7)
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		if _, err := a.after(ctx, at(4, 7)); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		a.quit()
		synctest.Wait()
		if p.log.Len() > 0 {
			t.Errorf("logged %q", p.log.String())
		}
	})
}

// Words end the wait of those who want them; a head ends every wait, the end of the context
// before all.
func TestWhatEndsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPolls(at(4, 7))
		a := p.join(roundKey)
		defer a.quit()
		a.head = at(4, 7)
		spoken := a.spoken()
		time.AfterFunc(100*time.Millisecond, func() { p.spoke(roundKey); p.spoke(core.ThreadKey{Tenant: "acme", Thread: "other"}) })
		time.AfterFunc(300*time.Millisecond, func() {
			p.moved(roundKey, at(5, 7))
			p.moved(core.ThreadKey{Tenant: "acme", Thread: "other"}, at(9, 9))
		})
		began := time.Now()
		head, err := a.afterWords(t.Context(), at(4, 7), spoken)
		if took := time.Since(began); took != 100*time.Millisecond || err != nil || differs(head, at(4, 7)) || a.spoken() != spoken+1 {
			t.Errorf("words: after %s, %d, %v", took, head.Version, err)
		}
		if head, err = a.afterWords(t.Context(), at(4, 7), spoken); time.Since(began) != 100*time.Millisecond || err != nil || differs(head, at(4, 7)) {
			t.Errorf("words that were there: after %s, %v", time.Since(began), err)
		}
		if head, err = a.after(t.Context(), at(4, 7)); time.Since(began) != 300*time.Millisecond || err != nil || differs(head, at(5, 7)) {
			t.Errorf("a head: after %s, %d, %v", time.Since(began), head.Version, err)
		}
		if head, err = a.after(t.Context(), at(4, 7)); time.Since(began) != 300*time.Millisecond || err != nil || differs(head, at(5, 7)) {
			t.Errorf("a head that was there: after %s, %d, %v", time.Since(began), head.Version, err)
		}
		no := errors.New("no")
		ended, cancel := context.WithCancelCause(t.Context())
		cancel(no)
		if head, err = a.after(ended, at(4, 7)); !errors.Is(err, no) || differs(head, at(4, 7)) {
			t.Errorf("a context that is over: %d, %v", head.Version, err)
		}
		timed, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer stop()
		if head, err = a.after(timed, at(5, 7)); !errors.Is(err, context.DeadlineExceeded) || differs(head, at(5, 7)) {
			t.Errorf("a context that ends: %d, %v", head.Version, err)
		}
	})
}

// The reads of a watch outlive the follower that began them, and end with the last one.
func TestAWatchOutlivesItsFirstFollower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPolls(at(4, 7))
		a, b := p.join(roundKey), p.join(roundKey)
		if a != b {
			t.Error("two followers of one thread have two watches")
		}
		a.head = at(4, 7)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { _, err := a.after(ctx, at(4, 7)); done <- err }()
		time.Sleep(1500 * time.Millisecond)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		a.quit()
		p.heads = []thread.Head{at(6, 7)}
		if head, err := b.after(t.Context(), at(4, 7)); err != nil || differs(head, at(6, 7)) {
			t.Errorf("%d, %v", head.Version, err)
		}
		b.quit()
	})
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
