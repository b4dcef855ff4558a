package httpapi

import (
	"net/http"
	"strconv"

	"github.com/reveille-run/reveille/adapters/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/runtime"
)

// postMessages queues input. It never streams, whatever the client accepts: the 202
// says that the input is durable, and which run will read it.
func (a *api) postMessages(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	s, err := a.submission(r, id)
	if err != nil {
		return err
	}
	return unknown(a.Queue(w, r, s, nil), s)
}

// page is the wire form of a page of messages.
type page struct {
	Messages   []core.Message `json:"messages"`
	Total      int            `json:"total"`
	HasMore    bool           `json:"has_more"`
	NextCursor *string        `json:"next_cursor"` // null: there is no more
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
	got, err := a.Runtime.Messages(r.Context(), id, thread, q)
	if err != nil {
		return protocol.Hide(err, "thread", thread)
	}
	p := page{Messages: got.Messages, Total: got.Total, HasMore: got.Next != 0}
	if p.Messages == nil { // [] and not null, for clients that iterate
		p.Messages = []core.Message{}
	}
	if p.HasMore {
		cursor := encodeCursor(got.Next)
		p.NextCursor = &cursor
	}
	protocol.JSON(w, http.StatusOK, p)
	return nil
}

func messageQuery(raw string) (q runtime.MessageQuery, err error) {
	limit, cursor, err := pageQuery(raw)
	if err != nil {
		return q, err
	}
	q.Limit = limit
	if cursor != nil {
		after, ok := decodeCursor(messagesCursor, *cursor)
		q.After, err = strconv.ParseUint(after, 10, 64)
		if !ok || err != nil {
			return q, badCursor(*cursor)
		}
	}
	return q, nil
}

func encodeCursor(after uint64) string {
	return encodePlace(messagesCursor, strconv.FormatUint(after, 10))
}

// cancelThread ends the thread's open run, or the first that is queued; see cancelRun.
func (a *api) cancelThread(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	thread, err := protocol.Thread(r)
	if err != nil {
		return err
	}
	if err := noBody(r); err != nil {
		return err
	}
	if _, err := a.Runtime.CancelThread(r.Context(), id, thread); err != nil {
		return protocol.Hide(err, "active run of thread", thread)
	}
	protocol.JSON(w, http.StatusAccepted, threadCancelled{Status: "cancel_requested", ThreadID: thread})
	return nil
}
