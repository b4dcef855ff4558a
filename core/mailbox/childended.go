package mailbox

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/wire"
	"github.com/reveille-run/reveille/core/store"
)

// A child run's end reaches its parent in one of two ways, which the submission chose. A call
// that waits has a ticket of kind child whose suspension has the id of the child run, and gets
// a decision. A parent without a waiting call reads internal input. Both have an id that
// follows from the child's, so that a second attempt changes nothing.
//
// If no call waits any more, since the call has its result or the run is over, there is nothing
// to deliver, but for a detached child: see detached.go. A call may also not wait yet, if its child was quicker than its own step. The
// call's status tells the two apart: until it is done, its ticket may come.

// errNotYet: the call that is to wait for the child does not yet.
var errNotYet = errors.New("the parent's call does not wait yet")

// maxChildEnd bounds the notice to a parent, in bytes: it may become arguments, of which a tool
// takes 256 KB (tool.MaxArguments, which the sweep would link for this alone).
const maxChildEnd = 255 << 10

// tellParent notifies the parent of a run of the tenant that the run is over. nil: the parent
// has the notice, now or before, or waits no more. errNotYet: the call that is to wait for the
// child does not wait yet, so that the parent is notified later.
func tellParent(ctx context.Context, s *Service, tenant string, child matter) error {
	if child.parent == nil { // no later try can read it either
		s.log.WarnContext(ctx, "parent of an ended child run unknown", "tenant", tenant, "thread", child.run.ThreadID, "run", child.run.ID)
		return nil
	}
	key := core.ThreadKey{Tenant: tenant, Thread: child.parent.Thread}
	parent, err := s.Head(ctx, key)
	if err != nil {
		return err
	}
	over := parent.Run.ID != child.parent.Run
	if !over && parent.Run.Status == thread.Closing {
		over = true
		if err := dropChild(ctx, s, key, parent, child.run.ID); err != nil { // its end owes this child nothing
			return err
		}
	}
	if !over && child.parent.Call != thread.NoCall {
		return decideForChild(ctx, s, key, parent, child, encodeEnd(child.run))
	}
	if !over {
		if over, err = sayToParent(ctx, s, key, parent, child.run); err != nil {
			return err
		}
	}
	if over && child.parent.Detached && child.parent.Call == thread.NoCall {
		return post{s: s}.tellThread(ctx, key, child)
	}
	return nil // it is over, and so is its wait
}

// endMessage is a child's end as a parent reads it for which no call waits.
func endMessage(child core.Run) core.Message {
	return core.UserMessage("A run that you started is over: " + string(encodeEnd(child)))
}

// encodeEnd encodes a child's end, its response cut to what can be passed on.
func encodeEnd(r core.Run) json.RawMessage {
	end := core.ChildEnd{RunID: r.ID, ThreadID: r.ThreadID, AgentID: r.AgentID, Termination: r.Termination, Response: r.Response, Steps: r.Steps, Usage: r.Usage}
	for {
		b, _ := json.Marshal(end) // texts, ids and numbers always encode
		over := len(b) - maxChildEnd
		if over <= 0 || end.Response == "" {
			return b
		}
		// At least as many bytes as are too many: one may be encoded as several, never less.
		keep := max(0, len(end.Response)-max(over/6, 64))
		end.Response, end.Cut = strings.ToValidUTF8(end.Response[:keep], ""), true
	}
}

// decideForChild resumes the call that waits for the child.
func decideForChild(ctx context.Context, s *Service, key core.ThreadKey, parent thread.Head, child matter, payload json.RawMessage) error {
	id := child.run.ID.String()
	if slices.Contains(parent.Recent, thread.DecisionKey(parent.Run.ID, id, id)) {
		return nil // told before
	}
	at := slices.IndexFunc(parent.Tickets, func(t thread.Ticket) bool { return t.ID == thread.TicketKey(parent.Run.ID, id) })
	switch {
	case at < 0 && parent.Run.Awaits(child.parent.Call):
		return errNotYet
	case at < 0: // the call has its result
		return dropChild(ctx, s, key, parent, child.run.ID)
	case parent.Tickets[at].Decision != 0: // not by this end, which would be known
		return dropChild(ctx, s, key, parent, child.run.ID)
	}
	decision := core.Decision{ID: id, Action: core.DecisionResume, Payload: payload}
	deciding := Deciding{Target: id, User: parent.Owner, Decision: decision}
	_, _, err := s.decide(ctx, key, deciding, decideOptions{child: child.run.ID})
	if code := core.CodeOf(err); code == core.CodeInvalid || code == core.CodeTooLarge {
		// The ticket asks for something other than a child's outcome: its call must not wait
		// for ever.
		s.log.WarnContext(ctx, "child's end does not fit its ticket", "tenant", key.Tenant, "thread", key.Thread, "run", parent.Run.ID, "error", err)
		deciding.Decision = core.Decision{ID: id, Action: core.DecisionCancel, Reason: "what the child run came to is not what the call waits for"}
		_, _, err = s.decide(ctx, key, deciding, decideOptions{child: child.run.ID})
	}
	if errors.Is(err, thread.ErrDeleted) {
		return nil
	}
	if errors.Is(err, thread.ErrDecided) || errors.Is(err, thread.ErrNotFound) { // in between: the next look finds how
		return errNotYet
	}
	return err
}

// dropChild takes a child that is over from the list of its parent, for whose end no call waits
// any more.
func dropChild(ctx context.Context, s *Service, key core.ThreadKey, parent thread.Head, child core.ID) error {
	if !slices.Contains(parent.Run.Children, child) {
		return nil
	}
	_, _, err := s.Commit(ctx, key, parent, thread.DropChild{Run: parent.Run.ID, Child: child}, nil)
	if errors.Is(err, thread.ErrDeleted) {
		return nil
	}
	return err
}

// sayToParent gives the parent's run internal input, which its next step reads. over means that
// the run is over and has not read it.
func sayToParent(ctx context.Context, s *Service, key core.ThreadKey, parent thread.Head, child core.Run) (over bool, err error) {
	run, _, err := s.reads.runRecord(ctx, key, parent.Run.ID)
	if err != nil {
		return false, err
	}
	id := childInput(child.ID)
	// After a while the head forgets the ids that it received: if a worker died before it could
	// note its notice, the parent must not receive the notice twice.
	if _, read, err := s.reads.readBy(ctx, key, parent, id); read || err != nil {
		return false, err
	}
	record, err := inputRecord(s.records, &thread.Queued{
		Run: id, Dispatch: id, AgentID: run.AgentID, Origin: core.OriginInternal,
		Messages: []core.Message{endMessage(child)},
	}, 0)
	if err != nil {
		return false, err
	}
	err = putToParent(ctx, s, key, parent, record, func(head thread.Head) thread.Change {
		if head.Run.ID != parent.Run.ID { // never another run's
			return thread.Input{Owner: head.Owner} // which is refused
		}
		return thread.Input{ID: id, Kind: thread.InboxInternal, Owner: head.Owner, Dedupe: dedupe(id), Child: child.ID}
	})
	switch core.CodeOf(err) {
	case core.CodeNotFound, core.CodeDeleted, core.CodeInvalid:
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("tell run %s: %w", parent.Run.ID, err)
	}
	return false, nil
}

// putToParent gives a parent the internal input of a record. If an earlier attempt has left that
// input with other bytes, as a program does that writes another schema, the stored record counts.
func putToParent(ctx context.Context, s *Service, key core.ThreadKey, parent thread.Head, input store.Record, choose func(thread.Head) thread.Change) error {
	c := commit{
		w: &s.writer, key: key, choose: choose,
		build: func(thread.Head, thread.Result) ([]store.Record, error) { return []store.Record{input}, nil },
	}
	_, _, err := c.run(ctx, parent)
	if !errors.Is(err, store.ErrConflict) {
		return err
	}
	_, schema, err := s.reads.leftInput(ctx, key, input.Name)
	if err != nil {
		return err
	}
	again := commit{w: &s.writer, key: key, choose: choose, covers: schema}
	_, _, err = again.run(ctx, parent)
	return err
}

// childInput is the id of the input that tells of a child's end. It has the child's
// time and is not the child's id, which a run of another thread must not have.
func childInput(child core.ID) core.ID {
	sum := sha256.Sum256(append([]byte("child input "), child[:]...))
	id := wire.DerivedID(sum[:])
	copy(id[:6], child[:])
	return id
}
