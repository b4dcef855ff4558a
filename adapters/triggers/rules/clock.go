package rules

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/reveille-run/reveille/adapters/internal/incoming"
	"github.com/reveille-run/reveille/core/env"
)

// KeepTime fires each trigger that has a schedule at its moments until ctx is done, as
// EventBridge Scheduler does on AWS. Two processes make the same event
// of a moment, so that it starts one run. A moment that is found more than a minute late is
// skipped.
func (s *Set) KeepTime(ctx context.Context, e *env.Env) {
	var clocks sync.WaitGroup
	for _, t := range s.all() {
		if t.Source != incoming.Schedule || t.Schedule == "" {
			continue
		}
		when, err := parseSchedule(t.Schedule)
		if err != nil { // which newSet has refused
			s.Logger.Error("schedule", "trigger", t.Name, "error", err)
			continue
		}
		c := clock{Firer: s, env: e, log: s.Logger, trigger: t.Name, schedule: when}
		clocks.Go(func() { c.run(ctx) })
	}
	clocks.Wait()
}

const (
	// longestNap is how long a clock sleeps before it looks again: the host's clock may
	// be set in between, or the machine may sleep.
	longestNap = 30 * time.Second
	// latest is how late a moment may be found and still counts. Older ones are not made
	// up for.
	latest = time.Minute
)

// clock fires one trigger by its schedule.
type clock struct {
	incoming.Firer
	env      *env.Env
	log      *slog.Logger
	trigger  string
	schedule schedule
}

// run goes from moment to moment until ctx is done.
func (c clock) run(ctx context.Context) {
	for {
		next, err := c.schedule.next(c.env.Now())
		if err != nil {
			c.log.Warn("schedule has ended", "trigger", c.trigger, "error", err)
			return
		}
		if !c.sleep(ctx, next) {
			return
		}
		if late := c.env.Now().Sub(next); late > latest {
			c.log.Warn("scheduled time missed", "trigger", c.trigger, "time", next, "late", late)
			continue
		}
		if err := c.fire(ctx, next); err != nil {
			c.log.Error("starting scheduled run failed", "trigger", c.trigger, "time", next, "error", err)
		}
	}
}

// sleep reports whether the moment came before ctx was done.
func (c clock) sleep(ctx context.Context, until time.Time) bool {
	for {
		left := until.Sub(c.env.Now())
		if left <= 0 {
			return ctx.Err() == nil
		}
		timer := time.NewTimer(min(left, longestNap))
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
		}
	}
}

// fire gives the trigger the event that a schedule on AWS would send.
func (c clock) fire(ctx context.Context, moment time.Time) error {
	data, err := json.Marshal(struct {
		Trigger string    `json:"trigger"`
		Time    time.Time `json:"time"`
	}{c.trigger, moment})
	if err != nil {
		return err
	}
	_, err = c.Fire(ctx, incoming.Moment(c.trigger, moment, data))
	return err
}
