package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

const hi = `{"threadId":"t1","messages":[{"role":"user","content":"hi"}]}`

func TestARunIsStreamed(t *testing.T) {
	rec := do(newServer(&fake{}), "POST", "/v1/runs", hi)
	want := strings.ReplaceAll(`id: RUN.1.3.0-0-a
data: {"event_type":"run_start","sequence":1,"run_id":"RUN","thread_id":"t1","agent_id":"demo"}

id: RUN.1.3.0-0-b
data: {"event_type":"step_start","sequence":2,"step":1}

id: RUN.1.3.0-3-f
data: {"event_type":"text_delta","sequence":3,"delta":"Hel"}

id: RUN.1.3.0-5-f
data: {"event_type":"text_delta","sequence":4,"delta":"lo"}

id: RUN.1.3.9999-0-k
data: {"event_type":"step_end","sequence":5,"step":1}

id: RUN.1.3.9999-0-m
data: {"event_type":"run_finish","sequence":6,"run_id":"RUN","termination":{"type":"natural_end"}}

`, "RUN", runText)
	if diff := cmp.Diff(want, rec.Body.String()); rec.Code != 200 || diff != "" {
		t.Errorf("status %d, body (-want +got):\n%s", rec.Code, diff)
	}
	if got := rec.Header().Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("content type %q", got)
	}
}

// What a tool shows while it runs has no place of its own in the stream: its frames
// repeat the id before them.
func TestWhatAToolShowsIsStreamed(t *testing.T) {
	shown := []core.Event{
		{Type: core.EventToolCallStreamDelta, Step: 1, MessageID: "m", CallID: "c1", Name: "build", Delta: "<a>\n"},
		{Type: core.EventActivitySnapshot, Step: 1, MessageID: "m:plan", CallID: "c1", ActivityType: "plan", Content: json.RawMessage(`["a"]`), Replace: true},
		{Type: core.EventActivityDelta, Step: 1, MessageID: "m:plan", CallID: "c1", ActivityType: "plan", Patch: json.RawMessage(`[{"op":"remove","path":"/0"}]`)},
		at("1.3.1-0-j", core.Event{Type: core.EventToolCallDone, Step: 1, MessageID: "m", CallID: "c1", Name: "build", Result: json.RawMessage(`1`),
			Status: string(core.ResultOK), Metadata: map[string]json.RawMessage{"pages": json.RawMessage("3")}}),
	}
	f := &fake{stream: func(_ context.Context, s sinkFunc) error {
		return play(s, append(append(hello()[:2], shown...), hello()[4:]...))
	}}
	rec := do(newServer(f), "POST", "/v1/runs", hi)
	want := strings.ReplaceAll(`id: RUN.1.3.0-0-a
data: {"event_type":"run_start","sequence":1,"run_id":"RUN","thread_id":"t1","agent_id":"demo"}

id: RUN.1.3.0-0-b
data: {"event_type":"step_start","sequence":2,"step":1}

id: RUN.1.3.0-0-b
data: {"event_type":"tool_call_stream_delta","sequence":3,"step":1,"message_id":"m","delta":"<a>\n","id":"c1","name":"build"}

id: RUN.1.3.0-0-b
data: {"event_type":"activity_snapshot","sequence":4,"step":1,"message_id":"m:plan","activity_type":"plan","content":["a"],"replace":true,"id":"c1"}

id: RUN.1.3.0-0-b
data: {"event_type":"activity_delta","sequence":5,"step":1,"message_id":"m:plan","activity_type":"plan","id":"c1","patch":[{"op":"remove","path":"/0"}]}

id: RUN.1.3.1-0-j
data: {"event_type":"tool_call_done","sequence":6,"step":1,"message_id":"m","id":"c1","name":"build","result":1,"status":"ok","metadata":{"pages":3}}

id: RUN.1.3.9999-0-k
data: {"event_type":"step_end","sequence":7,"step":1}

id: RUN.1.3.9999-0-m
data: {"event_type":"run_finish","sequence":8,"run_id":"RUN","termination":{"type":"natural_end"}}

`, "RUN", runText)
	if diff := cmp.Diff(want, rec.Body.String()); rec.Code != 200 || diff != "" {
		t.Errorf("status %d, body (-want +got):\n%s", rec.Code, diff)
	}
}

func TestStreamsThatEndOtherwise(t *testing.T) {
	start := "id: " + runText + ".1.3.0-0-a\n" + `data: {"event_type":"run_start","sequence":1,"run_id":"` + runText + `","thread_id":"t1","agent_id":"demo"}` + "\n\n"
	const again = `"error":"the service cannot answer now, try again","code":"unavailable"}`
	tests := []struct {
		name   string
		stream func(sinkFunc) error
		status int
		want   string
	}{
		{"refused", func(sinkFunc) error { return core.Errorf(core.CodeFull, "t1 is full") }, 429, `{"error":"t1 is full","code":"full"}` + "\n"},
		{"another's", func(sinkFunc) error { return core.Errorf(core.CodeForbidden, "bob's") }, 404, `{"error":"thread t1 not found","code":"not_found"}` + "\n"},
		{"nothing came", func(sinkFunc) error { return nil }, 503, `{` + again + "\n"},
		{"it just ends", func(s sinkFunc) error { return play(s, hello()[:1]) }, 200, start + `data: {"event_type":"error","sequence":2,"time":"2000-01-01T00:00:00.000Z","run_id":"` + runText + `",` + again + "\n\n"},
		{"it goes on elsewhere", func(s sinkFunc) error {
			return play(s, append(hello()[:1], at("1.3.9999-0-l", core.Event{Type: core.EventRunYield, RunID: runID})))
		}, 200, start + "id: " + runText + ".1.3.0-0-a\n" + `data: {"event_type":"run_yield","sequence":2,"run_id":"` + runText + `"}` + "\n\n"},
		{"it is suspended", func(s sinkFunc) error {
			return play(s, append(hello()[:1], at("1.3.9999-0-m", core.Event{Type: core.EventRunFinish, Termination: &core.Termination{Type: core.TerminationSuspended}})))
		}, 200, start + "id: " + runText + ".1.3.0-0-a\n" + `data: {"event_type":"run_finish","sequence":2,"termination":{"type":"suspended"}}` + "\n\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{stream: func(_ context.Context, s sinkFunc) error { return test.stream(s) }}
				rec := do(newServer(f), "POST", "/v1/runs", hi)
				if diff := cmp.Diff(test.want, rec.Body.String()); rec.Code != test.status || diff != "" {
					t.Errorf("status %d, want %d; body (-want +got):\n%s", rec.Code, test.status, diff)
				}
			})
		})
	}
}

func TestASlowRunIsKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{stream: func(_ context.Context, s sinkFunc) error {
			time.Sleep(16 * time.Second)
			return play(s, hello()[5:])
		}}
		rec := do(newServer(f), "POST", "/v1/runs", hi)
		want := ": keep-alive\n\nid: " + runText + ".1.3.9999-0-m\n" + `data: {"event_type":"run_finish","sequence":1,"run_id":"` + runText + `","termination":{"type":"natural_end"}}` + "\n\n"
		if diff := cmp.Diff(want, rec.Body.String()); diff != "" {
			t.Errorf("body (-want +got):\n%s", diff)
		}
	})
}

// committed is what a replay of a run of two steps gives: whole blocks. The
// first step calls two tools; its second result was stored by a later claim.
func committed() []core.Event {
	return []core.Event{
		at("1.0.0-0-a", core.Event{Type: core.EventRunStart}),
		at("1.3.0-0-b", core.Event{Type: core.EventStepStart}),
		at("1.3.0-5-f", core.Event{Type: core.EventTextDelta, Delta: "Hello"}),
		at("1.3.1-0-d", core.Event{Type: core.EventToolCallStart, CallID: "c1"}),
		at("1.3.1-7-g", core.Event{Type: core.EventToolCallDelta, CallID: "c1", Delta: `{"a":1}`}),
		at("1.3.1-7-h", core.Event{Type: core.EventToolCallReady, CallID: "c1"}),
		at("1.3.2-0-d", core.Event{Type: core.EventToolCallStart, CallID: "c2"}),
		at("1.3.2-2-g", core.Event{Type: core.EventToolCallDelta, CallID: "c2", Delta: `{}`}),
		at("1.3.2-2-h", core.Event{Type: core.EventToolCallReady, CallID: "c2"}),
		at("1.3.3-0-i", core.Event{Type: core.EventInferenceComplete}),
		at("1.3.1-0-j", core.Event{Type: core.EventToolCallDone, CallID: "c1"}),
		at("1.4.2-0-j", core.Event{Type: core.EventToolCallDone, CallID: "c2"}),
		at("1.4.9999-0-k", core.Event{Type: core.EventStepEnd}),
		at("2.4.0-0-b", core.Event{Type: core.EventStepStart}),
		at("2.4.0-2-f", core.Event{Type: core.EventTextDelta, Delta: "é"}),
		at("2.4.9999-0-k", core.Event{Type: core.EventStepEnd}),
		at("2.4.9999-0-m", core.Event{Type: core.EventRunFinish}),
	}
}

// brief lists the events of a stream as type, call and delta.
func brief(t *testing.T, body string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var e core.Event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		b.WriteString(strings.Join(slices.DeleteFunc([]string{string(e.Type), e.CallID, e.Delta}, func(s string) bool { return s == "" }), " ") + "\n")
	}
	return b.String()
}

func TestAReconnectingClientMissesAndRepeatsNothing(t *testing.T) {
	const second = "step_start\ntext_delta é\nstep_end\nrun_finish\n"
	const calls = `tool_call_start c1
tool_call_delta c1 {"a":1}
tool_call_ready c1
tool_call_start c2
tool_call_delta c2 {}
tool_call_ready c2
inference_complete
`
	const results = "tool_call_done c1\ntool_call_done c2\nstep_end\n"
	tests := []struct{ name, last, want string }{
		{"after the start", "1.3.0-0-a", "step_start\ntext_delta Hello\n" + calls + results + second},
		{"after a start that came before any attempt", "1.0.0-0-a", "step_start\ntext_delta Hello\n" + calls + results + second},
		{"after a start of an earlier attempt", "1.2.0-0-a", "step_start\ntext_delta Hello\n" + calls + results + second},
		{"after a step's start of an earlier attempt", "1.2.0-0-b", "step_restarted\nstep_start\ntext_delta Hello\n" + calls + results + second},
		{"in a text", "1.3.0-3-f", "text_delta lo\n" + calls + results + second},
		{"after a text", "1.3.0-5-f", calls + results + second},
		{"in the second call's arguments", "1.3.2-1-g", "tool_call_ready c1\ntool_call_delta c2 }\ntool_call_ready c2\ninference_complete\n" + results + second},
		{"after a readiness", "1.3.1-7-h", "tool_call_ready c2\ninference_complete\n" + results + second},
		{"after the turn", "1.3.3-0-i", results + second},
		{"after a result", "1.3.1-0-j", "tool_call_done c2\nstep_end\n" + second},
		{"after a result that another claim took over", "1.2.1-0-j", "tool_call_done c2\nstep_end\n" + second},
		{"after the step", "1.4.9999-0-k", second},
		{"in the second step", "2.4.0-2-f", "step_end\nrun_finish\n"},
		{"in a text that was said again", "2.3.0-1-f", "step_restarted\n" + second},
		{"in a step that never was", "3.4.0-1-f", "run_finish\n"},
		{"after the end", "2.4.9999-0-m", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := &fake{follow: func(_ core.Identity, s sinkFunc) error { return play(s, committed()) }}
			rec := do(newServer(f), "GET", "/v1/runs/"+runText+"/events/stream", "", "Last-Event-ID", runText+"."+test.last)
			status := 200
			if test.want == "" {
				status = 204
			}
			if diff := cmp.Diff(test.want, brief(t, rec.Body.String())); rec.Code != status || diff != "" {
				t.Errorf("status %d, want %d; events (-want +got):\n%s", rec.Code, status, diff)
			}
		})
	}
}

// A client that was told to forget a step, and comes back before it is shown the step
// again, has nothing of it, also where the step stands as it was said the first time.
func TestAClientThatWasToldOfARestartIsShownTheStepAgain(t *testing.T) {
	told := append(committed()[:10:10], core.Event{Type: core.EventStepRestarted, RunID: runID, Step: 1}, core.Event{Type: core.EventRunYield, RunID: runID, Step: 1})
	snapshot := core.Event{Type: core.EventStateSnapshot, RunID: runID, Step: 1, Snapshot: []byte(`{"thread":{},"run":{}}`)}
	f := &fake{
		stream: func(_ context.Context, s sinkFunc) error { return play(s, told) },
		follow: func(_ core.Identity, s sinkFunc) error {
			return play(s, slices.Insert(committed(), 1, snapshot))
		},
	}
	frames := split(t, do(newServer(f), "POST", "/v1/runs", hi).Body.String())
	last := frames[len(frames)-1]
	if want := runText + ".1.0.0-0-c"; last.id != want || frames[len(frames)-2].id != want {
		t.Errorf("the last events have the ids %s and %s, want %s", frames[len(frames)-2].id, last.id, want)
	}
	rec := do(newServer(f), "GET", "/v1/runs/"+runText+"/events/stream", "", "Last-Event-ID", last.id)
	want := `state_snapshot
step_start
text_delta Hello
tool_call_start c1
tool_call_delta c1 {"a":1}
tool_call_ready c1
tool_call_start c2
tool_call_delta c2 {}
tool_call_ready c2
inference_complete
tool_call_done c1
tool_call_done c2
step_end
step_start
text_delta é
step_end
run_finish
`
	if diff := cmp.Diff(want, brief(t, rec.Body.String())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWithoutALastEventTheWholeRunIsReplayed(t *testing.T) {
	f := &fake{follow: func(_ core.Identity, s sinkFunc) error { return play(s, committed()) }}
	rec := do(newServer(f), "GET", "/v1/runs/"+runText+"/events/stream", "")
	if got := strings.Count(rec.Body.String(), "data: "); rec.Code != 200 || got != 17 {
		t.Errorf("status %d with %d events, want 17", rec.Code, got)
	}
}

func TestBadLastEvents(t *testing.T) {
	for _, last := range []string{"x", "7", runText, runText + ".1.3", runText + ".1.3.0-0-z", runText + ".1.3.0-0-l", runText + ".01.3.0-0-a",
		runText + ".-1.3.0-0-a", runText + ".1.3.0-0-ab", "01890000-0000-7000-8000-000000000009.1.3.0-0-a"} {
		t.Run(last, func(t *testing.T) {
			f := &fake{}
			rec := do(newServer(f), "GET", "/v1/runs/"+runText+"/events/stream", "", "Last-Event-ID", last)
			check(t, rec, 400, fmt.Sprintf(`{"error":"Last-Event-ID %s is not a position of run %s","code":"invalid"}`, strings.ReplaceAll(fmt.Sprintf("%q", last), `"`, `\"`), runText))
			silent(t, f)
		})
	}
}

func TestALastEventBeyondTheEndGetsTheEndAlone(t *testing.T) {
	for _, tt := range []struct {
		last   string
		status int
		want   string
	}{
		{runText + ".99.3.0-7-f", 200, "run_finish"},
		{runText + ".99.99.9999-0-k", 200, "run_finish"},
		{runText + ".99.3.9999-0-m", 204, ""},
		{runText + ".1.3.9999-0-m", 204, ""},
	} {
		t.Run(tt.last, func(t *testing.T) {
			f := &fake{follow: func(_ core.Identity, s sinkFunc) error { return play(s, hello()) }}
			rec := do(newServer(f), "GET", "/v1/runs/"+runText+"/events/stream", "", "Last-Event-ID", tt.last)
			var got []string
			for _, line := range strings.Split(rec.Body.String(), "\n") {
				if data, ok := strings.CutPrefix(line, `data: {"event_type":"`); ok {
					kind, _, _ := strings.Cut(data, `"`)
					got = append(got, kind)
				}
			}
			if rec.Code != tt.status || strings.Join(got, " ") != tt.want {
				t.Errorf("status %d, events %q, want %d, %s", rec.Code, got, tt.status, tt.want)
			}
		})
	}
}

func TestABufferedTransportQueues(t *testing.T) {
	const refusal = `{"error":"this address cannot stream; use the streaming address, or accept application/json","code":"not_acceptable"}`
	h := func(f *fake, base string) http.Handler {
		return newServer(f, func(o *httpapi.Options) { o.Buffered, o.StreamURL = true, base })
	}
	f := &fake{}
	check(t, do(h(f, ""), "POST", "/v1/runs", hi), 202, `{"status":"queued","thread_id":"t1",`+ids+`,"stream_url":"/v1/runs/`+runText+`/events/stream"}`)
	if diff := cmp.Diff([]string{"Submit"}, f.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	f = &fake{submit: func(mailbox.Submission) (mailbox.Receipt, error) {
		return mailbox.Receipt{}, core.Errorf(core.CodeBusy, "t1 is busy")
	}}
	check(t, do(h(f, ""), "POST", "/v1/runs", hi, "Accept", "application/json, text/event-stream"), 409, `{"error":"t1 is busy","code":"busy"}`)
	f = &fake{}
	check(t, do(h(f, ""), "POST", "/v1/runs", hi, "Accept", "text/event-stream"), 406, refusal)
	check(t, do(h(f, ""), "GET", "/v1/runs/"+runText+"/events/stream", ""), 406, refusal)
	silent(t, f)
	check(t, do(h(f, "https://stream.example"), "POST", "/v1/runs", hi), 202, `{"status":"queued","thread_id":"t1",`+ids+`,"stream_url":"https://stream.example/v1/runs/`+runText+`/events/stream"}`)
}

// TestAStreamFlowsThroughARealServer proves that frames leave one by one.
func TestAStreamFlowsThroughARealServer(t *testing.T) {
	seen := make(chan struct{})
	f := &fake{stream: func(_ context.Context, s sinkFunc) error {
		_ = play(s, hello()[:1])
		<-seen
		return play(s, hello()[1:])
	}}
	server := httptest.NewServer(newServer(f))
	defer server.Close()
	response, err := http.Post(server.URL+"/v1/runs", "application/json", strings.NewReader(hi))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	first := make([]byte, 4)
	if _, err := response.Body.Read(first); err != nil || string(first) != "id: " {
		t.Errorf("read %q: %v", first, err)
	}
	close(seen)
}
