package agui_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reveille-run/reveille/adapters/protocols/agui"
	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/plugins/permission"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/tool"
)

// world is a real runtime over a store in memory, behind the handler.
type world struct {
	*httptest.Server
	runtime *host.Host
	mu      sync.Mutex
	asked   []model.Request // of the model
}

// watched notes what a model is asked.
type watched struct {
	model.Model
	note func(model.Request)
}

func (m watched) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	m.note(r)
	return m.Model.Stream(ctx, r)
}

// queue steps what is woken, in goroutines of its own.
type queue struct {
	steps *sync.WaitGroup
	world *world
}

func (q queue) Wake(_ context.Context, hint core.WakeUp, after time.Duration) error {
	if after > 0 { // of a lease that nobody loses here
		return nil
	}
	q.steps.Go(func() { _ = q.world.runtime.WorkLocal(context.Background(), hint) })
	return nil
}

// sketch is a value of the agent's own, beside what frontends share.
var sketch = state.Value[string]("sketch", state.ScopeThread)

type sketches struct{}

func (sketches) ID() string { return "sketches" }
func (sketches) Register(r *plugin.Registrar) error {
	r.Key(sketch)
	return nil
}

func tools(t *testing.T) []tool.Tool {
	t.Helper()
	type text struct {
		Text string `json:"text,omitempty"`
	}
	echo := func(_ context.Context, _ tool.Call, a text) (tool.Result, error) { return tool.NewResult(a), nil }
	made := func(name string, run func(context.Context, tool.Call, text) (tool.Result, error)) tool.Tool {
		return tool.New(tool.Spec{Name: name, Description: name, ReadOnly: true}, run)
	}
	ask := tool.NewClient[map[string]any](tool.Spec{Name: "ask_user", Parameters: json.RawMessage(`{"type":"object","properties":{"question":{"type":"string"}}}`)})
	return []tool.Tool{
		made("echo", echo), made("danger", echo), ask,
		made("paint", func(_ context.Context, _ tool.Call, a text) (tool.Result, error) {
			return tool.NewResult(a).With(plugin.SharedState.Edit(state.At("color").Set(a.Text)), sketch.Update(a.Text)), nil
		}),
		made("depict", func(context.Context, tool.Call, text) (tool.Result, error) {
			return tool.NewResult("A dot.").WithFile("image/png", []byte("png")), nil
		}),
		made("patient", func(context.Context, tool.Call, text) (tool.Result, error) { // whoever is asked has an hour
			return tool.Suspended(core.TicketRequest{
				Action: "tool:patient", Response: json.RawMessage(`{"type":"object"}`), Mode: core.ResumeAsArguments, Timeout: time.Hour,
			}), nil
		}),
		made("delegate", func(ctx context.Context, c tool.Call, _ text) (tool.Result, error) {
			run, err := c.Start(ctx, tool.Child{Agent: "demo", Messages: []core.Message{core.UserMessage("approve: it")}})
			return tool.AwaitChild(run, core.ResumeReplay), err
		}),
		made("nap", func(context.Context, tool.Call, text) (tool.Result, error) {
			return tool.Suspended(core.TicketRequest{Kind: core.TicketTimer, WakeAt: time.Now().Add(time.Hour)}), nil
		}),
		made("work", func(_ context.Context, c tool.Call, a text) (tool.Result, error) {
			c.Activity("plan", map[string]any{"steps": []string{a.Text}})
			c.Output("half ")
			c.Output("done")
			return tool.NewResult(a), nil
		}),
	}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	e, w, steps := env.System(), &world{}, &sync.WaitGroup{}
	t.Cleanup(steps.Wait)
	note := func(r model.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.asked = append(w.asked, r)
	}
	quiet := slog.New(slog.DiscardHandler)
	rt, err := host.New(host.Options{
		Env: e, Store: memory.New(), Waker: queue{steps, w}, Logger: quiet, FollowInterval: time.Millisecond,
		Agents: agent.Parts{
			Models:  map[string]agent.ModelBinding{"scripted": {Model: watched{scripted.New(e), note}, Name: "scripted"}},
			Tools:   tools(t),
			Plugins: []plugin.Plugin{permission.Plugin{}, sketches{}},
			Specs: []agent.Spec{
				{
					ID: "demo", Model: "scripted", SystemPrompt: "Be kind.", Plugins: []string{permission.ID, "sketches"},
					Sections: plugin.Sections(permission.Section.Setting(permission.Config{
						DefaultBehavior: permission.Allow, Rules: []permission.Rule{{Tool: "danger", Behavior: permission.Ask}},
					})),
				},
				{ID: "other", Model: "scripted"},
			},
			Default: "demo",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.runtime = rt
	w.Server = httptest.NewServer(httpapi.New(rt, &httpapi.Options{
		Authenticate: httpapi.Anonymous("acme"), Log: quiet,
		Mounts: map[string]http.Handler{"/v1/ag-ui/": agui.New(rt, &agui.Options{Log: quiet})},
	}))
	t.Cleanup(w.Close)
	return w
}

// post sends a body and returns the status and the body of the response.
func (w *world) post(t *testing.T, path, body string) (int, string) {
	t.Helper()
	response, err := http.Post(w.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, text.String()
}

// run posts an input and returns the events of its stream, each as its type and what
// of it the test wants to see.
func (w *world) run(t *testing.T, path, body string) []map[string]any {
	t.Helper()
	status, text := w.post(t, path, body)
	if status != http.StatusOK {
		t.Fatalf("%s: status %d, %s", path, status, text)
	}
	var all []map[string]any
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			var one map[string]any
			if err := json.Unmarshal([]byte(data), &one); err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			all = append(all, one)
		}
	}
	return all
}

// types are those of events; text is TEXT_MESSAGE_CONTENT's, joined.
func types(all []map[string]any) (names []string, text string) {
	for _, e := range all {
		name := e["type"].(string)
		if name == "TEXT_MESSAGE_CONTENT" {
			text += e["delta"].(string)
			if names[len(names)-1] == name {
				continue
			}
		}
		names = append(names, name)
	}
	return names, text
}

// find returns the first event of a type.
func find(t *testing.T, all []map[string]any, name string) map[string]any {
	t.Helper()
	for _, e := range all {
		if e["type"] == name {
			return e
		}
	}
	t.Fatalf("no %s in %v", name, all)
	return nil
}

func encoded(t *testing.T, value any) string {
	t.Helper()
	text, err := core.EncodeJSON(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func messageQuery() host.MessageQuery { return host.MessageQuery{Newest: true} }
