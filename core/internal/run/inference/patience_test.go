package inference

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run/history"
)

// Patience begins with the first call that fails, and not in a run whose own time is over.
func TestWhenPatienceBegins(t *testing.T) {
	for _, tt := range []struct {
		name         string
		before, want patience
		now          int64
	}{
		{"the first failure", patience{lasts: 60}, patience{lasts: 60, since: 5}, 5},
		{"a later one", patience{lasts: 60, since: 3}, patience{lasts: 60, since: 3}, 5},
		{"an agent without", patience{}, patience{}, 5},
		{"at the time that means none", patience{lasts: 60}, patience{lasts: 60, since: 1}, 0},
		{"before the run's time is over", patience{lasts: 60, until: 9}, patience{lasts: 60, until: 9, since: 8}, 8},
		{"when it is over", patience{lasts: 60, until: 9}, patience{until: 9}, 9},
		{"after that", patience{lasts: 60, until: 9}, patience{until: 9}, 10},
		{"it has begun before", patience{lasts: 60, until: 9, since: 8}, patience{lasts: 60, until: 9, since: 8}, 10},
	} {
		got := tt.before
		if got.begins(tt.now); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestHowLongPatienceLasts(t *testing.T) {
	for _, tt := range []struct {
		name string
		p    patience
		now  int64
		want time.Duration
	}{
		{"at its start", patience{lasts: 60_000, since: 1000}, 1000, time.Minute},
		{"before its end", patience{lasts: 60_000, since: 1000}, 60_999, time.Millisecond},
		{"at its end", patience{lasts: 60_000, since: 1000}, 61_000, 0},
		{"after its end", patience{lasts: 60_000, since: 1000}, 62_000, 0},
		{"of a run that ends before", patience{lasts: 60_000, since: 1000, until: 31_000}, 1000, 30 * time.Second},
		{"of a run that ends later", patience{lasts: 60_000, since: 1000, until: 61_001}, 1000, time.Minute},
		{"of an agent without, whose clock went back", patience{since: 1000}, 500, 0},
		{"of a model that works", patience{lasts: 60_000}, 1000, 0},
	} {
		if got := tt.p.left(tt.now); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// marked is a claim whose run a stream of another process follows, or does not.
type marked struct {
	quiet
	follows bool
	reads   *int // of the mark
}

func (m marked) Followed(context.Context) bool {
	*m.reads++
	return m.follows
}

// A model may be called three times while a stream follows, and has a minute of patience
// otherwise. Whether a stream of another process follows is looked up only if that matters.
func TestPausesOfAPatientRun(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	tests := []struct {
		name      string
		lasts     time.Duration // the patience
		ago       time.Duration // when it began
		failed    uint8
		ours      time.Duration
		asked     time.Duration
		refused   bool // by a circuit
		listener  bool
		want      time.Duration // while no stream of another process follows
		may       bool
		wantWith  time.Duration // while one follows
		mayWith   bool
		wantReads int
	}{
		{name: "no patience, and a call is left", failed: 2, ours: 2 * s, want: 2 * s, may: true, wantWith: 2 * s, mayWith: true},
		{name: "no patience, and no call is left", failed: 3, ours: 2 * s, want: 2 * s, wantWith: 2 * s},
		{name: "both are left", lasts: 60 * s, ago: 10 * s, failed: 2, ours: 50 * s, want: 50 * s, may: true, wantWith: 50 * s, mayWith: true},
		{name: "the pause is longer than the patience", lasts: 60 * s, ago: 10 * s, failed: 2, ours: 50*s + ms, want: 50 * s, may: true, wantWith: 50*s + ms, mayWith: true, wantReads: 1},
		{name: "only patience is left", lasts: 60 * s, ago: 10 * s, failed: 3, ours: 2 * s, want: 2 * s, may: true, wantWith: 2 * s, wantReads: 1},
		{name: "only patience is left, of a run with a listener", lasts: 60 * s, ago: 10 * s, failed: 3, ours: 2 * s, listener: true, want: 2 * s, wantWith: 2 * s},
		{name: "nothing is left", lasts: 60 * s, ago: 60 * s, failed: 3, ours: 2 * s, want: 2 * s, wantWith: 2 * s},
		{name: "the provider asks for all that is left", lasts: 60 * s, ago: 10 * s, failed: 3, ours: 2 * s, asked: 50 * s, want: 50 * s, may: true, wantWith: 50 * s, wantReads: 1},
		{name: "the provider asks for more", lasts: 60 * s, ago: 10 * s, failed: 3, ours: 2 * s, asked: 50*s + ms, want: 50*s + ms, wantWith: 50*s + ms},
		{name: "the provider asks for more, and a call is left", lasts: 60 * s, ago: 10 * s, failed: 2, ours: 2 * s, asked: 50*s + ms, want: 50*s + ms, wantWith: 50*s + ms, mayWith: true, wantReads: 1},
		{name: "a circuit, and no patience", failed: 3, ours: 20 * s, refused: true, want: 20 * s, may: true, wantWith: 20 * s, mayWith: true},
		{name: "a circuit that opens in time", lasts: 60 * s, ago: 10 * s, failed: 3, ours: 50 * s, refused: true, want: 50 * s, may: true, wantWith: 50 * s, mayWith: true},
		{name: "a circuit that opens later", lasts: 60 * s, ago: 10 * s, failed: 3, ours: 50*s + ms, refused: true, want: 50 * s, may: true, wantWith: 50*s + ms, mayWith: true, wantReads: 1},
		{name: "a circuit after the patience", lasts: 60 * s, ago: 60 * s, failed: 3, ours: 1 * s, refused: true, want: 0, wantWith: 1 * s, mayWith: true, wantReads: 1},
	}
	for _, tt := range tests {
		for _, follows := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				var sink history.Sink
				if tt.listener {
					sink = func(core.Event) error { return nil }
				}
				events, reads := history.NewEmitter(core.ID{1}, 1, sink), 0
				now := time.Now().UnixMilli()
				turn := &Turn{
					step:     Step{Agent: &registry.Resolved{}, Circuits: &Circuits{Env: env.System()}, Events: &events, Claim: marked{follows: follows, reads: &reads}},
					failed:   tt.failed,
					patience: patience{lasts: tt.lasts.Milliseconds()},
				}
				if tt.ago > 0 {
					turn.patience.since = now - tt.ago.Milliseconds()
				}
				want, may := tt.want, tt.may
				if follows {
					want, may = tt.wantWith, tt.mayWith
				}
				ask := func() (time.Duration, bool) { return turn.pause(t.Context(), tt.ours, tt.asked) }
				if tt.refused {
					ask = func() (time.Duration, bool) { return turn.waitRefused(t.Context(), tt.ours) }
				}
				wait, ok := ask()
				if wait != want || ok != may || reads != tt.wantReads {
					t.Errorf("%s, followed %v: %s, %v after %d reads of the mark; want %s, %v after %d", tt.name, follows, wait, ok, reads, want, may, tt.wantReads)
				}
			})
		}
	}
}
