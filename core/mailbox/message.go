package mailbox

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/wire"
	"github.com/reveille-run/reveille/core/store"
)

// Message is what a run sends to another thread of its tenant and owner. It is in the outbox of
// the run's thread until the other thread has it as internal input: in the inbox of its open
// run, else as the input of another run. Messages to one thread arrive in order.
type Message struct {
	// ID identifies the message: the same ID is delivered once, however often it is sent. It
	// begins with the time in milliseconds, as a UUIDv7 does.
	ID       core.ID
	Run      core.ID // the run that sends it, which is open
	To       Recipient
	Messages []core.Message // as of a [Submission]
}

// Recipient is the receiver of a message.
type Recipient struct {
	Thread string
	// Run is the only run that may read it; zero: any run of the thread.
	Run core.ID
	// AgentID is the agent of the run that the message starts if no run is open; empty: that
	// of the thread's last run, as of the first try that has stored the message there.
	AgentID string
}

// The reasons for which a message fails at its first try. Their codes are those of [MessageCode].
var (
	// errRecipientNotFound means that the thread does not exist, or it belongs to another user.
	errRecipientNotFound = core.Errorf(core.CodeNotFound, "the recipient does not exist")
	// errRecipientUnavailable means that the thread is deleted or damaged, the run is over, or no
	// agent is known that could read the message.
	errRecipientUnavailable = core.Errorf(core.CodeConflict, "the recipient reads no more messages")
)

// messageWaits are the times between the tries of a message. After one more failure it leaves
// the head for the list of failed messages.
var messageWaits = [...]time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour}

// errBehind: an earlier message to the same thread is not delivered yet.
var errBehind = errors.New("an earlier message is not delivered yet")

// Send puts a message into the outbox of a thread, durably. A worker delivers it after the step
// of the run that sends it. A message that is sent again, with the same ID and content, is
// delivered once. known is the thread's head, if the caller has read it; it may be stale.
//
// thread.ErrTooManyMessages: eight are not delivered yet. thread.ErrNotFound and
// thread.ErrClosing: the run is over, or ending. [MessageCode] knows the receivers that cannot be
// reached. Other errors are those of the store, and store.ErrConflict of an ID that was used with
// other content.
func (s *Service) Send(ctx context.Context, key core.ThreadKey, known thread.Head, m Message) (err error) {
	if err := checkMessages(m.Messages); err != nil {
		return err
	}
	if m.To.Thread == key.Thread {
		return core.Errorf(core.CodeInvalid, "message to its own thread %s", key.Thread)
	}
	if !known.Exists() {
		if known, err = s.Head(ctx, key); err != nil {
			return err
		}
	}
	// A receiver that cannot be reached is an error of the sender's, who can do something else.
	p := post{s, key, known.Owner}
	if _, err := p.receiver(ctx, m.To); err != nil && !errors.Is(err, errNotYet) {
		return err
	}
	record, err := messageRecord(s.records, m)
	if err != nil {
		return err
	}
	_, _, err = s.Commit(ctx, key, known, thread.Send{ID: m.ID, Run: m.Run},
		func(thread.Head, thread.Result) ([]store.Record, error) { return []store.Record{record}, nil })
	return err
}

// messagePayload is the content of a message's record.
type messagePayload struct {
	Messages []core.Message `json:"messages"`
}

// messageRecord is the stored form of a message. It has no time: a call that runs again must
// put the same bytes.
func messageRecord(records thread.Records, m Message) (store.Record, error) {
	payload, err := core.EncodeJSON(messagePayload{m.Messages})
	if err != nil {
		return store.Record{}, err
	}
	b, err := records.EncodeOutbox(&thread.OutboxRecord{To: []thread.OutboxTarget{m.To.target()}, Payload: payload})
	return store.Record{Name: recordname.Outbox(m.ID), Payload: b}, err
}

// target is the stored form of a recipient.
func (r Recipient) target() thread.OutboxTarget {
	to := thread.OutboxTarget{Kind: thread.TargetThread, Thread: r.Thread, Run: r.Run, AgentID: r.AgentID}
	if !to.Run.IsZero() {
		to.Kind = thread.TargetRun
	}
	return to
}

// message reads a message of the outbox. core.CodeCorrupt: its record is lost, or is none.
func (r reader) message(ctx context.Context, key core.ThreadKey, id core.ID) (m Message, err error) {
	m.ID = id
	record, ok, err := r.store.Get(ctx, key, recordname.Outbox(id))
	switch {
	case err != nil:
		return m, fmt.Errorf("read message %s: %w", id, err)
	case !ok:
		return m, fmt.Errorf("message %s has no record: %w", id, store.ErrCorrupt)
	}
	stored, err := r.records.DecodeOutbox(record.Payload)
	if err != nil {
		return m, fmt.Errorf("message %s: %w", id, err)
	}
	var payload messagePayload
	if len(stored.To) != 1 || json.Unmarshal(stored.Payload, &payload) != nil {
		return m, fmt.Errorf("message %s has no receiver or no content: %w", id, store.ErrCorrupt)
	}
	to := stored.To[0]
	m.To, m.Messages = Recipient{Thread: to.Thread, Run: to.Run, AgentID: to.AgentID}, payload.Messages
	return m, nil
}

// post carries what a thread sends to others: messages, and the ends of detached children. It
// is one goroutine's.
type post struct {
	s     *Service
	from  core.ThreadKey
	owner string // of from, and so of every receiver
}

// receiver reads the head of a message's receiver. errNotYet: its run is queued.
func (p post) receiver(ctx context.Context, to Recipient) (thread.Head, error) {
	head, err := p.s.Head(ctx, core.ThreadKey{Tenant: p.from.Tenant, Thread: to.Thread})
	if core.CodeOf(err) == core.CodeCorrupt { // the message itself is sound
		return head, fmt.Errorf("%w: %v", errRecipientUnavailable, err)
	}
	if err != nil {
		return head, err
	}
	switch access := checkAccess(head, p.owner); {
	case !head.Exists(), errors.Is(access, thread.ErrForbidden):
		return head, errRecipientNotFound
	case access != nil:
		return head, errRecipientUnavailable
	case to.Run.IsZero() || head.Run.ID == to.Run && head.Run.Status != thread.Closing:
		return head, nil
	}
	if status, ok := head.RunStatus(to.Run); ok && status == core.RunCreated {
		return head, errNotYet
	}
	return head, errRecipientUnavailable
}

// build makes the records of a commit; see [Service.Commit].
type build = func(thread.Head, thread.Result) ([]store.Record, error)

// deliver tries to deliver a message of the head, and returns what becomes of its entry, as
// Service.deliver does, with the records of that.
//
// A message that waits for an earlier one, for its run to open, or for a newer program has not
// failed. One that fails for the last time is noted in the list of failed messages by the
// write that takes it from the head, so that it is always in one of them.
func (p post) deliver(ctx context.Context, head thread.Head, e thread.OutboxEntry) (thread.Delivered, build) {
	s, done := p.s, thread.Delivered{ID: e.ID, Kind: e.Kind}
	var m Message
	var until int64
	err := env.Protect(func() (err error) {
		if m, err = s.reads.message(ctx, p.from, e.ID); err != nil {
			return err
		}
		if until, err = s.reads.behind(ctx, p.from, head, e, m.To.Thread); err != nil {
			return err
		}
		if until != 0 {
			return errBehind
		}
		return p.tell(ctx, m)
	})
	now := s.env.Millis()
	which := []any{"tenant", p.from.Tenant, "thread", p.from.Thread, "message", e.ID, "to", m.To.Thread, "error", err}
	switch final := isFinal(err); {
	case err == nil:
	case errors.Is(err, errBehind):
		done.Next, done.Was = max(until, now+firstRetry.Milliseconds()), e.Next
	case errors.Is(err, errNotYet), core.CodeOf(err) == core.CodeSchema:
		done.Next, done.Was = now+parentRetry.Milliseconds(), e.Next
	case !final && int(e.Tries) < len(messageWaits):
		done.Next, done.Failed, done.Was = now+messageWaits[e.Tries].Milliseconds(), true, e.Next
		s.log.WarnContext(ctx, "message not delivered, will be retried", append(which, "in", messageWaits[e.Tries].String())...)
	default:
		s.log.WarnContext(ctx, "message given up", which...)
		done.Was = e.Next
		failed := thread.FailedMessage{List: recordname.FailedList(p.owner), At: now, Message: e.ID, To: m.To.target(), Code: messageCode(err), Tries: int(e.Tries) + 1}
		return done, func(next thread.Head, _ thread.Result) ([]store.Record, error) {
			record, err := noteOf(s.records, next, failed)
			return []store.Record{record}, err
		}
	}
	return done, nil
}

// isFinal reports whether no later try can deliver a message.
func isFinal(err error) bool {
	return errors.Is(err, errRecipientNotFound) || errors.Is(err, errRecipientUnavailable) || core.CodeOf(err) == core.CodeCorrupt
}

// behind returns when the last earlier message to the same thread is tried next, unix
// milliseconds; 0: there is none. A message that cannot be read holds up no other.
func (r reader) behind(ctx context.Context, key core.ThreadKey, head thread.Head, e thread.OutboxEntry, to string) (until int64, err error) {
	for _, earlier := range head.Outbox {
		if earlier.Kind != thread.OutboxMessage {
			continue
		}
		if earlier.ID == e.ID {
			break
		}
		m, err := r.message(ctx, key, earlier.ID)
		switch {
		case core.CodeOf(err) == core.CodeCorrupt:
		case err != nil:
			return 0, err
		case m.To.Thread == to:
			until = max(earlier.Next, 1) // 0 would mean that there is none
		}
	}
	return until, nil
}

// tell gives a message to its receiver, unless that has it.
func (p post) tell(ctx context.Context, m Message) error {
	reads, key, id := p.s.reads, core.ThreadKey{Tenant: p.from.Tenant, Thread: m.To.Thread}, messageInput(m.ID)
	head, err := p.receiver(ctx, m.To)
	if errors.Is(err, errRecipientUnavailable) && head.Exists() && !head.Deleted { // its run may have read the message before it ended
		if _, _, known, failed := reads.accepted(ctx, key, head, id, id); known || failed != nil {
			return failed
		}
	}
	if err != nil {
		return err
	}
	agent, err := reads.agentOf(ctx, key, head, m.To)
	if err != nil {
		return err
	}
	if agent == "" {
		return fmt.Errorf("no agent of the thread is known: %w", errRecipientUnavailable)
	}
	_, _, err = p.s.submit(ctx, Submission{
		Thread: key, User: p.owner, Messages: m.Messages, Origin: core.OriginInternal, Into: m.To.Run, Opening: Opening{AgentID: agent},
	}, placing{message: &ids{run: id, dispatch: id}, known: &head})
	over := core.CodeOf(err) == core.CodeInvalid && !m.To.Run.IsZero() // see change
	if over || errors.Is(err, thread.ErrDeleted) {
		return errRecipientUnavailable
	}
	return err
}

// agentOf is the agent of the run that reads a message if no other does: the one that it
// names, else that of the open run, else that of the thread's last one. Empty: none is known.
func (r reader) agentOf(ctx context.Context, key core.ThreadKey, head thread.Head, to Recipient) (string, error) {
	if to.AgentID != "" {
		return to.AgentID, nil
	}
	if head.Open() {
		record, _, _, err := r.find(ctx, key, head, head.Run.ID, head.Run.Dispatch)
		return record.AgentID, err
	}
	record, ok, err := r.store.Get(ctx, key, recordname.Activity)
	if err != nil || !ok {
		return "", err
	}
	listing, err := r.records.DecodeListing(record.Payload)
	return listing.AgentID, err
}

// messageInput is the id of the input that a message becomes. It has the message's time and is
// not its id.
func messageInput(message core.ID) core.ID {
	sum := sha256.Sum256(append([]byte("message input "), message[:]...))
	id := wire.DerivedID(sum[:])
	copy(id[:6], message[:])
	return id
}
