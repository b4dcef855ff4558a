package mailbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/store"
)

// Deciding is a decision on its way to a ticket.
type Deciding struct {
	// Run is the run whose call waits; zero: the thread's open run.
	Run core.ID
	// Target is the id of the suspension, or of the call. If several calls have that id, it
	// means the first that is not decided.
	Target string
	// User is on whose behalf it is decided; must match the thread's owner.
	User string
	// Decision is what is decided. Without an id it gets one derived from its content.
	Decision core.Decision
}

// check validates a decision that came from outside, before anything is read.
// Whether the payload fits the ticket is checked when the ticket is known.
func (d Deciding) check() error {
	switch {
	case d.Target == "":
		return core.Errorf(core.CodeInvalid, "the decision names neither a tool call nor a suspension")
	case !utf8.ValidString(d.Target) || !utf8.Valid(d.Decision.Payload) || !utf8.Valid(d.Decision.Arguments) || !utf8.ValidString(d.Decision.Reason):
		return core.Errorf(core.CodeInvalid, "the decision is not UTF-8")
	}
	if strings.HasPrefix(d.Decision.ID, core.WakePrefix) {
		return core.Errorf(core.CodeInvalid, "the decision_id begins with %q, which only decisions of the clock may", core.WakePrefix)
	}
	return d.Decision.Check()
}

// normalized is the decision as it is stored: with its user, its payload without the spaces that
// may differ between two attempts, and with an id. Without one of the client's the id is derived
// from the content, so that the same request again is the same decision.
func (d Deciding) normalized() (_ core.Decision, derived bool) {
	said := d.Decision
	said.User = d.User
	var payload bytes.Buffer
	// Clients may format the same payload differently; "null" says as much as no payload.
	if json.Compact(&payload, said.Payload) == nil { // Check saw that it is JSON, if there is one
		said.Payload = payload.Bytes()
	}
	if string(said.Payload) == "null" {
		said.Payload = nil
	}
	var arguments bytes.Buffer
	if json.Compact(&arguments, said.Arguments) == nil {
		said.Arguments = arguments.Bytes()
	}
	if said.ID != "" {
		return said, false
	}
	// Each part is preceded by its length, so that no two contents are joined to the same
	// bytes.
	h := sha256.New()
	parts := []string{d.Target, string(said.Action), string(said.Payload), said.Reason}
	if said.Remember != "" { // absent it must leave the ids of requests as they were
		parts = append(parts, string(said.Remember), string(said.RememberAs))
	}
	if len(said.Arguments) > 0 { // likewise; one part more, where remember is two
		parts = append(parts, string(said.Arguments))
	}
	for _, part := range parts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(part), part) // a hash takes everything
	}
	said.ID = "auto-" + hex.EncodeToString(h.Sum(nil)[:16])
	return said, true
}

// Decided is the outcome of a decision. For a duplicate whose records are gone, the fields that
// they would fill are empty.
type Decided struct {
	ThreadID     string
	RunID        core.ID
	CallID       string
	SuspensionID string
	DecisionID   string
	// Duplicate reports that the same decision was stored before.
	Duplicate bool
	// Turn is the sequence of the turn that made the call, and Index the call's in it.
	Turn  uint64
	Index int
}

// Decide decides a suspended call. When it returns without error the decision is durable,
// and the run is woken if it can continue. The same decision again, by its id, is a
// duplicate with the same receipt, for as long as the head remembers it, also after its run
// has ended; it wakes the thread again. A request that names no run finds it so in the open
// run and in the one that wrote to the log last; in an earlier one it is core.CodeNotFound.
//
// thread.ErrChild: the call waits for a child run.
// core.CodeInvalid: the payload is not what the ticket asks for.
// core.CodeTooLarge: it is larger than a tool may be given, or than a result may be.
// core.CodeNotFound: no such call waits. thread.ErrDecided: another decision was stored, as
// far as the head remembers it. core.CodeConflict: the id was used with other content; or a
// decision without an id repeats one of an earlier suspension of the call, and which of the
// two it is meant for cannot be known.
// thread.ErrForbidden: the thread is another user's.
func (s *Service) Decide(ctx context.Context, key core.ThreadKey, d Deciding) (Decided, error) {
	decided, _, err := s.decide(ctx, key, d, decideOptions{})
	return decided, err
}

// DecideInline is Decide for a caller that claims the thread next: it sends no hint, so that no
// worker claims the run before the caller does. The head is the one after the write.
func (s *Service) DecideInline(ctx context.Context, key core.ThreadKey, d Deciding) (Decided, thread.Head, error) {
	return s.decide(ctx, key, d, decideOptions{inline: true})
}

// noTicket is the key of no suspension, since those are all odd. It replaces the key of a
// suspension that is no longer known.
const noTicket = 2

// deciding is a Deciding under way. It is one goroutine's, and fills its receipt as it
// learns what the decision is about.
type deciding struct {
	s   *Service
	key core.ThreadKey
	// asked is the decision as the client made it, and said as it is stored: see
	// normalized.
	asked Deciding
	said  core.Decision
	// derived means that the id was derived from the content. Such an id may be used again by
	// a later suspension of the call.
	derived bool
	// receipt describes the suspension that the decision is about. It is filled when that is
	// found.
	receipt Decided
	// ticket is the key of the suspension in the head, or noTicket.
	ticket uint64
	// resumes means that the decision lets the call continue. It is known only while there
	// is a ticket, and counts only then.
	resumes bool
	// byCall means that the target is the call's id, not the suspension's.
	byCall bool
	// known means that the decision was found among the stored ones, with the same content:
	// it need not be compared again.
	known bool
	// other means that among the stored ones was another decision on the target.
	other bool
	// child is the child run whose end the decision is, which alone may decide a ticket of
	// that kind; zero: it is another's.
	child core.ID
}

// decideOptions change how a decision is made; zero: as a client makes it.
type decideOptions struct {
	// inline means that no hint is sent.
	inline bool
	// child is the child run whose end the decision is; zero: it is another's.
	child core.ID
}

// decide finds what the decision is about, checks it against that, and writes it. Others may
// write between the head that it looks at and its own write: write checks again what the
// decision depends on (the turn, the ticket), and Apply checks the rest.
func (s *Service) decide(ctx context.Context, key core.ThreadKey, d Deciding, o decideOptions) (Decided, thread.Head, error) {
	if err := d.check(); err != nil {
		return Decided{}, thread.Head{}, err
	}
	head, err := s.Head(ctx, key)
	if err == nil && !head.Exists() {
		err = fmt.Errorf("thread %s %w", key.Thread, thread.ErrNotFound)
	}
	if err == nil {
		if err = checkAccess(head, d.User); err != nil {
			err = fmt.Errorf("thread %s: %w", key.Thread, err)
		}
	}
	if err != nil {
		return Decided{}, head, err
	}
	u := deciding{s: s, key: key, asked: d, child: o.child}
	if u.said, u.derived = d.normalized(); !o.child.IsZero() { // it is decided on behalf of the thread's owner, who has no part in it
		u.said.User = ""
	}
	ticket, found, err := u.find(ctx, head)
	switch {
	case err != nil:
	case ticket.Kind == core.TicketChild && o.child.IsZero(): // before checking whether it would fit
		err = fmt.Errorf("tool call %s: %w", core.Excerpt(ticket.CallID), thread.ErrChild)
	case found:
		// A repeated decision may name a call that has continued and waits again: it is
		// compared with what was decided, and not with what is asked now.
		if err = u.checkFit(ctx, ticket); err != nil && u.repeats(head) {
			err = u.recall(ctx, head)
		}
	default:
		err = u.recall(ctx, head)
	}
	if err != nil {
		return Decided{}, head, err
	}
	head, err = u.write(ctx, head, o.inline)
	if err != nil {
		return Decided{}, head, s.outward(ctx, key, "decision", err)
	}
	return u.receipt, head, nil
}

// checkFit checks the decision against its ticket, and arguments that a person puts in
// place against the call's tool, for which the run's record is read.
func (u *deciding) checkFit(ctx context.Context, ticket core.Ticket) error {
	if u.s.fits != nil {
		if err := u.s.fits(ticket, u.said); err != nil {
			return err
		}
	}
	if len(u.said.Arguments) == 0 || u.s.accepts == nil || u.known {
		return nil
	}
	run, ok, err := u.s.reads.runRecord(ctx, u.key, u.receipt.RunID)
	if err != nil || !ok { // without its record the run decides when it calls the tool
		return err
	}
	return u.s.accepts(ctx, run, ticket.Tool, u.said.Arguments)
}

// repeats reports whether the head remembers a decision with this id of the client on the
// call that the target names.
func (u *deciding) repeats(head thread.Head) bool {
	return u.byCall && !u.derived && slices.Contains(head.Recent, thread.CallDecisionKey(u.receipt.RunID, u.asked.Target, u.said.ID))
}

// find looks for the ticket that the target names: by its suspension's id, then by its
// call's. ok is false if the open run has no such ticket.
// A damaged ticket record is store.ErrCorrupt. The decision may be found to be a duplicate
// here already; then it is compared with the stored one.
func (u *deciding) find(ctx context.Context, head thread.Head) (ticket core.Ticket, ok bool, err error) {
	if len(head.Tickets) == 0 || !u.asked.Run.IsZero() && u.asked.Run != head.Run.ID {
		return ticket, false, nil
	}
	var held *thread.Ticket
	// The suspension's id comes first: it names one ticket, while several calls of a turn
	// may have the same id.
	for i := range head.Tickets {
		if head.Tickets[i].ID == thread.TicketKey(head.Run.ID, u.asked.Target) {
			held = &head.Tickets[i]
		}
	}
	if held == nil {
		if held, err = u.findCall(ctx, head); held == nil {
			return ticket, false, err
		}
		u.byCall = true
	}
	// From the record, not from the request: the receipt has the ids of both the call and the
	// suspension, even if the client knew only one of them.
	if ticket, err = u.s.reads.ticket(ctx, u.key, head, *held); err != nil {
		return ticket, false, err
	}
	u.ticket, u.resumes = held.ID, ticket.Resumes(u.said)
	u.receipt = Decided{
		ThreadID: u.key.Thread, RunID: head.Run.ID, CallID: ticket.CallID, SuspensionID: ticket.Suspension.ID,
		DecisionID: u.said.ID, Turn: head.Run.Base - 1, Index: int(held.Call),
	}
	if held.Decision == u.decisionKey() { // before a worker is woken for it
		err = u.confirm(ctx, head)
	}
	return ticket, err == nil, err
}

// findCall returns the ticket of the call of the open turn that has the target's id; nil: no
// such call. The head has no ids of calls, so that the turn is read for them. If several calls
// have the id, it returns the first that is not decided.
func (u *deciding) findCall(ctx context.Context, head thread.Head) (held *thread.Ticket, err error) {
	calls, err := u.s.reads.callsOf(ctx, u.key, head.Run.Base-1)
	if err != nil {
		return nil, err
	}
	for i, t := range head.Tickets {
		if int(t.Call) < len(calls) && calls[t.Call].ID == u.asked.Target && (held == nil || held.Decision != 0 && t.Decision == 0) {
			held = &head.Tickets[i]
		}
	}
	return held, nil
}

// callsOf reads the tool calls of the turn at a sequence.
func (r reader) callsOf(ctx context.Context, key core.ThreadKey, turn uint64) ([]core.ToolCall, error) {
	entries, err := threadlog.Read(ctx, r.store, r.records, key, turn, turn)
	if err != nil {
		return nil, err
	}
	if entries[0].Message == nil {
		return nil, fmt.Errorf("log of %s has no turn at %d: %w", key, turn, store.ErrCorrupt)
	}
	return entries[0].Message.ToolCalls, nil
}

// write stores the decision, or finds that it was stored before.
// It returns the head after the write, or the head that has the decision. A duplicate
// changes nothing, but sends the hint again.
func (u *deciding) write(ctx context.Context, head thread.Head, inline bool) (thread.Head, error) {
	change := thread.Decide{
		Run: u.receipt.RunID, Call: uint8(u.receipt.Index), Ticket: u.ticket, Resume: u.resumes,
		Decision: u.decisionKey(), Child: u.child,
	}
	// The head remembers the call too, so that a request by the call's id finds the decision
	// after its ticket is gone.
	if u.byCall {
		change.Dedupe = thread.CallDecisionKey(u.receipt.RunID, u.asked.Target, u.said.ID)
	}
	// An older program would run the call with the model's arguments, since it ignores what it
	// does not know. So such a decision has a schema that it refuses, and the head says so
	// before a claim.
	name, records := u.name(), u.s.records
	var edited uint16
	if len(u.said.Arguments) > 0 {
		records = records.Edited()
		edited = records.Writes
	}
	c := commit{
		w: &u.s.writer, key: u.key, inline: inline, covers: edited,
		change: change,
		build: func(next thread.Head, _ thread.Result) ([]store.Record, error) {
			if next.Run.Base-1 != u.receipt.Turn { // a later turn's call waits under the same suspension id
				return nil, fmt.Errorf("call %s: %w", u.receipt.CallID, thread.ErrNotFound)
			}
			payload, err := records.Encode("decision", thread.DecisionRecord{Decision: u.said, Suspension: u.receipt.SuspensionID})
			return []store.Record{{Name: name, Payload: payload}}, err
		},
	}
	next, result, err := c.run(ctx, head)
	// The record's name follows from the decision's id, so that another attempt with the
	// same id is in the way: one that was refused, or died before its head, or was first.
	if errors.Is(err, store.ErrConflict) {
		next, result, err = u.writeOver(ctx, name, c)
	}
	if err != nil || !result.Duplicate {
		return next, err
	}
	u.receipt.Duplicate = true
	if u.known && (u.ticket == noTicket || u.counted(next)) {
		return next, nil
	}
	return next, u.confirm(ctx, next)
}

// decisionKey is the head's form of the decision's id. It is never 0, which marks a ticket that
// is not decided.
func (u *deciding) decisionKey() uint64 {
	return thread.DecisionKey(u.receipt.RunID, u.receipt.SuspensionID, u.said.ID)
}

// name is the name of the decision's record.
func (u *deciding) name() string {
	return recordname.Decision(u.receipt.RunID, u.receipt.Turn, uint8(u.receipt.Index), u.decisionKey())
}
