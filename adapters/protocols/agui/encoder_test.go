package agui_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/protocols/agui"
	"github.com/reveille-run/reveille/core"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// responses are what the scripts respond to, beyond the usual.
var responses = map[string]agui.Response{
	"approval":  {History: raw(`{"id":"m1","role":"user","content":"ship it"}`)},
	"resumed":   {History: raw(`{"id":"m1","role":"user","content":"ship it"}`), Given: []string{"b"}},
	"restarted": {History: raw(`{"id":"m1","role":"user","content":"hello"}`)},
	"cut": {History: raw(
		`{"id":"m1","role":"user","content":"hello"}`, `{"id":"p1","role":"activity","activityType":"plan","content":{}}`,
		`{"id":"01890000-0000-7000-8000-000000000001.1","role":"assistant","content":"what it said before"}`,
	)},
	"unread":    {State: json.RawMessage(`{"n":2}`)},
	"state":     {State: json.RawMessage(`{"n":2}`)},
	"reconnect": agui.Response{Reset: true, History: raw(`{"id":"m1","role":"user","content":"hello"}`)}.With(drawn...),
}

// drawn are messages with a file and with citations.
var drawn = []core.Message{
	{ID: "m2", Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: "c1", Message: "A dot.", Content: []core.Block{
		{Type: core.BlockText, Text: "See."}, {Type: core.BlockFile, MediaType: "application/pdf", URL: "https://a.example/a.pdf", Filename: "a.pdf"},
	}}},
	{ID: "m3", Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: "c2", Content: []core.Block{{Type: core.BlockText, Text: "See."}}}},
	{ID: "m4", Role: core.RoleAssistant, Content: []core.Block{
		{Type: core.BlockReasoning, Text: "Hm."}, {Type: core.BlockText, Text: "It rains.", Annotations: []core.Annotation{{Type: core.AnnotationURL, Start: 3, End: 8, URL: "https://a.example"}}},
	}},
}

func raw(texts ...string) (all []json.RawMessage) {
	for _, text := range texts {
		all = append(all, json.RawMessage(text))
	}
	return all
}

// TestEncoderWritesTheTranscripts compares the events that each testdata/*.events
// becomes with the golden file beside it, for a client of 1.0 and for one of 0.0.59:
// what they are told differs in the golden file's lines that begin with their version.
func TestEncoderWritesTheTranscripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.events")
	if err != nil || len(scripts) != 17 {
		t.Fatalf("found %d scripts, want 17 (%v)", len(scripts), err)
	}
	for _, script := range scripts {
		name := strings.TrimSuffix(script, ".events")
		t.Run(filepath.Base(name), func(t *testing.T) {
			got := transcript(t, script, filepath.Base(name))
			golden := name + ".golden"
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// transcript encodes a script for both clients, and checks what each client checks.
func transcript(t *testing.T, script, name string) []byte {
	t.Helper()
	modern, older := encodeScript(t, script, name, true), encodeScript(t, script, name, false)
	if len(modern) != len(older) {
		t.Fatalf("%d events for a client of 1.0, %d for one of 0.0.59", len(modern), len(older))
	}
	var out bytes.Buffer
	for i := range modern {
		if modern[i] == older[i] {
			fmt.Fprintln(&out, modern[i])
		} else {
			fmt.Fprintf(&out, "1.0    %s\n0.0.59 %s\n", modern[i], older[i])
		}
	}
	return out.Bytes()
}

func encodeScript(t *testing.T, script, name string, modern bool) (lines []string) {
	t.Helper()
	to := responses[name]
	to.ThreadID, to.RunID, to.Modern = "t1", "r1", modern
	encoder := agui.NewEncoder(to)
	verify := newVerifier()
	for _, e := range readEvents(t, script) {
		payloads, err := encoder.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range payloads {
			if err := verify.take(p); err != nil {
				t.Errorf("%s: %v", p, err)
			}
			lines = append(lines, string(p))
		}
	}
	if !encoder.Ended() || !verify.over {
		t.Error("the stream has no last event")
	}
	return lines
}

func readEvents(t *testing.T, path string) []core.Event {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var events []core.Event
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var e core.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		events = append(events, e)
	}
	return events
}

// verifier holds a stream to the rules of the client's verifyEvents.
type verifier struct {
	open    map[string]bool // "message m", "call c", "step s", "span r", "thought r"
	started bool
	over    bool
}

func newVerifier() *verifier { return &verifier{open: map[string]bool{}} }

// pairs are the events that open something, by the field that names it.
var pairs = map[string]struct{ verb, kind string }{
	"TEXT_MESSAGE_START": {"open", "message"}, "TEXT_MESSAGE_CONTENT": {"in", "message"}, "TEXT_MESSAGE_END": {"close", "message"},
	"TOOL_CALL_START": {"open", "call"}, "TOOL_CALL_ARGS": {"in", "call"}, "TOOL_CALL_END": {"close", "call"},
	"STEP_STARTED": {"open", "step"}, "STEP_FINISHED": {"close", "step"},
	"REASONING_START": {"open", "span"}, "REASONING_END": {"close", "span"},
	"REASONING_MESSAGE_START": {"open", "thought"}, "REASONING_MESSAGE_CONTENT": {"in", "thought"}, "REASONING_MESSAGE_END": {"close", "thought"},
}

// required are the fields without which the client refuses an event.
var required = map[string]string{
	"RUN_STARTED": "threadId runId", "RUN_FINISHED": "threadId runId", "RUN_ERROR": "message", "STEP_STARTED": "stepName", "STEP_FINISHED": "stepName",
	"TEXT_MESSAGE_START": "messageId role", "TEXT_MESSAGE_CONTENT": "messageId delta", "TEXT_MESSAGE_END": "messageId",
	"TOOL_CALL_START": "toolCallId toolCallName", "TOOL_CALL_ARGS": "toolCallId delta", "TOOL_CALL_END": "toolCallId",
	"TOOL_CALL_RESULT": "messageId toolCallId content", "REASONING_START": "messageId", "REASONING_END": "messageId",
	"REASONING_MESSAGE_START": "messageId role", "REASONING_MESSAGE_CONTENT": "messageId delta", "REASONING_MESSAGE_END": "messageId",
	"REASONING_ENCRYPTED_VALUE": "subtype entityId encryptedValue", "STATE_SNAPSHOT": "snapshot", "STATE_DELTA": "delta", "MESSAGES_SNAPSHOT": "messages",
	"ACTIVITY_SNAPSHOT": "messageId activityType content", "ACTIVITY_DELTA": "messageId activityType patch", "CUSTOM": "name value",
}

func (v *verifier) take(payload []byte) error {
	var e map[string]any
	if err := json.Unmarshal(payload, &e); err != nil {
		return err
	}
	name, _ := e["type"].(string)
	fields, known := required[name]
	if !known {
		return fmt.Errorf("type %q is unknown", name)
	}
	for _, f := range strings.Fields(fields) {
		if e[f] == nil {
			return fmt.Errorf("%s is absent", f)
		}
	}
	if v.over || v.started != (name != "RUN_STARTED") {
		return fmt.Errorf("%s does not belong there", name)
	}
	v.started = true
	if p, ok := pairs[name]; ok {
		id := fmt.Sprint(p.kind, " ", first(e["toolCallId"], e["stepName"], e["messageId"]))
		if v.open[id] != (p.verb != "open") {
			return fmt.Errorf("%s: open is %v", id, v.open[id])
		}
		v.open[id] = p.verb != "close"
	}
	if name == "RUN_FINISHED" || name == "RUN_ERROR" {
		v.over = true
		for id, open := range v.open {
			if open {
				return fmt.Errorf("%s is open at the end", id)
			}
		}
	}
	return nil
}

func first(values ...any) any {
	for _, v := range values {
		if v != nil {
			return v
		}
	}
	return nil
}
