package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/tool"
)

// draws is a tool that returns an image of so many bytes.
func draws(size int) tool.Tool {
	return toolFunc{name: "draw", run: func(context.Context, tool.Call) (tool.Result, error) {
		return tool.NewResult("a cat").WithFile("image/png", make([]byte, size)), nil
	}}
}

// doneEvents are the events of results in the live stream and in a replay, with their files.
func (w *world) doneEvents(t *testing.T, receipt mailbox.Receipt) (live, replayed []string) {
	t.Helper()
	note := func(to *[]string) history.Sink {
		return func(e core.Event) error {
			if e.Type == core.EventToolCallDone {
				blocks, _ := json.Marshal(e.Blocks)
				*to = append(*to, fmt.Sprintf("%s %s %s", e.Position[strings.Index(e.Position, "."):], e.Result, blocks))
			}
			return nil
		}
	}
	w.finish(t, key, note(&live))
	entries, err := threadlog.Read(t.Context(), w.store, thread.Records{}, key, 1, w.head(t, key).Seq)
	if err != nil {
		t.Fatal(err)
	}
	replayer := history.NewReplayer(w.runRecord(t, receipt.RunID).Run, note(&replayed))
	for _, e := range entries {
		if err := replayer.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	return live, replayed
}

// A file of a result goes to the model, into the log, and to clients, live and again.
func TestFilesOfResultsReachModelAndClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var given []core.Block
		says := replies(calls("draw", "{}"), text("I see"))
		sees := modelFunc(func(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
			for _, m := range r.Messages {
				if m.ToolResult != nil {
					given = m.ToolResult.Content
				}
			}
			return says(ctx, r)
		})
		w := newWorld(t, options{model: sees, tools: []tool.Tool{draws(3)}})
		live, replayed := w.doneEvents(t, w.submit(t, key, "hi", mailbox.ModeQueue))
		if diff := cmp.Diff([]core.Block{{Type: core.BlockFile, MediaType: "image/png", Data: make([]byte, 3)}}, given); diff != "" {
			t.Errorf("the model's (-want +got):\n%s", diff)
		}
		want := []string{`.1.1.0-0-j "a cat" [{"type":"file","media_type":"image/png","data":"AAAA"}]`}
		if diff := cmp.Diff(want, live); diff != "" {
			t.Errorf("live (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, replayed); diff != "" {
			t.Errorf("replayed (-want +got):\n%s", diff)
		}
	})
}

// A result that its limits or the store refuse becomes an error, and the run continues.
func TestARefusedFileIsAnErrorOfItsCall(t *testing.T) {
	for _, tt := range []struct {
		name  string
		tool  tool.Tool
		limit int // of the store
		want  string
	}{
		{"over the limit", draws(786_420 + 3), 0, "execution failed: result is larger than 1048576 bytes"},
		{"over the store's", draws(100_000), 50_000, "result cannot be stored: it is too large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, options{model: replies(calls("draw", "{}"), text("ok")), tools: []tool.Tool{tt.tool}, limit: tt.limit})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if diff := cmp.Diff([]string{"error: " + tt.want}, w.results(t)); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
				if head := w.head(t, key); head.Open() {
					t.Error("the run has not ended")
				}
			})
		})
	}
}

// The log names a file that the model is known not to accept.
func TestFilesThatTheModelDoesNotAcceptAreLogged(t *testing.T) {
	for _, tt := range []struct {
		inputs []string
		want   string
	}{
		{nil, ""},
		{[]string{"image"}, ""},
		{[]string{"document"}, "model=m media_type=image/png bytes=3"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			agents, err := registry.New(agent.Parts{
				Models: map[string]agent.ModelBinding{"m": {Model: replies(calls("draw", "{}"), text("ok")), Name: "scripted", Facts: model.Facts{Inputs: tt.inputs}}},
				Tools:  []tool.Tool{draws(3)}, Specs: []agent.Spec{{ID: "demo", Model: "m"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, options{agents: agents, logger: slog.New(slog.NewTextHandler(&log, nil))})
			w.submit(t, key, "hi", mailbox.ModeQueue)
			w.finish(t, key, nil)
			_, got, _ := strings.Cut(log.String(), `msg="model does not accept a file of a tool result"`)
			if got, _, _ = strings.Cut(got, "\n"); strings.Contains(got, tt.want) != (got != "" || tt.want == "") || (got == "") != (tt.want == "") {
				t.Errorf("%v: %q, want %q", tt.inputs, got, tt.want)
			}
		})
	}
}
