package httpapi_test

import (
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

	"github.com/reveille-run/reveille/adapters/protocols/aisdk"
	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
	"github.com/reveille-run/reveille/core/tool"
)

// teller is a model that says one piece every 300 ms: reasoning, text and a call, and
// behind the call's result a text.
type teller struct{}

const pieceEvery = 300 * time.Millisecond

func (teller) Stream(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	text := func(pieces ...string) (all []model.Delta) {
		for _, p := range pieces {
			all = append(all, model.Delta{Type: model.DeltaText, Text: p})
		}
		return all
	}
	var said []model.Delta
	if request.Messages[len(request.Messages)-1].Role == core.RoleUser {
		said = append(said, model.Delta{Type: model.DeltaReasoning, Text: "hm, "}, model.Delta{Type: model.DeltaReasoning, Text: "well"})
		said = append(said, text("So", " é", "€ a", "nd \"q\"", " then")...)
		said = append(said, model.Delta{Type: model.DeltaToolStart, CallID: "c1", Name: "echo"},
			model.Delta{Type: model.DeltaToolArgument, Text: `{"text":`}, model.Delta{Type: model.DeltaToolArgument, Text: `"x"}`},
			model.Delta{Type: model.DeltaStop, Stop: core.StopToolUse})
	} else {
		said = append(text("One", " two", " three", " four", " five", "."), model.Delta{Type: model.DeltaStop, Stop: core.StopEndTurn})
	}
	return func(yield func(model.Delta, error) bool) {
		for _, d := range said {
			if env.System().Sleep(ctx, pieceEvery) != nil || !yield(d, nil) {
				return
			}
		}
	}
}

// hosts are processes over one memory store and queue.
type hosts struct {
	t     *testing.T
	store store.Backend
	queue *mailboxtest.Queue
}

// host is one of them.
type machine struct {
	http.Handler
	runtime *host.Host
	mu      sync.Mutex
	dead    bool // it reaches nothing any more
}

func (h *machine) die() { h.mu.Lock(); h.dead = true; h.mu.Unlock() }

func (h *machine) around(ctx context.Context, _ storetest.Operation, do func(context.Context) error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dead {
		return core.Errorf(core.CodeUnavailable, "no route")
	}
	return do(ctx)
}

func (all *hosts) start(name string) *machine {
	all.t.Helper()
	h := &machine{}
	echo := tool.New(tool.Spec{Name: "echo"}, func(_ context.Context, _ tool.Call, a map[string]string) (tool.Result, error) {
		return tool.NewResult(a), nil
	})
	world, quiet := env.System(), slog.New(slog.DiscardHandler)
	var err error
	h.runtime, err = host.New(host.Options{
		Env: world, Store: &storetest.Faulty{Backend: all.store, Around: h.around}, Waker: all.queue, Logger: quiet, Worker: name,
		Agents: agent.Parts{
			Models: map[string]agent.ModelBinding{"m": {Model: teller{}}},
			Tools:  []tool.Tool{echo},
			Specs:  []agent.Spec{{ID: "demo", Model: "m", Events: agent.EventsLive}}, // the run is over before a host would look who follows
		},
	})
	if err != nil {
		all.t.Fatal(err)
	}
	h.Handler = httpapi.New(h.runtime, &httpapi.Options{
		Log:          quiet,
		Authenticate: func(*http.Request) (core.Identity, error) { return core.Identity{Tenant: "acme"}, nil },
		Mounts:       map[string]http.Handler{"/v1/ai-sdk/": aisdk.New(h.runtime, &aisdk.Options{Log: quiet})},
	})
	return h
}

// wire is a connection that a client reads, until it has so many bytes.
type wire struct {
	limit  int // 0: none
	leave  context.CancelFunc
	header http.Header

	mu      sync.Mutex
	status  int
	body    []byte
	whole   int           // bytes of body that are whole frames
	frames  []frame       // whole ones, as they come
	dropped chan struct{} // closed when the connection is
}

// frame is one of a stream, and when it came.
type frame struct {
	id, data string
	at       time.Time
}

func (w *wire) Header() http.Header    { return w.header }
func (w *wire) WriteHeader(status int) { w.mu.Lock(); w.status = status; w.mu.Unlock() }
func (w *wire) Flush()                 {}

func (w *wire) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(b)
	if w.limit > 0 {
		n = min(n, w.limit-len(w.body))
	}
	w.body = append(w.body, b[:n]...)
	w.cut()
	if w.limit > 0 && len(w.body) >= w.limit {
		w.leave()
		select {
		case <-w.dropped:
		default:
			close(w.dropped)
		}
		return n, context.Canceled
	}
	return n, nil
}

// cut notes the frames that are whole by now.
func (w *wire) cut() {
	for {
		text, _, found := strings.Cut(string(w.body[w.whole:]), "\n\n")
		if !found {
			return
		}
		w.whole += len(text) + len("\n\n")
		f := frame{at: time.Now()}
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if id, ok := strings.CutPrefix(line, "id: "); ok {
				f.id = id
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				f.data = data
			}
		}
		w.frames = append(w.frames, f)
	}
}

// connect sends a request and returns what the client reads, when the connection is
// over or dropped behind so many bytes; wait returns when the server is done with it.
func connect(t *testing.T, h http.Handler, limit int, method, path, body string, header ...string) (w *wire, wait func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w = &wire{limit: limit, leave: cancel, header: http.Header{}, status: 200, dropped: make(chan struct{})}
	r := httptest.NewRequest(method, path, strings.NewReader(body)).WithContext(ctx)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer cancel()
		h.ServeHTTP(w, r)
	}()
	select {
	case <-over:
	case <-w.dropped:
	}
	return w, func() { <-over }
}

// story is what a client has of a run, as text, and when each byte of it came.
type story struct {
	text  strings.Builder
	steps []int // length of text before each step
	at    []time.Time
	kind  string
	id    string // of the AI SDK's message
	ended bool   // with the run
}

// add appends a piece of a kind of content.
func (s *story) add(kind, piece string, at time.Time) {
	if piece == "" {
		return
	}
	if kind != s.kind {
		s.kind, piece = kind, "\n"+kind+": "+piece
	}
	s.text.WriteString(piece)
	for range piece {
		s.at = append(s.at, at)
	}
	for len(s.at) < s.text.Len() {
		s.at = append(s.at, at)
	}
}

// native takes frames of the native stream. restarts counts step_restarted.
func (s *story) native(t *testing.T, frames []frame) (restarts int) {
	t.Helper()
	for _, f := range frames {
		var e core.Event
		if f.data == "" {
			continue
		}
		if err := json.Unmarshal([]byte(f.data), &e); err != nil {
			t.Fatalf("%s: %v", f.data, err)
		}
		switch e.Type {
		case core.EventStepStart:
			s.steps, s.kind = append(s.steps, s.text.Len()), ""
		case core.EventStepRestarted:
			restarts++
			text := s.text.String()[:s.steps[len(s.steps)-1]]
			s.text.Reset()
			s.text.WriteString(text)
			s.at, s.steps, s.kind = s.at[:len(text)], s.steps[:len(s.steps)-1], ""
		case core.EventReasoningDelta:
			s.add("reasoning", e.Delta, f.at)
		case core.EventTextDelta:
			s.add("text", e.Delta, f.at)
		case core.EventToolCallDelta:
			s.add("call "+e.CallID, e.Delta, f.at)
		case core.EventToolCallReady:
			s.add("ready "+e.CallID, string(e.Arguments), f.at)
		case core.EventToolCallDone:
			s.add("result "+e.CallID, string(e.Result), f.at)
		case core.EventRunFinish:
			s.add("end", e.Response, f.at)
			s.ended = true
		}
	}
	return restarts
}

// ui takes frames of an AI SDK stream, which begins the message anew.
func (s *story) ui(t *testing.T, frames []frame) {
	t.Helper()
	*s = story{}
	for _, f := range frames {
		if f.data == "" || f.data == "[DONE]" {
			continue
		}
		var c struct {
			Type, MessageID, Delta, InputTextDelta, FinishReason string
			Input, Output                                        json.RawMessage
		}
		if err := json.Unmarshal([]byte(f.data), &c); err != nil {
			t.Fatalf("%s: %v", f.data, err)
		}
		switch c.Type {
		case "start":
			s.id = c.MessageID
		case "start-step":
			s.kind = ""
		case "reasoning-delta":
			s.add("reasoning", c.Delta, f.at)
		case "text-delta":
			s.add("text", c.Delta, f.at)
		case "tool-input-delta":
			s.add("call", c.InputTextDelta, f.at)
		case "tool-input-available":
			s.add("ready", string(c.Input), f.at)
		case "tool-output-available":
			s.add("result", string(c.Output), f.at)
		case "finish":
			s.add("end", c.FinishReason, f.at)
			s.ended = true
		}
	}
}
