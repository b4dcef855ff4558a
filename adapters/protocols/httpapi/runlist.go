package httpapi

import (
	"net/http"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
)

// runList is a page of runs.
type runList struct {
	Runs       []core.Run `json:"runs"`
	HasMore    bool       `json:"has_more"`
	NextCursor *string    `json:"next_cursor"` // null: this is the last page
	Limit      int        `json:"limit"`       // the requested limit, clamped to 1 to 200; default 50
}

// getRuns lists runs of all threads that the caller may read, or of one of them.
func (a *api) getRuns(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	q, err := runQuery(r.URL.RawQuery, "thread")
	if err != nil {
		return err
	}
	return a.listRuns(w, r, id, q)
}

func (a *api) getThreadRuns(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	thread, err := protocol.Thread(r)
	if err != nil {
		return err
	}
	q, err := runQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	q.Thread = thread
	return a.listRuns(w, r, id, q)
}

func (a *api) listRuns(w http.ResponseWriter, r *http.Request, id core.Identity, q host.RunQuery) error {
	got, err := a.Host.Runs(r.Context(), id, q)
	if err != nil {
		return protocol.Hide(err, "thread", q.Thread)
	}
	list := runList{Runs: got.Items, HasMore: got.Next != "", Limit: shown(q.Limit), NextCursor: cursorOf(runsCursor, got.Next)}
	if list.Runs == nil { // [] and not null, for clients that iterate
		list.Runs = []core.Run{}
	}
	protocol.JSON(w, http.StatusOK, list)
	return nil
}

// latestRun is the newest run that was submitted on a thread.
func (a *api) latestRun(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	thread, err := protocol.Thread(r)
	if err != nil {
		return err
	}
	if _, err := query(r.URL.RawQuery); err != nil {
		return err
	}
	got, err := a.Host.Runs(r.Context(), id, host.RunQuery{Limit: 1, Thread: thread})
	if err != nil {
		return protocol.Hide(err, "thread", thread)
	}
	if len(got.Items) == 0 {
		return core.Errorf(core.CodeNotFound, "thread %s has no run", thread)
	}
	protocol.JSON(w, http.StatusOK, got.Items[0])
	return nil
}

// runQuery reads the filters of a list of runs; more is what else the route takes.
func runQuery(raw string, more ...string) (q host.RunQuery, err error) {
	limit, cursor, values, err := filteredQuery(raw, append([]string{"status", "agent", "termination"}, more...)...)
	if err != nil {
		return q, err
	}
	q = host.RunQuery{
		Limit: limit, Status: core.RunStatus(values.Get("status")), Agent: values.Get("agent"), Termination: core.TerminationType(values.Get("termination")),
	}
	if values.Has("thread") {
		q.Thread = values.Get("thread")
		if err := core.CheckName("thread", q.Thread); err != nil {
			return q, err
		}
	}
	q.After, err = placeOf(runsCursor, cursor)
	return q, err
}
