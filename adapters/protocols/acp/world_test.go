package acp_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/reveille-run/reveille/adapters/protocols/acp"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/plugins/permission"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/tool"
)

var identity = core.Identity{Tenant: "acme"}

// world is a runtime with workers, over a store in memory.
type world struct {
	t       *testing.T
	env     *env.Env
	runtime *host.Host
	ran     chan string // the text of each call of danger that ran
}

// queue hands hints to workers of its own.
type queue struct {
	ctx     context.Context
	work    func(context.Context, core.WakeUp) error
	working sync.WaitGroup
}

func (q *queue) Wake(_ context.Context, hint core.WakeUp, delay time.Duration) error {
	if q.ctx.Err() != nil {
		return nil
	}
	q.working.Go(func() {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-q.ctx.Done():
		case <-timer.C:
			_ = q.work(q.ctx, hint) // what fails is tried again by another hint
		}
	})
	return nil
}

// rules: danger is asked about, forbidden ends the run, every other tool runs.
var rules = permission.Config{DefaultBehavior: permission.Allow, Rules: []permission.Rule{
	{Tool: "danger", Behavior: permission.Ask}, {Tool: "edit_file(path ~ '/etc/*')", Behavior: permission.Ask}, {Tool: "forbidden", Behavior: permission.Deny},
}}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, env: env.System(), ran: make(chan string, 100)}
	type text struct {
		Text string `json:"text"`
	}
	echo := tool.New(tool.Spec{Name: "echo", Description: "Says a text back."}, func(_ context.Context, _ tool.Call, a text) (text, error) { return a, nil })
	danger := tool.New(tool.Spec{Name: "danger", Description: "Does something."}, func(_ context.Context, _ tool.Call, a text) (text, error) {
		w.ran <- a.Text
		return a, nil
	})
	forbidden := tool.New(tool.Spec{Name: "forbidden", Description: "Never runs."}, func(_ context.Context, _ tool.Call, a struct{ N int }) (text, error) { return text{}, nil })
	edit := tool.New(tool.Spec{Name: "edit_file", Description: "Edits."}, func(_ context.Context, _ tool.Call, a struct {
		Path string `json:"path"`
	}) (string, error) {
		return "edited " + a.Path, nil
	})
	ask := tool.NewClient[map[string]any](tool.Spec{Name: "ask_user", Description: "Asks.", Parameters: json.RawMessage(`{"type":"object"}`)})
	nap := tool.New(tool.Spec{Name: "nap", Description: "Waits."}, func(context.Context, tool.Call, struct{}) (tool.Result, error) {
		return tool.Suspended(core.TicketRequest{Kind: core.TicketTimer, WakeAt: time.Now().Add(time.Hour)}), nil
	})
	sections := plugin.Sections(permission.Section.Setting(rules))
	all := plugin.Sections(permission.Section.Setting(permission.Config{DefaultBehavior: permission.Ask}))
	ctx, stop := context.WithCancel(context.Background())
	q := &queue{ctx: ctx}
	var err error
	w.runtime, err = host.New(host.Options{
		Env: w.env, Store: memory.New(), Waker: q, Logger: slog.New(slog.DiscardHandler), Poll: 20 * time.Millisecond,
		Agents: agent.Parts{
			Models:  map[string]agent.ModelBinding{"scripted": {Model: scripted.New(w.env)}},
			Tools:   []tool.Tool{echo, danger, forbidden, edit, ask, nap},
			Plugins: []plugin.Plugin{permission.Plugin{}},
			Specs: []agent.Spec{
				{ID: "demo", Model: "scripted", Plugins: []string{permission.ID}, Sections: sections},
				{ID: "sequential", Model: "scripted", ExecutionMode: agent.Sequential, Plugins: []string{permission.ID}, Sections: all},
				{ID: "batch", Model: "scripted", ExecutionMode: agent.ParallelBatchApproval, Plugins: []string{permission.ID}, Sections: all},
				{ID: "streaming", Model: "scripted", ExecutionMode: agent.ParallelStreaming, Plugins: []string{permission.ID}, Sections: all},
				{ID: "short", Model: "scripted", MaxRounds: sdk.Ptr(1), Plugins: []string{permission.ID}, Sections: sections},
			},
			Default: "demo",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	q.work = w.runtime.WorkLocal
	t.Cleanup(func() { stop(); q.working.Wait() })
	return w
}

// wire is a connection as bytes: what the client writes, and what it reads.
type wire struct {
	io.Writer
	io.Reader
	hangUp func()             // the client closes its side
	served chan error         // gets what Serve returns
	stop   context.CancelFunc // ends the host
}

// serve speaks with one client.
func (w *world) serve(agent string) *wire {
	return w.serveWith(&acp.Options{
		Identity: identity, Agent: agent, Version: "1",
		Kinds: map[string]string{"echo": "read"}, Log: slog.New(slog.DiscardHandler),
	})
}

// serveWith is serve with other options.
func (w *world) serveWith(o *acp.Options) *wire {
	in, clientOut := io.Pipe()
	clientIn, out := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	c := &wire{Writer: clientOut, Reader: clientIn, hangUp: func() { _ = clientOut.Close(); _ = clientIn.Close() }, served: make(chan error, 1), stop: stop}
	go func() {
		err := acp.Serve(ctx, in, out, w.runtime, o)
		_ = out.Close()
		c.served <- err
	}()
	w.t.Cleanup(func() { c.hangUp(); stop() })
	return c
}

// editor is a client with the library's client side. Its person gives the answers.
type editor struct {
	*sdk.ClientSideConnection
	t       *testing.T
	wire    *wire
	answers chan sdk.PermissionOptionKind // what the person chooses, question by question
	asked   chan sdk.RequestPermissionRequest

	mu      sync.Mutex
	updates []sdk.SessionUpdate
	loaded  []sdk.SessionUpdate // by the last load
}

func (w *world) editor(agent string) *editor {
	w.t.Helper()
	return w.editorOf(w.serve(agent))
}

// editorOf is the client of a connection.
func (w *world) editorOf(c *wire) *editor {
	w.t.Helper()
	e := &editor{t: w.t, wire: c, answers: make(chan sdk.PermissionOptionKind, 10), asked: make(chan sdk.RequestPermissionRequest, 10)}
	e.ClientSideConnection = sdk.NewClientSideConnection(e, e.wire, e.wire)
	e.SetLogger(slog.New(slog.DiscardHandler))
	got, err := e.Initialize(w.t.Context(), sdk.InitializeRequest{ProtocolVersion: 1})
	if err != nil {
		w.t.Fatal(err)
	}
	if got.ProtocolVersion != 1 || !got.AgentCapabilities.LoadSession {
		w.t.Fatalf("initialize: %+v", got)
	}
	return e
}

// session opens a new session.
func (e *editor) session() sdk.SessionId {
	e.t.Helper()
	s, err := e.NewSession(e.t.Context(), sdk.NewSessionRequest{Cwd: "/", McpServers: []sdk.McpServer{}})
	if err != nil {
		e.t.Fatal(err)
	}
	return s.SessionId
}

// says prompts, and returns the stop reason and the text of the answer.
func (e *editor) says(session sdk.SessionId, text string) (sdk.StopReason, string) {
	e.t.Helper()
	e.take()
	got, err := e.Prompt(e.t.Context(), sdk.PromptRequest{SessionId: session, Prompt: []sdk.ContentBlock{sdk.TextBlock(text)}})
	if err != nil {
		e.t.Fatalf("%s: %v", text, err)
	}
	answer := ""
	for _, u := range e.take() {
		if u.AgentMessageChunk != nil {
			answer += u.AgentMessageChunk.Content.Text.Text
		}
	}
	return got.StopReason, answer
}

// take returns the updates since the last call.
func (e *editor) take() []sdk.SessionUpdate {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.updates
	e.updates = nil
	return all
}

func (e *editor) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.updates = append(e.updates, n.Update)
	return nil
}

// RequestPermission gives the next answer; none is given to a turn that is cancelled.
func (e *editor) RequestPermission(ctx context.Context, r sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	e.asked <- r
	select {
	case kind := <-e.answers:
		for _, o := range r.Options {
			if o.Kind == kind {
				return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeSelected(o.OptionId)}, nil
			}
		}
	case <-ctx.Done():
	}
	return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeCancelled()}, nil
}

func (e *editor) questions() int { return len(e.asked) }

func (e *editor) ReadTextFile(context.Context, sdk.ReadTextFileRequest) (r sdk.ReadTextFileResponse, err error) {
	return r, sdk.NewMethodNotFound("fs")
}
func (e *editor) WriteTextFile(context.Context, sdk.WriteTextFileRequest) (r sdk.WriteTextFileResponse, err error) {
	return r, sdk.NewMethodNotFound("fs")
}
func (e *editor) CreateTerminal(context.Context, sdk.CreateTerminalRequest) (r sdk.CreateTerminalResponse, err error) {
	return r, sdk.NewMethodNotFound("terminal")
}
func (e *editor) KillTerminal(context.Context, sdk.KillTerminalRequest) (r sdk.KillTerminalResponse, err error) {
	return r, sdk.NewMethodNotFound("terminal")
}
func (e *editor) TerminalOutput(context.Context, sdk.TerminalOutputRequest) (r sdk.TerminalOutputResponse, err error) {
	return r, sdk.NewMethodNotFound("terminal")
}
func (e *editor) ReleaseTerminal(context.Context, sdk.ReleaseTerminalRequest) (r sdk.ReleaseTerminalResponse, err error) {
	return r, sdk.NewMethodNotFound("terminal")
}
func (e *editor) WaitForTerminalExit(context.Context, sdk.WaitForTerminalExitRequest) (r sdk.WaitForTerminalExitResponse, err error) {
	return r, sdk.NewMethodNotFound("terminal")
}
