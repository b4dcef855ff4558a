package run_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/tool"
)

// A round whose stored results cannot be read is given back, and the log says why.
func TestARoundWhoseResultsCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		o := options{
			model: replies(calls("nap", "{}"), text("ok")), tools: []tool.Tool{nap}, logger: slog.New(slog.NewTextHandler(&log, nil)),
		}
		w := newWorld(t, o)
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.cut(t, time.Second, false)
		log.Reset()
		w.store.read = func(what string) error {
			if what == "log" {
				return errors.New("the disk is away")
			}
			return nil
		}
		time.Sleep(time.Minute)
		stepped := w.step(t, key)
		if !stepped.Retry || !strings.Contains(log.String(), `"read stored results: the disk is away"`) {
			t.Errorf("the step is %+v; the log has:\n%s", stepped, &log)
		}
		w.store.read = nil
		w.finish(t, key, nil)
		if diff := cmp.Diff([]string{`ok: "rested"`}, w.results(t)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	})
}

// A policy is shown the turns of the run before the one that it is asked about, whoever goes
// on with its round, and with as little of the thread as it has read.
func TestTurnsThatAPolicyIsShownOfARoundThatIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shown []string
		o := options{
			model: replies(calls("nap", "{}"), text("ok")), tools: []tool.Tool{nap}, window: 1,
			stop: []agent.StopPolicy{agent.StopFunc(func(v agent.StopView) *core.Termination {
				line := fmt.Sprint("step ", v.Step, ":")
				for _, m := range v.Turns {
					line += " " + string(m.Role)
				}
				shown = append(shown, line)
				return nil
			})},
		}
		w := newWorld(t, o)
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.cut(t, time.Second, false)
		w.stepper = w.other(t, o)
		w.finish(t, key, nil)
		want := []string{"step 1: user", "step 1: user", "step 2: user assistant tool"}
		if diff := cmp.Diff(want, shown); diff != "" {
			t.Errorf("shown (-want +got):\n%s", diff)
		}
	})
}

// The chunks of what a model says are stored under the run that says it.
func TestChunksAreTheirRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{chunks: true, model: pacing(time.Second, say("a"), say("b"), stopped)})
		id := w.submit(t, key, "hi", mailbox.ModeQueue).RunID
		if _, err := w.stepper.Step(t.Context(), asked(w.take(t, key)), nil); err != nil {
			t.Fatal(err)
		}
		records, err := w.store.Backend.Records(t.Context(), key, "E#", "", 1000)
		if err != nil || len(records) == 0 {
			t.Fatalf("%d chunks, %v", len(records), err)
		}
		for _, r := range records {
			if !strings.HasPrefix(r.Name, recordname.Chunks(id, 1, 1)) {
				t.Errorf("a chunk is %s, want it to be of run %s", r.Name, id)
			}
		}
	})
}

// A round whose turn is not to be found is damaged: it is neither run nor guessed. So is one
// before which nothing is found. The thread gets free.
func TestARoundWithoutItsTurnIsDamaged(t *testing.T) {
	for _, lost := range []uint64{2, 1} {
		t.Run(fmt.Sprint("from ", lost), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				o := options{model: replies(calls("nap", "{}"), text("ok")), tools: []tool.Tool{nap}, logger: slog.New(slog.NewTextHandler(&log, nil))}
				w := newWorld(t, o)
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.cut(t, time.Second, false)
				for seq := lost; seq <= 2; seq++ {
					w.misplace(t, seq, nil)
				}
				w.stepper = w.other(t, o)
				log.Reset()
				w.step(t, key)
				const end = `done 0 {"type":"error","code":"corrupt","detail":"the stored thread cannot be read"} ""`
				if got := w.end(t, key, receipt); got != end || !strings.Contains(log.String(), "the turn before sequence 3 does not have the calls of the head") {
					t.Errorf("the run is %s, want %s; the log has:\n%s", got, end, &log)
				}
				second := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.stepper = w.other(t, options{})
				w.finish(t, key, nil)
				if got := w.end(t, key, second); got != `done 1 {"type":"natural_end"} "You said: hi"` {
					t.Errorf("the next run is %s", got)
				}
			})
		})
	}
}
