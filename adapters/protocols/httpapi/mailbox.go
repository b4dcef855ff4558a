package httpapi

import (
	"net/http"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// listing is the wire form of a page of a thread's mailbox.
type listing struct {
	Epoch      uint64          `json:"epoch"`
	Items      []core.Dispatch `json:"items"`
	HasMore    bool            `json:"has_more"`
	NextCursor *string         `json:"next_cursor"` // null: this is the last page
	Limit      int             `json:"limit"`       // the requested limit, clamped to 1 to 200; default 50
}

func (a *api) getMailbox(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	thread, err := protocol.Thread(r)
	if err != nil {
		return err
	}
	limit, cursor, values, err := filteredQuery(r.URL.RawQuery, "status")
	if err != nil {
		return err
	}
	q := mailbox.ListQuery{Limit: limit, Status: core.DispatchStatus(values.Get("status"))}
	if q.After, err = placeOf(mailboxCursor, cursor); err != nil {
		return err
	}
	got, err := a.Host.Mailbox(r.Context(), id, thread, q)
	if err != nil {
		return protocol.Hide(err, "thread", thread)
	}
	l := listing{Epoch: got.Epoch, Items: got.Dispatches, HasMore: got.Next != "", NextCursor: cursorOf(mailboxCursor, got.Next), Limit: shown(limit)}
	if l.Items == nil { // [] and not null, for clients that iterate
		l.Items = []core.Dispatch{}
	}
	protocol.JSON(w, http.StatusOK, l)
	return nil
}

// pushed is the body of a 201 for a payload that was pushed.
type pushed struct {
	DispatchID core.ID `json:"dispatch_id"`
	RunID      core.ID `json:"run_id"`
	ThreadID   string  `json:"thread_id"`
}

// postMailbox queues input that does not come from a conversation: any JSON, for programs
// that have an event and no message. If it is an object with a text, the user's message
// is that text, otherwise it is the JSON itself.
func (a *api) postMailbox(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	thread, err := protocol.Thread(r)
	if err != nil {
		return err
	}
	var b payload
	if err := decode(r, &b); err != nil {
		return err
	}
	s := mailbox.Submission{Thread: core.ThreadKey{Thread: thread}, Messages: []core.Message{core.UserMessage(b.Payload.said())}}
	s.Opening.AgentID = b.AgentID
	b.queue(&s)
	if err := setKey(r, &s); err != nil {
		return err
	}
	if err := a.Complete(&s, id); err != nil {
		return err
	}
	got, err := a.Host.Submit(r.Context(), s)
	if err != nil {
		return protocol.Hide(err, "thread", thread)
	}
	protocol.JSON(w, http.StatusCreated, pushed{DispatchID: got.DispatchID, RunID: got.RunID, ThreadID: got.ThreadID})
	return nil
}

// patchInput replaces input that no step has read, queued or in an inbox.
func (a *api) patchInput(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	thread, input, err := inputOf(r)
	if err != nil {
		return err
	}
	var b edit
	if err := decode(r, &b); err != nil {
		return err
	}
	if err := a.Host.EditInput(r.Context(), id, thread, input, messages(b.Messages)); err != nil {
		return protocol.Hide(err, "unread input", input.String(), "of thread", thread)
	}
	protocol.JSON(w, http.StatusOK, edited{DispatchID: input, Status: "edited", ThreadID: thread})
	return nil
}

// deleteInput takes input back that no step has read: a queued run is cancelled.
func (a *api) deleteInput(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	thread, input, err := inputOf(r)
	if err != nil {
		return err
	}
	if err := noBody(r); err != nil {
		return err
	}
	if err := a.Host.RetractInput(r.Context(), id, thread, input); err != nil {
		return protocol.Hide(err, "unread input", input.String(), "of thread", thread)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// inputOf returns the thread and the input that the path names. A malformed id is treated
// as the id of no dispatch.
func inputOf(r *http.Request) (thread string, input core.ID, err error) {
	if thread, err = protocol.Thread(r); err != nil {
		return "", input, err
	}
	if input, err = core.ParseID(r.PathValue("input")); err != nil {
		err = core.Errorf(core.CodeNotFound, "unread input %s of thread %s not found", core.Excerpt(r.PathValue("input")), thread)
	}
	return thread, input, err
}
