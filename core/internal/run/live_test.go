package run_test

import (
	"context"
	"encoding/json"
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
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// liveEvents collects what a stream tells of tools that run and end, a line each,
// with the time since it began.
type liveEvents struct {
	began time.Time
	run   core.ID // whose id is left out
	lines []string
}

func (e *liveEvents) sink(event core.Event) error {
	if event.Type == core.EventRunStart {
		e.began, e.run = time.Now(), event.RunID
	}
	switch event.Type {
	case core.EventToolCallStreamDelta, core.EventActivitySnapshot, core.EventActivityDelta, core.EventToolCallDone:
	default:
		return nil
	}
	if live := event.Type != core.EventToolCallDone; live && event.Position != "" {
		return fmt.Errorf("%s has the position %s", event.Type, event.Position)
	}
	if !strings.HasPrefix(event.CallID, "call_") {
		return fmt.Errorf("%s is of call %q", event.Type, event.CallID)
	}
	event.CallID, event.Step, event.RunID, event.Time = "", 0, core.ID{}, 0
	text, err := json.Marshal(event)
	e.lines = append(e.lines, fmt.Sprintf("%s %s", time.Since(e.began), strings.ReplaceAll(string(text), e.run.String(), "RUN")))
	return err
}

// What a tool shows is with the readers at once, in the order in which it showed it
// and before its result; in a parallel round beside its siblings.
func TestWhatAToolShowsIsEmittedWhileItRuns(t *testing.T) {
	shows := toolFunc{name: "shows", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
		c.ID = "c" // the model's ids are random
		c.Progress(1, 4, "reading")
		time.Sleep(time.Second)
		c.Output("line 1\n")
		c.Activity("plan", []string{"a"})
		time.Sleep(time.Second)
		c.ActivityPatch("plan", tool.PatchOperation{Op: "add", Path: "/-", Value: "b"})
		time.Sleep(time.Second)
		return tool.NewResult("done").WithMetadata("pages", 3), nil
	}}
	const (
		progress = `{"event_type":"activity_snapshot","message_id":"RUN.1.%d:tool_progress","activity_type":"tool_progress","content":` +
			`{"call_id":"c","tool_name":"shows","status":"running","progress":0.25,"loaded":1,"total":4,"message":"reading"},"replace":true}`
		output = `{"event_type":"tool_call_stream_delta","message_id":"RUN.1.%d","delta":"line 1\n","name":"shows"}`
		plan   = `{"event_type":"activity_snapshot","message_id":"RUN.1.%d:plan","activity_type":"plan","content":["a"],"replace":true}`
		patch  = `{"event_type":"activity_delta","message_id":"RUN.1.%d:plan","activity_type":"plan","patch":[{"op":"add","path":"/-","value":"b"}]}`
		done   = `{"event_type":"tool_call_done","message_id":"RUN.1.%d","name":"shows","result":"done","outcome":"succeeded","status":"ok","metadata":{"pages":3},"duration_ms":3000}`
	)
	at := func(when, line string, call int) string { return when + " " + fmt.Sprintf(line, call) }
	tests := []struct {
		mode agent.ExecutionMode
		want []string
	}{
		{agent.Sequential, []string{
			at("0s", progress, 0), at("1s", output, 0), at("1s", plan, 0), at("2s", patch, 0), at("3s", done, 0),
			at("3s", progress, 1), at("4s", output, 1), at("4s", plan, 1), at("5s", patch, 1), at("6s", done, 1),
		}},
		{agent.ParallelStreaming, []string{
			at("0s", progress, 0), at("1s", output, 0), at("1s", plan, 0), at("2s", patch, 0), at("3s", done, 0),
			at("0s", progress, 1), at("1s", output, 1), at("1s", plan, 1), at("2s", patch, 1), at("3s", done, 1),
		}},
	}
	for _, tt := range tests {
		t.Run(string(tt.mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, options{model: replies(calls("shows", "{}", "shows", "{}"), text("ok")), tools: []tool.Tool{shows}, mode: tt.mode})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				var got liveEvents
				w.finish(t, key, got.sink)
				if tt.mode != agent.Sequential { // which of two siblings is first in an instant is nobody's promise
					got.lines = append(ofCall(got.lines, 0), ofCall(got.lines, 1)...)
				}
				if diff := cmp.Diff(tt.want, got.lines); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				want := []string{"user: hi", "assistant: [shows {}][shows {}]", `tool: "done"`, `tool: "done"`, "assistant: ok"}
				if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// ofCall are the lines about one call.
func ofCall(lines []string, call int) (own []string) {
	for _, line := range lines {
		if strings.Contains(line, fmt.Sprintf("RUN.1.%d", call)) {
			own = append(own, line)
		}
	}
	return own
}

// types are the event types of lines, with the text of a piece of output.
func types(lines []string) (short []string) {
	for _, line := range lines {
		_, text, _ := strings.Cut(line, " ")
		var e core.Event
		if json.Unmarshal([]byte(text), &e) == nil {
			short = append(short, strings.TrimSpace(string(e.Type)+" "+e.Delta))
		}
	}
	return short
}

// The scheduler stores one call's result while another shows something: that waits,
// and the tool does not.
func TestToolThatShowsDoesNotWaitForTheStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var took time.Duration
		shows := toolFunc{name: "shows", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			began := time.Now()
			time.Sleep(2 * time.Second) // the scheduler puts the sibling's result from 1 s to 6 s
			for i := range 3 {
				c.Output(fmt.Sprint(i))
			}
			took = time.Since(began)
			return tool.NewResult("shown"), nil
		}}
		w := newWorld(t, options{
			model: replies(calls("sleeps", `"1s"`, "shows", "{}"), text("ok")), tools: []tool.Tool{sleeps, shows}, mode: agent.ParallelStreaming,
		})
		w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			time.Sleep(5 * time.Second)
			return w.store.Backend.Put(ctx, key, r)
		}
		w.submit(t, key, "hi", mailbox.ModeQueue)
		var got liveEvents
		w.finish(t, key, got.sink)
		want := []string{"tool_call_done", "tool_call_stream_delta 0", "tool_call_stream_delta 1", "tool_call_stream_delta 2", "tool_call_done"}
		if diff := cmp.Diff(want, types(got.lines)); diff != "" || took != 2*time.Second {
			t.Errorf("the tool took %s; events (-want +got):\n%s", took, diff)
		}
	})
}

// Nothing comes of what is shown behind a call's end: by a tool that was left behind,
// or by what a tool has left running.
func TestNothingIsShownBehindACallsEnd(t *testing.T) {
	chatters := func(c tool.Call) { // for ten seconds
		for i := range 10 {
			c.Output(fmt.Sprint(i))
			time.Sleep(time.Second)
		}
	}
	tests := []struct {
		name string
		tool tool.Tool
		want []string
	}{
		{"left behind", timed{toolFunc{name: "t", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			time.Sleep(500 * time.Millisecond)
			chatters(c)
			return tool.NewResult("late"), nil
		}}, time.Second}, []string{"tool_call_stream_delta 0", "tool_call_stream_delta 1", "tool_call_stream_delta 2", "tool_call_done"}},
		{"a goroutine of its own", toolFunc{name: "t", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			go chatters(c)
			time.Sleep(1500 * time.Millisecond)
			return tool.NewResult("done"), nil
		}}, []string{"tool_call_stream_delta 0", "tool_call_stream_delta 1", "tool_call_done"}},
		{"a tool that panics", toolFunc{name: "t", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			c.Output("0")
			panic("boom")
		}}, []string{"tool_call_stream_delta 0", "tool_call_done"}},
	}
	for _, tt := range tests {
		for _, mode := range []agent.ExecutionMode{agent.Sequential, agent.ParallelStreaming} {
			t.Run(tt.name+" "+string(mode), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, options{model: replies(calls("t", "{}", "sleeps", `"9s"`), text("ok")), tools: []tool.Tool{tt.tool, sleeps}, mode: mode})
					w.submit(t, key, "hi", mailbox.ModeQueue)
					var got liveEvents
					w.finish(t, key, got.sink)
					time.Sleep(20 * time.Second) // until the last of it has ended
					if diff := cmp.Diff(append(tt.want, "tool_call_done"), types(got.lines)); diff != "" {
						t.Errorf("(-want +got):\n%s", diff)
					}
				})
			})
		}
	}
}

// A tool that shows on and on outlasts neither its own time nor the step's.
func TestToolThatNeverStopsShowingHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{
			model: replies(calls("t", "{}"), text("ok")),
			tools: []tool.Tool{timed{toolFunc{name: "t", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
				for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(10 * time.Millisecond) {
					c.Output("x")
				}
				return tool.NewResult("late"), nil
			}}, time.Second}},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		began := time.Now()
		if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key)}, new(liveEvents).sink); err != nil || time.Since(began) != 3*time.Second {
			t.Errorf("the step took %s, %v; want 3s", time.Since(began), err)
		}
		time.Sleep(20 * time.Second)
	})
}

// Where nobody listens, a tool's reports cost it nothing; where the reader leaves, it
// is told so.
func TestToolShowsNothingToNobody(t *testing.T) {
	var has []bool
	encoded := 0
	shows := toolFunc{name: "shows", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
		has = append(has, c.Live != nil)
		for range 3 {
			c.Activity("plan", encodes(func() { encoded++ }))
			time.Sleep(time.Second)
		}
		return tool.NewResult("done"), nil
	}}
	leaves := func() func(core.Event) error {
		gone := false
		return func(e core.Event) error {
			if gone = gone || e.Type == core.EventActivitySnapshot; gone {
				return errors.New("gone")
			}
			return nil
		}
	}
	tests := []struct {
		name    string
		sink    func(core.Event) error
		has     []bool
		encoded int
	}{
		{"no reader", nil, []bool{false, false}, 0},
		{"a reader that leaves at the first of it", leaves(), []bool{true, false}, 2}, // the second learns that nobody took the first
		{"a reader that was gone before", func(core.Event) error { return errors.New("gone") }, []bool{false, false}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				has, encoded = nil, 0
				w := newWorld(t, options{model: replies(calls("shows", "{}", "shows", "{}"), text("ok")), tools: []tool.Tool{shows}})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, tt.sink)
				if diff := cmp.Diff(tt.has, has); diff != "" || encoded != tt.encoded {
					t.Errorf("%d reports were encoded, want %d; whether the tool had readers (-want +got):\n%s", encoded, tt.encoded, diff)
				}
			})
		})
	}
}

// encodes is JSON that says when it is encoded.
type encodes func()

func (c encodes) MarshalJSON() ([]byte, error) {
	c()
	return []byte("1"), nil
}

// What cannot be passed on costs the call nothing, and is in the log.
func TestReportsThatAreDroppedAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		shows := toolFunc{name: "shows", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			c.Activity("plan", func() {})
			c.Output(strings.Repeat("x", 1<<20+1))
			return tool.NewResult("done"), nil
		}}
		w := newWorld(t, options{
			model: replies(calls("shows", "{}"), text("ok")), tools: []tool.Tool{shows}, logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		var got liveEvents
		w.finish(t, key, got.sink)
		if diff := cmp.Diff([]string{"tool_call_done"}, types(got.lines)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for _, part := range []string{"level=WARN", "reports of a tool dropped", "tool=shows", "reports=2", "unsupported type: func()"} {
			if !strings.Contains(log.String(), part) {
				t.Errorf("the log says %s\nwant %q in it", log.String(), part)
			}
		}
	})
}

// Metadata is stored with the result and shown to hooks and readers; a model reads
// none of it.
func TestMetadataIsForProgramsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		paged := toolFunc{name: "paged", run: func(context.Context, tool.Call) (tool.Result, error) {
			return tool.NewResult("page 1").WithMetadata("pages", 3), nil
		}}
		var seen string
		after := pluginFunc{"after", func(r *plugin.Registrar) {
			r.OnAfterTool(func(_ context.Context, c plugin.AfterTool) (state.Command, error) {
				seen = string(c.Result.Metadata["pages"])
				return state.Command{}, nil
			})
		}}
		w := newWorld(t, options{model: replies(calls("paged", "{}"), text("ok")), tools: []tool.Tool{paged}, plugins: []plugin.Plugin{after}})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		entries, err := threadlog.Read(t.Context(), w.store, thread.Records{}, key, 3, 3)
		if err != nil || len(entries) != 1 {
			t.Fatal(len(entries), err)
		}
		result := entries[0].Message
		if got := string(result.ToolResult.Metadata["pages"]); got != "3" || seen != "3" || result.Text() != `"page 1"` {
			t.Errorf("the log has %s, the hook saw %s, the model reads %s; want 3, 3 and \"page 1\"", got, seen, result.Text())
		}
	})
}
