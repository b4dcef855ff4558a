package protocol_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/store/memory"
)

// letters is a protocol: POST {"thread": id, "say": text} is streamed as the events
// "text" and, at the end, "bye".
type letters struct{ protocol.Server }

func newLetters(h protocol.Host, o protocol.Options) http.Handler {
	l := letters{protocol.NewServer(h, o)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /letters", l.Handle(l.post))
	return mux
}

func (l letters) post(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	s, err := decodeLetter(r)
	if err == nil {
		err = l.Complete(&s, id)
	}
	if err != nil {
		return err
	}
	if l.Buffered {
		return protocol.Hide(l.Queue(w, r, s, nil), "thread", s.Thread.Thread)
	}
	return l.Serve(w, r, &lettersEncoder{}, func(listener host.Listener) error {
		_, err := l.Host.Stream(r.Context(), s, listener)
		return protocol.Hide(err, "thread", s.Thread.Thread)
	})
}

func decodeLetter(r *http.Request) (s mailbox.Submission, err error) {
	var body struct{ Thread, Say string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return s, core.Errorf(core.CodeInvalid, "body: %w", err)
	}
	s.Thread.Thread = body.Thread
	s.Messages = []core.Message{core.UserMessage(body.Say)}
	return s, nil
}

// lettersEncoder is the other half of the protocol.
type lettersEncoder struct{ ended bool }

func (e *lettersEncoder) Header() http.Header { return nil }
func (e *lettersEncoder) Ended() bool         { return e.ended }

func (e *lettersEncoder) Encode(event core.Event) ([]protocol.Frame, error) {
	switch event.Type {
	case core.EventTextDelta:
		return []protocol.Frame{{Event: "text", Data: []byte(event.Delta)}}, nil
	case core.EventRunFinish, core.EventRunYield:
		e.ended = true
		return []protocol.Frame{{Event: "bye", Data: []byte(event.Type)}}, nil
	}
	return nil, nil
}

func (e *lettersEncoder) Fail(err error) []protocol.Frame {
	return []protocol.Frame{{Event: "sorry", Data: []byte(protocol.Public(err).Error)}}
}

// A protocol is complete when it decodes a request and encodes events.
func Example() {
	world := env.System()
	r, err := host.New(host.Options{
		Env: world, Store: memory.New(), Waker: nobody{},
		Agents: agent.Parts{
			Models: map[string]agent.ModelBinding{"scripted": {Model: scripted.New(world)}},
			Specs:  []agent.Spec{{ID: "demo", Model: "scripted"}},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	handler := newLetters(r, protocol.Options{})
	for _, body := range []string{`{"thread": "t1", "say": "hello"}`, `{"thread": "a b", "say": "hello"}`} {
		request := httptest.NewRequest("POST", "/letters", strings.NewReader(body))
		// Package httpapi does this for the handlers that it mounts.
		request = request.WithContext(core.WithIdentity(request.Context(), core.Identity{Tenant: "acme"}))
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, request)
		fmt.Println(response.Code, strings.TrimSpace(response.Body.String()))
	}
	// Output:
	// 200 event: text
	// data: You said
	//
	// event: text
	// data: : hello
	//
	// event: bye
	// data: run_finish
	// 400 {"error":"thread id \"a b\" has the character ' ', allowed are A-Z a-z 0-9 . _ : -","code":"invalid"}
}

// nobody is a queue for a process that runs everything inline: no hint is read.
type nobody struct{}

func (nobody) Wake(context.Context, core.WakeUp, time.Duration) error { return nil }
