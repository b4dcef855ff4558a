package aisdk

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
)

// A run shows as one assistant message, whose id is the run's. When a user sends a new
// message instead of deciding, the same run continues, and the rest is a separate
// message, since it follows the user's. Its id consists of the run and the step with
// which it starts. Input that is steered to a running run ends no message: the stream
// that shows it does not end there either.

// shown is how many steps of a run the assistant messages before a response show.
type shown struct {
	Run   core.ID
	Steps int
}

// messageID is the id of the message that shows a run after so many steps.
func messageID(run core.ID, steps int) string {
	if steps == 0 {
		return run.String()
	}
	return run.String() + "." + strconv.Itoa(steps+1)
}

// runOf reads the run from the id of an assistant message.
func runOf(message string) (core.ID, bool) {
	text, step, later := strings.Cut(message, ".")
	if _, err := strconv.ParseUint(step, 10, 32); later && err != nil {
		return core.ID{}, false
	}
	run, err := core.ParseID(text)
	return run, err == nil
}

// mayWait reports whether a call may wait as far as the request shows: one of its
// history does, or there is no history, since the client sends its newest messages
// alone.
func (r request) mayWait() bool {
	if m, ok := r.before(); ok { // what the client settled may have been decided by the same request before
		if said, err := readAnswers(m, lasting{}); err != nil || len(said) > 0 {
			return true
		}
	}
	if r.skipped > 0 { // one of those messages may show it
		return true
	}
	alone := true
	for _, m := range r.Messages {
		alone = alone && m.Role != string(core.RoleAssistant)
		for _, p := range m.Parts {
			switch {
			case !p.tool():
			case p.State == "approval-requested", p.State == "approval-responded", p.State == "input-available":
				return true
			}
		}
	}
	return alone
}

// shownBefore looks for the run that new input resumes: a run that waits, or did when the
// same request came before. It skips the read of the thread's head if nothing waits in
// the history.
func (h *handler) shownBefore(r *http.Request, id core.Identity, thread string, req request) (shown shown, err error) {
	if !req.mayWait() {
		return shown, nil
	}
	info, err := h.Host.Thread(r.Context(), id, thread)
	switch {
	case err != nil:
	case info.Status == core.RunRunning:
		shown, err = h.shownOf(r, id, thread, info.ActiveRun)
	case info.Status == core.RunWaiting:
		shown.Run = info.ActiveRun
		var record core.Run
		record, err = h.Host.ReadRun(r.Context(), id, info.ActiveRun)
		shown.Steps = record.Steps
	}
	return shown, unlessNotFound(err)
}

// unlessNotFound ignores the error of an object that does not exist: later code reports
// it if it matters.
func unlessNotFound(err error) error {
	if core.CodeOf(err) == core.CodeNotFound {
		return nil
	}
	return err
}

// ends reports whether a message ends the assistant message of its run, if input follows:
// it is the result of a call that waited for a decision, or the result of a call that was
// cancelled by new input.
func ends(m core.Message) bool {
	return m.ToolResult != nil && (m.Decided || m.ToolResult.Status == core.ResultCancelled)
}

// messagePage is the largest page that the runtime gives.
const messagePage = 200

// shownOf searches the active run's messages for the newest input that superseded
// decisions: only messages after it belong to the replayed response.
func (h *handler) shownOf(r *http.Request, id core.Identity, thread string, run core.ID) (shown, error) {
	shown := shown{Run: run}
	record, err := h.Host.ReadRun(r.Context(), id, run)
	if err != nil || record.FirstSeq == 0 {
		return shown, err
	}
	last, over := 0, false
	q := host.MessageQuery{After: record.FirstSeq - 1, Limit: messagePage}
	for {
		page, err := h.Host.Messages(r.Context(), id, thread, q)
		if err != nil {
			return shown, err
		}
		for _, m := range page.Messages {
			switch {
			case m.RunID != run:
			case m.Role == core.RoleAssistant:
				last, over = m.Step, false
			case m.Role == core.RoleUser && over:
				shown.Steps = last
			default:
				over = over || ends(m)
			}
		}
		if page.Next == 0 {
			return shown, nil
		}
		q.After = page.Next
	}
}
