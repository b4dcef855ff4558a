package core

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"time"
)

// ResumeMode decides how a suspended call continues when a decision resumes it.
type ResumeMode string

// The resume modes. The zero ResumeMode is ResumeReplay.
const (
	// ResumeReplay runs the call with its original arguments: the decision allows it.
	ResumeReplay ResumeMode = "replay_tool_call"
	// ResumeAsResult makes the decision's payload the call's result; no tool runs.
	ResumeAsResult ResumeMode = "use_decision_as_tool_result"
	// ResumeAsArguments runs the call with the decision's payload as its arguments,
	// which are validated like the model's.
	ResumeAsArguments ResumeMode = "pass_decision_to_tool"
)

// TicketKind names the decider of a suspended call. thread.TicketKind is the same in one
// byte of the head.
type TicketKind string

// The ticket kinds. The zero TicketKind is TicketPerson.
const (
	TicketPerson TicketKind = "person"
	TicketClient TicketKind = "client" // a tool that the client runs: its output is the decision
	TicketChild  TicketKind = "child"  // a child run
	TicketTimer  TicketKind = "timer"  // the clock, at WakeAt; a person may decide earlier
)

// MaxWait is how far ahead a suspended call may wake: 366 days.
const MaxWait = 366 * 24 * time.Hour

// ActionConfirm is the action of a suspension that asks a person whether a call may run as
// it is. Its parameters are the tool and its arguments.
const ActionConfirm = "tool:PermissionConfirm"

// Suspension is the question of a call that waits, as its approvers read it.
type Suspension struct {
	ID         string          `json:"suspension_id"`        // id of the ticket on its thread; see [CheckName]
	Action     string          `json:"action"`               // the requested action, such as "tool:PermissionConfirm" or "tool:ask_user"
	Message    string          `json:"message,omitempty"`    // for people
	Parameters json.RawMessage `json:"parameters,omitempty"` // parameters of the action
	// ResponseSchema is the JSON Schema of the payload of a decision that resumes the
	// call; absent: any payload. With ResumeReplay the payload is optional.
	ResponseSchema json.RawMessage `json:"response_schema,omitempty"`
}

// TicketRequest is what a gate or a tool returns so that its call waits for a
// decision. Its zero value asks a person whether the call may run.
type TicketRequest struct {
	Message    string          // for people
	Action     string          // the kind of request; empty: "tool:" and the tool's name
	Parameters json.RawMessage // what the action is about
	// Response is the JSON Schema of the payload of a decision that resumes the call;
	// nil: anything. With ResumeReplay a decision may have no payload.
	Response json.RawMessage
	// Timeout ends the run as expired if no decision has come by then while it waits;
	// 0: it waits without limit.
	Timeout time.Duration
	// WakeAt is when the call continues by itself, at most MaxWait ahead; zero: it waits for a
	// decision. The decision of the clock has the payload {"woken": "time"}: see
	// [Decision.Woken]. Only a tool may set it, with the kinds TicketTimer, which needs it, and
	// TicketPerson, without Timeout, and not with ResumeAsArguments. While the call waits,
	// nothing runs. A person can decide earlier.
	WakeAt time.Time
	// Keep means that a person's message does not supersede a timer: the message waits
	// until the call has its result. Only for TicketTimer.
	Keep bool

	Mode ResumeMode // what becomes of the call when a decision resumes it
	Kind TicketKind // who decides
	// ID names the ticket on its thread; empty: it is filled in. Another one must be
	// the call's own: two calls of a turn that wait under one id are refused, and a tool
	// that suspends again must not repeat one that was decided.
	ID string
}

// Suspension returns the request as the approvers of a call read it, given the call's
// tool.
func (r TicketRequest) Suspension(tool string) Suspension {
	return Suspension{
		ID: r.ID, Action: cmp.Or(r.Action, "tool:"+tool), Message: r.Message, Parameters: r.Parameters, ResponseSchema: r.Response,
	}
}

// Ticket is a suspended tool call that waits for a decision, as approvers read it. Its
// JSON is flat, and its names are the same in runs, events, approvals, announcements
// and the other protocols. A thread.Ticket is its place in the head: numbers and hashes
// only.
type Ticket struct {
	CallID    string          `json:"tool_call_id"`
	Tool      string          `json:"tool_name"`
	Arguments json.RawMessage `json:"arguments"` // arguments as in a [ToolCall]
	Suspension
	Mode      ResumeMode `json:"resume_mode"`
	Kind      TicketKind `json:"kind"`
	CreatedAt int64      `json:"created_at,omitempty"` // Unix milliseconds, by the clock of the gate or tool that asked
	Deadline  int64      `json:"expires_at,omitempty"` // Unix milliseconds; 0: never
	WakeAt    int64      `json:"wakes_at,omitempty"`   // Unix milliseconds: the call continues by itself then; 0: it waits for a decision
	Keep      bool       `json:"keep,omitempty"`       // a person's message does not supersede the call
	Decision  *Decision  `json:"decision,omitempty"`   // accepted decision that the run has not read yet; set only by reads of a run
}

// DecisionAction is the effect of a decision on its call.
type DecisionAction string

// The decision actions.
const (
	DecisionResume DecisionAction = "resume"
	DecisionCancel DecisionAction = "cancel"
)

// Decision is the decision of a person, a client or a child run on a ticket.
type Decision struct {
	// ID makes the decision idempotent: the same id again changes nothing. If it is empty,
	// it is derived from the content of the decision. See [CheckName].
	ID      string          `json:"decision_id"`
	Action  DecisionAction  `json:"action"`
	Payload json.RawMessage `json:"payload,omitempty"` // {"approved": false} of a person cancels, with either Action
	Reason  string          `json:"reason,omitempty"`  // reason of a cancel, for the model
	// Arguments replace the model's arguments of the call that the decision resumes: a JSON
	// object. The turn keeps the model's. Only a person may set them, and only if the tool
	// runs after the decision; absent: the call runs as the ResumeMode says.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Remember is how long a person's permission holds, and RememberAs which calls it
	// covers. The permission plugin remembers it, or, for the Approval of a tool, the
	// runtime.
	Remember   Remember   `json:"remember,omitempty"`
	RememberAs RememberAs `json:"remember_as,omitempty"`
	// User is the user on whose behalf it is decided. The runtime sets it, and ignores the
	// value in a request; empty: the clock, a child run, or a caller without a user.
	User string `json:"user,omitempty"`
}

// Remember is how long a permission holds.
type Remember string

// The durations of a permission. The zero Remember is RememberOnce.
const (
	RememberOnce   Remember = "once"   // for the call that it is about
	RememberRun    Remember = "run"    // until the run ends
	RememberThread Remember = "thread" // as long as the thread
)

// RememberAs is the set of calls that a permission covers.
type RememberAs string

// The sets of calls. The zero RememberAs is RememberCall.
const (
	RememberCall RememberAs = "call" // the same tool with the same arguments
	RememberRule RememberAs = "rule" // all calls that the asking rule covers; or all calls of the tool, if its Approval asked
)

// WakePrefix begins the ids of decisions of the clock, and of no others.
const WakePrefix = "wake-"

// Woken reports whether the clock has decided, on a ticket with a WakeAt, and no person before it.
func (d Decision) Woken() bool { return strings.HasPrefix(d.ID, WakePrefix) }

// DeciderKind is what has decided a ticket.
type DeciderKind string

// The kinds of deciders.
const (
	DeciderPerson DeciderKind = "person"
	DeciderClient DeciderKind = "client" // it has run the tool
	DeciderChild  DeciderKind = "child"  // a child run, by its end
	DeciderTime   DeciderKind = "time"   // the clock, at the ticket's WakeAt
)

// Decider is who has decided a ticket.
type Decider struct {
	Kind DeciderKind `json:"kind"`           // person, client, child or time
	User string      `json:"user,omitempty"` // user on whose behalf it was decided; absent: no user is known
}

// Decider returns who has made a decision on the ticket.
func (t Ticket) Decider(d Decision) Decider {
	by := Decider{Kind: DeciderPerson, User: d.User}
	switch {
	case d.Woken():
		by.Kind = DeciderTime
	case t.Kind == TicketClient:
		by.Kind = DeciderClient
	case t.Kind == TicketChild:
		by.Kind = DeciderChild
	}
	return by
}

// Lasts reports whether the decision is to be remembered beyond its call.
func (d Decision) Lasts() bool { return d.Remember == RememberRun || d.Remember == RememberThread }

// Check returns an error with code [CodeInvalid] if the decision by itself is invalid.
func (d Decision) Check() error {
	if d.Action != DecisionResume && d.Action != DecisionCancel {
		return Errorf(CodeInvalid, "invalid action %q, allowed are %q and %q", Excerpt(string(d.Action)), DecisionResume, DecisionCancel)
	}
	if d.ID != "" {
		if err := CheckName("decision_id", d.ID); err != nil {
			return err
		}
	}
	if len(d.Payload) > 0 && !json.Valid(d.Payload) {
		return Errorf(CodeInvalid, "payload is not JSON")
	}
	if err := d.checkArguments(); err != nil {
		return err
	}
	return d.checkRemember()
}

func (d Decision) checkArguments() error {
	switch {
	case len(d.Arguments) == 0:
	case d.Action != DecisionResume:
		return Errorf(CodeInvalid, "action %q has arguments, allowed are arguments with %q", d.Action, DecisionResume)
	case !json.Valid(d.Arguments) || !bytes.HasPrefix(bytes.TrimSpace(d.Arguments), []byte("{")):
		return Errorf(CodeInvalid, "arguments are not a JSON object")
	}
	return nil
}

func (d Decision) checkRemember() error {
	switch d.Remember {
	case "", RememberOnce, RememberRun, RememberThread:
	default:
		return Errorf(CodeInvalid, "invalid remember %q, allowed are %q, %q and %q", Excerpt(string(d.Remember)), RememberOnce, RememberRun, RememberThread)
	}
	switch {
	case d.RememberAs != "" && d.RememberAs != RememberCall && d.RememberAs != RememberRule:
		return Errorf(CodeInvalid, "invalid remember_as %q, allowed are %q and %q", Excerpt(string(d.RememberAs)), RememberCall, RememberRule)
	case d.RememberAs != "" && !d.Lasts():
		return Errorf(CodeInvalid, "remember_as needs remember %q or %q", RememberRun, RememberThread)
	}
	return nil
}

// Resumes reports whether a decision lets the call go on.
func (t Ticket) Resumes(d Decision) bool { return d.Action == DecisionResume && !t.Refuses(d) }

// Refuses reports whether a decision denies the call by its payload: an object with
// approved: false. Only a person denies so, also a timer; the output of a client's tool or of a
// child run is data, with any content.
func (t Ticket) Refuses(d Decision) bool {
	if !t.ByPerson() && t.Kind != TicketTimer {
		return false
	}
	var payload struct {
		Approved *bool `json:"approved"`
	}
	if !bytes.HasPrefix(bytes.TrimSpace(d.Payload), []byte("{")) || json.Unmarshal(d.Payload, &payload) != nil {
		return false
	}
	return payload.Approved != nil && !*payload.Approved
}

// ByPerson reports whether a person decides.
func (t Ticket) ByPerson() bool { return t.Kind == TicketPerson || t.Kind == "" }

// AsksPermission reports whether a person decides if the call may run as it is. Otherwise
// the decision brings the call's output, or its input.
func (t Ticket) AsksPermission() bool {
	return t.ByPerson() && (t.Mode == ResumeReplay || t.Mode == "")
}

// Resume is the decision that a continued call receives.
type Resume struct {
	Suspension string   `json:"suspension"` // id of the suspension that was decided
	Decision   Decision `json:"decision"`
}
