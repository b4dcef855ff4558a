package aisdk

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
)

// A run shows as one assistant message, whose id is the run's. When a person says
// something new instead of deciding, the same run goes on, and what follows is a
// message of its own, since it stands behind the person's. Its id is the run's and
// the step with which it begins. Input that is steered to a run that goes on anyway
// ends no message: the stream that shows it does not end there either.

// shown is how many steps of a run the assistant messages before a response show.
type shown struct {
	Run   core.ID
	Steps int
}

// messageID is the id of the message that shows a run behind so many steps.
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

// shownBefore looks for the run that new input goes on with: one that waits, or
// did when the same request came before. A history in which nothing waits is not
// worth the look, which reads the thread's head.
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

// unlessNotFound passes over that something does not exist: what follows says so
// where it matters.
func unlessNotFound(err error) error {
	if core.CodeOf(err) == core.CodeNotFound {
		return nil
	}
	return err
}

// ends reports whether a message ends the assistant message of its run, if input follows:
// it is the result of a call that waited for somebody, who decided about it and went on,
// or went on without deciding, as a cancelled call says.
func ends(m core.Message) bool {
	return m.ToolResult != nil && (m.Decided || m.ToolResult.Status == core.ResultCancelled)
}

// messagePage is the largest page that the runtime gives.
const messagePage = 200

// shownOf looks through the active run's messages for the newest input that took
// the place of decisions: only what comes behind it belongs to the response that
// is replayed.
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
