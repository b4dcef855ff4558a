package wire

import (
	"errors"
	"fmt"
	"io"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// Turn makes deltas of the events of one stream.
type Turn interface {
	// Add takes an event that has data and returns its deltas, valid until the next
	// call. last says that it was the protocol's own end: nothing is read after it. The
	// error is a [Failure], what the provider said, or any other of an event that makes
	// no sense, which counts as an interrupted stream.
	Add(e Event) (deltas []model.Delta, last bool, err error)
	// Finished reports whether a stream may end here although its last event has not
	// come: what could follow changes the usage at most.
	Finished() bool
	// Stop returns why the turn stopped. It is called once, after an event that was the
	// last or at the end of a finished stream. The error is as Add's.
	Stop() (core.StopReason, error)
}

// Read reads one stream to its end and yields its deltas in order, DeltaStop last.
// complete says that the stream reached its end; it is false, and there is no error, when
// yield asked to stop. The error is a [Failure] or the turn's own; no adapter is named.
// Adapters have it for their tests: [Client.Stream] calls it.
func Read(body io.Reader, turn Turn, yield func(model.Delta) bool) (complete bool, err error) {
	events := newDecoder(body)
	for {
		e, err := events.next()
		if err != nil && !turn.Finished() {
			return false, cut(err)
		}
		last := err != nil
		if !last && len(e.Data) > 0 {
			var deltas []model.Delta
			deltas, last, err = turn.Add(e)
			for _, d := range deltas {
				if !yield(d) {
					return false, nil
				}
			}
			if err != nil {
				return false, err
			}
		}
		if last {
			reason, err := turn.Stop()
			if err == nil {
				yield(model.Delta{Type: model.DeltaStop, Stop: reason})
			}
			return true, err
		}
	}
}

// cut is the failure of a body that ended before the turn did.
func cut(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return Failure{Kind: model.KindInterrupted, Message: "the stream ended before the turn did"}
	case errors.Is(err, errLineTooLong):
		return Failure{Kind: model.KindProvider, Message: err.Error()}
	}
	return Failure{Kind: model.KindInterrupted, Message: fmt.Sprintf("read the stream: %v", err)}
}
