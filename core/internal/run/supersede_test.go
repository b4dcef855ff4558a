package run_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
)

// A run takes the tail of the log back: what models and hooks see afterwards is
// as if the tail had never been, whether a process remembers it or reads it
// anew, and the log still has it.
func TestSupersededTailIsPassedOver(t *testing.T) {
	want := []string{
		`step 1, revision 1: in_thread 1`,
		`step 1, revision 4: in_thread 4`,
		`step 1, revision 7: in_thread 7`,
		`step 1, revision 11: in_thread 4`, // as after the first run, under a revision of its own
		`step 1, revision 14: in_thread 7`,
	}
	wantSeen := []string{
		"[one]", "[one ok two]", "[one ok two ok three]", "[one ok other]", "[one ok other ok five]",
	}
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restart ", restart), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var saw, seen []string
				o := options{plugins: []plugin.Plugin{counters(&saw, inThread)}, model: listens(&seen)}
				w := newWorld(t, o)
				var runs []core.ID
				run := func(text string, from uint64) {
					t.Helper()
					receipt, err := w.box.Submit(t.Context(), mailbox.Submission{
						Thread: key, Opening: mailbox.Opening{AgentID: "demo", Supersede: from}, Messages: []core.Message{core.UserMessage(text)},
					})
					if err != nil {
						t.Fatal(err)
					}
					runs = append(runs, receipt.RunID)
					if restart {
						w.stepper = w.other(t, o)
					}
					w.finish(t, key, nil)
				}
				run("one", 0)
				run("two", 0)
				run("three", 0)
				run("other", 4) // the input of the second run
				run("five", 0)
				if diff := cmp.Diff(want, saw); diff != "" {
					t.Errorf("state (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(wantSeen, seen); diff != "" {
					t.Errorf("what the model was shown (-want +got):\n%s", diff)
				}
				entries, err := threadlog.Read(t.Context(), w.store, thread.Records{}, key, 10, 11)
				if err != nil {
					t.Fatal(err)
				}
				back := entries[0]
				if diff := cmp.Diff(&thread.Range{From: 4, To: 9}, back.Superseded); diff != "" || fmt.Sprint(back.Patch) != `[{replace /thread/in_thread [51]}]` || back.Revision != 10 || back.Run != runs[3] {
					t.Errorf("record of the superseded range is %+v", back)
				}
				if m := entries[1].Message; m == nil || m.Text() != "other" {
					t.Errorf("the input does not come behind it: %+v", entries[1])
				}
			})
		})
	}
}

// A record that takes the tail back names the ranges that were taken back before it, newest
// first: who reads backwards need not read them one by one. It names no more than 64.
func TestARecordNamesTheRangesBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		for n := range 66 {
			w.submit(t, key, "asked", mailbox.ModeQueue)
			w.finish(t, key, nil)
			from := w.head(t, key).Seq - 1 // what was asked last
			if _, err := w.box.Submit(t.Context(), mailbox.Submission{
				Thread: key, Opening: mailbox.Opening{AgentID: "demo", Supersede: from}, Messages: []core.Message{core.UserMessage("asked anew")},
			}); err != nil {
				t.Fatal(err)
			}
			w.finish(t, key, nil)
			e, err := thread.Records{}.DecodeEntry(w.record(t, store.LogName(from+2)).Payload)
			if err != nil {
				t.Fatal(err)
			}
			// Each is a question with its answer, behind five records: the like of it, the record
			// that took that back, and what was asked and answered anew.
			var before []thread.Range
			for first := from; len(before) < min(n, 64); {
				first -= 5
				before = append(before, thread.Range{From: first, To: first + 1})
			}
			if diff := cmp.Diff(before, e.Earlier); diff != "" || *e.Superseded != (thread.Range{From: from, To: from + 1}) {
				t.Fatalf("record %d takes back %+v (-want +got):\n%s", n, e.Superseded, diff)
			}
		}
		// What was asked anew last is taken back with the range before it, and 64 others are named.
		newest := w.head(t, key).Seq - 1
		if _, err := w.box.Submit(t.Context(), mailbox.Submission{
			Thread: key, Opening: mailbox.Opening{AgentID: "demo", Supersede: newest}, Messages: []core.Message{core.UserMessage("asked once more")},
		}); err != nil {
			t.Fatal(err)
		}
		w.finish(t, key, nil)
		e := w.entry(t, newest+2)
		if len(e.Earlier) != 64 || e.Earlier[0] != (thread.Range{From: newest - 8, To: newest - 7}) || *e.Superseded != (thread.Range{From: newest - 3, To: newest + 1}) {
			t.Errorf("the last record takes back %+v and names %d ranges before it: %+v", e.Superseded, len(e.Earlier), e.Earlier)
		}
	})
}

// The question of a run that failed is the last of the log: it can be taken back
// like what lies before it.
func TestLastRecordOfTheLogIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		works := listens(&seen)
		w := newWorld(t, options{model: modelFunc(func(ctx context.Context, r model.Request) iterator {
			if r.Messages[len(r.Messages)-1].Text() == "two" {
				return replies([]model.Delta{{Text: "not that"}})(ctx, model.Request{})
			}
			return works(ctx, r)
		})})
		for _, said := range []struct {
			text string
			from uint64
		}{{"one", 0}, {"two", 0}, {"other", 3}} {
			if _, err := w.box.Submit(t.Context(), mailbox.Submission{
				Thread: key, Opening: mailbox.Opening{AgentID: "demo", Supersede: said.from}, Messages: []core.Message{core.UserMessage(said.text)},
			}); err != nil {
				t.Fatal(err)
			}
			w.finish(t, key, nil)
		}
		if diff := cmp.Diff([]string{"[one]", "[one ok other]"}, seen); diff != "" {
			t.Errorf("what the model was shown (-want +got):\n%s", diff)
		}
	})
}

// listens notes what each inference is shown, and says ok.
func listens(seen *[]string) modelFunc {
	return func(_ context.Context, r model.Request) iter.Seq2[model.Delta, error] {
		var texts []string
		for _, m := range r.Messages {
			texts = append(texts, m.Text())
		}
		*seen = append(*seen, fmt.Sprint(texts))
		return func(yield func(model.Delta, error) bool) {
			for _, d := range text("ok") {
				if !yield(d, nil) {
					return
				}
			}
		}
	}
}

// A process that remembers only what was taken back shows its models as much as
// one that reads the thread anew, and remembers it from then on.
func TestWindowBehindASupersededTailIsWhole(t *testing.T) {
	var shown [2][]string
	for i, restart := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			o := options{model: listens(&shown[i]), window: 40}
			w := newWorld(t, o)
			run := func(text string, from uint64) {
				t.Helper()
				_, err := w.box.Submit(t.Context(), mailbox.Submission{
					Thread: key, Opening: mailbox.Opening{AgentID: "demo", Supersede: from}, Messages: []core.Message{core.UserMessage(text)},
				})
				if err != nil {
					t.Fatal(err)
				}
				if restart {
					w.stepper = w.other(t, o)
				}
				w.finish(t, key, nil)
			}
			for n := range 12 {
				run(fmt.Sprint("run ", n), 0)
			}
			run("other", 9) // the input of run 4
			run("then", 0)
			if restart {
				return
			}
			w.store.reads = 0
			if run("last", 0); w.store.reads > 2 {
				t.Errorf("the step behind it read %d records, want its input and no log", w.store.reads)
			}
		})
	}
	want := []string{"[run 3 ok other]", "[other ok then]"}
	for i := range shown {
		if diff := cmp.Diff(want, shown[i][12:14]); diff != "" {
			t.Errorf("shown by way %d (-want +got):\n%s", i, diff)
		}
	}
}

// A run that ends before its first commit has its input stored by its end, and
// what the input supersedes is superseded all the same: no later run sees both
// versions. Input that no run has opened supersedes nothing.
func TestARunThatEndsBeforeItsFirstCommitSupersedes(t *testing.T) {
	lose := func(t *testing.T, w *world, claims int) {
		t.Helper()
		for range claims {
			w.take(t, key)
			w.reclaim(t)
		}
	}
	cancel := func(t *testing.T, w *world, r mailbox.Receipt) {
		t.Helper()
		if _, err := w.box.Cancel(t.Context(), key, r.RunID); err != nil {
			t.Fatal(err)
		}
	}
	const back, both = "[one ok other after]", "[one ok two ok other after]"
	tests := []struct {
		name, text string
		spoil      uint64 // sequence of a record that cannot be read any more
		between    func(t *testing.T, w *world, r mailbox.Receipt)
		end, shown string
		saw        string // of the state, by the next run
	}{
		{name: "failed", text: "fail", end: `done 0 {"type":"error","code":"model","detail":"the model failed"} ""`,
			shown: "[one ok fail after]", saw: "step 1, revision 8: in_thread 4"},
		{name: "failed, after claims were lost", text: "fail", end: `done 0 {"type":"error","code":"model","detail":"the model failed"} ""`,
			shown: "[one ok fail after]", saw: "step 1, revision 8: in_thread 4",
			between: func(t *testing.T, w *world, _ mailbox.Receipt) { lose(t, w, 4) }},
		{name: "cancelled", text: "other", end: `done 0 {"type":"cancelled"} ""`, shown: back, saw: "step 1, revision 8: in_thread 4",
			between: func(t *testing.T, w *world, r mailbox.Receipt) {
				w.take(t, key)
				cancel(t, w, r)
				w.reclaim(t)
			}},
		{name: "dead-lettered", text: "other", end: `done 0 {"type":"error","code":"dead_letter","detail":"no progress in 5 attempts"} ""`,
			shown: back, saw: "step 1, revision 8: in_thread 4",
			between: func(t *testing.T, w *world, _ mailbox.Receipt) { lose(t, w, 5) }},
		{name: "dead-lettered, and closing claims are lost too", text: "other",
			end:   `done 0 {"type":"error","code":"dead_letter","detail":"no progress in 5 attempts"} ""`,
			shown: both, saw: "step 1, revision 7: in_thread 7", // it may be the taking back that takes the process down
			between: func(t *testing.T, w *world, _ mailbox.Receipt) { lose(t, w, 8) }},
		{name: "corrupt, what is before the range", text: "other", spoil: 2,
			end:   `done 0 {"type":"error","code":"corrupt","detail":"the stored thread cannot be read"} ""`,
			shown: both, saw: "step 1, revision 7: in_thread 7"},
		{name: "cancelled while it was queued", text: "other", end: `done 0 {"type":"cancelled"} ""`,
			shown: "[one ok two ok after]", saw: "step 1, revision 7: in_thread 7", between: cancel},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var saw, seen []string
				var w *world
				heard := listens(&seen)
				w = newWorld(t, options{plugins: []plugin.Plugin{counters(&saw, inThread)},
					model: modelFunc(func(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
						if r.Messages[len(r.Messages)-1].Text() == "fail" {
							return replies([]model.Delta{{Text: "broken pipe"}}, []model.Delta{{Text: "broken pipe"}})(ctx, r)
						}
						return heard(ctx, r)
					})})
				run := func(text string) {
					w.submit(t, key, text, mailbox.ModeQueue)
					w.finish(t, key, nil)
				}
				run("one")
				run("two")
				receipt, err := w.box.Submit(t.Context(), mailbox.Submission{
					Thread: key, Opening: mailbox.Opening{AgentID: "demo", Supersede: 4}, Messages: []core.Message{core.UserMessage(tt.text)},
				})
				if err != nil {
					t.Fatal(err)
				}
				if tt.between != nil {
					tt.between(t, w, receipt)
				}
				if tt.spoil != 0 {
					w.spoil(t, store.LogName(tt.spoil))
				}
				w.finish(t, key, nil)
				if got := w.end(t, key, receipt); got != tt.end {
					t.Errorf("the run is %s, want %s", got, tt.end)
				}
				run("after")
				if got := seen[len(seen)-1]; got != tt.shown {
					t.Errorf("the next run is shown %s, want %s", got, tt.shown)
				}
				if got := saw[len(saw)-1]; got != tt.saw {
					t.Errorf("the next run sees %s, want %s", got, tt.saw)
				}
			})
		})
	}
}

// The newest run is taken back without reading the thread before it, also again
// and again: its own start has stored the state that it began with.
func TestTheNewestRunIsTakenBackFromTheStateAtItsStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var saw, seen []string
		o := options{plugins: []plugin.Plugin{counters(&saw, inThread)}, model: listens(&seen), window: 40}
		w := newWorld(t, o)
		for range 200 {
			w.submit(t, key, "hi", mailbox.ModeQueue)
			w.finish(t, key, nil)
		}
		for i, from := range []uint64{598, 602, 606} {
			if _, err := w.box.Submit(t.Context(), mailbox.Submission{
				Thread: key, Opening: mailbox.Opening{AgentID: "demo", Supersede: from}, Messages: []core.Message{core.UserMessage("again")},
			}); err != nil {
				t.Fatal(err)
			}
			w.store.reads = 0
			w.finish(t, key, nil)
			if w.store.reads > 80 { // a look back is 32 records, once for the window, once for that before the run
				t.Errorf("take %d read %d records", i+1, w.store.reads)
			}
			if got, want := saw[len(saw)-1], fmt.Sprintf("step 1, revision %d: in_thread 598", 602+4*i); got != want {
				t.Errorf("take %d sees %s, want %s", i+1, got, want)
			}
		}
	})
}
