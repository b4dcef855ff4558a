package httpapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
)

// approval is the wire form of a call that waits for a person or a client. What decides on it
// is a decision on the run, by tool_call_id or suspension_id.
type approval struct {
	ThreadID string  `json:"thread_id"`
	RunID    core.ID `json:"run_id"`
	AgentID  string  `json:"agent_id"`
	core.Ticket
}

// approvals is the wire form of a page of them.
type approvals struct {
	Approvals  []approval `json:"approvals"`
	HasMore    bool       `json:"has_more"`
	NextCursor *string    `json:"next_cursor"` // null: there is no more
	Limit      int        `json:"limit"`       // how many it has at most: the limit that was asked for, clamped to 1 to 200; 50 without
}

// getApprovals lists what waits for a person or a client, longest waiting first.
func (a *api) getApprovals(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	limit, cursor, err := pageQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	q := host.ApprovalQuery{Limit: limit}
	if cursor != nil {
		if q.After, err = approvalCursor(*cursor); err != nil {
			return err
		}
	}
	got, err := a.Host.Approvals(r.Context(), id, q)
	if err != nil {
		return err
	}
	page := approvals{Approvals: []approval{}, HasMore: got.Next != nil, Limit: shown(limit)} // [] and not null, for clients that iterate
	for _, waits := range got.Approvals {
		page.Approvals = append(page.Approvals, approval{waits.ThreadID, waits.RunID, waits.AgentID, waits.Ticket})
	}
	if page.HasMore {
		next := encodePlace(approvalsCursor, strconv.FormatInt(got.Next.Since, 10)+":"+got.Next.Thread)
		page.NextCursor = &next
	}
	protocol.JSON(w, http.StatusOK, page)
	return nil
}

func approvalCursor(cursor string) (*host.ApprovalCursor, error) {
	place, ok := decodeCursor(approvalsCursor, cursor)
	digits, thread, found := strings.Cut(place, ":")
	since, err := strconv.ParseInt(digits, 10, 64)
	if !ok || !found || err != nil || core.CheckName("thread", thread) != nil {
		return nil, badCursor(cursor)
	}
	return &host.ApprovalCursor{Since: since, Thread: thread}, nil
}
