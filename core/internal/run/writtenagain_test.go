package run

import (
	"context"
	"encoding/binary"
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

// twice is a committer that makes each change on two heads, the second of which stands.
type twice struct{ scripted }

// Commit implements Committer.
func (c *twice) Commit(ctx context.Context, key core.ThreadKey, head thread.Head, change thread.Change,
	build func(thread.Head, thread.Result) ([]store.Record, error)) (thread.Head, thread.Result, error) {
	newer, _, err := c.scripted.Commit(ctx, key, head, change, build)
	if err != nil {
		return head, thread.Result{}, err
	}
	return c.scripted.Commit(ctx, key, newer, change, build)
}

// A write that is tried on a newer head stores the records for that one alone.
func TestAWriteThatIsTriedOnANewerHead(t *testing.T) {
	h := &newScripted(t, &scripted{}, &said{}).holder
	c := &twice{}
	h.s.committer = c
	p, _, err := h.write(t.Context(), kinds{})
	if err != nil || h.head.Version != 22 {
		t.Fatalf("it comes to %v at version %d", err, h.head.Version)
	}
	var stamps []string
	for _, r := range p.records {
		stamps = append(stamps, fmt.Sprintf("%c v%d", r.Name[0], r.Version))
	}
	if diff := cmp.Diff([]string{"M v0", "R v22", "L v22", "U v22", "C v22", "Q v0"}, stamps); diff != "" {
		t.Errorf("its records (-want +got):\n%s", diff)
	}
}

// An access that failed is repeated behind a pause, so often and as long as there is time; not
// where it has failed for good.
func TestHowAnAccessIsRepeated(t *testing.T) {
	reset := errors.New("reset")
	tests := []struct {
		name     string
		time     time.Duration // that there is; 0: any
		failures int
		failure  error
		asked    int
		took     time.Duration
		err      error
	}{
		{"at once", 0, 0, reset, 1, 0, nil},
		{"then", 0, 2, reset, 3, 19 * time.Millisecond, nil},
		{"never", 0, 99, reset, 7, 457 * time.Millisecond, reset},
		{"for good", 0, 99, core.Errorf(core.CodeInvalid, "no"), 1, 0, core.Errorf(core.CodeInvalid, "no")},
		{"no time behind a pause", 60 * time.Millisecond, 99, reset, 3, 60 * time.Millisecond, reset},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newScripted(t, &scripted{}, &said{})
				m.holder.env.Random = func(b []byte) { // pauses are the same in every run of the test
					for i := range b {
						b[i] = 0xff
					}
				}
				ctx := t.Context()
				if tt.time > 0 {
					within, cancel := context.WithTimeout(ctx, tt.time)
					defer cancel()
					ctx = within
				}
				began, asked := time.Now(), 0
				err := m.holder.persist(ctx, func() error {
					if asked++; asked <= tt.failures {
						return tt.failure
					}
					return nil
				})
				if took := time.Since(began).Round(time.Millisecond); asked != tt.asked || took != tt.took || fmt.Sprint(err) != fmt.Sprint(tt.err) {
					t.Errorf("it is tried %d times in %s and comes to %v; want %d in %s and %v", asked, took, err, tt.asked, tt.took, tt.err)
				}
			})
		})
	}
}

// A write that meets other bytes of its claim again and again takes eight fences, and no more.
func TestHowManyFencesAWriteTakes(t *testing.T) {
	conflict := &store.RefusedError{Name: "M#4", Cause: store.ErrConflict}
	var c *scripted
	c = &scripted{apply: func(n int, head *thread.Head) error {
		if _, ok := c.asked[n-1].(thread.Refence); !ok {
			return conflict
		}
		head.Claim.Fence++
		return nil
	}}
	h := &newScripted(t, c, &said{}).holder
	_, _, err := h.write(t.Context(), kinds{})
	if !errors.Is(err, store.ErrConflict) || len(c.asked) != 17 || h.fence() != 15 {
		t.Errorf("it comes to %v behind %d changes, under fence %d; want the conflict behind 17, under 15", err, len(c.asked), h.fence())
	}
}

// The pause behind a failure is drawn from twice as much as that before it, up to half a minute.
func TestPausesBehindFailures(t *testing.T) {
	const drawn = 61850 * time.Millisecond // of which each pause is the rest
	h := &newScripted(t, &scripted{}, &said{}).holder
	h.env.Random = func(b []byte) { binary.BigEndian.PutUint64(b, uint64(drawn)) }
	h.env.Now = func() time.Time { return time.UnixMilli(1_000_000) }
	want := []int64{100, 350, 850, 1850, 1850, 5850, 13850, 1850, 1850}
	var pauses []int64
	for attempts := range uint8(9) {
		h.head.Run.Attempts = attempts
		kind, at := h.nackKind(errors.New("reset"), false, false)
		if pauses = append(pauses, at-1_000_000); kind != thread.NackFailed {
			t.Errorf("behind %d attempts it is given back as %s", attempts, kind)
		}
	}
	if diff := cmp.Diff(want, pauses); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Where there is no time any more an access is not repeated, however short the pause would be.
func TestAnAccessThatFailsBehindTheTime(t *testing.T) {
	reset := errors.New("reset")
	m := newScripted(t, &scripted{}, &said{})
	m.holder.env.Sleep = func(context.Context, time.Duration) error { return nil }
	ctx, stop := context.WithCancel(t.Context())
	asked := 0
	err := m.holder.persist(ctx, func() error {
		asked++
		stop()
		return reset
	})
	if !errors.Is(err, reset) || asked != 1 {
		t.Errorf("it is tried %d times and comes to %v, want once", asked, err)
	}
}
