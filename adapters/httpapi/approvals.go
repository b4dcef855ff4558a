package httpapi

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/adapters/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/runtime"
)

// approval is the wire form of a call that waits for a person. What decides on it
// is a decision on the run, by tool_call_id or suspension_id.
type approval struct {
	ThreadID       string          `json:"thread_id"`
	RunID          core.ID         `json:"run_id"`
	AgentID        string          `json:"agent_id"`
	ToolCallID     string          `json:"tool_call_id"`
	ToolName       string          `json:"tool_name"`
	Arguments      json.RawMessage `json:"arguments"`
	SuspensionID   string          `json:"suspension_id"`
	Action         string          `json:"action"`
	Message        string          `json:"message,omitempty"`
	Parameters     json.RawMessage `json:"parameters,omitempty"`
	ResumeMode     core.ResumeMode `json:"resume_mode"`
	ResponseSchema json.RawMessage `json:"response_schema,omitempty"`
	CreatedAt      int64           `json:"created_at"`           // unix milliseconds
	ExpiresAt      int64           `json:"expires_at,omitempty"` // unix milliseconds; absent: never
}

// approvals is the wire form of a page of them.
type approvals struct {
	Approvals  []approval `json:"approvals"`
	HasMore    bool       `json:"has_more"`
	NextCursor *string    `json:"next_cursor"` // null: there is no more
}

// getApprovals lists what waits for a person, longest waiting first.
func (a *api) getApprovals(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	limit, cursor, err := pageQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	q := runtime.ApprovalQuery{Limit: limit}
	if cursor != nil {
		if q.After, err = approvalCursor(*cursor); err != nil {
			return err
		}
	}
	got, err := a.Runtime.Approvals(r.Context(), id, q)
	if err != nil {
		return err
	}
	page := approvals{Approvals: []approval{}, HasMore: got.Next != nil} // [] and not null, for clients that iterate
	for _, waits := range got.Approvals {
		t := waits.Ticket
		page.Approvals = append(page.Approvals, approval{
			ThreadID: waits.ThreadID, RunID: waits.RunID, AgentID: waits.AgentID,
			ToolCallID: t.Call.ID, ToolName: t.Call.Name, Arguments: t.Call.Arguments,
			SuspensionID: t.Suspension.ID, Action: t.Suspension.Action, Message: t.Suspension.Message, Parameters: t.Suspension.Parameters,
			ResumeMode: t.Mode, ResponseSchema: t.Suspension.ResponseSchema, CreatedAt: t.At, ExpiresAt: t.Deadline,
		})
	}
	if page.HasMore {
		next := encodePlace(approvalsCursor, strconv.FormatInt(got.Next.Since, 10)+":"+got.Next.Thread)
		page.NextCursor = &next
	}
	protocol.JSON(w, http.StatusOK, page)
	return nil
}

func approvalCursor(cursor string) (*runtime.ApprovalCursor, error) {
	place, ok := decodeCursor(approvalsCursor, cursor)
	digits, thread, found := strings.Cut(place, ":")
	since, err := strconv.ParseInt(digits, 10, 64)
	if !ok || !found || err != nil || core.CheckName("thread", thread) != nil {
		return nil, badCursor(cursor)
	}
	return &runtime.ApprovalCursor{Since: since, Thread: thread}, nil
}
