package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// A RunEnd that fails half-way has changed nothing, and asked for nothing.
func TestRunEndThatFailsHalfWayChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l leaving
		var got notebook
		fails := pluginFunc{"fails", func(r *plugin.Registrar) {
			r.OnRunEnd(func(context.Context, plugin.RunEnd) (state.Command, error) {
				return state.Command{}, errors.New("not this way")
			})
		}}
		w := newWorld(t, options{plugins: []plugin.Plugin{l.plugin(), fails}, logger: got.logger()})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		lines := append(got.lines, w.end(t, key, receipt))
		lines = append(lines, w.log(t, key)...)
		want := []string{
			`level=ERROR msg="RunEnd failed, the run ends anyway" step=1 error="phase run_end: plugin \"fails\" in phase run_end: not this way"`,
			`done 1 {"type":"natural_end"} "You said: hi"`, "user: hi", "assistant: You said: hi",
		}
		if diff := cmp.Diff(want, lines); diff != "" || l.ran != 1 || l.effects != 0 {
			t.Errorf("RunEnd ran %d times with %d effects (-want +got):\n%s", l.ran, l.effects, diff)
		}
	})
}

// The end of a run that never began takes back what its input supersedes, unless it has no
// room for changes of the state, or that may be what has cost its claims.
func TestWhatTheEndOfARunThatNeverBeganTakesBack(t *testing.T) {
	const skips = `level=ERROR msg="RunEnd skipped, too many claims lost" step=1 attempts=3`
	tests := []struct {
		name string
		form thread.Form
		lost int // claims of the closing run, behind the one that was lost to begin with
		back bool
		log  []string
	}{
		{"whole", thread.FormWhole, 0, true, nil},
		{"cut", thread.FormCut, 0, true, nil},
		{"stateless", thread.FormStateless, 0, false, nil},
		{"least", thread.FormLeast, 0, false, nil},
		{"behind two lost claims", thread.FormWhole, 1, true, nil},
		{"behind three", thread.FormWhole, 2, false, []string{skips}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var seen closed
				var got notebook
				w := newWorld(t, options{plugins: []plugin.Plugin{piles(10, &seen)}, logger: got.logger()})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				sent := requesting("other", 0)
				sent.Opening.Supersede = 1
				receipt, err := w.box.Submit(t.Context(), sent)
				if err != nil {
					t.Fatal(err)
				}
				w.take(t, key)
				cancelRun(t, w, &trace{}, receipt)
				w.reclaim(t)
				for range tt.lost {
					w.take(t, key)
					w.reclaim(t)
				}
				w.refuseClose(int(tt.form), store.ErrTooLarge)
				w.finish(t, key, nil)
				want := []string{"user: hi", "assistant: You said: hi", "state", "user: other"}
				if tt.back { // the record that takes it back, and the state that RunEnd makes
					want = []string{"user: hi", "assistant: You said: hi", "state", "state", "user: other", "state"}
				}
				if diff := cmp.Diff(want, w.log(t, key)); diff != "" || w.form(t, receipt) != tt.form {
					t.Errorf("the end is %s (-want +got):\n%s", w.form(t, receipt), diff)
				}
				lines := slices.DeleteFunc(got.lines, func(line string) bool { return strings.Contains(line, "in a smaller form") })
				if diff := cmp.Diff(tt.log, lines, cmp.Transformer("", func(s []string) string { return strings.Join(s, "\n") })); diff != "" {
					t.Errorf("the process says (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A result that was to travel with a commit that the store refuses for its size becomes an
// error in its place, with the decision that its call went on after.
func TestAResultThatOnlyACommitWasToStoreBecomesAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got notebook
		w := newWorld(t, options{
			tools: []tool.Tool{pile(30_000, 0)}, plugins: []plugin.Plugin{asking("pile")}, model: replies(calls("pile", "{}"), text("ok")), logger: got.logger(), limit: 20_000,
		})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		time.Sleep(time.Minute)
		w.mustDecide(t, 0, approve)
		w.finish(t, key, nil)
		at := w.entry(t, 3).At
		want := thread.Entry{Run: receipt.RunID, Step: 1, At: at, Decision: "about-gate0", Message: &core.Message{
			ID: receipt.RunID.String() + ".1.0", Role: core.RoleTool, RunID: receipt.RunID, Step: 1, CreatedAt: at,
			ToolResult: &core.ToolResult{CallID: shortCallID(receipt.RunID), Name: "pile", Message: "result cannot be stored: it is too large", IsError: true, Status: core.ResultError},
		}}
		if diff := cmp.Diff(want, w.entry(t, 3)); diff != "" || at != time.Now().UnixMilli() {
			t.Errorf("at %d (-want +got):\n%s", at, diff)
		}
		says := []string{
			`level=WARN msg="run ends with an error" step=1 code=too_large detail="what the run made is too large to be stored" error="write head of t/t1: record is over the size limit"`,
			`level=WARN msg="result cannot be stored" step=1 call=0 bytes=30108`,
			`done 1 {"type":"error","code":"too_large","detail":"what the run made is too large to be stored"} ""`,
		}
		lines := append(got.lines, w.end(t, key, receipt))
		if diff := cmp.Diff(says, lines); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// The state of a frontend goes into the thread's or ends the run: it is not left out.
func TestStateOfAFrontendThatDoesNotFitTheThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		w.brought(t, "hi", `{"a":1}`)
		w.finish(t, key, nil)
		turn := w.record(t, store.LogName(2))
		turn.Fence, turn.Payload = turn.Fence+1, changed(t, turn.Payload, func(e *thread.Entry) {
			for i, o := range e.Patch {
				if string(o.Value) == `{"a":1}` {
					e.Patch[i].Value = json.RawMessage("7")
				}
			}
		})
		if err := w.store.Backend.Put(t.Context(), key, turn); err != nil {
			t.Fatal(err)
		}
		w.stepper = w.other(t, options{})
		receipt := w.brought(t, "more", `{"b":1}`)
		w.finish(t, key, nil)
		if got, want := w.end(t, key, receipt), `done 0 {"type":"error","code":"frontend","detail":"its state"} ""`; got != want {
			t.Errorf("the run is %s, want %s", got, want)
		}
	})
}
