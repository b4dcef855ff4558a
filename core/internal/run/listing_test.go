package run_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// listing reads what lists a thread.
func (w *world) listing(t *testing.T) (l thread.Listing, stored store.Record) {
	t.Helper()
	stored = w.record(t, recordname.Activity)
	l, err := thread.Records{}.DecodeListing(stored.Payload)
	if err != nil {
		t.Fatal(err)
	}
	return l, stored
}

// A thread is listed anew where its run ends, with what that came to, and not with the
// steps before.
func TestThreadIsListedWhereItsRunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{model: replies(calls("lookup", `{}`), text("found\n\tit"))})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		_, made := w.listing(t)
		w.step(t, key)
		if _, after := w.listing(t); after.Version != made.Version {
			t.Errorf("a step in between has listed the thread at version %d", after.Version)
		}
		w.finish(t, key, nil)
		l, stored := w.listing(t)
		want := thread.Listing{List: "threads:" + w.head(t, key).Owner, At: l.At, AgentID: "demo", Excerpt: "found it", Asked: "hi",
			Last: &core.LastRun{ID: receipt.RunID, AgentID: "demo", Status: core.RunDone, Steps: 2, Usage: l.Last.Usage, Termination: &core.Termination{Type: core.TerminationNatural}}}
		if diff := cmp.Diff(want, l); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if l.At != w.runRecord(t, receipt.RunID).FinishedAt || l.At == 0 {
			t.Errorf("listed at %d, the run ended at %d", l.At, w.runRecord(t, receipt.RunID).FinishedAt)
		}
		if h := w.head(t, key); stored.Fence != h.Fence || stored.Version != h.Version {
			t.Errorf("listed with fence %d and version %d, the head has %d and %d", stored.Fence, stored.Version, h.Fence, h.Version)
		}
	})
}

// An answer of any length leaves a short excerpt, cut between characters; a detail of an
// error stays in the run's record.
func TestListingIsSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{model: replies(text(strings.Repeat("ä", 100_000)))})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		l, stored := w.listing(t)
		if want := strings.Repeat("ä", 199) + "…"; l.Excerpt != want {
			t.Errorf("the excerpt has %d bytes: %s", len(l.Excerpt), l.Excerpt)
		}
		if len(stored.Payload) > 1000 || !json.Valid(stored.Payload) {
			t.Errorf("the record has %d bytes", len(stored.Payload))
		}
	})
}

// A run that waits is listed with what its model has said before the call that waits.
func TestThreadIsListedWhereItsRunWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{
			model: replies(append([]model.Delta{say("May I?")}, calls("echo", `{"text":"a"}`)...), text("ok")), plugins: []plugin.Plugin{asking("echo")},
		})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		l, _ := w.listing(t)
		want := thread.Listing{List: "threads:" + w.head(t, key).Owner, At: l.At, AgentID: "demo", Excerpt: "May I?", Asked: "hi",
			Last: &core.LastRun{ID: receipt.RunID, AgentID: "demo", Status: core.RunWaiting, Steps: 1}}
		if diff := cmp.Diff(want, l); diff != "" || l.At == 0 {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// The round of a run that waits says what it waits for: what was decided while a sibling ran
// is nothing of that.
func TestARoundSaysWhatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{
			mode: agent.ParallelBatchApproval, tools: []tool.Tool{nap}, plugins: []plugin.Plugin{asking("echo")},
			model: replies(calls("echo", `{"text":"a"}`, "echo", `{"text":"b"}`, "nap", "{}"), text("ok")),
		})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		time.AfterFunc(time.Second, func() { w.mustDecide(t, 0, approve) })
		w.step(t, key)
		h := w.head(t, key)
		var round thread.RoundRecord
		if err := (thread.Records{}).Decode("round", w.record(t, recordname.Round(receipt.RunID, h.Version)).Payload, &round); err != nil {
			t.Fatal(err)
		}
		if len(h.Tickets) != 2 || h.Tickets[0].Decision == 0 || round.Fence != h.Fence {
			t.Errorf("the tickets are %+v, and the round has fence %d", h.Tickets, round.Fence)
		}
		if diff := cmp.Diff(h.Tickets[1].ID, round.Waits[0]); diff != "" || len(round.Waits) != 1 {
			t.Errorf("it waits for %d (-want +got):\n%s", len(round.Waits), diff)
		}
	})
}
