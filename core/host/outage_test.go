package host_test

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/scripted"
)

// away is a model whose provider is away until a time.
type away struct {
	model.Model
	until time.Time
}

func (m away) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	if !time.Now().Before(m.until) {
		return m.Model.Stream(ctx, r)
	}
	return func(yield func(model.Delta, error) bool) {
		yield(model.Delta{}, &model.Error{Kind: model.KindProvider, Message: "away"})
	}
}

// A run that waits for its provider says so, and outlasts the outage. One that a stream of
// any process follows does not wait longer than its person: the stream leaves a mark, also
// between two calls, and for an agent that says itself which events are stored.
func TestARunThatWaitsForItsProvider(t *testing.T) {
	for _, tt := range []struct {
		name    string
		events  agent.EventMode
		follows string // the process, a minute after the start; empty: none
		least   time.Duration
		most    time.Duration
		end     string
	}{
		{"no stream", "", "", 9 * time.Minute, 9*time.Minute + 31*time.Second, "natural_end"},
		{"a stream of this process", "", "w", time.Minute, 2 * time.Minute, "error model"},
		{"a stream of another process", "", "other", time.Minute, 2 * time.Minute, "error model"},
		{"of an agent that stores no events", agent.EventsCommits, "other", time.Minute, 2 * time.Minute, "error model"},
		{"of an agent that stores all", agent.EventsLive, "other", time.Minute, 2 * time.Minute, "error model"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, began := newRig(t), time.Now()
				failing := func(c *host.Options) {
					c.Agents.Models["m"] = agent.ModelBinding{Model: away{scripted.New(c.Env), began.Add(9 * time.Minute)}, Name: "scripted"}
					c.Agents.Specs[0].Events = tt.events
				}
				process := r.process("w", r.store, failing)
				receipt := r.submits(process, "t1", "echo: hi")
				key, done := submission("t1", "").Thread, make(chan struct{})
				go func() {
					defer close(done)
					r.settle(process, key)
				}()
				time.Sleep(time.Minute)
				page, err := process.Mailbox(t.Context(), local, "t1", mailbox.ListQuery{})
				if err != nil || len(page.Dispatches) != 1 {
					t.Fatalf("%+v, %v", page, err)
				}
				if d := page.Dispatches[0]; d.FailingSince != began.UnixMilli() || d.FailedCalls < 5 || d.AvailableAt <= time.Now().UnixMilli() || d.Attempts != 0 {
					t.Errorf("the mailbox lists %+v; want that the model fails since %d, and when the next call is", d, began.UnixMilli())
				}
				if tt.follows != "" {
					reader := process
					if tt.follows != "w" {
						reader = r.process(tt.follows, r.store, failing)
					}
					_, followed := r.follows(reader, receipt.RunID)
					defer func() {
						if err := <-followed; err != nil {
							t.Error(err)
						}
					}()
				}
				<-done
				took := time.Since(began)
				run := r.ended(process, receipt.RunID)
				end := string(run.Termination.Type)
				if run.Termination.Code != "" {
					end += " " + run.Termination.Code
				}
				if end != tt.end || took < tt.least || took > tt.most {
					t.Errorf("the run ends with %s after %s, want %s after %s to %s", end, took, tt.end, tt.least, tt.most)
				}
			})
		})
	}
}
