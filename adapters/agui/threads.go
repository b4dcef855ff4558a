package agui

import (
	"net/http"
	"slices"

	"github.com/reveille-run/reveille/adapters/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/runtime"
)

// tail is how many of a thread's newest messages are searched for ones that the client
// sends again.
const tail = 200

// runsOfMessages returns the run that stored each of the thread's newest user messages.
func (a *asked) runsOfMessages() (map[string]core.ID, error) {
	runs := map[string]core.ID{}
	if a.info.ID == "" {
		return runs, nil
	}
	page, err := a.Runtime.Messages(a.r.Context(), a.id, a.thread, runtime.MessageQuery{Newest: true, Limit: tail})
	if err != nil {
		return nil, hide(err)
	}
	for _, m := range page.Messages {
		if m.IsInput() {
			runs[m.ID] = m.RunID
		}
	}
	return runs, nil
}

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
	Messages  []message `json:"messages"`
	Truncated bool      `json:"truncated,omitempty"` // there are messages before these
}

// messages returns the newest messages of a thread, whole runs of them.
func (h *handler) messages(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	thread, err := protocol.Thread(r)
	if err != nil {
		return err
	}
	page, err := h.Runtime.Messages(r.Context(), id, thread, runtime.MessageQuery{Newest: true})
	if err != nil {
		return protocol.Hide(err, "thread", thread)
	}
	protocol.JSON(w, http.StatusOK, history{convert(page.Messages), page.Earlier || page.Cut})
	return nil
}

func (h *handler) cancel(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	thread, err := protocol.Thread(r)
	if err != nil {
		return err
	}
	if _, err := h.Runtime.CancelThread(r.Context(), id, thread); err != nil {
		return protocol.Hide(err, "active run of thread", thread)
	}
	protocol.JSON(w, http.StatusAccepted, map[string]string{"status": "cancel_requested", "threadId": thread})
	return nil
}

// interrupt ends the thread's open run and what is queued behind it.
func (h *handler) interrupt(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	thread, err := protocol.Thread(r)
	if err != nil {
		return err
	}
	got, err := h.Runtime.InterruptThread(r.Context(), id, thread, "")
	if err != nil {
		return protocol.Hide(err, "active run of thread", thread)
	}
	protocol.JSON(w, http.StatusAccepted, struct {
		Status     string `json:"status"`
		ThreadID   string `json:"threadId"`
		Superseded int    `json:"supersededDispatches"`
	}{"interrupt_requested", thread, got.Superseded})
	return nil
}
