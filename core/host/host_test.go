package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/tool"
)

type world struct {
	*host.Host
	queue *mailboxtest.Queue
	store store.Backend
}

type echoArguments struct {
	Text string `json:"text"`
}

func newWorld(t testing.TB, change func(*host.Options)) *world {
	t.Helper()
	echo := tool.New(tool.Spec{Name: "echo", Description: "Says a text back."},
		func(_ context.Context, _ tool.Call, a echoArguments) (tool.Result, error) {
			return tool.NewResult(map[string]string{"text": a.Text}), nil
		})
	e := env.System()
	w := &world{queue: &mailboxtest.Queue{}, store: memory.New()}
	config := host.Options{
		Env: e, Store: w.store, Waker: w.queue, FollowInterval: time.Millisecond,
		Agents: agent.Parts{
			Models: map[string]agent.ModelBinding{"m": {Model: scripted.New(e), Name: "scripted"}},
			Tools:  []tool.Tool{echo},
			Specs:  []agent.Spec{{ID: "demo", Model: "m"}},
		},
	}
	if change != nil {
		change(&config)
	}
	var err error
	if w.Host, err = host.New(config); err != nil {
		t.Fatal(err)
	}
	return w
}

// drain works every queued hint and returns how many there were.
func (w *world) drain(t testing.TB) (n int) {
	t.Helper()
	for {
		hint, ok := w.queue.Receive()
		if !ok {
			return n
		}
		n++
		if err := w.WorkLocal(t.Context(), hint); err != nil {
			t.Fatal(err)
		}
	}
}

func binding(m model.Model) agent.ModelBinding { return agent.ModelBinding{Model: m, Name: "scripted"} }

var local = core.Identity{Tenant: "local"}

func submission(thread, text string) mailbox.Submission {
	return mailbox.Submission{
		Thread: core.ThreadKey{Tenant: "local", Thread: thread}, Opening: mailbox.Opening{AgentID: "demo"},
		Messages: []core.Message{core.UserMessage(text)},
	}
}

// transcript prints a thread's messages, one line each.
func (w *world) transcript(t testing.TB, thread string) []string {
	t.Helper()
	return transcript(t, w.Host, thread)
}

func transcript(t testing.TB, r *host.Host, thread string) []string {
	t.Helper()
	page, err := r.Messages(t.Context(), local, thread, host.MessageQuery{Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range page.Messages {
		line := string(m.Role) + ": " + m.Text()
		for _, c := range m.ToolCalls {
			line += fmt.Sprintf("[%s %s]", c.Name, c.Arguments)
		}
		lines = append(lines, line)
	}
	return lines
}

var echoTranscript = []string{
	`user: echo: hello`,
	`assistant: [echo {"text":"hello"}]`,
	`tool: {"text":"hello"}`,
	`assistant: Echo: hello`,
}

func TestBackgroundRunGoesStepByStep(t *testing.T) {
	w := newWorld(t, nil)
	receipt, err := w.Submit(t.Context(), submission("t1", "echo: hello"))
	if err != nil {
		t.Fatal(err)
	}
	if n := w.drain(t); n != 2 {
		t.Errorf("%d hints were needed, want 2: one for each step", n)
	}
	if diff := cmp.Diff(echoTranscript, w.transcript(t, "t1")); diff != "" {
		t.Error(diff)
	}
	r, err := w.ReadRun(t.Context(), local, receipt.RunID)
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != core.RunDone || r.Steps != 2 || r.Response != "Echo: hello" || r.Termination.Type != core.TerminationNatural {
		t.Errorf("run is %+v", r)
	}
}

// events collects a stream.
type events struct{ lines []string }

func (e *events) sink(event core.Event) error {
	line := string(event.Type)
	for _, part := range []string{event.Name, event.Delta, string(event.Arguments), string(event.Result)} {
		if part != "" {
			line += " " + part
		}
	}
	if event.Termination != nil {
		b, _ := json.Marshal(event.Termination)
		line += " " + string(b)
	}
	e.lines = append(e.lines, line)
	return nil
}

func TestInlineRunStreamsItsEvents(t *testing.T) {
	w := newWorld(t, nil)
	var got events
	if _, err := w.Stream(t.Context(), submission("t1", "echo: hello"), host.ListenerFunc(got.sink)); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"run_start",
		"step_start",
		"tool_call_start echo",
		`tool_call_delta {"text":`,
		`tool_call_delta "hello"}`,
		`tool_call_ready echo {"text":"hello"}`,
		"inference_complete",
		`tool_call_done echo {"text":"hello"}`,
		"step_end",
		"step_start",
		"text_delta Echo: ",
		"text_delta hello",
		"inference_complete",
		"step_end",
		`run_finish {"type":"natural_end"}`,
	}
	if diff := cmp.Diff(want, got.lines); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(echoTranscript, w.transcript(t, "t1")); diff != "" {
		t.Error(diff)
	}
}
