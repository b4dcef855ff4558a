package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// consider has people make up their minds about a new ticket: they decide, now or
// later, once or again, alone or against each other; or they say something
// instead, or nothing at all.
func (pe *people) consider(th *threadState, k *asked) {
	if k.ticket.Kind == core.TicketChild { // only the child decides it
		pe.interfere(th, k)
		return
	}
	if k.ticket.WakeAt != 0 {
		pe.disturb(th, k)
		return
	}
	if k.ticket.Deadline != 0 && pe.w.random.chance(0.4) || pe.w.config.People.Forgetful && pe.w.random.chance(0.1) {
		pe.w.Stats.Tickets.Undecided++
		return
	}
	if !pe.w.config.People.Calm && pe.w.random.chance(0.06) {
		pe.plan(pe.soon(), func() { pe.steer(th) })
	}
	d, at := pe.decision(k), pe.soon()
	pe.plan(at, func() { pe.decide(th, k, d) })
	if pe.w.random.chance(0.3) {
		pe.plan(at+pe.w.random.between(0, 60*time.Second), func() { pe.decide(th, k, d) })
	}
	if pe.w.random.chance(0.25) {
		other, again := pe.decision(k), pe.w.random.chance(0.5)
		pe.plan(at+pe.w.random.between(0, 40*time.Millisecond), func() { pe.decide(th, k, other) })
		if again {
			pe.plan(at+pe.w.random.between(0, 40*time.Second), func() { pe.decide(th, k, other) })
		}
	}
}

// plan is at, for something that a person is about to do.
func (pe *people) plan(d time.Duration, f func()) {
	pe.planned++
	pe.w.at(d, func() { pe.planned--; f() })
}

// soon is how long a person thinks.
func (pe *people) soon() time.Duration {
	if pe.w.config.Tenants > 0 && pe.w.random.chance(0.4) {
		return pe.w.people.later()
	}
	switch pe.w.random.below(4) {
	case 0:
		return pe.w.random.between(0, 50*time.Millisecond)
	case 1:
		return pe.w.random.between(50*time.Millisecond, 5*time.Second)
	case 2:
		return pe.w.random.between(5*time.Second, 50*time.Second)
	}
	return pe.w.random.between(0, 3*time.Minute)
}

// deciding is what a person says about a ticket.
type deciding struct {
	said   core.Decision
	byCall bool // it names the call
}

// decision draws a person's decision. It differs from every other one.
func (pe *people) decision(k *asked) deciding {
	n := pe.w.id()
	d := deciding{byCall: pe.w.random.chance(0.3)}
	id := fmt.Sprintf("d%d", n)
	payload := func(approved bool) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"k":"%s", "by":"%s", "approved":%v}`, callKey(string(k.ticket.Arguments)), id, approved))
	}
	d.said.Action = core.DecisionResume
	switch pe.w.random.below(7) {
	case 0:
		d.said.Action, d.said.Reason = core.DecisionCancel, "because of "+id
	case 1:
		d.said.Payload = payload(false)
	default:
		d.said.Payload = payload(true)
	}
	if edited(id) && d.said.Action == core.DecisionResume && !k.ticket.Refuses(d.said) && k.ticket.Mode != core.ResumeAsResult && k.ticket.Kind != core.TicketTimer {
		d.said.Arguments = json.RawMessage(fmt.Sprintf(`{"k":"%s", "by":"%s"}`, callKey(string(k.ticket.Arguments)), id))
		if k.ticket.Mode == core.ResumeAsArguments { // the payload would be the arguments
			d.said.Payload = nil
		}
	}
	if d.said.ID = id; pe.w.random.chance(0.2) {
		d.said.ID = "" // derived from its content
	}
	return d
}

// edited reports whether a person who approves under a decision's id changes the arguments.
func edited(id string) bool { return trait(id, 70, 4) == 0 }

// decide insists on a decision until it has a response.
func (pe *people) decide(th *threadState, k *asked, d deciding) {
	pe.w.Stats.Tickets.Decides++
	asking := mailbox.Deciding{Target: k.ticket.Suspension.ID, Decision: d.said}
	if d.byCall {
		asking.Target = k.ticket.CallID
	}
	inline, limit := !pe.w.config.Processes.Local && pe.w.random.chance(0.25), requestTimeout
	if inline {
		limit = inlineTimeout
	}
	run := k.run
	if !strings.HasPrefix(asking.Target, "s") && pe.w.random.chance(0.2) { // the other ids belong to no other run
		run = core.ID{}
	}
	pe.insist(limit, func(ctx context.Context, h *host) bool {
		if len(d.said.Arguments) > 0 && h.schemas.Reads < thread.SchemaEdited {
			return false // to that program it is a request with an unknown field
		}
		before := th.p.head
		if inline {
			th.runs.streamed[before.Run.ID] = true
		}
		got, err := h.engine.decide(ctx, th.client(), th.p.key.Thread, run, asking, inline, th.asks.heard())
		if pe.w.config.Trace != nil {
			pe.w.config.Trace("%s: decision %s on %s: %+v, %v", h.name, d.said.ID, asking.Target, got, err)
		}
		if errors.Is(err, store.ErrConflict) { // a client would try again, over what should not be there
			th.asks.checkRefused(k, d.said, run, &before, err)
			return true
		}
		if k.ticket.Kind == core.TicketChild && (err == nil || refused(err) || core.CodeOf(err) == core.CodeChild) {
			th.asks.checkMeddled(k, &before, err)
			return true
		}
		switch core.CodeOf(err) {
		case core.CodeDecided, core.CodeNotFound, core.CodeConflict, core.CodeInvalid, core.CodeTooLarge, core.CodeDeleted:
			th.asks.checkRefused(k, d.said, run, &before, err)
			if core.CodeOf(err) == core.CodeDecided && k.decision != nil && k.decision.Ticket != 0 {
				pe.w.did(DecidedLate)
			}
			return true
		}
		if err == nil {
			th.asks.checkTaken(k, d.said, got)
		}
		return err == nil
	})
}

// checkTaken: a decision that a client reads as taken was taken, and is the only decision
// on its ticket.
func (as *asks) checkTaken(k *asked, said core.Decision, got mailbox.Decided) {
	for _, other := range as.by {
		if other.decision == nil || other.run != k.run || other.decision.ID != got.DecisionID {
			continue
		}
		if got.SuspensionID != "" && got.SuspensionID != other.ticket.Suspension.ID {
			continue
		}
		if d := other.decision; d.Action != said.Action || d.Reason != said.Reason || !sameJSON(d.Arguments, said.Arguments) || other.ticket.Refuses(d.Decision) != other.ticket.Refuses(said) {
			as.th.fail("a client receives its decision %+v as accepted, accepted is %+v", said, *d)
		}
		return
	}
	as.th.fail("a client receives %+v for decision %+v, which was never accepted", got, said)
}

// sameJSON reports whether two texts differ in white space alone.
func sameJSON(stored, said json.RawMessage) bool {
	var compact bytes.Buffer
	return len(said) == 0 && len(stored) == 0 || json.Compact(&compact, said) == nil && bytes.Equal(stored, compact.Bytes())
}

// checkRefused: the decision on an open ticket is not refused, nor is one that was taken,
// while the head remembers it. A client that names no run learns only of the open one and
// of the newest in the log.
func (as *asks) checkRefused(k *asked, said core.Decision, named core.ID, before *thread.Head, err error) {
	h := &as.th.p.head
	if named.IsZero() && (before.Run.ID != k.run || h.Run.ID != k.run) {
		return
	}
	open := func(head *thread.Head) bool {
		return head.Run.ID == k.run && slices.ContainsFunc(head.Tickets, func(t thread.Ticket) bool {
			return t.ID == k.key && head.Run.Base == k.base && t.Decision == 0
		})
	}
	if open(before) && open(h) {
		as.th.fail("decision %+v on the open ticket %s is refused: %v", said, k.ticket.Suspension.ID, err)
	}
	if k.decision != nil && k.decision.ID == said.ID && slices.Contains(before.Recent, k.taken) && slices.Contains(h.Recent, k.taken) {
		as.th.fail("decision %+v was accepted, and is refused when it is repeated: %v", said, err)
	}
}

// heard returns what a client does with the events of a stream: a ticket that it
// hears of can be decided, and the rest is what the stream type checks.
func (as *asks) heard() func(core.Event) {
	return as.heardBy(&reading{th: as.th, steps: map[int]*words{}})
}

// heardBy is heard for a client that has some of the run's words.
func (as *asks) heardBy(words *reading) func(core.Event) {
	var run core.ID
	calls, shown := listening{as.th, map[string]listened{}}, stream{th: as.th}
	return func(e core.Event) {
		as.th.w.foldValue(&e)
		as.th.w.foldBytes([]byte(e.Position))
		shown.check(e)
		if e.Child != nil {
			checkChildShown(as.th.w, as.th, e)
			return
		}
		calls.hear(e)
		words.check(e)
		if e.Type == core.EventRunStart {
			run = e.RunID
		}
		if e.Type != core.EventToolCallSuspended {
			return
		}
		if e.Ticket == nil {
			as.th.fail("a suspension is announced without its ticket: %+v", e)
			return
		}
		for id := range as.by {
			if id.key == thread.TicketKey(run, e.Ticket.Suspension.ID) {
				return
			}
		}
		as.th.fail("ticket %s of run %s is announced, but no head ever had it", e.Ticket.Suspension.ID, run)
	}
}
