package httpapi

import (
	"net/http"
	"slices"
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
	from     *host.Missed // of a client that comes back; nil: the whole stream is new, and nothing is cut
	last     string       // id of the last frame
	sequence uint64       // of the last frame
	run      core.ID
	env      *env.Env
	ended    bool
	json     members // of all frames of one event
	frames   []protocol.Frame
}

// body is an event without its envelope, which is written by hand.
type body struct {
	core.Event
	Type     struct{} `json:"event_type,omitzero"`
	Sequence struct{} `json:"sequence,omitzero"`
	Time     struct{} `json:"time,omitzero"`
	RunID    struct{} `json:"run_id,omitzero"`
}

// usual is room for the frames of nearly every event, in bytes.
const usual = 320

// newEncoder returns the encoder of a stream from a client's Last-Event-ID on.
func newEncoder(from host.Missed, last string, env *env.Env) *encoder {
	e := &encoder{last: last, env: env, json: members{text: make([]byte, 0, usual)}}
	if from.Active() {
		missed := from // allocated for a client that comes back
		e.from = &missed
	}
	return e
}

// Header implements protocol.Encoder.
func (e *encoder) Header() http.Header { return nil }

// Ended implements protocol.Encoder.
func (e *encoder) Ended() bool { return e.ended }

// Encode implements protocol.Encoder.
func (e *encoder) Encode(event core.Event) ([]protocol.Frame, error) {
	e.json.text, e.json.err = e.json.text[:0], nil
	e.frames = e.frames[:0]
	if e.from == nil {
		if err := e.add(event); err != nil {
			return nil, err
		}
	} else {
		if err := e.from.Fits(event); err != nil {
			return nil, core.Errorf(core.CodeInvalid, "Last-Event-ID %w", err)
		}
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
	begin := len(e.json.text)
	e.envelope(event)
	if err := e.encodeBody(&event); err != nil {
		return err
	}
	// A text that grows leaves the data of earlier frames as it is.
	e.frames = append(e.frames, protocol.Frame{ID: e.last, Data: slices.Clip(e.json.text[begin:])})
	return nil
}

// encodeBody encodes what is not in the envelope.
func (e *encoder) encodeBody(event *core.Event) error {
	if isShort(event) {
		addShort(&e.json, event)
		e.json.text = append(e.json.text, '}')
		return e.json.err
	}
	text, err := core.EncodeJSON(&body{Event: *event})
	if err != nil {
		return err
	}
	if text[0] = ','; len(text) == len("{}") {
		text = text[1:]
	}
	e.json.text = append(e.json.text, text...)
	return nil
}

// envelope writes what every event has, without the closing brace.
func (e *encoder) envelope(event core.Event) {
	e.sequence++
	b := append(e.json.text, `{"event_type":"`...)
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
	e.json.text = b
}

// Fail implements protocol.Encoder. The error that ends a stream before its run is not
// followed by a run_finish.
func (e *encoder) Fail(err error) []protocol.Frame {
	problem := protocol.Public(err)
	e.last = "" // a client that reconnects names the last event of the run
	e.json.text, e.json.err = e.json.text[:0], nil
	e.frames = e.frames[:0]
	_ = e.add(core.Event{Type: core.EventError, Time: core.Millis(e.env.Millis()), RunID: e.run, Error: problem.Error, Code: string(problem.Code)}) // strings always encode
	return e.frames
}
