package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// pumped is what goes on of an input, and what is answered at once.
func pumped(t *testing.T, in string) (on, answered []string) {
	t.Helper()
	var to bytes.Buffer
	c := &connection{log: slog.New(slog.DiscardHandler), out: newOutlet(io.Discard)}
	if err := c.pump(strings.NewReader(in), &to); err != nil {
		t.Fatal(err)
	}
	lines := func(text string) []string {
		return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
	}
	return lines(to.String()), lines(string(c.out.backlog))
}

// FuzzLines: each line either goes on, whole and as JSON that the library reads, or is
// answered, or is blank.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, "not JSON", "[]", "null", "7", "", " \t\r", "{\"id\":null}\n{\"method\":\"a\"}",
		`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":7}}`, `{"method":"session/cancel"}`, `{"id":{},"result":1}`, "{\"a\"\x00}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		on, answered := pumped(t, in)
		lines := 0
		for line := range strings.Lines(in) {
			if len(bytes.TrimSpace([]byte(line))) > 0 {
				lines++
			}
		}
		if len(on)+len(answered) != lines {
			t.Errorf("%d lines: %d went on, %d were answered", lines, len(on), len(answered))
		}
		for _, line := range on {
			var e envelope
			if err := json.Unmarshal([]byte(line), &e); err != nil || e.Method == "" && len(e.ID) == 0 {
				t.Errorf("%q went on: %v", line, err)
			}
		}
		for _, line := range answered {
			if !strings.HasPrefix(line, `{"jsonrpc":"2.0","id":null,"error":{"code":-32`) || !json.Valid([]byte(line)) {
				t.Errorf("answered with %q", line)
			}
		}
	})
}

func TestTheLastLineNeedsNoEnd(t *testing.T) {
	on, answered := pumped(t, " {\"id\":1,\"result\":{}} \r\n\n{\"method\":\"session/cancel\"}")
	if diff := cmp.Diff([]string{`{"id":1,"result":{}}`, `{"method":"session/cancel"}`}, on); diff != "" || len(answered) > 0 {
		t.Errorf("answered %q, went on (-want +got):\n%s", answered, diff)
	}
}

// A client that reads nothing holds up nobody, and is left when it is too far behind.
func TestAClientThatReadsNothingIsLeft(t *testing.T) {
	stuck, never := io.Pipe()
	defer stuck.Close()
	o := newOutlet(never)
	go o.run()
	line := bytes.Repeat([]byte("x"), 1<<20)
	written, err := 0, error(nil)
	for err == nil && written < 2*protocol.MaxBacklog {
		_, err = o.Write(line)
		written += len(line)
	}
	if !errors.Is(err, protocol.ErrSlow) || written <= protocol.MaxBacklog-len(line) {
		t.Errorf("after %d bytes: %v, want %v", written, err, protocol.ErrSlow)
	}
	if err := o.ready(t.Context()); !errors.Is(err, protocol.ErrSlow) {
		t.Errorf("ready: %v", err)
	}
	if _, err := o.Write(nil); !errors.Is(err, protocol.ErrSlow) {
		t.Errorf("afterwards: %v", err)
	}
}

// What shows a history waits for its reader.
func TestReadyWaitsForTheReader(t *testing.T) {
	out, in := io.Pipe()
	o := newOutlet(in)
	go o.run()
	if _, err := o.Write(bytes.Repeat([]byte("x"), nearly+1)); err != nil {
		t.Fatal(err)
	}
	ready := make(chan error, 1)
	go func() { ready <- o.ready(t.Context()) }()
	select {
	case err := <-ready:
		t.Fatalf("ready before anything was read: %v", err)
	case <-time.After(20 * time.Millisecond): // it can only be found too early
	}
	go io.Copy(io.Discard, out)
	if err := <-ready; err != nil {
		t.Error(err)
	}
	o.end()
}

// Numbers go through as they are, and a step that starts again voids its calls.
func TestUpdates(t *testing.T) {
	run := core.ID{15: 1}
	e := encoder{kinds: map[string]string{"look": "search"}}
	const id = "00000000-0000-0000-0000-000000000001.2."
	for _, test := range []struct {
		event core.Event
		want  string
	}{
		{core.Event{Type: core.EventTextDelta}, `null`},
		{core.Event{Type: core.EventStepStart}, `null`},
		{core.Event{Type: core.EventToolCallStart, CallID: "a", Name: "look"}, `[{"sessionUpdate":"tool_call","toolCallId":"` + id + `a","title":"look","kind":"search","status":"pending"}]`},
		{core.Event{Type: core.EventToolCallStart, CallID: "a", Name: "look"}, `null`},
		{core.Event{Type: core.EventToolCallCancel, CallID: "a"}, `[{"sessionUpdate":"tool_call_update","toolCallId":"` + id + `a","status":"failed"}]`},
		{core.Event{Type: core.EventToolCallCancel, CallID: "a"}, `null`},
		{core.Event{Type: core.EventToolCallReady, CallID: "b", Name: "look", Arguments: []byte(`{"n":12345678901234567890}`)},
			`[{"sessionUpdate":"tool_call","toolCallId":"` + id + `b","title":"look","kind":"search","status":"pending"},{"sessionUpdate":"tool_call_update","toolCallId":"` + id + `b","status":"in_progress","rawInput":{"n":12345678901234567890}}]`},
		{core.Event{Type: core.EventStepRestarted}, `[{"sessionUpdate":"tool_call_update","toolCallId":"` + id + `b","status":"failed"}]`},
		{core.Event{Type: core.EventStepRestarted}, `null`},
		{core.Event{Type: core.EventToolCallDone, CallID: "b", Result: []byte(`"said"`)},
			`[{"sessionUpdate":"tool_call_update","content":[{"content":{"text":"said","type":"text"},"type":"content"}],"toolCallId":"` + id + `b","status":"completed","rawOutput":"said"}]`},
		{core.Event{Type: core.EventToolCallDone, CallID: "c", Result: []byte(`{"error":"no"}`), IsError: true},
			`[{"sessionUpdate":"tool_call_update","content":[{"content":{"text":"no","type":"text"},"type":"content"}],"toolCallId":"` + id + `c","status":"failed","rawOutput":{"error":"no"}}]`},
		{core.Event{Type: core.EventToolCallResumed, CallID: "unknown"}, `null`},
	} {
		test.event.RunID, test.event.Step = run, 2
		got, err := json.Marshal(e.encode(test.event))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, string(got)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", test.event.Type, test.event.CallID, diff)
		}
	}
}

// A cancel counts for the prompt that was read before it, whichever is handled first, and
// for no later one.
func TestACancelCountsForThePromptBeforeIt(t *testing.T) {
	c := &connection{log: slog.New(slog.DiscardHandler), out: newOutlet(io.Discard)}
	c.sessions.open("s")
	begin := func() *prompting {
		t.Helper()
		p, err := c.sessions.begin("s")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	const prompt = `{"id":1,"method":"session/prompt","params":{"sessionId":"s"}}`
	if err := c.pump(strings.NewReader(prompt), io.Discard); err != nil {
		t.Fatal(err)
	}
	c.sessions.cancel("s")
	if !begin().cancelled() {
		t.Error("the prompt that was read is not cancelled")
	}
	c.sessions.finish("s")
	c.sessions.cancel("s")
	c.sessions.cancel("another")
	if turn := begin(); turn.cancelled() {
		t.Error("a later prompt is cancelled")
	} else if c.sessions.cancel("s"); !turn.cancelled() {
		t.Error("the prompt under way is not cancelled")
	}
}
