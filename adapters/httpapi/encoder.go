package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/reveille-run/reveille/adapters/protocol"
	"github.com/reveille-run/reveille/core"
)

// encoder is the native protocol: each event that the client has not seen is a
// frame, its JSON the data, its position the id. The position comes with the event:
// package run gives it to a delta where it is made, and nothing here counts.
type encoder struct {
	from   resume
	last   string // id of the last frame
	ended  bool
	event  core.Event   // being encoded
	buffer bytes.Buffer // of the JSON of all frames of one event
	json   *json.Encoder
	frames []protocol.Frame
}

// newEncoder returns the encoder of a stream from a client's Last-Event-ID on.
func newEncoder(from resume, last string) *encoder {
	e := &encoder{from: from, last: last}
	e.json = json.NewEncoder(&e.buffer)
	e.json.SetEscapeHTML(false) // see core.EncodeJSON
	return e
}

// Header implements protocol.Encoder.
func (e *encoder) Header() http.Header { return nil }

// Ended implements protocol.Encoder.
func (e *encoder) Ended() bool { return e.ended }

// Encode implements protocol.Encoder.
func (e *encoder) Encode(event core.Event) ([]protocol.Frame, error) {
	e.buffer.Reset()
	e.frames = e.frames[:0]
	if !e.from.active { // the whole stream is new, so that nothing is cut
		if err := e.add(event); err != nil {
			return nil, err
		}
	} else {
		for _, rest := range e.from.rest(event) {
			if err := e.add(rest); err != nil {
				return nil, err
			}
		}
	}
	e.ended = e.ended || event.Type == core.EventRunFinish || event.Type == core.EventRunYield
	return e.frames, nil
}

// add adds the frame of one event. An event that ends the stream but not the run
// repeats the id before it: what comes next belongs between the two.
func (e *encoder) add(event core.Event) error {
	suspended := event.Termination != nil && event.Termination.Type == core.TerminationSuspended
	if event.Position != "" && event.Type != core.EventRunYield && !suspended {
		e.last = event.Position
	}
	begin := e.buffer.Len()
	e.event = event // it lies here, so that encoding it allocates nothing
	if err := e.json.Encode(&e.event); err != nil {
		return err
	}
	data := e.buffer.Bytes()[begin : e.buffer.Len()-1] // without the line end; a buffer that grows leaves it as it is
	e.frames = append(e.frames, protocol.Frame{ID: e.last, Data: data})
	return nil
}

// failure is the last event of a stream that ends before its run.
type failure struct {
	Type string `json:"event_type"`
	protocol.Problem
}

// Fail implements protocol.Encoder.
func (e *encoder) Fail(err error) []protocol.Frame {
	data, _ := json.Marshal(failure{Type: "error", Problem: protocol.Public(err)}) // strings always marshal
	return []protocol.Frame{{Data: data}}
}
