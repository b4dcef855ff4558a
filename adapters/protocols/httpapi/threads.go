package httpapi

import (
	"encoding/json"
	"net/http"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

// threadInfo is the wire form of a thread.
type threadInfo struct {
	ThreadID     string          `json:"thread_id"`
	Title        string          `json:"title,omitempty"`
	Owner        string          `json:"owner,omitempty"`
	Parent       string          `json:"parent_thread_id,omitempty"` // the thread whose tool call started the last run
	AgentID      string          `json:"agent_id,omitempty"`         // the agent of the last run that ended or waits, or else of the first input
	ActiveRun    *activeRun      `json:"active_run"`                 // null: no run is open
	Queued       int             `json:"queued"`
	Delayed      int             `json:"delayed,omitempty"` // number of delayed runs that have not opened
	Messages     int             `json:"messages"`
	CreatedAt    int64           `json:"created_at,omitempty"`    // Unix milliseconds
	LastActivity int64           `json:"last_activity,omitempty"` // Unix milliseconds of the creation, or of the last time that a run ended or started to wait
	Metadata     json.RawMessage `json:"metadata,omitempty"`      // an object
}

// threadSummary is a thread in a list of summaries.
type threadSummary struct {
	threadInfo
	FirstAsked string        `json:"first_asked,omitempty"` // start of the first input, at most 200 bytes
	Asked      string        `json:"asked,omitempty"`       // start of the last run's input, or of the first input; at most 200 characters
	Excerpt    string        `json:"excerpt,omitempty"`     // start of the last run's response; at most 200 characters
	LastRun    *core.LastRun `json:"last_run"`              // null: no run has ended or waits
}

type activeRun struct {
	RunID  core.ID        `json:"run_id"`
	Status core.RunStatus `json:"status"`
}

func infoOf(t host.Thread) threadInfo {
	info := threadInfo{
		ThreadID: t.ID, Title: t.Title, Owner: t.Owner, Parent: t.Parent, AgentID: t.AgentID, Queued: t.Queued, Delayed: t.Delayed, Messages: t.Messages,
		CreatedAt: t.Created, LastActivity: t.Activity, Metadata: t.Metadata,
	}
	if !t.ActiveRun.IsZero() {
		info.ActiveRun = &activeRun{RunID: t.ActiveRun, Status: t.Status}
	}
	return info
}

// threadList is a page of threads.
type threadList struct {
	Threads    []threadInfo `json:"threads"`
	HasMore    bool         `json:"has_more"`
	NextCursor *string      `json:"next_cursor"` // null: this is the last page
	Limit      int          `json:"limit"`       // the requested limit, clamped to 1 to 200; default 50
}

// threadSummaries is a page of summaries of threads.
type threadSummaries struct {
	Threads    []threadSummary `json:"threads"`
	HasMore    bool            `json:"has_more"`
	NextCursor *string         `json:"next_cursor"` // null: this is the last page
	Limit      int             `json:"limit"`       // the requested limit, clamped to 1 to 200; default 50
}

// getThreads lists threads without the additional fields of summaries.
func (a *api) getThreads(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	got, limit, err := a.threads(r, id)
	if err != nil {
		return err
	}
	list := threadList{Threads: []threadInfo{}, HasMore: got.Next != "", Limit: limit, NextCursor: cursorOf(threadsCursor, got.Next)}
	for _, t := range got.Items {
		info := infoOf(t)
		info.Metadata = nil
		list.Threads = append(list.Threads, info)
	}
	protocol.JSON(w, http.StatusOK, list)
	return nil
}

func (a *api) getSummaries(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	got, limit, err := a.threads(r, id)
	if err != nil {
		return err
	}
	list := threadSummaries{Threads: []threadSummary{}, HasMore: got.Next != "", Limit: limit, NextCursor: cursorOf(threadsCursor, got.Next)}
	for _, t := range got.Items {
		list.Threads = append(list.Threads, threadSummary{threadInfo: infoOf(t), FirstAsked: t.FirstAsked, Asked: t.Asked, Excerpt: t.Excerpt, LastRun: t.Last})
	}
	protocol.JSON(w, http.StatusOK, list)
	return nil
}

// threads reads a page of threads, and the most that it may have.
func (a *api) threads(r *http.Request, id core.Identity) (page host.Page[host.Thread], most int, err error) {
	limit, cursor, values, err := filteredQuery(r.URL.RawQuery, "q", "agent", "parent")
	if err != nil {
		return page, 0, err
	}
	q := host.ThreadQuery{Limit: limit, Text: values.Get("q"), Agent: values.Get("agent"), Parent: values.Get("parent")}
	if values.Has("parent") {
		if err := core.CheckName("parent", q.Parent); err != nil {
			return page, 0, err
		}
	}
	if q.After, err = placeOf(threadsCursor, cursor); err != nil {
		return page, 0, err
	}
	page, err = a.Host.Threads(r.Context(), id, q)
	return page, shown(limit), protocol.Hide(err, "thread", q.Parent)
}

func (a *api) getThread(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	thread, err := protocol.Thread(r)
	if err != nil {
		return err
	}
	got, err := a.Host.Thread(r.Context(), id, thread)
	if err != nil {
		return protocol.Hide(err, "thread", thread)
	}
	protocol.JSON(w, http.StatusOK, infoOf(got))
	return nil
}

// postThread makes a thread without messages. A message to a thread that does not exist
// makes it as well: this route is for a title, or for an id before the first message.
func (a *api) postThread(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	var b making
	if err := decodeOptional(r, &b); err != nil {
		return err
	}
	m := host.NewThread{ID: string(b.ThreadID), Title: given(b.Title.text), Metadata: json.RawMessage(b.Metadata)}
	key, err := protocol.IdempotencyKey(r)
	if err != nil {
		return err
	}
	if key != "" {
		m.Key = "http:" + key
	}
	if m.ID == "" {
		m.ID = a.NewThread(id, key)
	}
	if err := core.CheckName("thread id", m.ID); err != nil {
		return err
	}
	got, err := a.Host.CreateThread(r.Context(), id, m)
	if err != nil {
		return protocol.Hide(err, "thread", m.ID)
	}
	protocol.JSON(w, http.StatusCreated, infoOf(got))
	return nil
}

// patchThread changes the description of a thread.
func (a *api) patchThread(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	thread, err := protocol.Thread(r)
	if err != nil {
		return err
	}
	var b described
	if err := decode(r, &b); err != nil {
		return err
	}
	c := host.ThreadChange{Title: b.Title.text, Metadata: json.RawMessage(b.Metadata)}
	if c.Title == nil && c.Metadata == nil {
		return core.Errorf(core.CodeInvalid, "body changes nothing, at least one of title and metadata is required")
	}
	got, err := a.Host.UpdateThread(r.Context(), id, thread, c)
	if err != nil {
		return protocol.Hide(err, "thread", thread)
	}
	protocol.JSON(w, http.StatusOK, infoOf(got))
	return nil
}

// deleteThread returns when the thread is a tombstone. Its contents are erased later.
func (a *api) deleteThread(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	thread, err := protocol.Thread(r)
	if err != nil {
		return err
	}
	if err := noBody(r); err != nil {
		return err
	}
	values, err := query(r.URL.RawQuery, "child_strategy")
	if err != nil {
		return err
	}
	if err := a.Host.DeleteThread(r.Context(), id, thread, mailbox.Children(values.Get("child_strategy"))); err != nil {
		return protocol.Hide(err, "thread", thread)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
