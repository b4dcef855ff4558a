package httpapi

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"

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
	return protocol.Hide(a.Queue(w, r, s, nil), "thread", s.Thread.Thread)
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

// messageQuery reads limit and cursor strictly: a misspelt cursor that was passed over
// would show the first page again, for ever.
func messageQuery(raw string) (runtime.MessageQuery, error) {
	var q runtime.MessageQuery
	values, err := url.ParseQuery(raw)
	if err != nil {
		return q, core.Errorf(core.CodeInvalid, "query: %v", err)
	}
	for name, given := range values {
		if name != "limit" && name != "cursor" {
			return q, core.Errorf(core.CodeInvalid, "query has the unknown parameter %q, allowed are limit, cursor", core.Excerpt(name))
		}
		if len(given) > 1 {
			return q, core.Errorf(core.CodeInvalid, "query has the parameter %q %d times", name, len(given))
		}
	}
	if values.Has("limit") {
		text := values.Get("limit")
		if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 1 || q.Limit > 200 {
			return q, core.Errorf(core.CodeInvalid, "limit %q is not a number from 1 to 200", core.Excerpt(text))
		}
	}
	if values.Has("cursor") {
		var ok bool
		if q.After, ok = decodeCursor(values.Get("cursor")); !ok {
			return q, core.Errorf(core.CodeInvalid, "cursor %q is not one that this route gave", core.Excerpt(values.Get("cursor")))
		}
	}
	return q, nil
}

// cursorKind keeps other cursors, and numbers made up by clients, out: what a cursor
// says may then change without a client that depends on it.
const cursorKind = "messages:"

func encodeCursor(after uint64) string {
	return base64.RawURLEncoding.EncodeToString([]byte(cursorKind + strconv.FormatUint(after, 10)))
}

func decodeCursor(cursor string) (uint64, bool) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return 0, false
	}
	number, ok := strings.CutPrefix(string(text), cursorKind)
	after, err := strconv.ParseUint(number, 10, 64)
	return after, ok && err == nil
}

// threadInfo is the wire form of a thread.
type threadInfo struct {
	ThreadID  string     `json:"thread_id"`
	Owner     string     `json:"owner,omitempty"`
	ActiveRun *activeRun `json:"active_run"` // null: none
	Queued    int        `json:"queued"`
	Messages  int        `json:"messages"`
}

type activeRun struct {
	RunID  core.ID        `json:"run_id"`
	Status core.RunStatus `json:"status"`
}

func (a *api) getThread(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	thread, err := protocol.Thread(r)
	if err != nil {
		return err
	}
	got, err := a.Runtime.Thread(r.Context(), id, thread)
	if err != nil {
		return protocol.Hide(err, "thread", thread)
	}
	info := threadInfo{ThreadID: got.ID, Owner: got.Owner, Queued: got.Queued, Messages: got.Messages}
	if !got.ActiveRun.IsZero() {
		info.ActiveRun = &activeRun{RunID: got.ActiveRun, Status: got.Status}
	}
	protocol.JSON(w, http.StatusOK, info)
	return nil
}

// cancelThread ends the thread's open run, or the first that is queued; see cancelRun.
func (a *api) cancelThread(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	thread, err := protocol.Thread(r)
	if err != nil {
		return err
	}
	if _, err := a.Runtime.CancelThread(r.Context(), id, thread); err != nil {
		return protocol.Hide(err, "active run of thread", thread)
	}
	protocol.JSON(w, http.StatusAccepted, map[string]string{"status": "cancel_requested", "thread_id": thread})
	return nil
}
