package httpapi

import (
	"net/http"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
)

// approval is a call that waits for a person or a client. A decision on the run names it by
// tool_call_id or suspension_id.
type approval struct {
	ThreadID string          `json:"thread_id"`
	RunID    core.ID         `json:"run_id"`
	AgentID  string          `json:"agent_id"`
	Title    string          `json:"thread_title,omitempty"` // title of the thread, or the start of its first input
	Asked    string          `json:"asked,omitempty"`        // start of the run's input, at most 200 bytes
	Parent   *core.RunParent `json:"parent,omitempty"`       // the run of another thread that started it
	core.Ticket
}

// approvals is a page of calls that wait for a decision.
type approvals struct {
	Approvals  []approval `json:"approvals"`
	HasMore    bool       `json:"has_more"`
	NextCursor *string    `json:"next_cursor"` // null: this is the last page
	Limit      int        `json:"limit"`       // the requested limit, clamped to 1 to 200; default 50
}

// getApprovals lists what waits for a person or a client, longest waiting first.
func (a *api) getApprovals(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	limit, cursor, values, err := filteredQuery(r.URL.RawQuery, "kind", "agent")
	if err != nil {
		return err
	}
	q := host.ApprovalQuery{Limit: limit, Kind: core.TicketKind(values.Get("kind")), Agent: values.Get("agent")}
	if q.After, err = placeOf(approvalsCursor, cursor); err != nil {
		return err
	}
	got, err := a.Host.Approvals(r.Context(), id, q)
	if err != nil {
		return err
	}
	page := approvals{Approvals: []approval{}, HasMore: got.Next != "", NextCursor: cursorOf(approvalsCursor, got.Next), Limit: shown(limit)} // [] and not null, for clients that iterate
	for _, waits := range got.Items {
		page.Approvals = append(page.Approvals, approval{waits.ThreadID, waits.RunID, waits.AgentID, waits.ThreadTitle, waits.Asked, waits.Parent, waits.Ticket})
	}
	protocol.JSON(w, http.StatusOK, page)
	return nil
}
