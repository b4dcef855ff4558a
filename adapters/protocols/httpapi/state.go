package httpapi

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
)

// threadState is the wire form of a thread's state.
type threadState struct {
	ThreadID string          `json:"thread_id"`
	Revision uint64          `json:"revision"`
	RunID    core.ID         `json:"run_id,omitzero"` // the run of the values under run
	State    json.RawMessage `json:"state"`           // an object {"thread": {KEY: VALUE}, "run": {KEY: VALUE}}
}

// statePatch is the change of the state by one record.
type statePatch struct {
	Revision uint64          `json:"revision"` // revision of the state after the patch
	RunID    core.ID         `json:"run_id"`
	Step     int             `json:"step,omitempty"`
	At       int64           `json:"at,omitempty"`      // Unix milliseconds
	NewRun   bool            `json:"new_run,omitempty"` // a new run started: clear the values under run before the patch
	Reverts  bool            `json:"reverts,omitempty"` // the patch reverts changes of superseded messages
	Patch    json.RawMessage `json:"patch"`             // JSON Patch (RFC 6902)
}

// statePatches is a page of changes of the state, oldest first.
type statePatches struct {
	ThreadID   string       `json:"thread_id"`
	Patches    []statePatch `json:"patches"`
	HasMore    bool         `json:"has_more"`
	NextCursor *string      `json:"next_cursor"` // null: this is the last page
	Limit      int          `json:"limit"`       // the requested limit, clamped to 1 to 200; default 50
}

func (a *api) getState(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	thread, err := protocol.Thread(r)
	if err != nil {
		return err
	}
	values, err := query(r.URL.RawQuery, "revision")
	if err != nil {
		return err
	}
	var at *uint64
	if values.Has("revision") {
		n, err := revision("revision", values.Get("revision"))
		if err != nil {
			return err
		}
		at = &n
	}
	got, err := a.Host.State(r.Context(), id, thread, at)
	if err != nil {
		if at != nil { // what is not there may be the revision
			return err
		}
		return protocol.Hide(err, "thread", thread)
	}
	protocol.JSON(w, http.StatusOK, threadState{ThreadID: thread, Revision: got.Revision, RunID: got.Run, State: got.Document})
	return nil
}

func (a *api) getStatePatches(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	thread, err := protocol.Thread(r)
	if err != nil {
		return err
	}
	limit, cursor, values, err := filteredQuery(r.URL.RawQuery, "since")
	if err != nil {
		return err
	}
	q := host.StateQuery{Limit: limit}
	switch {
	case cursor != nil && values.Has("since"):
		return core.Errorf(core.CodeInvalid, "query has both cursor and since, at most one is allowed")
	case cursor != nil:
		if q.After, err = placeOf(patchesCursor, cursor); err != nil {
			return err
		}
	case values.Has("since"):
		if q.Since, err = revision("since", values.Get("since")); err != nil {
			return err
		}
	}
	got, err := a.Host.StatePatches(r.Context(), id, thread, q)
	if err != nil {
		if q.Since > 0 {
			return err
		}
		return protocol.Hide(err, "thread", thread)
	}
	page := statePatches{ThreadID: thread, Patches: []statePatch{}, HasMore: got.Next != "", NextCursor: cursorOf(patchesCursor, got.Next), Limit: shown(limit)}
	for _, c := range got.Items {
		page.Patches = append(page.Patches, statePatch{Revision: c.Revision, RunID: c.Run, Step: c.Step, At: c.At, NewRun: c.NewRun, Reverts: c.Reverts, Patch: c.Patch})
	}
	protocol.JSON(w, http.StatusOK, page)
	return nil
}

// maxRevision is the largest that JSON's numbers hold in every client.
const maxRevision = 1<<53 - 1

func revision(name, text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > maxRevision {
		return 0, core.Errorf(core.CodeInvalid, "%s %q is not a number from 0 to %d", name, core.Excerpt(text), uint64(maxRevision))
	}
	return n, nil
}
