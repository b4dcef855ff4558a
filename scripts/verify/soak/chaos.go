package main

import (
	"context"
	"math/rand/v2"
	"time"
)

// strike is one end of the host.
type strike struct {
	After time.Duration // since the host was ready or, if Early, was started
	Early bool
	// Term sends SIGTERM, and Kill SIGKILL: at once, or Grace after the SIGTERM
	// as an impatient supervisor does.
	Term, Kill bool
	Grace      time.Duration
	// Aim waits, after all that, for the next execution of a tool, and then for
	// Aim: a round of tools is short, and a kill in it is what can make a stored
	// result run again.
	Aim time.Duration
	// Leave makes the clients close their streams on SIGTERM, so that the host stops
	// immediately and releases its work.
	Leave bool
}

// The lengths of bursts: as many as it takes to dead-letter a run, were the
// signal to count as the run's fault.
const (
	killBurst = 5
	termBurst = 7
	chapter   = 30 // strikes; each chapter has one burst of each kind
)

// plan returns n strikes.
func plan(r *rand.Rand, n int) []strike {
	var all []strike
	for len(all) < n {
		var groups [][]strike
		for range chapter - killBurst - termBurst {
			groups = append(groups, []strike{single(r)})
		}
		groups = append(groups, burst(r, killBurst, strike{Kill: true}), burst(r, termBurst, strike{Term: true, Leave: true}))
		r.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
		for _, g := range groups {
			all = append(all, g...)
		}
	}
	return all[:n]
}

func burst(r *rand.Rand, n int, s strike) []strike {
	all := make([]strike, n)
	for i := range all {
		all[i] = s
		all[i].After = milliseconds(r, 150, 450)
	}
	return all
}

func single(r *rand.Rand) strike {
	s := strike{After: milliseconds(r, 100, 1300)}
	switch p := r.IntN(100); {
	case p < 25:
		s.Kill = true
	case p < 50:
		s.Kill, s.Aim = true, time.Duration(1+r.IntN(800))*time.Microsecond
	case p < 60: // while it starts: in its repair, or before
		s.Kill, s.Early, s.After = true, true, milliseconds(r, 5, 60)
	case p < 85:
		s.Term, s.Leave = true, true
	case p < 90:
		s.Term = true
	default:
		s.Term, s.Kill, s.Grace = true, true, milliseconds(r, 1, 300)
	}
	return s
}

func milliseconds(r *rand.Rand, from, to int) time.Duration {
	return time.Duration(from+r.IntN(to-from)) * time.Millisecond
}

// chaos carries the plan out. It returns when the host runs again after the
// last strike.
func chaos(ctx context.Context, h *host, strikes []strike) error {
	for _, s := range strikes {
		if !s.Early {
			if err := h.ready(ctx); err != nil {
				return err
			}
		}
		if err := pause(ctx, s.After); err != nil {
			return err
		}
		if err := h.end(ctx, s); err != nil {
			return err
		}
		if err := h.start(); err != nil {
			return err
		}
	}
	return h.ready(ctx)
}

// pause waits, or returns the context's error.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
