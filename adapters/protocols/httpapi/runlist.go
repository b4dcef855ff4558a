package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

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
	filters := []string{"status", "agent", "termination", "q", "since", "until", "origin", "parent", "min_ms", "min_cost"}
	limit, cursor, values, err := filteredQuery(raw, append(filters, more...)...)
	if err != nil {
		return q, err
	}
	q = host.RunQuery{
		Limit: limit, Status: core.RunStatus(values.Get("status")), Agent: values.Get("agent"), Termination: core.TerminationType(values.Get("termination")),
		Text: values.Get("q"),
	}
	if values.Has("thread") {
		q.Thread = values.Get("thread")
		if err := core.CheckName("thread", q.Thread); err != nil {
			return q, err
		}
	}
	for name, to := range map[string]*int64{"since": &q.Since, "until": &q.Until, "min_ms": &q.MinMillis} {
		if *to, err = millis(values, name); err != nil {
			return q, err
		}
	}
	if err := origin(values, &q); err != nil {
		return q, err
	}
	if values.Has("parent") {
		if q.Parent, err = core.ParseID(values.Get("parent")); err != nil {
			return q, fmt.Errorf("parent: %w", err)
		}
	}
	if cost := values.Get("min_cost"); values.Has("min_cost") {
		if err := q.MinCost.UnmarshalJSON([]byte(cost)); err != nil || cost == "null" {
			return q, core.Errorf(core.CodeInvalid, "min_cost %q is not an amount of dollars: want digits, at most nine after a point, such as 0.25", core.Excerpt(cost))
		}
	}
	q.After, err = placeOf(runsCursor, cursor)
	return q, err
}

// origin reads whose runs are asked for.
func origin(values url.Values, q *host.RunQuery) error {
	if !values.Has("origin") {
		return nil
	}
	var one core.Origin
	switch given := values.Get("origin"); given {
	case "user":
		one = core.OriginUser
	case "internal":
		one = core.OriginInternal
	default:
		return core.Errorf(core.CodeInvalid, "origin %q is unknown, allowed are user and internal", core.Excerpt(given))
	}
	q.Origin = &one
	return nil
}

// maxMillis is the largest time and duration: what a JavaScript number holds exactly.
const maxMillis = 1<<53 - 1

// millis reads a time or a duration in milliseconds; 0 without one.
func millis(values url.Values, name string) (int64, error) {
	if !values.Has(name) {
		return 0, nil
	}
	n, err := strconv.ParseInt(values.Get(name), 10, 64)
	if err != nil || n < 0 || n > maxMillis {
		return 0, core.Errorf(core.CodeInvalid, "%s %q is not a number of milliseconds: want 0 to %d", name, core.Excerpt(values.Get(name)), int64(maxMillis))
	}
	return n, nil
}
