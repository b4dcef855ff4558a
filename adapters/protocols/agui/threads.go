package agui

import (
	"net/http"
	"slices"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

// unknown drops from several new messages those that the thread has already, as a client
// whose first response never began sends them again; but not those of the run that the
// same request began before.
func unknown(input []core.Message, runs map[string]core.ID, run core.ID) []core.Message {
	return slices.DeleteFunc(slices.Clone(input), func(m core.Message) bool {
		of, known := runs[m.ID]
		return known && m.ID != "" && (run.IsZero() || of != run)
	})
}

// history is a thread's messages as the client keeps them: the newest, as many as a
// response may hold.
type history struct {
	Messages []message `json:"messages"`
	extras
	Truncated bool `json:"truncated,omitempty"` // there are messages before these
}

// messages returns the newest messages of a thread, whole runs of them.
func (h *handler) messages(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	thread, err := protocol.Thread(r)
	if err != nil {
		return err
	}
	page, err := h.Host.Messages(r.Context(), id, thread, host.MessageQuery{Newest: true})
	if err != nil {
		return protocol.Hide(err, "thread", thread)
	}
	protocol.JSON(w, http.StatusOK, history{convert(page.Messages), extrasOf(page.Messages), page.Earlier || page.Cut})
	return nil
}

// cancelledBody is the body of a 202 for a cancel.
func cancelledBody(thread string) any {
	return map[string]string{"status": "cancel_requested", "threadId": thread}
}

// interruptedBody is the body of a 202 for an interrupt.
func interruptedBody(thread string, ended mailbox.Receipt) any {
	return struct {
		Status     string `json:"status"`
		ThreadID   string `json:"threadId"`
		Superseded int    `json:"supersededDispatches"`
	}{"interrupt_requested", thread, ended.Superseded}
}
