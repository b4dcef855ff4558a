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
	NextCursor *string    `json:"next_cursor"` // null: there is no more
	Limit      int        `json:"limit"`       // how many it has at most: the limit that was asked for, clamped to 1 to 200; 50 without
}

// getRuns lists runs of all threads that the caller may read, or of one of them.
func (a *api) getRuns(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	q, thread, err := runQuery(r.URL.RawQuery, "thread")
	if err != nil {
		return err
	}
	if thread != "" {
		return a.runsOf(w, r, id, thread, q)
	}
	got, err := a.Host.Runs(r.Context(), id, q)
	if err != nil {
		return err
	}
	answerRuns(w, got, q.Limit)
	return nil
}

func (a *api) getThreadRuns(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	thread, err := protocol.Thread(r)
	if err != nil {
		return err
	}
	q, _, err := runQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	return a.runsOf(w, r, id, thread, q)
}

func (a *api) runsOf(w http.ResponseWriter, r *http.Request, id core.Identity, thread string, q host.RunQuery) error {
	got, err := a.Host.ThreadRuns(r.Context(), id, thread, q)
	if err != nil {
		return protocol.Hide(err, "thread", thread)
	}
	answerRuns(w, got, q.Limit)
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
	got, err := a.Host.ThreadRuns(r.Context(), id, thread, host.RunQuery{Limit: 1})
	if err != nil {
		return protocol.Hide(err, "thread", thread)
	}
	if len(got.Runs) == 0 {
		return core.Errorf(core.CodeNotFound, "thread %s has no run", thread)
	}
	protocol.JSON(w, http.StatusOK, got.Runs[0])
	return nil
}

func answerRuns(w http.ResponseWriter, got host.RunPage, limit int) {
	list := runList{Runs: got.Runs, HasMore: got.Next != nil, Limit: shown(limit), NextCursor: encodeListed(runsCursor, got.Next)}
	if list.Runs == nil { // [] and not null, for clients that iterate
		list.Runs = []core.Run{}
	}
	protocol.JSON(w, http.StatusOK, list)
}

// runQuery reads the filters of a list of runs, and the thread where it may be one.
func runQuery(raw string, more ...string) (q host.RunQuery, thread string, err error) {
	limit, cursor, values, err := filteredQuery(raw, append([]string{"status", "agent", "termination"}, more...)...)
	if err != nil {
		return q, "", err
	}
	q = host.RunQuery{
		Limit: limit, Status: core.RunStatus(values.Get("status")), Agent: values.Get("agent"), Termination: core.TerminationType(values.Get("termination")),
	}
	if values.Has("thread") {
		thread = values.Get("thread")
		if err := core.CheckName("thread", thread); err != nil {
			return q, "", err
		}
	}
	q.Before, err = decodeListed(runsCursor, cursor)
	return q, thread, err
}
