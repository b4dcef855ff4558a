package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/wire"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// everything is a turn with all that a model can say.
var everything = []model.Delta{
	{Type: model.DeltaReasoning, Text: "hm"}, {Type: model.DeltaText, Text: "I "}, {Type: model.DeltaText, Text: "look"},
	{Type: model.DeltaReasoning, Text: "so", Echo: json.RawMessage(`{"signature":"x"}`)},
	{Type: model.DeltaToolStart, Index: 0, CallID: "c1", Name: "echo"}, {Type: model.DeltaToolStart, Index: 1, CallID: "c2", Name: "fails"},
	{Type: model.DeltaToolArgument, Index: 0, Text: `{"text":`}, {Type: model.DeltaToolArgument, Index: 1, Text: `{}`},
	{Type: model.DeltaToolArgument, Index: 0, Text: `"a"}`},
	{Type: model.DeltaUsage, Usage: core.Usage{Input: 3, Output: 2}}, {Type: model.DeltaStop, Stop: core.StopToolUse},
}

// entryText is a log entry as JSON, after its schema.
func entryText(t *testing.T, payload []byte) string {
	t.Helper()
	e, err := thread.Records{}.DecodeEntry(payload)
	if err != nil {
		t.Fatal(err)
	}
	text, err := wire.Object(fmt.Appendf(nil, `"schema":%d`, thread.SchemaOf(payload)), &e)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// changed is a log entry with a change.
func changed(t *testing.T, payload []byte, change func(e *thread.Entry)) []byte {
	t.Helper()
	e, err := thread.Records{}.DecodeEntry(payload)
	if err != nil {
		t.Fatal(err)
	}
	change(&e)
	if payload, err = (thread.Records{}).EncodeEntry(&e); err != nil {
		t.Fatal(err)
	}
	return payload
}

// inSchema3 is a log entry as a program of schema 3 stores it, with the additional field x.
func inSchema3(t *testing.T, payload []byte) []byte {
	t.Helper()
	e, err := thread.Records{}.DecodeEntry(payload)
	if err != nil {
		t.Fatal(err)
	}
	payload, err = thread.Records{Schemas: thread.Schemas{Reads: 3, Writes: 3}, Extra: "x"}.EncodeEntry(&e)
	if err != nil {
		t.Fatal(err)
	}
	return payload
}

// A run of two steps, record by record: RUN and DISPATCH stand for ids. Values of stored
// records outlive programs; their bytes are in package thread.
func TestRecordsOfARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var saw []string
		w := newWorld(t, options{
			model: replies(everything, text("ok")), tools: []tool.Tool{fails}, plugins: []plugin.Plugin{counters(&saw, inThread)},
		})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		const now = `946684800000`
		want := []string{
			`{"schema":1,"run":"RUN","message":{"id":"DISPATCH.0","role":"user","content":[{"type":"text","text":"hi"}],"run_id":"RUN","created_at":` + now + `},"input":"DISPATCH"}`,
			`{"schema":1,"run":"RUN","step":1,"at":` + now + `,"message":{"id":"RUN.1","role":"assistant","content":[{"type":"reasoning","text":"hm"},{"type":"text","text":"I look"},{"type":"reasoning","text":"so","echo":{"signature":"x"},"origin":"scripted"}],` +
				`"tool_calls":[{"id":"c1","name":"echo","arguments":{"text":"a"}},{"id":"c2","name":"fails","arguments":{}}],"run_id":"RUN","step":1,"usage":{"input":3,"output":2},"model":"scripted","stop_reason":"tool_use","created_at":` + now + `},` +
				`"patch":[{"op":"add","path":"/thread/in_thread","value":2}],"revision":2,"totals":{"usage":{"input":3,"output":2},"steps":1,"called":2,"calls":"CALLS"},"attempt":1,"window":{"estimate":76,"tokens":3,"prefix":[1900808104,0,0]},"first":1,"prompt":"fc87be3db57be7c469906ce6daeedd2d","sum":SUM}`,
			`{"schema":1,"run":"RUN","step":1,"at":` + now + `,"message":{"id":"RUN.1.0","role":"tool","tool_result":{"call_id":"c1","name":"echo","data":{"text":"a"},"status":"ok"},"run_id":"RUN","step":1,"created_at":` + now + `}}`,
			`{"schema":1,"run":"RUN","step":1,"at":` + now + `,"message":{"id":"RUN.1.1","role":"tool","tool_result":{"call_id":"c2","name":"fails","message":"execution failed: no such file","is_error":true,"status":"error"},"run_id":"RUN","step":1,"created_at":` + now + `}}`,
			`{"schema":1,"run":"RUN","step":1,"at":` + now + `,"patch":[{"op":"replace","path":"/thread/in_thread","value":3}],"revision":3,"totals":{"usage":{"input":3,"output":2},"steps":1,"called":2,"failures":1,"calls":"CALLS"}}`,
		}
		ids := strings.NewReplacer(receipt.RunID.String(), "RUN", receipt.DispatchID.String(), "DISPATCH")
		var got []string
		for seq := uint64(1); seq <= 5; seq++ {
			line := ids.Replace(entryText(t, w.record(t, store.LogName(seq)).Payload))
			line = regexp.MustCompile(`"sum":[0-9]+`).ReplaceAllString(line, `"sum":SUM`)
			got = append(got, regexp.MustCompile(`"calls":"[^"]*"`).ReplaceAllString(line, `"calls":"CALLS"`))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		run := `{"schema":1,"run_id":"RUN","thread_id":"t1","agent_id":"demo","status":"done","steps":2,"usage":{"input":3,"output":2},"response":"ok","termination":{"type":"natural_end"},` +
			`"dispatch_id":"DISPATCH","resolution":"HASH","first_seq":1,"created_at":` + now + `,"started_at":` + now + `,"finished_at":` + now + `,"calls":2,"ending":{"version":6,"termination":{"type":"natural_end"}}}`
		record := regexp.MustCompile(`"resolution":"[^"]*"`).ReplaceAllString(ids.Replace(string(w.record(t, recordname.Run(receipt.RunID)).Payload)), `"resolution":"HASH"`)
		if diff := cmp.Diff(run, record); diff != "" {
			t.Errorf("the run's record (-want +got):\n%s", diff)
		}
	})
}

// A run's record goes with its first commit, which a takeover needs it from, and
// with its last, but with none between them.
func TestRunRecordIsWrittenTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{model: replies(calls("echo", `{"text":"a"}`), calls("echo", `{"text":"b"}`), text("ok"))})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		var wrote []bool
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if len(c.Records) > 0 { // no claim
				wrote = append(wrote, slices.ContainsFunc(c.Records, func(r store.Record) bool { return strings.HasPrefix(r.Name, "R#") }))
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		w.finish(t, key, nil)
		if diff := cmp.Diff([]bool{true, false, false, false, true}, wrote); diff != "" {
			t.Errorf("commits with the run's record (-want +got):\n%s", diff)
		}
	})
}

// The events of a run as a reader gets them: RUN stands for its id. Positions
// order them as the records do: step, fence, block, byte, kind.
func TestEventsOfARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{model: replies(everything, text("ok")), tools: []tool.Tool{fails}})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		var got []string
		w.finish(t, key, func(e core.Event) error {
			got = append(got, eventLine(t, receipt.RunID, e))
			return nil
		})
		want := []string{
			`1.1.0-0-a {"event_type":"run_start","run_id":"RUN","step":1,"thread_id":"t1","agent_id":"demo"}`,
			`1.1.0-0-b {"event_type":"step_start","step":1,"message_id":"RUN.1"}`,
			`1.1.0-2-e {"event_type":"reasoning_delta","step":1,"message_id":"RUN.1","delta":"hm"}`,
			`1.1.1-2-f {"event_type":"text_delta","step":1,"message_id":"RUN.1","delta":"I "}`,
			`1.1.1-6-f {"event_type":"text_delta","step":1,"message_id":"RUN.1","delta":"look"}`,
			`1.1.2-2-e {"event_type":"reasoning_delta","step":1,"message_id":"RUN.1","delta":"so"}`,
			`1.1.2-2-o {"event_type":"reasoning_encrypted_value","step":1,"message_id":"RUN.1","encrypted_value":{"signature":"x"}}`,
			`1.1.3-0-d {"event_type":"tool_call_start","step":1,"message_id":"RUN.1","id":"c1","name":"echo"}`,
			`1.1.4-0-d {"event_type":"tool_call_start","step":1,"message_id":"RUN.1","id":"c2","name":"fails"}`,
			`1.1.3-8-g {"event_type":"tool_call_delta","step":1,"message_id":"RUN.1","delta":"{\"text\":","id":"c1"}`,
			`1.1.4-2-g {"event_type":"tool_call_delta","step":1,"message_id":"RUN.1","delta":"{}","id":"c2"}`,
			`1.1.3-12-g {"event_type":"tool_call_delta","step":1,"message_id":"RUN.1","delta":"\"a\"}","id":"c1"}`,
			`1.1.3-12-h {"event_type":"tool_call_ready","step":1,"message_id":"RUN.1","id":"c1","name":"echo","arguments":{"text":"a"}}`,
			`1.1.4-2-h {"event_type":"tool_call_ready","step":1,"message_id":"RUN.1","id":"c2","name":"fails","arguments":{}}`,
			`1.1.5-0-i {"event_type":"inference_complete","step":1,"message_id":"RUN.1","model":"scripted","usage":{"input":3,"output":2},"stop_reason":"tool_use"}`,
			`1.1.3-0-j {"event_type":"tool_call_done","step":1,"message_id":"RUN.1.0","id":"c1","name":"echo","result":{"text":"a"},"outcome":"succeeded","status":"ok"}`,
			`1.1.4-0-j {"event_type":"tool_call_done","step":1,"message_id":"RUN.1.1","id":"c2","name":"fails","result":{"error":"execution failed: no such file"},"is_error":true,"outcome":"failed","status":"error"}`,
			`1.1.9999-0-k {"event_type":"step_end","step":1}`,
			`2.2.0-0-b {"event_type":"step_start","step":2,"message_id":"RUN.2"}`,
			`2.2.0-2-f {"event_type":"text_delta","step":2,"message_id":"RUN.2","delta":"ok"}`,
			`2.2.1-0-i {"event_type":"inference_complete","step":2,"message_id":"RUN.2","model":"scripted","stop_reason":"end_turn"}`,
			`2.2.9999-0-k {"event_type":"step_end","step":2}`,
			`2.2.9999-0-m {"event_type":"run_finish","run_id":"RUN","step":2,"status":"done","usage":{"input":3,"output":2},"steps":2,"response":"ok","termination":{"type":"natural_end"}}`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// eventLine is an event with its position, with RUN for its run's id.
func eventLine(t *testing.T, run core.ID, e core.Event) string {
	t.Helper()
	// The envelope has a test of its own.
	if e.Time = 0; e.Type != core.EventRunStart && e.Type != core.EventRunFinish {
		e.RunID = core.ID{}
	}
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(strings.TrimPrefix(e.Position, run.String()+".")+" "+string(b), run.String(), "RUN")
}

// Who takes a round over announces its results, adopted ones too, each once and
// in call order, under the fence that the turn was inferred with.
func TestTakeoverAnnouncesAdoptedResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, last := 0, 0
		o := options{
			model: replies(calls("last", "{}", "first", "{}"), text("ok")),
			tools: []tool.Tool{counted("first", false, &first), slowly("last", &last)},
		}
		w := newWorld(t, o)
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.crash(t, commitB)
		w.stepper = w.other(t, o)
		var got []string
		_, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key)}, func(e core.Event) error {
			got = append(got, strings.TrimPrefix(e.Position, receipt.RunID.String()+".")+" "+e.Name)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"1.1.0-0-j last", "1.1.1-0-j first", "1.1.9999-0-k "}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// An adopted result makes its call done also when the adopting claim gives the
// run back: that is progress.
func TestAdoptedResultIsDoneAfterANack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := 0
		o := options{
			model: replies(calls("first", "{}", "nap", "{}"), text("ok")),
			tools: []tool.Tool{counted("first", false, &first), nap},
		}
		w := newWorld(t, o)
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.crash(t, commitB)
		w.stepper = w.other(t, o)
		if _, err := w.cut(t, 3*time.Second, true); err != nil {
			t.Fatal(err)
		}
		if h := w.head(t, key); h.Run.Calls[0] != thread.CallDone || h.Run.Calls[1] != thread.CallNew || h.Run.Attempts != 0 {
			t.Errorf("calls %v after %d attempts; want the first done, and none counted", h.Run.Calls, h.Run.Attempts)
		}
	})
}
