package aisdk

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

// answer is a tool part that a client has changed: a decision on its call.
type answer struct {
	mailbox.Deciding
	at       string // of the part, for errors
	approval bool   // it decides on a request for approval; otherwise it is the output of a call
	// old reports that no ticket waits for the answer. It is a repeated decision, or not
	// a decision: results of the server's own tools come back in the same states.
	old bool
}

// readAnswers reads the decisions of an assistant message. Only the last step can wait:
// every earlier step has ended with all its calls. Only as many answers as a turn can
// have calls are read, however many a client sends: each of them would be looked up in
// the store.
func readAnswers(m uiMessage, otherwise lasting) (all []answer, err error) {
	first := 0
	for i, p := range m.Parts {
		if p.Type == "step-start" {
			first = i + 1
		}
	}
	for _, p := range m.Parts[first:] {
		if !p.tool() {
			continue
		}
		a := answer{at: p.ToolCallID}
		switch p.State {
		case "approval-responded":
			if p.ToolPart == nil || p.Approval == nil || p.Approval.ID == "" || p.Approval.Approved == nil {
				return nil, core.Errorf(core.CodeInvalid, "tool part %q: approval needs id and approved", core.Excerpt(p.ToolCallID))
			}
			if p.Approval.lasting == (lasting{}) {
				p.Approval.lasting = otherwise
			}
			a.approval, a.Target, a.Decision = true, p.Approval.ID, approved(*p.Approval)
			if err := a.Decision.Check(); err != nil {
				return nil, fmt.Errorf("tool part %q: %w", core.Excerpt(p.ToolCallID), err)
			}
		case "output-available":
			a.Target, a.Decision = p.ToolCallID, core.Decision{Action: core.DecisionResume, Payload: p.Output}
		case "output-error":
			a.Target, a.Decision = p.ToolCallID, core.Decision{Action: core.DecisionCancel, Reason: p.ErrorText}
		default:
			continue
		}
		if run, target, ok := protocol.ParseChildID(a.Target); ok && p.Type == "dynamic-tool" {
			a.Run, a.Target = run, target
		}
		all = append(all, a)
	}
	return all[max(0, len(all)-maxCalls):], nil
}

// approved is the decision of an answered request for approval. It has no id of
// its own: what it says is its id, so that the same request again changes nothing.
func approved(a approval) core.Decision {
	d := protocol.Permission(*a.Approved)
	d.Reason, d.Remember, d.RememberAs = a.Reason, a.Remember, a.RememberAs
	return d
}

// maxCalls is the number of calls that a turn has at most: no more can wait at once.
const maxCalls = 32

// find looks for a ticket of a run, or of one that it has started, that waits for the answer. It
// is an error when the ticket waits for something else: the output of a call never approves it.
func (a answer) find(run core.Run) (waits bool, err error) {
	for _, t := range a.tickets(run) {
		fits := a.approval == t.AsksPermission()
		switch named := t.Suspension.ID == a.Target || t.CallID == a.Target; {
		case t.Decision != nil || !named:
		case t.Kind == core.TicketChild:
			return false, fmt.Errorf("tool call %q: %w", core.Excerpt(a.at), protocol.ErrChild)
		case t.Kind == core.TicketTimer:
			return false, fmt.Errorf("tool call %q: %w", core.Excerpt(a.at), protocol.ErrTimer)
		case fits && (a.approval == (t.Suspension.ID == a.Target)):
			return true, nil
		case !fits && t.AsksPermission():
			return false, core.Errorf(core.CodeInvalid, "tool call %q waits for an approval, not for an output", core.Excerpt(a.at))
		case !fits:
			return false, core.Errorf(core.CodeInvalid, "tool call %q does not wait for an answer of this kind", core.Excerpt(a.at))
		}
	}
	return false, nil
}

// tickets are those of the run that has the answer's call.
func (a answer) tickets(run core.Run) []core.Ticket {
	if a.Run.IsZero() || a.Run == run.ID {
		return run.Tickets
	}
	var all []core.Ticket
	for _, t := range run.ChildTickets() {
		if t.RunID == a.Run {
			all = append(all, t.Ticket)
		}
	}
	return all
}

// decide accepts the decisions of a request that continues an assistant message and
// streams the rest.
func (h *handler) decide(w http.ResponseWriter, r *http.Request, id core.Identity, req request, m uiMessage) error {
	thread := first(r.PathValue("thread"), req.ID)
	all, err := h.decisions(r, id, thread, m, req.approval)
	if err != nil {
		return err
	}
	if h.Buffered {
		return h.submitDecisions(w, r, id, thread, all)
	}
	return h.Serve(w, r, &framed{encoder: encoder{Continues: m.calls(), MessageID: m.ID}}, func(l host.Listener) error {
		return decideInTurn(all, func(d []mailbox.Deciding) (int, error) {
			decided, err := h.Host.StreamDecisions(r.Context(), id, thread, d, l)
			return len(decided), err
		})
	})
}

// decisions are what a message decides, those first that were probably decided
// before: they may turn out to be nothing, and then nothing was changed yet.
func (h *handler) decisions(r *http.Request, id core.Identity, thread string, m uiMessage, otherwise lasting) ([]answer, error) {
	if err := core.CheckName("thread id", thread); err != nil {
		return nil, err
	}
	all, err := readAnswers(m, otherwise)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, noAnswer(m)
	}
	record, err := h.waiting(r, id, thread, m)
	if err != nil {
		return nil, err
	}
	var old, fresh []answer
	for _, a := range all {
		waits, err := a.find(record)
		if err != nil {
			return nil, err
		}
		if a.old = !waits; a.Run.IsZero() {
			a.Run = record.ID
		}
		if waits {
			fresh = append(fresh, a)
		} else {
			old = append(old, a)
		}
	}
	if len(fresh) > 0 { // outputs without a ticket are those of the server's tools then
		old = slices.DeleteFunc(old, func(a answer) bool { return !a.approval })
	}
	return append(old, fresh...), nil
}

// waiting reads the run that an assistant message shows. The message's id identifies the
// run, unless the application gave the message another id; then it is the open run.
func (h *handler) waiting(r *http.Request, id core.Identity, thread string, m uiMessage) (core.Run, error) {
	runID, ok := runOf(m.ID)
	if !ok {
		info, err := h.Host.Thread(r.Context(), id, thread)
		if err != nil {
			return core.Run{}, hide(err)
		}
		if runID = info.ActiveRun; runID.IsZero() {
			return core.Run{}, nil
		}
	}
	record, err := h.Host.ReadRun(r.Context(), id, runID)
	if err == nil && record.ThreadID != thread {
		err = core.Errorf(core.CodeNotFound, "run %s not found", runID)
	}
	return record, hide(err)
}

// decideInTurn passes decisions to try, and again without one that was refused, as long as
// it is an old one and others are left. try returns how many were accepted.
func decideInTurn(all []answer, try func([]mailbox.Deciding) (accepted int, err error)) error {
	for {
		list := make([]mailbox.Deciding, len(all))
		for i, a := range all {
			list[i] = a.Deciding
		}
		n, err := try(list)
		if err == nil || n >= len(all) || !refused(err) {
			return hide(err)
		}
		if len(all) == 1 || !all[n].old {
			return all[n].explain(err)
		}
		all = slices.Delete(slices.Clone(all), n, n+1)
	}
}

// refused reports whether a decision is refused for every caller.
func refused(err error) bool {
	switch core.CodeOf(err) {
	case core.CodeNotFound, core.CodeDecided, core.CodeConflict, core.CodeChild:
		return true
	}
	return false
}

// explain explains the refusal of a decision to a user.
func (a answer) explain(err error) error {
	switch {
	case core.CodeOf(err) == core.CodeDecided:
		return core.Errorf(core.CodeDecided, "tool call %q was already decided otherwise", core.Excerpt(a.at))
	case core.CodeOf(err) == core.CodeNotFound && a.approval:
		return core.Errorf(core.CodeNotFound, "approval %q of tool call %q: nothing waits for it", core.Excerpt(a.Target), core.Excerpt(a.at))
	case core.CodeOf(err) == core.CodeNotFound:
		return core.Errorf(core.CodeNotFound, "output of tool call %q: nothing waits for it, and there is no new message", core.Excerpt(a.at))
	}
	return err
}

// noAnswer says why a request without a new message is refused.
func noAnswer(m uiMessage) error {
	for _, p := range m.Parts {
		if p.tool() && (p.State == "approval-requested" || p.State == "input-available") {
			return core.Errorf(core.CodeInvalid, "no new message, and tool call %q is not decided: it is in state %q", core.Excerpt(p.ToolCallID), p.State)
		}
	}
	return core.Errorf(core.CodeInvalid, "no new message: the last of messages has role %q, want user", core.Excerpt(m.Role))
}

// decidedLater is the body of a 202 for decisions on a transport that cannot stream.
type decidedLater struct {
	Status    string  `json:"status"` // decision_submitted
	ThreadID  string  `json:"thread_id"`
	RunID     core.ID `json:"run_id"`
	StreamURL string  `json:"stream_url"`
}

// submitDecisions accepts the decisions on a transport without streaming, one by one like
// StreamDecisions: decisions before a refused one are kept.
func (h *handler) submitDecisions(w http.ResponseWriter, r *http.Request, id core.Identity, thread string, all []answer) error {
	if protocol.Demanded(r) {
		return protocol.ErrBuffered
	}
	var last mailbox.Decided
	err := decideInTurn(all, func(list []mailbox.Deciding) (n int, err error) {
		for i, d := range list {
			if last, err = h.Host.DecideThread(r.Context(), id, thread, d); err != nil {
				return i, err
			}
		}
		return len(list), nil
	})
	if err != nil {
		return err
	}
	protocol.JSON(w, http.StatusAccepted, decidedLater{
		Status: "decision_submitted", ThreadID: last.ThreadID, RunID: last.RunID, StreamURL: h.StreamURL + streamPath(last.ThreadID),
	})
	return nil
}

// tool reports whether a part is a tool call.
func (p uiPart) tool() bool { return strings.HasPrefix(p.Type, "tool-") || p.Type == "dynamic-tool" }

// calls are the ids of a message's tool calls.
func (m uiMessage) calls() (ids []string) {
	for _, p := range m.Parts {
		if p.tool() {
			ids = append(ids, p.ToolCallID)
		}
	}
	return ids
}
