package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

// leaving is a plugin whose RunEnd hook changes the state and asks for an effect.
type leaving struct {
	ran, effects int
	bytes        int
}

func (l *leaving) plugin() plugin.Plugin {
	return pluginFunc{"leaving", func(r *plugin.Registrar) {
		r.Key(piled)
		said := plugin.Effect[string]{Name: "said"}
		said.Handle(r, func(context.Context, plugin.HandlerContext, string) error {
			l.effects++
			return nil
		})
		r.OnRunEnd(func(context.Context, plugin.RunEnd) (state.Command, error) {
			l.ran++
			return state.Combine(piled.Update(strings.Repeat("e", max(1, l.bytes))), said.Emit("bye")), nil
		})
	}}
}

// refuseClose makes the store fail writes that would end the run, so often.
func (w *world) refuseClose(times int, failure error) {
	commit := w.store.OnCommit
	w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		if !c.Head.Open() && c.Head.Closing > 0 && times > 0 {
			times--
			return store.Outcome{}, failure
		}
		if commit != nil {
			return commit(ctx, key, c)
		}
		return w.store.Backend.Commit(ctx, key, c)
	}
}

// A store may refuse the end for longer than a claim waits. Each claim gives the run back,
// and the next one goes on behind RunEnd: its changes count once, as its effects do.
func TestRunEndRunsOnceWhereItsCloseIsRefused(t *testing.T) {
	for _, times := range []int{1, 7, 14, 21, 40} {
		for _, tt := range ways {
			t.Run(fmt.Sprint(tt.name, ", ", times, " times"), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var l leaving
					want := 1
					if tt.name == "superseded" { // by a run that ends, too
						want = 2
					}
					w, receipt := tt.begin(t, options{plugins: []plugin.Plugin{l.plugin()}, refuse: times}, func(*world) {})
					w.finish(t, key, nil)
					if got := w.end(t, key, receipt); got != tt.end || l.ran != want || l.effects != want {
						t.Errorf("the run is %s, RunEnd ran %d times, with %d effects; want %s and %d", got, l.ran, l.effects, tt.end, want)
					}
					if r := w.runRecord(t, receipt.RunID); r.Skipped {
						t.Error("the record says that RunEnd was skipped")
					}
					if got := w.piled(t); len(got) != want {
						t.Errorf("the state has %q, want %d changes", got, want)
					}
				})
			})
		}
	}
}

// piled is the value as the log says it.
func (w *world) piled(t *testing.T) []string {
	t.Helper()
	entries, err := threadlog.Read(t.Context(), w.store.Backend, thread.Records{}, key, 1, w.head(t, key).Seq)
	if err != nil {
		t.Fatal(err)
	}
	fold := state.Snapshot{}.Fold()
	for _, e := range entries {
		if err := fold.Apply(e.Patch, e.Revision); err != nil {
			t.Fatal(err)
		}
	}
	values, err := piled.Read(fold.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// What RunEnd changes may be too large for the record that keeps it for the next claim: the
// run ends without the change, and says so, and RunEnd has run.
func TestRunEndRunsOnceWhereItsChangeIsTooLargeToBeKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := leaving{bytes: 9000}
		w := newWorld(t, options{plugins: []plugin.Plugin{l.plugin()}})
		w.refuseClose(7, store.ErrThrottled)
		limited := w.store.OnCommit
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			for _, r := range c.Records {
				if c.Head.Open() && len(r.Payload) > 8<<10 {
					return store.Outcome{}, store.ErrTooLarge
				}
			}
			return limited(ctx, key, c)
		}
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if got := w.end(t, key, receipt); got != `done 1 {"type":"natural_end"} "You said: hi"` || l.ran != 1 || l.effects != 1 {
			t.Errorf("the run is %s, RunEnd ran %d times, with %d effects", got, l.ran, l.effects)
		}
		if e := w.runRecord(t, receipt.RunID).Ending; e == nil || e.Form != thread.FormStateless {
			t.Errorf("the ending is %+v, want form %s", e, thread.FormStateless)
		}
	})
}

// A record of RunEnd that is lost costs its changes, and not the end.
func TestRunEndsWhoseRecordOfRunEndIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l leaving
		var got notebook
		o := options{plugins: []plugin.Plugin{l.plugin()}, logger: got.logger()}
		w := newWorld(t, o)
		w.refuseClose(7, store.ErrThrottled)
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.step(t, key)
		h := w.head(t, key)
		if h.Run.RunEnd != h.Version {
			t.Fatalf("the head says that RunEnd ran by version %d, want %d", h.Run.RunEnd, h.Version)
		}
		w.spoil(t, recordname.End(receipt.RunID, h.Run.RunEnd))
		w.finish(t, key, nil)
		if got := w.end(t, key, receipt); got != `done 1 {"type":"natural_end"} "You said: hi"` || l.ran != 1 {
			t.Errorf("the run is %s, RunEnd ran %d times", got, l.ran)
		}
		if diff := cmp.Diff([]string(nil), w.piled(t)); diff != "" {
			t.Error(diff)
		}
		if lines := strings.Join(got.lines, "\n"); !strings.Contains(lines, `level=ERROR msg="changes of RunEnd lost" step=1 error=`) {
			t.Errorf("the log says %s", lines)
		}
	})
}

// What RunEnd has changed stands on what the run's input takes back: the claims behind it
// take that back, too, also where a claim that had not come so far would not.
func TestARunThatIsGivenBackBehindRunEndKeepsWhatItTookBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l leaving
		var seen []string
		w := newWorld(t, options{plugins: []plugin.Plugin{l.plugin()}, model: listens(&seen)})
		for _, text := range []string{"one", "two"} {
			w.submit(t, key, text, mailbox.ModeQueue)
			w.finish(t, key, nil)
		}
		if _, err := w.box.Submit(t.Context(), mailbox.Submission{
			Thread: key, Opening: mailbox.Opening{AgentID: "demo", Supersede: 4}, Messages: []core.Message{core.UserMessage("other")},
		}); err != nil {
			t.Fatal(err)
		}
		lose := func(claims int) {
			for range claims {
				w.take(t, key)
				w.reclaim(t)
			}
		}
		lose(5) // it is a dead letter
		w.refuseClose(7, store.ErrThrottled)
		w.step(t, key)
		if h := w.head(t, key); h.Run.RunEnd != h.Version {
			t.Fatalf("the head says that RunEnd ran by version %d, want %d", h.Run.RunEnd, h.Version)
		}
		time.Sleep(time.Second) // it is given back for a while
		lose(thread.SkipRunEnd)
		w.finish(t, key, nil)
		if got := w.piled(t); len(got) != 2 || l.ran != 3 {
			t.Errorf("RunEnd ran %d times and the state has %q, want 3 times, one of which is taken back", l.ran, got)
		}
		w.submit(t, key, "after", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if got, want := seen[len(seen)-1], "[one ok other after]"; got != want {
			t.Errorf("the next run is shown %s, want %s", got, want)
		}
	})
}
