package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
)

// encoder is the native protocol: each event that the client has not seen is a
// frame, its JSON the data, its position the id. The position comes with the event:
// package run gives it to a delta where it is made, and nothing here counts.
//
// The frames of a response are numbered here: they are all that a client has of a
// stream that resume has cut.
type encoder struct {
	from     host.Missed
	last     string // id of the last frame
	sequence uint64 // of the last frame
	run      core.ID
	env      *env.Env
	ended    bool
	room     [192]byte    // of an envelope
	body     body         // being encoded
	short    short        // the same
	buffer   bytes.Buffer // of the JSON of all frames of one event
	json     *json.Encoder
	frames   []protocol.Frame
}

// body is an event without its envelope, which is written by hand: an encoder that
// reflects allocates for each text that it asks a value for, and every event has two.
type body struct {
	core.Event
	Type     struct{} `json:"event_type,omitzero"`
	Sequence struct{} `json:"sequence,omitzero"`
	Time     struct{} `json:"time,omitzero"`
	RunID    struct{} `json:"run_id,omitzero"`
}

// usual is room for the frames of nearly every event, in bytes.
const usual = 512

// newEncoder returns the encoder of a stream from a client's Last-Event-ID on.
func newEncoder(from host.Missed, last string, env *env.Env) *encoder {
	e := &encoder{from: from, last: last, env: env}
	e.buffer.Grow(usual)
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
	if err := e.from.Fits(event); err != nil {
		return nil, core.Errorf(core.CodeInvalid, "Last-Event-ID %w", err)
	}
	if !e.from.Active() { // the whole stream is new, so that nothing is cut
		if err := e.add(event); err != nil {
			return nil, err
		}
	} else {
		for _, rest := range e.from.Rest(event) {
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
	if event.Type == core.EventStepRestarted && event.Step > 0 {
		e.last = host.RestartPosition(event.RunID, event.Step)
	}
	begin := e.buffer.Len()
	e.envelope(event)
	middle := e.buffer.Len()
	if err := e.encodeBody(event); err != nil {
		return err
	}
	data := e.buffer.Bytes()[begin : e.buffer.Len()-1] // without the line end; a buffer that grows leaves it as it is
	if rest := data[middle-begin:]; len(rest) > len("{}") {
		rest[0] = ','
	} else {
		data = append(data[:middle-begin], '}')
	}
	e.frames = append(e.frames, protocol.Frame{ID: e.last, Data: data})
	return nil
}

// encodeBody encodes what is not in the envelope. The body lies in the encoder, so that
// encoding it allocates nothing.
func (e *encoder) encodeBody(event core.Event) error {
	if isShort(&event) {
		e.short = shortOf(&event)
		return e.json.Encode(&e.short)
	}
	e.body.Event = event
	return e.json.Encode(&e.body)
}

// envelope writes what every event has, without the closing brace.
func (e *encoder) envelope(event core.Event) {
	e.sequence++
	b := append(e.room[:0], `{"event_type":"`...)
	b = append(b, event.Type...)
	b = strconv.AppendUint(append(b, `","sequence":`...), e.sequence, 10)
	if event.Time != 0 {
		b, _ = event.Time.AppendText(append(b, `,"time":"`...)) // which cannot fail
		b = append(b, '"')
	}
	if !event.RunID.IsZero() {
		e.run = event.RunID
		b = append(event.RunID.AppendTo(append(b, `,"run_id":"`...)), '"')
	}
	_, _ = e.buffer.Write(b) // nor this
}

// Fail implements protocol.Encoder. The error that ends a stream before its run is not
// followed by a run_finish.
func (e *encoder) Fail(err error) []protocol.Frame {
	problem := protocol.Public(err)
	e.last = "" // a client that reconnects names the last event of the run
	e.buffer.Reset()
	e.frames = e.frames[:0]
	_ = e.add(core.Event{Type: core.EventError, Time: core.Millis(e.env.Millis()), RunID: e.run, Error: problem.Error, Code: string(problem.Code)}) // strings always encode
	return e.frames
}
