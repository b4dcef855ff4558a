package mailbox

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
)

// Publisher tells the world what happens to runs. An announcement counts as published
// when Publish returns nil; on an error it comes again, as it is when what it says is
// settled, with the same id. It is called with what happens to many threads at once.
type Publisher interface {
	Publish(ctx context.Context, a Announcement) error
}

// AnnouncementType says what happened.
type AnnouncementType string

// The types of announcements.
const (
	RunWaiting      AnnouncementType = "run.waiting"       // for a person or a client: see Tickets
	RunEnded        AnnouncementType = "run.ended"         // see Termination
	RunDeadLettered AnnouncementType = "run.dead_lettered" // given up; it will be announced as ended too
)

// Announcement is what is published of a run, at least once and in no order. It says
// which run and what to do about it, and nothing of what was said: no message, no
// argument, no response.
type Announcement struct {
	ID   string           `json:"-"` // the same at each try: run, version of the head, type
	Type AnnouncementType `json:"-"`
	At   time.Time        `json:"-"` // when it happened, UTC

	Tenant   string     `json:"tenant"`
	User     string     `json:"user,omitempty"` // owner of the thread
	ThreadID string     `json:"thread_id"`
	RunID    core.ID    `json:"run_id"`
	AgentID  string     `json:"agent_id,omitempty"`
	Steps    int        `json:"steps"`
	Usage    core.Usage `json:"usage,omitzero"`
	// Termination is how a run ended that has; without its detail, which may quote.
	Termination *core.Termination `json:"termination,omitempty"`
	// Tickets are what a run waits for: what a decision can be addressed to.
	Tickets []AnnouncedTicket `json:"tickets,omitempty"`
	// Missed is how many announcements of the thread were dropped since the one that
	// was published last, because the publisher did not take them for too long.
	Missed int `json:"missed,omitempty"`
}

// AnnouncedTicket is one suspended call of a run that waits.
type AnnouncedTicket struct {
	SuspensionID string          `json:"suspension_id"`
	CallID       string          `json:"tool_call_id"`
	Tool         string          `json:"tool_name"`
	Action       string          `json:"action"`
	Kind         core.TicketKind `json:"kind"`
	Deadline     int64           `json:"expires_at,omitempty"` // unix milliseconds; absent: never
}

// errUnheard: there is an announcement, and no publisher.
var errUnheard = errors.New("no publisher is configured")

// announce publishes an announcement as things stand now. One that is not true any
// more, of a run that waited and does not, is no news.
func (s *Service) announce(ctx context.Context, key core.ThreadKey, head thread.Head, n thread.Notify) error {
	if s.publisher == nil {
		return errUnheard
	}
	a := Announcement{
		ID: n.Child.String() + "." + strconv.FormatUint(n.Version, 10) + "." + n.Kind.String(), At: time.UnixMilli(n.At).UTC(),
		Tenant: key.Tenant, User: head.Owner, ThreadID: key.Thread, RunID: n.Child, Missed: int(n.Missed),
	}
	switch n.Kind {
	case thread.NotifyWaiting:
		a.Type = RunWaiting
		if head.Run.ID != n.Child || head.Run.Status != thread.Waiting {
			return nil
		}
		tickets, err := s.announcedTickets(ctx, key, head)
		if err != nil || len(tickets) == 0 { // none: it went on, and waits for a child now
			return err
		}
		a.Tickets = tickets
	case thread.NotifyDeadLettered:
		a.Type = RunDeadLettered
	default:
		a.Type = RunEnded
	}
	if err := s.describe(ctx, key, head, &a); err != nil {
		return err
	}
	ctx, cancel := s.env.WithTimeout(ctx, announceWithin)
	defer cancel()
	return s.publisher.Publish(ctx, a)
}

// announcedTickets are those of the waiting run that somebody outside is to decide.
func (s *Service) announcedTickets(ctx context.Context, key core.ThreadKey, head thread.Head) (list []AnnouncedTicket, err error) {
	tickets, err := s.Tickets(ctx, key, head)
	for _, t := range tickets {
		if t.Decision != nil || t.Kind == core.TicketChild {
			continue
		}
		list = append(list, AnnouncedTicket{
			SuspensionID: t.Suspension.ID, CallID: t.CallID, Tool: t.Tool, Action: t.Suspension.Action, Kind: t.Kind, Deadline: t.Deadline,
		})
	}
	return list, err
}

// describe fills in what the run's record says.
func (s *Service) describe(ctx context.Context, key core.ThreadKey, head thread.Head, a *Announcement) error {
	r, err := s.told(ctx, key, head, a.RunID)
	if err != nil {
		return err
	}
	a.AgentID, a.Steps, a.Usage = r.AgentID, r.Steps, r.Usage
	if t := r.Termination; t != nil && a.Type != RunWaiting {
		a.Termination = &core.Termination{Type: t.Type, Code: t.Code}
	}
	return nil
}

// codeDeleted is the code of a run that ended with its thread.
const codeDeleted = "deleted"

// told reads a run that something is to be told of. Of a deleted thread nothing is
// known but that its runs have ended.
func (s *Service) told(ctx context.Context, key core.ThreadKey, head thread.Head, run core.ID) (core.Run, error) {
	lost := core.Run{ID: run, ThreadID: key.Thread, Status: core.RunDone, Termination: &core.Termination{Type: core.TerminationCancelled, Code: codeDeleted}}
	if head.Deleted {
		return lost, nil
	}
	_, dispatch, _, err := s.Locate(ctx, key.Tenant, run)
	if err != nil {
		return lost, err
	}
	r, ok, err := s.Run(ctx, key, head, run, dispatch)
	if err == nil && !ok || core.CodeOf(err) == core.CodeCorrupt { // no later try can read it
		lost.Termination = &core.Termination{Type: core.TerminationError, Code: string(core.CodeCorrupt)}
		return lost, nil
	}
	return r, err
}

// MarshalJSON encodes the announcement as every receiver reads it: id, type, timestamp
// and, in data, the rest.
func (a Announcement) MarshalJSON() ([]byte, error) {
	type data Announcement
	return json.Marshal(struct {
		ID        string           `json:"id"`
		Type      AnnouncementType `json:"type"`
		Timestamp time.Time        `json:"timestamp"`
		Data      data             `json:"data"`
	}{a.ID, a.Type, a.At, data(a)})
}
