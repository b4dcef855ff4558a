package run_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/run/compaction"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// chosen are Choices that note what they are asked, and decide what the test says.
type chosen struct {
	mu      sync.Mutex
	lines   []string
	windows map[string]*core.Window // by run and step; nil: no summary is fixed
	counted int                     // what counts as the tokens of a request
	known   int                     // what counts as the model's window
	replays bool                    // nothing acts
}

func (c *chosen) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, fmt.Sprintf(format, args...))
}

// taken returns what was asked since the last time, for the run as RUN.
func (c *chosen) taken(id core.ID) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var lines []string
	for _, l := range c.lines {
		lines = append(lines, strings.ReplaceAll(l, id.String(), "RUN"))
	}
	c.lines = nil
	return lines
}

// Time implements run.Choices: a day of the year 1970 for each kind of instant, and a minute
// for each step.
func (c *chosen) Time(at run.Instant) int64 {
	c.note("time %d of %s step %d call %d decided %d round %d", at.Kind, at.Run, at.Step, at.Call, at.Decided, at.Round)
	return (int64(at.Kind)+1)*86_400_000 + int64(at.Step)*60_000
}

func (c *chosen) Member(run core.ID, step int) (*thread.Member, bool) {
	c.note("member of %s step %d", run, step)
	return nil, false
}

func (c *chosen) Summary(run core.ID, step int) (*core.Window, bool) {
	c.note("summary of %s step %d", run, step)
	return c.windows[fmt.Sprint(run, " ", step)], c.windows != nil
}

func (c *chosen) Unfinished(run core.ID) (*thread.Unfinished, bool) {
	c.note("unfinished of %s", run)
	return nil, false
}

func (c *chosen) Counted(run core.ID, step, tokens int) int {
	c.note("counted of %s step %d: %d", run, step, tokens)
	return c.counted
}

func (c *chosen) Known(run core.ID, step, tokens int) int {
	c.note("known of %s step %d: %d", run, step, tokens)
	return c.known
}

func (c *chosen) Place(run core.ID, step, call, next int) (int, bool) {
	if next > 0 {
		c.note("place of %s step %d call %d: next %d", run, step, call, next)
	}
	return next, false
}

func (c *chosen) Acts() bool { return !c.replays }

// A step asks for whatever no record decides, each time for its own run, step and call. What
// a parallel round changes has places in the order in which its results come.
func TestWhatAStepAsksOfItsChoices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &chosen{counted: 42}
		adds := toolFunc{name: "adds", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			afterSiblings(c)
			result := tool.NewResult("added")
			result.Command = inThread.Update(c.Index)
			return result, nil
		}}
		asks := pluginFunc{"asks", func(r *plugin.Registrar) {
			r.Key(inThread)
			r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
				if c.Call.Name != "echo" {
					return plugin.Allow, nil
				}
				return suspends("ask"), nil
			})
		}}
		counted := model.Delta{Type: model.DeltaUsage, Usage: core.Usage{Input: 300, Output: 20}}
		w := newWorld(t, options{
			choices: c, mode: agent.ParallelStreaming, tools: []tool.Tool{adds}, plugins: []plugin.Plugin{asks}, context: compacting(compaction.Background),
			model: replies(append(calls("adds", "{}", "adds", "{}", "echo", `{"text":"a"}`), counted), text("ok")),
		})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		for i, want := range [][]string{
			{
				"time 0 of RUN step 0 call 0 decided 0 round 0", "time 7 of RUN step 0 call 0 decided 0 round 86400000",
				"member of RUN step 1", "summary of RUN step 1", "known of RUN step 1: 0", "known of RUN step 1: 0", "counted of RUN step 1: 300",
				"time 2 of RUN step 1 call 0 decided 0 round 0",
				"time 4 of RUN step 1 call 0 decided 0 round 946684800000",
				"time 4 of RUN step 1 call 1 decided 0 round 946684800000",
				"time 4 of RUN step 1 call 2 decided 0 round 946684800000",
				"place of RUN step 1 call 0: next 1",
				"time 5 of RUN step 1 call 0 decided 0 round 946684800000",
				"time 6 of RUN step 1 call 0 decided 0 round 946684800000",
				"place of RUN step 1 call 1: next 2",
				"time 5 of RUN step 1 call 1 decided 0 round 946684800000",
				"time 6 of RUN step 1 call 1 decided 0 round 946684800000",
			},
			{
				"time 1 of RUN step 2 call 0 decided 0 round 0",
				"time 4 of RUN step 1 call 2 decided 0 round 946684860000", // what it waited with
				"time 4 of RUN step 1 call 2 decided 1 round 946684860000", // and what it goes on with
				"time 5 of RUN step 1 call 2 decided 0 round 946684860000",
				"time 6 of RUN step 1 call 2 decided 0 round 946684860000",
			},
			{
				"time 1 of RUN step 2 call 0 decided 0 round 0",
				"member of RUN step 2", "summary of RUN step 2", "known of RUN step 2: 0", "known of RUN step 2: 0",
				"time 2 of RUN step 2 call 0 decided 0 round 0",
				"time 3 of RUN step 0 call 0 decided 0 round 0",
			},
		} {
			if i == 1 {
				time.Sleep(time.Minute - time.Millisecond) // the round took one
				w.mustDecide(t, 2, approve)
			}
			w.step(t, key)
			if diff := cmp.Diff(want, c.taken(receipt.RunID)); diff != "" {
				t.Errorf("step %d (-want +got):\n%s", i, diff)
			}
		}
		// Days are those of kinds: what is asked for is what is stored.
		want := []string{
			"at day 1, made on day 3 in minute 1",
			"at day 6 in minute 1, made on day 7 in minute 1", "at day 6 in minute 1, made on day 7 in minute 1", "at day 6 in minute 1, made on day 7 in minute 1",
			"at day 7 in minute 1",
			"at day 2 in minute 2, made on day 3 in minute 2",
		}
		if diff := cmp.Diff(want, w.clocks(t, 2)); diff != "" {
			t.Errorf("the log's clocks (-want +got):\n%s", diff)
		}
		if got := w.window(t).Tokens; got != 0 {
			t.Errorf("%d tokens count for a turn whose provider says none", got)
		}
		if got := day(w.runRecord(t, receipt.RunID).FinishedAt); got != "day 4" {
			t.Errorf("the run finished on %s, want day 4", got)
		}
	})
}

// clocks are those of the log's entries from a sequence on.
func (w *world) clocks(t *testing.T, from uint64) (lines []string) {
	t.Helper()
	for seq := from; seq <= w.head(t, key).Seq; seq++ {
		e, err := thread.Records{}.DecodeEntry(w.record(t, store.LogName(seq)).Payload)
		if err != nil {
			t.Fatal(err)
		}
		line := "at " + day(e.At)
		if e.Message != nil {
			line += ", made on " + day(e.Message.CreatedAt)
		}
		lines = append(lines, line)
	}
	return lines
}

// day is a time that chosen has said, its minute only where that is one of a step.
func day(millis int64) string {
	minute := ""
	if m := millis % 86_400_000 / 60_000; m > 0 {
		minute = fmt.Sprintf(" in minute %d", m)
	}
	return fmt.Sprintf("day %d%s", millis/86_400_000, minute)
}

// The last words of a cancelled run, and the failure that stands in the place of a turn, are
// of the time at which a turn would be.
func TestLastWordsAndFailuresAreSaidWhenATurnWouldBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &chosen{}
		w := newWorld(t, options{choices: c})
		receipt := w.submit(t, key, "slow: 600", mailbox.ModeQueue)
		time.AfterFunc(3*time.Second, func() {
			if _, err := w.box.Cancel(t.Context(), key, receipt.RunID); err != nil {
				t.Error(err)
			}
		})
		w.step(t, key)
		if diff := cmp.Diff([]string{"at day 1, made on day 3 in minute 1"}, w.clocks(t, 2)); diff != "" {
			t.Errorf("last words (-want +got):\n%s", diff)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := &chosen{}
		w := newWorld(t, options{choices: c, stop: []agent.StopPolicy{consecutiveErrors(2)}, model: replies([]model.Delta{{Text: "broken"}})})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.step(t, key)
		e, err := thread.Records{}.DecodeEntry(w.record(t, store.LogName(2)).Payload)
		if err != nil || day(e.Failed.At) != "day 3 in minute 1" {
			t.Errorf("the failure is %+v, %v; want it on day 3 in minute 1", e.Failed, err)
		}
	})
}

// A window that is fixed says which summary a step is shown, and which it asks for: none is
// made or asked for beside it, whatever the size of the request.
func TestAStepUnderAFixedWindow(t *testing.T) {
	const question = "question 2"
	const whole = "question 0|turn 1|question 1|turn 2|" + question
	const summed = "<conversation-summary> of the record </conversation-summary>|question 1|turn 2|" + question
	down := errors.New("the store is down")
	tests := []struct {
		name    string
		how     agent.Compaction
		asked   bool // for a summary up to 2, by the turn before
		window  *core.Window
		stored  string // text of that summary
		skipped string // or why there is none; neither: it is missing
		read    error  // of that summary
		shown   string // of the third question; empty: its step fails
		want    core.Window
	}{
		{name: "none", how: agent.CompactInline, stored: "of the record", shown: whole},
		{name: "none, in the background", how: compaction.Background, stored: "of the record", shown: whole},
		{name: "a summary", how: agent.CompactInline, window: &core.Window{Summary: 2}, stored: "of the record", shown: summed, want: core.Window{Summary: 2}},
		{name: "a summary that is missing", how: agent.CompactInline, window: &core.Window{Summary: 2}, shown: whole},
		{name: "a summary that cannot be read", how: agent.CompactInline, window: &core.Window{Summary: 2}, stored: "of the record", read: down},
		{name: "a target", how: compaction.Background, window: &core.Window{Compact: 2}, shown: whole, want: core.Window{Compact: 2}},
		{name: "a summary that was asked for", how: compaction.Background, asked: true, window: &core.Window{Summary: 2}, stored: "of the record", shown: summed, want: core.Window{Summary: 2}},
		{name: "one that had not come yet", how: compaction.Background, asked: true, window: &core.Window{Compact: 2}, stored: "of the record", shown: whole, want: core.Window{Compact: 2}},
		{name: "one that nothing is said of", how: compaction.Background, asked: true, stored: "of the record", shown: whole, want: core.Window{Compact: 2}},
		{name: "one of no use", how: compaction.Background, asked: true, window: &core.Window{Skipped: 2}, skipped: thread.SkippedModel, shown: whole, want: core.Window{Skipped: 2}},
		{name: "a target that was skipped", how: agent.CompactInline, window: &core.Window{Skipped: 2}, shown: whole, want: core.Window{Skipped: 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				said, hints := &summaries{}, &compactions{}
				c := &chosen{windows: map[string]*core.Window{}}
				w := newWorld(t, options{choices: c, model: short(said), context: compacting(tt.how), compact: hints.add})
				w.ask(t, 0, 0)
				receipt := w.submit(t, key, "question 1 "+strings.Repeat("x", 4400), mailbox.ModeQueue)
				if tt.asked {
					c.windows[fmt.Sprint(receipt.RunID, " ", 1)] = &core.Window{Compact: 2}
				}
				w.finish(t, key, nil)
				if tt.stored+tt.skipped != "" {
					payload, err := thread.Records{}.EncodeSummary(2, &thread.Summary{Text: tt.stored, Skipped: tt.skipped})
					if err != nil {
						t.Fatal(err)
					}
					if err := w.store.Put(t.Context(), key, store.Record{Name: recordname.Summary(2), Payload: payload}); err != nil {
						t.Fatal(err)
					}
				}
				receipt = w.submit(t, key, question+" "+strings.Repeat("x", 4400), mailbox.ModeQueue)
				c.windows[fmt.Sprint(receipt.RunID, " ", 1)] = tt.window
				w.store.read = func(what string) error {
					if what == recordname.Summary(2) {
						return tt.read
					}
					return nil
				}
				if stepped := w.step(t, key); stepped.Retry != (tt.shown == "") {
					t.Fatalf("the step is %+v", stepped)
				}
				if tt.shown == "" {
					if len(said.requests) != 2 {
						t.Errorf("the model was shown %q", said.requests[2:])
					}
					return
				}
				got := w.window(t)
				if got = (core.Window{Summary: got.Summary, Compact: got.Compact, Skipped: got.Skipped}); got != tt.want || w.head(t, key).Summary != tt.want.Summary {
					t.Errorf("the turn's record says %+v, want %+v; the head's summary is %d", got, tt.want, w.head(t, key).Summary)
				}
				if shown := said.requests[2]; shown != tt.shown || said.made != 0 || hints.hints != 0 {
					t.Errorf("the model was shown %q, want %q; %d summaries were made, %d asked for", shown, tt.shown, said.made, hints.hints)
				}
			})
		})
	}
}
