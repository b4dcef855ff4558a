package httpapi

import (
	"net/http"
	"strconv"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
)

// page is the wire form of a page of messages.
type page struct {
	Messages   []core.Message `json:"messages"`
	Total      int            `json:"total"`
	HasMore    bool           `json:"has_more"`
	NextCursor *string        `json:"next_cursor"` // null: this is the last page
	Limit      int            `json:"limit"`       // the requested limit, clamped to 1 to 200; default 50
}

// postMessages queues input. It never streams, even if the client accepts streams: the
// 202 confirms that the input is durable, and names the run that will read it.
func (a *api) postMessages(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	var b submission
	if err := decode(r, &b); err != nil {
		return err
	}
	s, err := a.submission(r, id, &b.submitted, r.PathValue("thread"))
	if err != nil {
		return err
	}
	return unknown(a.Queue(w, r, s, nil), s)
}

func (a *api) getMessages(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	thread, err := protocol.Thread(r)
	if err != nil {
		return err
	}
	q, err := messageQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	got, err := a.Host.Messages(r.Context(), id, thread, q)
	if err != nil && !q.Run.IsZero() {
		return protocol.Hide(err, "run", q.Run.String(), "of thread", thread)
	}
	if err != nil {
		return protocol.Hide(err, "thread", thread)
	}
	p := page{Messages: got.Messages, Total: got.Total, HasMore: got.Next != 0, Limit: shown(q.Limit)}
	if p.Messages == nil { // [] and not null, for clients that iterate
		p.Messages = []core.Message{}
	}
	if p.HasMore {
		cursor := encodePlace(messagesOf(q), strconv.FormatUint(got.Next, 10))
		p.NextCursor = &cursor
	}
	protocol.JSON(w, http.StatusOK, p)
	return nil
}

func messageQuery(raw string) (q host.MessageQuery, err error) {
	limit, cursor, values, err := filteredQuery(raw, "order", "run", "visibility")
	if err != nil {
		return q, err
	}
	q.Limit = limit
	switch order := values.Get("order"); order {
	case "", "asc":
	case "desc":
		q.Descending = true
	default:
		return q, core.Errorf(core.CodeInvalid, "order %q is unknown, allowed are asc, desc", core.Excerpt(order))
	}
	switch visibility := values.Get("visibility"); visibility {
	case "", "external", "all": // all that is stored is external
	default:
		return q, core.Errorf(core.CodeInvalid, "visibility %q is unknown, allowed are external, all", core.Excerpt(visibility))
	}
	if values.Has("run") {
		if q.Run, err = core.ParseID(values.Get("run")); err != nil {
			return q, core.Errorf(core.CodeNotFound, "run %s not found", core.Excerpt(values.Get("run")))
		}
	}
	if cursor != nil {
		text, ok := decodeCursor(messagesOf(q), *cursor)
		at, err := strconv.ParseUint(text, 10, 64)
		switch {
		case !ok || err != nil:
			return q, badCursor(*cursor)
		case q.Descending:
			q.Before = at
		default:
			q.After = at
		}
	}
	return q, nil
}

// messagesOf is the start of the cursors of a query: a cursor of another order or run
// does not belong to it.
func messagesOf(q host.MessageQuery) string {
	kind := messagesCursor
	if q.Descending {
		kind += "desc:"
	}
	if !q.Run.IsZero() {
		kind += q.Run.String() + ":"
	}
	return kind
}
