package agui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

// answers are the decisions of an input: those of resume, and the results of the
// frontend's tools. An error is a breach of the protocol's contract, and nothing was
// changed. speaks reports that the input has a new message, too. The client returns
// results of the server's own tools with the history in the same form. So a tool message
// counts only if its call waits, or if the input has nothing else, since it may be the
// same request again.
func (a *exchange) answers(speaks bool) (all []mailbox.Deciding, err error) {
	if err := a.checkResults(); err != nil {
		return nil, err
	}
	open, unknown := 0, ""
	for _, e := range a.in.Resume {
		d, waits, err := a.resume(e)
		if err != nil {
			return nil, err
		}
		if waits {
			open++
		} else {
			unknown = e.InterruptID
		}
		all = append(all, d)
	}
	if open > 0 && unknown != "" { // before anything is decided
		return nil, core.Errorf(core.CodeNotFound, "resume answers interrupt %q, which is not open", core.Excerpt(unknown))
	}
	if open > 0 || len(a.in.Resume) == 0 {
		all = append(all, a.results(speaks || open > 0)...)
	}
	if open == 0 && len(all) == 0 || open == 0 && len(a.in.Resume) > 0 && !a.asksPerson() {
		return all, nil
	}
	for _, id := range a.interrupts() {
		if !slices.ContainsFunc(a.in.Resume, func(e resumeEntry) bool { return e.InterruptID == id }) {
			return nil, core.Errorf(core.CodeInvalid, "resume does not answer interrupt %q: all that are open must be answered", core.Excerpt(id))
		}
	}
	return all, nil
}

// checkResults refuses tool messages that are no results of calls.
func (a *exchange) checkResults() error {
	begin := len(a.in.messages) - len(a.in.tail())
	for i, m := range a.in.tail() {
		switch {
		case m.Role != "tool":
		case m.ToolCallID == "":
			return core.Errorf(core.CodeInvalid, "messages[%d].toolCallId is required: the id of the call whose result the message is", begin+i)
		case a.waitsForClient(m.ToolCallID) && m.hasFiles():
			return core.Errorf(core.CodeUnsupported, "messages[%d].content has files, want text: send them with a user message", begin+i)
		}
	}
	return nil
}

// waitsForClient reports whether a call of the frontend's waits for its result.
func (a *exchange) waitsForClient(call string) bool {
	return slices.ContainsFunc(a.tickets, func(t core.Ticket) bool { return t.CallID == call && t.Kind == core.TicketClient })
}

// refuseUnasked refuses answers to calls that ask no client, since they wait for child runs or
// times. The status is the same as in the other protocols: it is not a breach of this protocol's
// contract. With a new message the tool messages are ignored: some clients settle waiting calls
// in their history.
func (a *exchange) refuseUnasked(speaks bool) error {
	for _, t := range a.tickets {
		var why error
		switch t.Kind {
		case core.TicketChild:
			why = protocol.ErrChild
		case core.TicketTimer:
			why = protocol.ErrTimer
		default:
			continue
		}
		named := slices.ContainsFunc(a.in.Resume, func(e resumeEntry) bool { return e.InterruptID == t.Suspension.ID })
		given := slices.ContainsFunc(a.in.given(), func(m inMessage) bool { return m.ToolCallID == t.CallID })
		if named || given && !speaks {
			return fmt.Errorf("tool call %q: %w", core.Excerpt(t.CallID), why)
		}
	}
	return nil
}

// resume is the decision of an answer. waits is false when no interrupt that is open has
// its id: it may be an answer that was taken before, which the mailbox knows.
func (a *exchange) resume(e resumeEntry) (d mailbox.Deciding, waits bool, err error) {
	d = mailbox.Deciding{Decision: core.Decision{Action: core.DecisionCancel}}
	var ticket core.Ticket
	ticket, d.Run, d.Target, waits = a.asked(e.InterruptID)
	if e.Status == "cancelled" {
		return d, waits, nil
	}
	if waits && ticket.Deadline != 0 && a.h.Env.Now().UnixMilli() >= ticket.Deadline {
		return d, waits, core.Errorf(core.CodeInvalid, "interrupt %q has expired: it can only be cancelled", core.Excerpt(e.InterruptID))
	}
	d.Decision.Action, d.Decision.Payload = core.DecisionResume, e.Payload
	if waits && !ticket.AsksPermission() {
		return d, waits, nil
	}
	if p, ok, err := approvalOf(e.Payload); ok || waits {
		if err != nil {
			return d, waits, fmt.Errorf("interrupt %q: %w", core.Excerpt(e.InterruptID), err)
		}
		d.Decision = p
	}
	return d, waits, nil
}

// approvalOf reads the payload that answers a request for permission. ok is false for any
// other payload.
func approvalOf(payload json.RawMessage) (d core.Decision, ok bool, err error) {
	var p struct {
		Approved   *bool           `json:"approved"`
		Reason     string          `json:"reason"`
		Remember   core.Remember   `json:"remember"`
		RememberAs core.RememberAs `json:"rememberAs"`
		EditedArgs json.RawMessage `json:"editedArgs"`
	}
	switch err := json.Unmarshal(payload, &p); {
	case err != nil || p.Approved == nil:
		return d, false, core.Errorf(core.CodeInvalid, `the payload must be {"approved": true} or {"approved": false}`)
	case !absent(p.EditedArgs):
		return d, true, core.Errorf(core.CodeUnsupported, "editedArgs are not supported: the call runs with the arguments that were shown")
	}
	d = protocol.Permission(*p.Approved)
	d.Reason, d.Remember, d.RememberAs = p.Reason, p.Remember, p.RememberAs
	return d, true, d.Check()
}

// results are the decisions of the frontend's tool messages. beside reports that the
// input has a meaning without them.
func (a *exchange) results(beside bool) (all []mailbox.Deciding) {
	var old []mailbox.Deciding
	for _, m := range a.in.given() {
		d := mailbox.Deciding{Target: m.ToolCallID, Decision: resultOf(m)}
		if a.waitsForClient(m.ToolCallID) {
			d.Run = a.info.ActiveRun
			all = append(all, d)
		} else {
			old = append(old, d)
		}
	}
	if len(all) == 0 && !beside && !a.asksPerson() {
		return old
	}
	return all
}

// resultOf is the decision that a tool message says: its content is the call's result,
// JSON where it is an object or a list and else a text; its error fails the call.
func resultOf(m inMessage) core.Decision {
	if m.Error != "" {
		return core.Decision{Action: core.DecisionCancel, Reason: m.Error}
	}
	d := core.Decision{Action: core.DecisionResume, Payload: m.Content}
	text, err := m.text("content")
	if err != nil {
		return d
	}
	if trimmed := strings.TrimSpace(text); (strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[")) && json.Valid([]byte(trimmed)) {
		d.Payload = json.RawMessage(trimmed)
	} else {
		d.Payload, _ = core.EncodeJSON(text) // a string always encodes
	}
	return d
}

// decide takes decisions and streams what follows. Where the input has a new message,
// too, it is for the run that the decisions let go on.
func (a *exchange) decide(all []mailbox.Deciding, s mailbox.Submission) error {
	if a.h.Buffered && protocol.Demanded(a.r) {
		return protocol.ErrBuffered
	}
	if a.h.Buffered || len(s.Messages) > 0 {
		return a.decideFirst(all, s)
	}
	return a.serve(a.resumed(), func(l host.Listener) error {
		listener := &heard{Listener: l}
		accepted, err := a.h.Host.StreamDecisions(a.r.Context(), a.id, a.thread, all, listener)
		if err == nil || listener.any {
			return hide(err)
		}
		return a.explain(a.missing(all[min(len(accepted), len(all)-1)].Target, hide(err)), l)
	})
}

// resumed is the response to answers. The client already has the results that it sends. A
// client may also put a person's text in place of the result of the call, which is not
// known yet: that text is withdrawn before the result is sent.
func (a *exchange) resumed() response {
	to := response{}
	begin := len(a.in.messages) - len(a.in.tail())
	for i, m := range a.in.messages {
		waits := slices.IndexFunc(a.tickets, func(t core.Ticket) bool { return t.CallID == m.ToolCallID })
		switch {
		case i < begin || m.Role != "tool":
		case waits >= 0 && a.tickets[waits].ByPerson():
			to.Reset = true
			continue
		case waits >= 0, len(a.in.Resume) == 0:
			to.Given = append(to.Given, m.ToolCallID)
		}
		to.History = append(to.History, a.in.Messages[i])
	}
	return to
}

// heard records whether anything was sent.
type heard struct {
	host.Listener
	any bool
}

// Emit implements host.Listener.
func (h *heard) Emit(e core.Event) error {
	h.any = true
	return h.Listener.Emit(e)
}

// missing adds the waiting calls, if there are any, to the error of an answer without a
// call. The thread is one that the caller may read, or does not exist.
func (a *exchange) missing(target string, err error) error {
	if core.CodeOf(err) != core.CodeNotFound {
		return err
	}
	var waiting []string
	for _, t := range a.tickets {
		switch t.Kind {
		case core.TicketClient:
			waiting = append(waiting, "tool call "+strconv.Quote(t.CallID))
		case core.TicketChild, core.TicketTimer: // no client's to answer
		default:
			waiting = append(waiting, "interrupt "+strconv.Quote(t.Suspension.ID))
		}
	}
	for _, t := range a.children {
		waiting = append(waiting, "interrupt "+strconv.Quote(protocol.ChildID(t.RunID, t.Suspension.ID)))
	}
	what := "no call of thread " + strconv.Quote(a.thread) + " waits: send a user message first"
	switch {
	case a.info.ID == "":
		what = "thread " + strconv.Quote(a.thread) + " does not exist: send a user message first"
	case len(waiting) > 0:
		what = "thread " + strconv.Quote(a.thread) + " waits for an answer to " + strings.Join(waiting, ", ")
	}
	return core.Errorf(core.CodeNotFound, "%q does not wait for an answer; %s", core.Excerpt(target), what)
}

// explain tells a client of an answer that was refused, as the protocol wants it; what
// is not the client's doing stays an error.
func (a *exchange) explain(err error, l host.Listener) error {
	switch p := protocol.Public(err); p.Code {
	case core.CodeNotFound, core.CodeDecided, core.CodeConflict, core.CodeInvalid, core.CodeTooLarge:
		t := &core.Termination{Type: core.TerminationError, Code: string(p.Code), Detail: p.Error}
		return l.Emit(core.Event{Type: core.EventRunFinish, Termination: t})
	}
	return err
}

// decideFirst accepts decisions without a stream, and then the message that was sent with
// them: the resumed run reads it at its next step.
func (a *exchange) decideFirst(all []mailbox.Deciding, s mailbox.Submission) error {
	var last mailbox.Decided
	for _, d := range all {
		var err error
		if last, err = a.h.Host.DecideThread(a.r.Context(), a.id, a.thread, d); err != nil {
			return a.missing(d.Target, hide(err))
		}
	}
	if len(s.Messages) == 0 {
		protocol.JSON(a.w, 202, struct {
			Status    string  `json:"status"`
			ThreadID  string  `json:"threadId"`
			RunID     core.ID `json:"runId"`
			StreamURL string  `json:"streamUrl"`
		}{"decision_submitted", last.ThreadID, last.RunID, a.h.StreamURL + streamPath(last.ThreadID)})
		return nil
	}
	s.Mode = mailbox.ModeSteer
	a.tickets = nil // they are decided
	return a.say(s, core.ID{}, false)
}
