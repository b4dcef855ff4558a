package mailbox

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// Publisher announces the progress of runs outside of the deployment. An announcement counts as
// published when Publish returns nil; after an error it is repeated with the same id, also if
// its content is no longer current. Publish is called concurrently for many threads.
type Publisher interface {
	Publish(ctx context.Context, a Announcement) error
}

// AnnouncementType names what happened.
type AnnouncementType string

// The types of announcements.
const (
	RunWaiting      AnnouncementType = "run.waiting"       // for a person or a client: see Tickets
	RunEnded        AnnouncementType = "run.ended"         // see Termination
	RunDeadLettered AnnouncementType = "run.dead_lettered" // given up; it will be announced as ended too
)

// Announcement is published at least once and in no order. It names the run and the reason, and
// has no content: no message, no argument, no response.
type Announcement struct {
	ID   string           `json:"-"` // the same at each attempt: of the run, or of the write by which it waits, and the type
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
	// Tickets are what a run asks for, and a decision can be addressed to.
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

// errNoNews: what was to be announced is not true any more.
var errNoNews = errors.New("it is not true any more")

// announce publishes what an outbox entry says, with the run as it is now. The error is
// errNoNews if nothing is to be said any more: the run waited for a person or a client, and
// now waits for child runs and timers only.
func (s *Service) announce(ctx context.Context, key core.ThreadKey, head thread.Head, e thread.OutboxEntry, about matter) error {
	if s.publisher == nil {
		return errUnheard
	}
	a := Announcement{
		ID: e.ID.String() + "." + e.Kind.String(), At: time.UnixMilli(about.at).UTC(),
		Tenant: key.Tenant, User: head.Owner, ThreadID: key.Thread, RunID: about.run.ID, Missed: int(head.SaysMissed(e)),
		AgentID: about.run.AgentID, Steps: about.run.Steps, Usage: about.run.Usage,
	}
	if t := about.run.Termination; t != nil && e.Kind != thread.OutboxWaiting {
		a.Termination = &core.Termination{Type: t.Type, Code: t.Code}
	}
	switch e.Kind {
	case thread.OutboxWaiting:
		a.Type = RunWaiting
		tickets, err := s.announcedTickets(ctx, key, head)
		if err != nil {
			return err
		}
		if len(tickets) == 0 {
			return errNoNews
		}
		a.Tickets = tickets
	case thread.OutboxDeadLettered:
		a.Type = RunDeadLettered
	default:
		a.Type = RunEnded
	}
	ctx, cancel := s.env.WithTimeout(ctx, announceWithin)
	defer cancel()
	return s.publisher.Publish(ctx, a)
}

// announcedTickets are those tickets of the waiting run that ask a person or a client.
func (s *Service) announcedTickets(ctx context.Context, key core.ThreadKey, head thread.Head) (list []AnnouncedTicket, err error) {
	tickets, err := s.Asked(ctx, key, head)
	for _, t := range tickets {
		list = append(list, AnnouncedTicket{
			SuspensionID: t.Suspension.ID, CallID: t.CallID, Tool: t.Tool, Action: t.Suspension.Action, Kind: t.Kind, Deadline: t.Deadline,
		})
	}
	return list, err
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
