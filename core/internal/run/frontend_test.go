package run_test

import (
	"context"
	"encoding/json"
	"iter"
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
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

// brought is input whose frontend brings a tool, context and state.
func (w *world) brought(tb testing.TB, text, shared string) mailbox.Receipt {
	tb.Helper()
	receipt, err := w.box.Submit(tb.Context(), mailbox.Submission{
		Thread: key, Opening: mailbox.Opening{AgentID: "demo", Frontend: &core.Frontend{
			Tools: []core.FrontendTool{{Name: "bell"}}, Context: []core.FrontendContext{{Description: "Page", Value: "/home"}}, State: json.RawMessage(shared),
		}}, Messages: []core.Message{core.UserMessage(text)},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return receipt
}

// sharedIn is the patches of the log that concern the shared state.
func (w *world) sharedIn(tb testing.TB) (patches []string) {
	tb.Helper()
	entries, err := threadlog.Read(tb.Context(), w.store, thread.Records{}, key, 1, w.head(tb, key).Seq)
	if err != nil {
		tb.Fatal(err)
	}
	for _, e := range entries {
		for _, o := range e.Patch.Only(func(p state.KeyPath) bool { return p.Name == plugin.SharedState.Name }) {
			patches = append(patches, string(o.Op)+" "+o.Path+" "+string(o.Value))
		}
	}
	return patches
}

// A run keeps what its frontend brought wherever its steps are taken: the tools and the
// context come from its record once its input was read.
func TestEveryStepOfARunHasItsFrontend(t *testing.T) {
	var asked []string
	turns := replies(calls("echo", `{"text":"x"}`), text("done"), text("next"))
	watched := modelFunc(func(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
		line := r.System + " |"
		for _, d := range r.Tools {
			line += " " + d.Name
		}
		asked = append(asked, line)
		return turns.Stream(ctx, r)
	})
	o := options{model: watched}
	w := newWorld(t, o)
	w.brought(t, "go", `{"n":1}`)
	w.step(t, key)
	if _, err := w.other(t, o).Step(t.Context(), run.Work{Key: key, Head: w.take(t, key)}, nil); err != nil { // another process, without a cache
		t.Fatal(err)
	}
	w.submit(t, key, "and on", "")
	w.step(t, key)
	const brought = "What the user's application shows at present:\n\nPage:\n/home | echo bell"
	if diff := cmp.Diff([]string{brought, brought, " | echo"}, asked); diff != "" {
		t.Errorf("what the model was asked with (-want +got):\n%s", diff)
	}
}

// The members of the state that a frontend sends are set in the run's first commit, once,
// and only where they differ from what the thread has. Others stay.
func TestAFrontendsStateIsMergedIntoTheThreads(t *testing.T) {
	long := strings.Repeat("x", 100)
	w := newWorld(t, options{model: replies(text("a"), text("b"), text("c"), text("d"))})
	for _, shared := range []string{`{"n": {"a":1},"long":"` + long + `"}`, `{"n":{"a":1}}`, `{"n":{"b":2},"m":null}`, `{"m":null}`} {
		w.brought(t, "go", shared)
		w.step(t, key)
	}
	want := []string{
		`add /thread/shared_state {"long":"` + long + `","n":{"a":1}}`,
		`add /thread/shared_state/m null`, `replace /thread/shared_state/n {"b":2}`,
	}
	if diff := cmp.Diff(want, w.sharedIn(t)); diff != "" {
		t.Errorf("patches (-want +got):\n%s", diff)
	}
}

// A step that dies before its commit has changed nothing: the next one takes the state
// again.
func TestAFrontendsStateSurvivesACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options{model: replies(text("a"), text("b"))}
		w := newWorld(t, o)
		w.brought(t, "go", `{"n":1}`)
		head := w.take(t, key)
		w.store.dead.Store(true)
		if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); err == nil {
			t.Fatal("the step did not crash")
		}
		w.store.dead.Store(false)
		w.reclaim(t)
		w.stepper = w.other(t, o)
		w.finish(t, key, nil)
		if diff := cmp.Diff([]string{`add /thread/shared_state {"n":1}`}, w.sharedIn(t)); diff != "" {
			t.Errorf("patches (-want +got):\n%s", diff)
		}
	})
}
