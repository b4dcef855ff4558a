package mcp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
)

// bridge is the response that the SDK writes to. Its events go to a [protocol.Writer],
// which keeps the connection alive and never makes a run wait for a slow reader.
// Anything else is held back until the SDK is done, and refusals in plain words become
// JSON-RPC's. The SDK writes from several goroutines, one at a time.
type bridge struct {
	id     json.RawMessage // of the message
	out    *protocol.Writer
	header http.Header
	status int
	body   bytes.Buffer // of a response without a stream; of a stream, an incomplete event
}

// Header implements http.ResponseWriter.
func (b *bridge) Header() http.Header { return b.header }

// WriteHeader implements http.ResponseWriter.
func (b *bridge) WriteHeader(status int) {
	if b.status == 0 {
		b.status = status
	}
}

// Flush implements http.Flusher: events leave by themselves.
func (b *bridge) Flush() {}

// Write implements http.ResponseWriter.
func (b *bridge) Write(p []byte) (int, error) {
	b.body.Write(p)
	if b.out == nil || !strings.HasPrefix(b.header.Get("Content-Type"), "text/event-stream") {
		return len(p), nil
	}
	for {
		event, _, whole := bytes.Cut(b.body.Bytes(), []byte("\n\n"))
		if !whole {
			return len(p), nil
		}
		if err := b.out.Write(frameOf(event)); err != nil {
			return 0, err
		}
		b.body.Next(len(event) + 2)
	}
}

// frameOf reads an event of the SDK's: a name, and one line of data.
func frameOf(event []byte) (f protocol.Frame) {
	for line := range bytes.Lines(event) {
		field, value, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(": "))
		switch string(field) {
		case "event":
			f.Event = string(value)
		case "data":
			f.Data = value
		}
	}
	return f
}

// send writes what was held back.
func (b *bridge) send(w http.ResponseWriter) {
	if b.status == 0 {
		b.status = http.StatusOK
	}
	if b.status >= 400 && !strings.HasPrefix(b.header.Get("Content-Type"), "application/json") {
		f := failure{b.status, protocol.RPCInvalidRequest, strings.TrimSpace(b.body.String())}
		if b.status >= 500 {
			f.code, f.text = protocol.RPCInternal, "internal error"
		}
		f.write(w, b.id)
		return
	}
	for name, values := range b.header {
		w.Header()[name] = values
	}
	w.WriteHeader(b.status)
	_, _ = w.Write(b.body.Bytes()) // a client that is gone needs nothing
}
