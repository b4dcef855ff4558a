package sim

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

// asks is what the checks remember of a thread's tickets.
type asks struct {
	th      *threadState
	by      map[ticketID]*asked
	calls   map[place][]*asked // in the order in which the call was suspended
	late    map[string]bool    // the results of abandoned tools
	round   openRound
	crowded map[place]int     // how often the call found no place, and is tried again
	roomy   uint64            // fence of the newest claim under which a call of a batch had no place
	wakes   int               // claims of the round since the last decision or message
	before  map[string]uint64 // calls about which a gate was asked before the commit of their turn, by the fence

	finished map[string]finishedPart // by the name of its record
}

// ticketID names a ticket: a suspension id may come again in another turn.
type ticketID struct{ base, key uint64 }

// place is a call: the sequence of its turn, and its index.
type place struct {
	turn  uint64
	index int
}

// asked is a ticket that a head has had.
type asked struct {
	run       core.ID
	base, key uint64
	since     time.Duration
	ticket    thread.TicketRecord
	decision  *thread.DecisionRecord // that was accepted; nil: none was
	taken     uint64                 // its key
	gone      bool
	instead   bool // a person has said something instead
}

// checkTickets follows the tickets of a thread from head to head.
func (as *asks) checkTickets(a, b *thread.Head) {
	as.checkWakes(a, b)
	as.noteCrowded(a, b)
	if as.makesRoom(b) {
		as.roomy = b.Claim.Fence
	}
	as.noteInstead(a, b)
	as.checkYields(a, b)
	as.th.logged.checkRound(a, b)
	same := a.Run.ID == b.Run.ID && a.Run.Base == b.Run.Base
	for _, t := range b.Tickets {
		id := ticketID{b.Run.Base, t.ID}
		k := as.by[id]
		if k == nil {
			if k = as.newTicket(b, t); k == nil {
				return
			}
			as.th.w.people.consider(as.th, k)
		}
		var was uint64
		if i := slices.IndexFunc(a.Tickets, func(o thread.Ticket) bool { return o.ID == t.ID }); same && i >= 0 {
			was = a.Tickets[i].Decision
		}
		switch {
		case k.gone:
			as.th.fail("the ticket %s opens again", k.ticket.Suspension.ID)
		case was != 0 && was != t.Decision:
			as.th.fail("the decision on %s changes", k.ticket.Suspension.ID)
		case was == 0 && t.Decision != 0:
			as.noteDecision(a, b, t, k)
		}
	}
	for _, t := range a.Tickets {
		if !same || !slices.ContainsFunc(b.Tickets, func(o thread.Ticket) bool { return o.ID == t.ID }) {
			as.checkGone(a, b, t)
		}
	}
	as.checkWaiting(a, b)
}

// newTicket takes a ticket that a head has for the first time: its record is there.
func (as *asks) newTicket(b *thread.Head, t thread.Ticket) *asked {
	w := as.th.w
	name := recordname.Suspension(b.Run.ID, b.Run.Base-1, t.Call, t.ID)
	r, ok := as.th.p.record(name)
	k := &asked{run: b.Run.ID, base: b.Run.Base, key: t.ID, since: w.now}
	if !ok {
		as.th.fail("ticket %s is in the head and not stored", name)
		return nil
	}
	if err := w.checks.Decode("ticket", r.Payload, &k.ticket); err != nil || thread.TicketKey(k.run, k.ticket.Suspension.ID) != t.ID {
		as.th.fail("ticket %s is unreadable or of another call: %v", name, err)
		return nil
	}
	w.Stats.Tickets.Suspensions++
	as.checkTimer(t, k)
	at := place{b.Run.Base - 1, int(t.Call)}
	if edited := as.editedFor(at); edited != nil && !bytes.Equal(k.ticket.Arguments, edited) {
		as.th.fail("call %d of turn %d waits again with the arguments %s, the decisions have set %s", at.index, at.turn, k.ticket.Arguments, edited)
	}
	as.by[ticketID{k.base, k.key}] = k
	as.calls[at] = append(as.calls[at], k)
	return k
}

// resumes reports whether the decision, which there is, lets the call go on.
func (k *asked) resumes() bool { return k.ticket.Resumes(k.decision.Decision) }

// noteDecision notes a decision that a head has for the first time: its record is there,
// and the call continues, or ends, accordingly.
func (as *asks) noteDecision(a, b *thread.Head, t thread.Ticket, k *asked) {
	w := as.th.w
	name := recordname.Decision(b.Run.ID, b.Run.Base-1, t.Call, t.Decision)
	r, ok := as.th.p.record(name)
	var d thread.DecisionRecord
	if !ok {
		as.th.fail("decision %s is in the head and not stored", name)
		return
	}
	if err := w.checks.Decode("decision", r.Payload, &d); err != nil || d.Key(b.Run.ID) != t.Decision || d.About(b.Run.ID) != t.ID {
		as.th.fail("decision %s is unreadable or of another call: %v", name, err)
		return
	}
	want := thread.CallCancelling
	if w.Stats.Tickets.Decisions++; k.ticket.Resumes(d.Decision) {
		want = thread.CallResuming
	} else {
		w.Stats.Tickets.Denies++
	}
	if len(d.Arguments) > 0 {
		w.Stats.Tickets.Edited++
		as.checkEdited(b, k, r.Payload)
	}
	if got := b.Run.Calls[t.Call]; got != want {
		as.th.fail("call %d is %s after decision %+v", t.Call, got, d)
	}
	k.decision, k.taken = &d, t.Decision
	if k.ticket.Kind == core.TicketChild {
		as.checkChildTold(k, d)
	}
	if k.ticket.WakeAt != 0 || d.Ticket != 0 {
		as.checkClock(a, b, t, k, d)
	}
}

// checkGone: a ticket stays until its call continues, a person has sent a message
// instead, or the run ends. Nothing else ends it, least of all a takeover.
func (as *asks) checkGone(a, b *thread.Head, t thread.Ticket) {
	k := as.by[ticketID{a.Run.Base, t.ID}]
	if k == nil {
		return // it was said already
	}
	k.gone = true
	if b.Run.ID != a.Run.ID || b.Run.Status == thread.Closing || b.Run.Base != a.Run.Base {
		return
	}
	status := b.Run.Calls[t.Call]
	spoken := slices.ContainsFunc(b.Inbox, func(e thread.InboxEntry) bool { return e.Kind == thread.InboxPerson })
	switch {
	case status == thread.CallDone:
	case status == thread.CallCancelling && t.Keep && k.decision == nil:
		as.th.fail("a person's input supersedes the ticket %s, which is kept", k.ticket.Suspension.ID)
	case status == thread.CallCancelling && spoken && (k.decision == nil || k.resumes()):
		k.instead = true // with a decision: the call was suspended again, and that was superseded at once
	case t.Decision != 0 && (status == thread.CallRunning || status == thread.CallSuspended || status == thread.CallNew):
	default:
		as.th.fail("the ticket %s of call %d is lost, the call is %s", k.ticket.Suspension.ID, t.Call, status)
	}
}

// checkWaiting: a run that waits holds no claim, and continues when it may: in batch mode
// when every ticket is decided, or is to be decided by the clock.
func (as *asks) checkWaiting(a, b *thread.Head) {
	open := func(t thread.Ticket) bool {
		return t.Decision == 0 && (t.WakeAt == 0 || t.WakeAt > as.th.w.millis()+skew)
	}
	if i := slices.IndexFunc(b.Inbox, func(e thread.InboxEntry) bool { return as.isEvent(e.ID) }); i >= 0 {
		as.th.fail("a run receives the input of an event, as %s: %+v", b.Inbox[i].ID, *b)
	}
	if b.Open() && b.Run.Status == thread.Waiting && (b.Claim.Fence != 0 || !waits(b)) {
		as.th.fail("a waiting run is claimed, or waits without a ticket: %+v", *b)
	}
	as.checkPlaces(b)
	if a.Run.ID != b.Run.ID || a.Run.Status != thread.Waiting || b.Run.Status != thread.Running {
		return
	}
	spoken := slices.ContainsFunc(b.Inbox, func(e thread.InboxEntry) bool { return e.Kind == thread.InboxPerson })
	decided := slices.ContainsFunc(b.Tickets, func(t thread.Ticket) bool { return t.Decision != 0 })
	superseded := spoken && slices.Contains(b.Run.Calls, thread.CallCancelling)
	if b.Run.Batch && slices.ContainsFunc(b.Tickets, open) && !superseded && !as.makesRoom(b) {
		as.th.fail("a batch continues before all its tickets are decided: %+v", *b)
	}
	if !decided && !spoken {
		as.th.fail("a waiting run continues without a decision: %+v", *b)
	}
}

// makesRoom reports whether a call of a batch has no place for its ticket, and only children
// are waited for, and times that have come: then what is decided continues.
func (as *asks) makesRoom(head *thread.Head) bool {
	now := as.th.w.millis() + skew
	return len(head.Tickets) == thread.MaxTickets && slices.Contains(head.Run.Calls, thread.CallNew) && !slices.ContainsFunc(head.Tickets, func(t thread.Ticket) bool {
		return t.Decision == 0 && t.Kind != thread.TicketChild && (t.WakeAt == 0 || t.WakeAt > now)
	})
}

// isEvent reports whether an input is an event's, which replies to nothing a run asks.
func (as *asks) isEvent(id core.ID) bool {
	in := as.th.inputs.byText[as.th.inputs.textOf(id)]
	return in != nil && in.event
}

// noteCrowded notes the calls that have run and found no place for their tickets:
// they are new again.
func (as *asks) noteCrowded(a, b *thread.Head) {
	if a.Run.Base != b.Run.Base || a.Run.ID != b.Run.ID {
		return
	}
	for i, s := range b.Run.Calls {
		if s == thread.CallNew && a.Run.Calls[i] == thread.CallRunning {
			as.crowded[place{b.Run.Base - 1, i}]++
		}
	}
}

// noteInstead notes the calls that have run, were to wait again and were superseded in the same
// write: a person had sent input. Their tickets were gone when they ran.
func (as *asks) noteInstead(a, b *thread.Head) {
	spoken := slices.ContainsFunc(b.Inbox, func(e thread.InboxEntry) bool { return e.Kind == thread.InboxPerson })
	if a.Run.Base != b.Run.Base || a.Run.ID != b.Run.ID || !spoken {
		return
	}
	for i, s := range b.Run.Calls {
		if all := as.calls[place{b.Run.Base - 1, i}]; s == thread.CallCancelling && a.Run.Calls[i] == thread.CallRunning && len(all) > 0 && all[len(all)-1].gone {
			all[len(all)-1].instead = true
		}
	}
}

// mostWakes is how often a round may be claimed for nothing. A claim that was lost, or
// released after a failure, comes on top.
const mostWakes = 3

// checkWakes: a round is not claimed again and again while nothing has changed.
func (as *asks) checkWakes(a, b *thread.Head) {
	round := a.Run.ID == b.Run.ID && a.Run.Base == b.Run.Base && b.Run.Cursor == thread.CursorTools && b.Run.Status == thread.Running
	changed := !round || len(a.Inbox) != len(b.Inbox) || !slices.Equal(a.Run.Calls, b.Run.Calls) || !slices.Equal(a.Tickets, b.Tickets)
	switch {
	case changed, b.Run.Lost != a.Run.Lost, as.th.w.auditor.disturbed():
		as.wakes = 0
	case a.Claim.Fence == 0 && b.Claim.Fence != 0:
		if as.wakes++; as.wakes > mostWakes {
			as.th.fail("the round at %d is claimed %d times, and nothing changes: %+v", b.Run.Base, as.wakes, *b)
		}
	}
}

// placed is the place of a call, from its key.
func placed(call tool.Call) (at place) {
	parts := strings.Split(call.Key(), "/") // run, turn, index
	at.turn, _ = strconv.ParseUint(parts[1], 10, 64)
	at.index, _ = strconv.Atoi(parts[2])
	return at
}

// resumed is how often decisions let the call go on.
func (as *asks) resumed(call tool.Call) (n int) {
	for _, k := range as.calls[placed(call)] {
		if k.decision != nil && k.resumes() && k.ticket.Mode != core.ResumeAsResult {
			n++
		}
	}
	return n
}

// checkAllowed looks at a tool that begins: it is allowed to.
func (as *asks) checkAllowed(h *host, key string, call tool.Call, name string) {
	at := placed(call)
	held := as.th.runs.holds() && as.th.p.head.Run.ID == call.Run && as.th.p.head.Run.Base == at.turn+1
	if call.Resume == nil {
		if gated(name) {
			as.th.fail("call %s of %s runs without a decision that allows it", key, name)
		}
	} else {
		k := as.by[ticketID{at.turn + 1, thread.TicketKey(call.Run, call.Resume.Suspension)}]
		switch {
		case k == nil || k.decision == nil:
			as.th.fail("call %s continues after a decision that was not accepted: %+v", key, *call.Resume)
			return
		case k.decision.ID != call.Resume.Decision.ID || !k.resumes() || k.ticket.Mode == core.ResumeAsResult:
			as.th.fail("call %s continues after %+v, the decision was %+v", key, *call.Resume, *k.decision)
		case !bytes.Equal(call.Arguments, argumentsOf(k)):
			as.th.fail("call %s continues with the arguments %s", key, call.Arguments)
		}
	}
	if !held {
		return // its claim is lost, and it does not know yet
	}
	for _, k := range as.calls[at] {
		if k.instead || k.decision != nil && !k.resumes() {
			as.th.fail("call %s runs, although a person has refused it", key)
		}
		if k.decision == nil && k.since < as.th.runs.claimed {
			as.th.fail("call %s runs while its ticket is open", key)
		}
	}
	as.checkOrder(key, at)
	as.checkTogether(key, call)
}

// argumentsOf are those that a call continues with: exactly those of the decision, if it has
// any.
func argumentsOf(k *asked) json.RawMessage {
	if len(k.decision.Arguments) > 0 {
		return k.decision.Arguments
	}
	if k.ticket.Mode == core.ResumeAsArguments {
		return k.decision.Payload
	}
	return k.ticket.Arguments
}

// checkOrder: a sequential round runs its calls in order, and none after one that has no
// result.
func (as *asks) checkOrder(key string, at place) {
	head := &as.th.p.head
	in := as.th.inputs.byText[as.th.inputs.textOf(head.Run.Dispatch)]
	if in == nil || modeOf(in.agent) != agent.Sequential {
		return
	}
	for i := range at.index {
		if _, ok := as.th.logged.result(head.Run.ID, at.turn+1+uint64(i)); !ok {
			as.th.fail("call %s of a sequential round runs before call %d has its result", key, i)
		}
	}
}

// checkTogether: a batch continues with its decided calls when all are decided, as far as
// its claim has found them.
func (as *asks) checkTogether(key string, call tool.Call) {
	if call.Resume == nil || !as.th.p.head.Run.Batch || as.makesRoom(&as.th.p.head) || as.roomy != 0 && as.roomy == as.th.p.head.Claim.Fence {
		return // it makes room, or another call has since
	}
	for _, t := range as.th.p.head.Tickets {
		if k := as.by[ticketID{as.th.p.head.Run.Base, t.ID}]; k != nil && t.Decision == 0 && k.since < as.th.runs.claimed {
			as.th.fail("call %s of a batch continues while %s is not decided", key, k.ticket.Suspension.ID)
		}
	}
}

// modeOf is how an agent's rounds run.
func modeOf(name string) agent.ExecutionMode {
	switch name {
	case agentShort:
		return agent.ParallelBatchApproval
	case agentHooked:
		return agent.ParallelStreaming
	}
	return agent.Sequential
}

// checkGate: a gate runs for a call that may continue: not for one whose result was there
// before, or that waits.
func (as *asks) checkGate(h *host, c plugin.GateCall) {
	head := &as.th.p.head
	if !as.th.runs.holds() || head.Run.ID != c.Run { // its claim is lost, and it does not know yet
		return
	}
	if c.Agent.ID == agentHooked { // whose hooks collide: gates run again for their changes
		return
	}
	key := callKey(string(c.Call.Arguments))
	if head.Run.Cursor != thread.CursorTools { // its turn is not committed
		as.before[key] = head.Claim.Fence
		return
	}
	if c.CallIndex >= len(head.Run.Calls) {
		return
	}
	if as.before[key] == head.Claim.Fence && c.Resume == nil && len(c.Turn.ToolCalls) <= thread.MaxTickets {
		as.th.fail("a gate is asked about call %s before the commit of its turn, and again after that", key)
	}
	if at, ok := as.th.logged.result(c.Run, head.Run.Base+uint64(c.CallIndex)); ok && at < as.th.runs.claimed {
		as.th.fail("a gate is asked about call %s, whose result was stored before", key)
	}
	if status := head.Run.Calls[c.CallIndex]; status == thread.CallSuspended || status == thread.CallDone {
		as.th.fail("a gate is asked about call %s, which is %s", key, status)
	}
}

// checkDecided looks at a committed result: it follows from the decision that was
// accepted on its call, and from no other.
func (as *asks) checkDecided(e thread.Entry, at place) {
	r, text := e.Message.ToolResult, e.Message.ToolResult.Text()
	var last *asked
	if all := as.calls[at]; len(all) > 0 {
		last = all[len(all)-1]
	}
	// A record that a lost claim has put next to the tickets is a result, despite any wait or
	// decision since: it is not thrown away.
	fromLost := as.th.p.putLost(at.turn + 1 + uint64(at.index))
	follows := func(k *asked) bool { return k.decision != nil && k.decision.ID == e.Decision }
	if e.Decision != "" && (last == nil || !follows(last)) {
		if !fromLost || !slices.ContainsFunc(as.calls[at], follows) {
			as.th.fail("the result of call %d of turn %d follows decision %s, which is not the accepted one: %s", at.index, at.turn, e.Decision, text)
		}
		return
	}
	for late := range as.late {
		if strings.Contains(text, strconv.Quote(late)) { // quoted: one key may end with another
			as.th.fail("the result %q is of an abandoned tool", text)
		}
	}
	ended := r.Status == core.ResultNotExecuted || r.Status == core.ResultUnknown
	if last == nil || ended {
		return
	}
	if e.Decision == "" && fromLost {
		return
	}
	refused := r.Status == core.ResultDenied || r.Status == core.ResultCancelled
	switch d := last.decision; {
	case last.instead:
		if r.Status != core.ResultCancelled || e.Decision != "" {
			as.th.fail("call %d of turn %d is %s, although a person sent input without a decision", at.index, at.turn, r.Status)
		}
	case d == nil:
		as.th.fail("call %d of turn %d is %s without a decision", at.index, at.turn, r.Status)
	case e.Decision != d.ID:
		as.th.fail("call %d of turn %d is %s, and its record does not name decision %s", at.index, at.turn, r.Status, d.ID)
	case refused == last.resumes():
		as.th.fail("call %d of turn %d is %s after decision %+v", at.index, at.turn, r.Status, *d)
	case refused && !strings.Contains(text, d.Reason):
		as.th.fail("call %d of turn %d was refused for %q, the model reads %q", at.index, at.turn, d.Reason, text)
	case refusedInLine(r), text == "result cannot be stored: it is too large":
	case last.resumes() && (last.ticket.Mode == core.ResumeAsResult) != (r.Status == core.ResultSet):
		as.th.fail("call %d of turn %d is %s in mode %s", at.index, at.turn, r.Status, last.ticket.Mode)
	case last.resumes() && !bytes.Equal(e.Arguments, as.editedFor(at)):
		as.th.fail("call %d of turn %d ran with %s, the decisions have set %s", at.index, at.turn, e.Arguments, as.editedFor(at))
	case r.Status == core.ResultSet && !bytes.Equal(r.Data, d.Payload):
		as.th.fail("call %d of turn %d has the result %s, the decision has %s", at.index, at.turn, r.Data, d.Payload)
	}
}

// checkTimedOut: a run that is ended for its time has had a whole claim without
// any result.
func (as *asks) checkTimedOut(a, b *thread.Head) {
	if b.Run.Reason != thread.ReasonOwn || len(a.Run.Calls) == 0 {
		return
	}
	r, ok := as.th.p.record(recordname.Run(b.Run.ID))
	if !ok {
		return
	}
	record, err := as.th.w.checks.DecodeRun(r.Payload)
	if err != nil || record.Ending == nil || record.Ending.Termination.Code != "timeout" {
		return
	}
	for i := range a.Run.Calls {
		seq := a.Run.Base + uint64(i)
		// One of an earlier claim may have come late.
		if at, ok := as.th.logged.result(b.Run.ID, seq); ok && at > as.th.runs.claimed && as.th.p.log[seq-1].Fence >= as.th.runs.fence {
			as.th.fail("run %s ends with a timeout, although call %d has its result", b.Run.ID, i)
		}
	}
}

// checkExpired: a run expires when the deadline of an undecided ticket has passed.
func (as *asks) checkExpired(a, b *thread.Head) {
	if b.Run.Reason != thread.ReasonExpired {
		return
	}
	as.th.w.Stats.Tickets.Expired++
	passed := func(t thread.Ticket) bool {
		return t.Decision == 0 && t.Deadline != 0 && t.Deadline <= as.th.w.millis()+300 // clocks differ
	}
	if a.Run.Status != thread.Waiting || !slices.ContainsFunc(a.Tickets, passed) {
		as.th.fail("run %s expires, although no ticket's deadline has passed: %+v", b.Run.ID, *a)
	}
}
