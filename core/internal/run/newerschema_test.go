package run_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
)

// A step stores all that it writes in the schema of its program: the log, what it puts beside
// commits, what was used, and what is kept of a turn for readers of other processes. The
// readers of its own are told of each event that they can hear. Another process reads it all.
func TestEachRecordOfAStepIsOfTheSchemaOfItsProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		records, metering := thread.Records{Schemas: thread.Schemas{Reads: 3, Writes: 3}}, &accounting.Metering{Keep: time.Hour}
		asks := []model.Delta{say("so"), begin(0, "c1", "echo"), argue(0, `{"text":"a"}`), {Type: model.DeltaStop, Stop: core.StopToolUse}}
		var seen []string
		o := options{
			model: pacing(2*time.Second, append(asks, text("ok")...)...), plugins: []plugin.Plugin{asking("echo"), counters(&seen, inThread)},
			records: records, metering: metering,
		}.complete(t)
		w := newWorld(t, o)
		var err error
		if w.box, err = mailbox.New(mailbox.Options{Env: env.System(), Store: w.store, Waker: w.queue, Logger: quiet, Records: records, KeepUsage: time.Hour}); err != nil {
			t.Fatal(err)
		}
		said := 0
		stepper := func() *run.Stepper {
			s, err := run.New(run.Options{
				Env: o.env, Store: w.store, Committer: w.box, Agents: unpinned{resolver: o.agents}, Records: records, Logger: quiet, Metering: metering, Chunks: true, Snapshot: 1,
				Said: func(k core.ThreadKey) {
					if k == key {
						said++
					}
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		w.stepper = stepper()
		var mu sync.Mutex // chunks are stored beside the step
		written := map[string]string{}
		note := func(list ...store.Record) {
			mu.Lock()
			defer mu.Unlock()
			for _, r := range list {
				kind, _, _ := strings.Cut(r.Name, "#")
				if schema := fmt.Sprint(thread.SchemaOf(r.Payload)); schema != written[kind] {
					written[kind] += schema
				}
			}
		}
		w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			note(r)
			return w.store.Backend.Put(ctx, key, r)
		}
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			note(c.Records...)
			if c.Usage != nil {
				note(c.Usage.Record)
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		steps := func() {
			for w.head(t, key).DueAt != 0 {
				work := run.Work{Key: key, Head: w.take(t, key), Followed: time.Now().Add(time.Minute).UnixMilli()}
				if _, err := w.stepper.Step(t.Context(), work, listener); err != nil {
					t.Fatal(err)
				}
			}
		}
		steps()
		if _, err := w.box.Decide(t.Context(), key, mailbox.Deciding{Target: "gate0", Decision: approve}); err != nil {
			t.Fatal(err)
		}
		w.stepper = stepper()
		steps()
		if got, want := w.end(t, key, receipt), `done 2 {"type":"natural_end"} "ok"`; got != want {
			t.Errorf("the run is %s, want %s", got, want)
		}
		const two = "3"
		want := map[string]string{"C": two, "D": two, "E": two, "L": two, "M": two, "P": two, "Q": two, "R": two, "S": two, "U": two}
		if diff := cmp.Diff(want, written); diff != "" {
			t.Errorf("records by their kind (-want +got):\n%s", diff)
		}
		if said != 4 {
			t.Errorf("readers are told %d times, want 4", said)
		}
	})
}
