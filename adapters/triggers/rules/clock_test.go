package rules

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/internal/incoming"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
)

// heard keeps the events that it was given.
type heard struct {
	mu     sync.Mutex
	events []string
	fail   error
}

func (h *heard) Fire(_ context.Context, e incoming.Event) ([]mailbox.Receipt, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, fmt.Sprint(time.Now().UTC().Format("15:04:05"), " ", e.Trigger, " ", e.ID, " ", string(e.Data)))
	return nil, h.fail
}

// ticking runs clocks of a schedule for so long, in time that is not real. The host's
// own time is set ahead once, after so long, by so much.
func ticking(t *testing.T, expression string, clocks int, lasting, after, by time.Duration) []string {
	t.Helper()
	var h heard
	synctest.Test(t, func(t *testing.T) {
		when, err := parseSchedule(expression)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		e := env.System()
		e.Now = func() time.Time {
			now := time.Now()
			if now.Sub(began) >= after {
				return now.Add(by)
			}
			return now
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		for range clocks {
			c := clock{Firer: &h, env: e, log: slog.New(slog.DiscardHandler), trigger: "tick", schedule: when}
			wait.Go(func() { c.run(ctx) })
		}
		time.Sleep(lasting)
		synctest.Wait()
		cancel()
		wait.Wait()
	})
	return h.events
}

// The time of the bubble begins at midnight, 2000-01-01.
func TestAScheduleFiresAtItsMoments(t *testing.T) {
	got := ticking(t, "rate(5 minutes)", 1, 11*time.Minute, 0, 0)
	want := []string{
		`00:05:00 tick 2000-01-01T00:05:00Z {"trigger":"tick","time":"2000-01-01T00:05:00Z"}`,
		`00:10:00 tick 2000-01-01T00:10:00Z {"trigger":"tick","time":"2000-01-01T00:10:00Z"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Two hosts say the same of a moment, so that it starts one run.
func TestTwoClocksComeToTheSameEvent(t *testing.T) {
	got := ticking(t, "cron(30 0 * * ? *)", 2, time.Hour, 0, 0)
	one := `00:30:00 tick 2000-01-01T00:30:00Z {"trigger":"tick","time":"2000-01-01T00:30:00Z"}`
	if diff := cmp.Diff([]string{one, one}, got); diff != "" {
		t.Error(diff)
	}
}

// A machine that slept over a moment, here from 00:04 to 00:12, does not make up for it.
func TestAMomentThatWasMissedIsNotMadeUpFor(t *testing.T) {
	got := ticking(t, "rate(5 minutes)", 1, 8*time.Minute, 4*time.Minute, 8*time.Minute)
	if diff := cmp.Diff([]string{`00:07:00 tick 2000-01-01T00:15:00Z {"trigger":"tick","time":"2000-01-01T00:15:00Z"}`}, got); diff != "" {
		t.Error(diff)
	}
}

// A clock that is set meanwhile is followed: it is 00:04 after a minute, so that the
// moment comes after two.
func TestAScheduleFollowsTheClock(t *testing.T) {
	got := ticking(t, "rate(5 minutes)", 1, 3*time.Minute, time.Minute, 3*time.Minute)
	if diff := cmp.Diff([]string{`00:02:00 tick 2000-01-01T00:05:00Z {"trigger":"tick","time":"2000-01-01T00:05:00Z"}`}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAScheduleWithoutMomentsEnds(t *testing.T) {
	if got := ticking(t, "cron(0 0 1 1 ? 1999)", 1, time.Hour, 0, 0); len(got) > 0 {
		t.Errorf("it fired: %q", got)
	}
}
