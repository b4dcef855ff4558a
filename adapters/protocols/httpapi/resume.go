package httpapi

import (
	"net/http"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
)

// lastEvent is the query parameter for the value of the header Last-Event-ID, for clients
// that may not set the header in a page of another origin, such as event-source-polyfill.
const lastEvent = "lastEventId"

// lastOf is the position that a client of a stream names last. The header counts before
// the query, which a client that reconnects by itself does not change.
func lastOf(r *http.Request) (string, error) {
	values, err := query(r.URL.RawQuery, lastEvent)
	if header := r.Header.Get("Last-Event-ID"); header != "" || err != nil {
		return header, err
	}
	return values.Get(lastEvent), nil
}

// resumeAgain reads the Last-Event-ID of a POST that is sent again with its key: which
// run that is shows in its first event. Such a stream ends in run_finish even if the
// client has it, since a client of a POST takes an empty response for a failure.
func resumeAgain(r *http.Request) (from host.Missed, header string, err error) {
	if header = r.Header.Get("Last-Event-ID"); header == "" {
		return host.Missed{}, "", nil
	}
	key, err := protocol.IdempotencyKey(r)
	if err != nil {
		return host.Missed{}, "", err
	}
	if key == "" {
		return host.Missed{}, "", core.Errorf(core.CodeInvalid, "header Last-Event-ID of a POST needs the header Idempotency-Key of the first request: without it the request would start another run")
	}
	if err := from.Have(header); err != nil {
		return host.Missed{}, "", core.Errorf(core.CodeInvalid, "header Last-Event-ID %q is not a position of a run", core.Excerpt(header))
	}
	from.Finishes = true
	return from, header, nil
}

// resumeFrom reads the position that a client of a run's stream names.
func resumeFrom(header string, runID core.ID) (host.Missed, error) {
	if header == "" {
		return host.Missed{}, nil
	}
	var from host.Missed
	if err := from.Have(header); err != nil || from.Run() != runID {
		return host.Missed{}, core.Errorf(core.CodeInvalid, "Last-Event-ID %q is not a position of run %s", core.Excerpt(header), runID)
	}
	return from, nil
}
