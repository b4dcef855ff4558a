package run_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
)

func TestRepeatedCallIDsAreMadeUnique(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := []model.Delta{
			{Type: model.DeltaToolStart, Index: 0, CallID: "c", Name: "echo"},
			{Type: model.DeltaToolArgument, Index: 0, Text: `{"text":"a"}`},
			{Type: model.DeltaToolStart, Index: 0, CallID: "c", Name: "echo"}, // the index repeats, too
			{Type: model.DeltaToolArgument, Index: 0, Text: `{"text":"b"}`},
			{Type: model.DeltaStop},
		}
		w := newWorld(t, options{model: replies(turn, turn, text("ok"))})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		want := []string{
			"user: hi", `assistant: [echo {"text":"a"}][echo {"text":"b"}]`, `tool: {"text":"a"}`, `tool: {"text":"b"}`,
			`assistant: [echo {"text":"a"}][echo {"text":"b"}]`, `tool: {"text":"a"}`, `tool: {"text":"b"}`, "assistant: ok",
		}
		if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
			t.Error(diff)
		}
		var ids []string
		entries, err := threadlog.Read(t.Context(), w.store, thread.Records{}, key, 1, 8)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			for _, c := range e.Message.ToolCalls {
				ids = append(ids, c.ID)
			}
		}
		if slices.Sort(ids); len(ids) != 4 || len(slices.Compact(ids)) != 4 || !slices.Contains(ids, "c") {
			t.Errorf("call ids are %s", strings.Join(ids, ", "))
		}
	})
}

// Input that changes after a step has read it is read again.
func TestEditedInputIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		w.submit(t, key, "echo: a", mailbox.ModeQueue)
		if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key)}, nil); err != nil {
			t.Fatal(err)
		}
		steered := w.submit(t, key, "old", mailbox.ModeSteer)
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if slices.ContainsFunc(c.Records, func(r store.Record) bool { return r.Name == store.LogName(4) }) { // the step has read the old text
				w.store.OnCommit = nil
				if err := w.box.Edit(ctx, key, steered.DispatchID, []core.Message{core.UserMessage("new").WithID("m")}); err != nil {
					t.Error(err)
				}
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		w.finish(t, key, nil)
		want := []string{"user: echo: a", `assistant: [echo {"text":"a"}]`, `tool: {"text":"a"}`, "user: new", "assistant: You said: new"}
		if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
			t.Error(diff)
		}
	})
}

// Input that comes while the last turn is made keeps the run open.
func TestInputAtTheEndContinuesTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		receipt := w.submit(t, key, "one", mailbox.ModeQueue)
		head := w.take(t, key)
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if w.store.OnCommit = nil; len(c.Records) > 0 {
				w.submit(t, key, "two", mailbox.ModeSteer)
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		var got events
		result, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, got.sink)
		if err != nil || result.Outcome != thread.Yield {
			t.Fatalf("the step is %+v, %v; want it to yield", result, err)
		}
		if got := w.end(t, key, receipt); got != `running 1 null ""` {
			t.Errorf("the run is %s", got)
		}
		w.finish(t, key, got.sink)
		if got := w.end(t, key, receipt); got != `done 2 {"type":"natural_end"} "You said: two"` {
			t.Errorf("the run is %s", got)
		}
		want := []string{
			"run_start", "step_start", "text_delta You sai", "text_delta d: one", "inference_complete", "step_end",
			"step_start", "text_delta You sai", "text_delta d: two", "inference_complete", "step_end", "run_finish natural_end",
		}
		if diff := cmp.Diff(want, got.lines); diff != "" {
			t.Error(diff)
		}
	})
}
