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
	// Add processes an event that has data and returns its deltas, valid until the next
	// call. Halves of characters are marked in it, see [MarkHalves]. If last is true, the
	// event was the protocol's own end: nothing is read after it. The error is a [Failure],
	// which the provider reported, or any other error for an event that is not valid, which
	// counts as an interrupted stream.
	Add(e Event) (deltas []model.Delta, last bool, err error)
	// Finished reports whether a stream may end here although its last event is missing:
	// the events that could follow change only the usage.
	Finished() bool
	// Stop returns the reason why the turn stopped. It is called once, after the last
	// event or at the end of a finished stream. The error is as Add's.
	Stop() (core.StopReason, error)
}

// Read reads one stream to its end and yields its deltas in order, DeltaStop last.
// complete reports whether the stream reached its end; it is false, without an error, if
// yield returned false. The error is a [Failure] or the turn's own; it names no adapter.
// Adapters use Read in their tests: [Client.Stream] calls it.
func Read(body io.Reader, turn Turn, yield func(model.Delta) bool) (complete bool, err error) {
	events := newDecoder(body)
	var halves Joiner
	silent := 0 // bytes of events without a delta
	for {
		e, err := events.next()
		if err != nil && !turn.Finished() {
			return false, cut(err)
		}
		last := err != nil
		if !last && len(e.Data) > 0 {
			var deltas []model.Delta
			e.Data = MarkHalves(e.Data)
			deltas, last, err = turn.Add(e)
			for _, d := range deltas {
				if !halves.Join(d, yield) {
					return false, nil
				}
			}
			if err != nil {
				return false, err
			}
			if len(deltas) == 0 && !last {
				silent += len(e.Data)
			}
			if silent > maxSilent {
				return false, errSilent
			}
		}
		if last {
			reason, err := turn.Stop()
			if err == nil {
				halves.Join(model.Delta{Type: model.DeltaStop, Stop: reason}, yield)
			}
			return true, err
		}
	}
}

// cut is the failure of a body that ended before the turn did.
func cut(err error) error {
	var limit Failure
	switch {
	case errors.Is(err, io.EOF):
		return Failure{Kind: model.KindInterrupted, Message: "the stream ended before the turn did"}
	case errors.As(err, &limit):
		return limit
	}
	return Failure{Kind: model.KindInterrupted, Message: fmt.Sprintf("read the stream: %v", err)}
}
