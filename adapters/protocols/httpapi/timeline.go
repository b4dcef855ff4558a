package httpapi

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
)

// runStep is a step of a run. Times are Unix milliseconds.
type runStep struct {
	Step      int             `json:"step"`
	MessageID string          `json:"message_id,omitempty"`
	BeganAt   int64           `json:"began_at,omitempty"`
	SaidAt    int64           `json:"said_at,omitempty"`  // time at which the response was complete
	EndedAt   int64           `json:"ended_at,omitempty"` // time of the last tool result
	Open      bool            `json:"open,omitempty"`     // some calls have no result yet
	Model     string          `json:"model,omitempty"`
	Stop      core.StopReason `json:"stop_reason,omitempty"`
	Usage     *core.Usage     `json:"usage,omitempty"`
	Duration  int64           `json:"duration_ms,omitempty"` // duration of the model calls that contributed to the response
	Retries   int             `json:"retries,omitempty"`     // number of failed model calls before the response
	Shown     *stepWindow     `json:"shown,omitempty"`       // the part of the thread in the model's request
	Text      string          `json:"text,omitempty"`
	Reasoning string          `json:"reasoning,omitempty"`
	Failed    *stepFailure    `json:"failed,omitempty"`    // the inference failed permanently, and the run continued
	Cut       bool            `json:"cut,omitempty"`       // the end of the run cut the step short; its text is what the model had generated until then
	QueuedMS  int64           `json:"queued_ms,omitempty"` // time from when the step was due until a worker claimed the run; absent: no time, or unknown
	FirstAt   int64           `json:"first_at,omitempty"`  // time of the first token of the last attempt
	Attempts  []stepAttempt   `json:"attempts,omitempty"`  // the newest 16 model calls of the worker that made the step, oldest first; the last one generated the response, failed permanently or was cut short
	Takeovers []stepTakeover  `json:"takeovers,omitempty"` // the newest lost claims of the step, oldest first; a run keeps 8
	Calls     []stepCall      `json:"calls,omitempty"`
	Revision  uint64          `json:"revision,omitempty"` // revision of the state after the step, if the step changed the state
	Totals    *stepTotals     `json:"totals,omitempty"`   // totals of the run up to this step
}

// stepAttempt is a model call for a step. Calls that continue a response after the token limit
// of the model belong to one attempt.
type stepAttempt struct {
	BeganAt int64  `json:"began_at"`
	EndedAt int64  `json:"ended_at,omitempty"`
	FirstAt int64  `json:"first_at,omitempty"` // time of the first token; absent: none came, or unknown
	Model   string `json:"model,omitempty"`
	Reason  string `json:"reason,omitempty"`  // kind of the failure, or how the run ended; absent: the call generated the response
	WaitMS  int64  `json:"wait_ms,omitempty"` // pause before the next attempt
}

// stepTakeover is a claim that its worker lost, for example because the host ended.
type stepTakeover struct {
	ClaimedAt int64 `json:"claimed_at,omitempty"` // time at which the worker claimed the run
	LostAt    int64 `json:"lost_at"`              // time at which the lease ended, or the host started again
	BeganAt   int64 `json:"began_at"`             // time at which the next worker claimed the run
}

type stepFailure struct {
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
	Calls  int    `json:"calls,omitempty"` // number of failed model calls
}

// stepWindow is the part of the thread in a model's request, by sequences of its log.
type stepWindow struct {
	First     uint64 `json:"first,omitempty"`     // the oldest message in the request; absent: all messages
	Opening   uint64 `json:"opening,omitempty"`   // the input of the run, included although it is older than first
	Shortened uint64 `json:"shortened,omitempty"` // large results before this message were shortened
	Summary   uint64 `json:"summary,omitempty"`   // a summary replaced the messages up to this one
	Estimate  int    `json:"estimate,omitempty"`  // estimated tokens of the request
	Tokens    int    `json:"tokens,omitempty"`    // tokens of the request, as the provider counts them
	Refused   bool   `json:"refused,omitempty"`   // true if the model refused a longer request before
	Limit     int    `json:"limit,omitempty"`     // the tokens that a request may have, as far as that refusal tells
}

// stepCall is a tool call of a step.
type stepCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Status    string          `json:"status"` // status of the result; without a result new, running, suspended, resuming or cancelling
	IsError   bool            `json:"is_error,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`  // any JSON
	Message   string          `json:"message,omitempty"` // text that the model reads instead of the result
	BeganAt   int64           `json:"began_at,omitempty"`
	EndedAt   int64           `json:"ended_at,omitempty"`
	Duration  int64           `json:"duration_ms,omitempty"`
	Decision  string          `json:"decision_id,omitempty"` // the decision that led to the result

	AskedAt    int64               `json:"asked_at,omitempty"`    // time at which the call started to wait for the last time
	AnsweredAt int64               `json:"answered_at,omitempty"` // time at which a worker continued the call after the decision
	Action     core.DecisionAction `json:"action,omitempty"`      // effect of the decision: cancel also if its payload denied the call
	Edited     json.RawMessage     `json:"edited,omitempty"`      // arguments that a decision put in place of the model's
	Reason     string              `json:"reason,omitempty"`      // reason of a denial
	Child      *callChild          `json:"child,omitempty"`       // the run that the call waits for, or waited for
	WakesAt    int64               `json:"wakes_at,omitempty"`    // time at which the call continues, or would have continued, without a decision
	Woken      bool                `json:"woken,omitempty"`       // true if the time came before a decision
	User       string              `json:"user,omitempty"`        // user on whose behalf it was decided, if one is known
}

// callChild is the child run of a call. Thread and agent are absent if the child no longer
// exists.
type callChild struct {
	RunID    core.ID `json:"run_id"`
	ThreadID string  `json:"thread_id,omitempty"`
	AgentID  string  `json:"agent_id,omitempty"`
}

type stepTotals struct {
	Steps int        `json:"steps"`
	Usage core.Usage `json:"usage"`
}

// runSteps is a page of a run's steps.
type runSteps struct {
	RunID      core.ID   `json:"run_id"`
	ThreadID   string    `json:"thread_id"`
	Steps      []runStep `json:"steps"`
	HasMore    bool      `json:"has_more"`
	NextCursor *string   `json:"next_cursor"` // null: this is the last page
	Limit      int       `json:"limit"`       // the requested limit, clamped to 1 to 200; default 50
}

func (a *api) getSteps(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	runID, err := runOf(r)
	if err != nil {
		return err
	}
	limit, cursor, err := pageQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	q := host.StepQuery{Limit: limit}
	if cursor != nil {
		text, ok := decodeCursor(stepsCursor, *cursor)
		if q.After, err = strconv.ParseUint(text, 10, 40); !ok || err != nil {
			return badCursor(*cursor)
		}
	}
	got, err := a.Host.Steps(r.Context(), id, runID, q)
	if err != nil {
		return protocol.Hide(err, "run", runID.String())
	}
	page := runSteps{RunID: got.Run.ID, ThreadID: got.Run.ThreadID, Steps: []runStep{}, HasMore: got.Next != 0, Limit: shown(limit)}
	for _, s := range got.Steps {
		page.Steps = append(page.Steps, stepOf(s))
	}
	if got.Next != 0 {
		next := encodePlace(stepsCursor, strconv.FormatUint(got.Next, 10))
		page.NextCursor = &next
	}
	protocol.JSON(w, http.StatusOK, page)
	return nil
}

func stepOf(s host.Step) runStep {
	step := runStep{
		Step: s.Number, MessageID: s.MessageID, BeganAt: s.Began, SaidAt: s.Said, EndedAt: s.Ended, Open: s.Ended == 0, Model: s.Model, Stop: s.Stop,
		Usage: s.Usage, Duration: s.Duration, Retries: s.Retries, Text: s.Text, Reasoning: s.Reasoning, Revision: s.Revision,
		Cut: s.Cut, QueuedMS: s.Queued, FirstAt: s.First,
	}
	for _, a := range s.Attempts {
		step.Attempts = append(step.Attempts, stepAttempt{BeganAt: a.Began, EndedAt: a.Ended, FirstAt: a.First, Model: a.Model, Reason: a.Reason, WaitMS: a.Wait})
	}
	for _, l := range s.Losses {
		if l.Began == 0 {
			continue // no worker has taken it over yet
		}
		step.Takeovers = append(step.Takeovers, stepTakeover{ClaimedAt: l.Claimed, LostAt: l.Lost, BeganAt: l.Began})
	}
	if f := s.Failed; f != nil {
		step.Failed = &stepFailure{Reason: f.Kind, Detail: f.Text, Calls: f.Calls}
	}
	if w := s.Window; w != nil {
		step.Shown = &stepWindow{First: w.First, Opening: w.Opening, Shortened: w.Short, Summary: w.Summary, Estimate: w.Estimate, Tokens: w.Tokens, Refused: w.Refused, Limit: w.Limit}
	}
	if t := s.Totals; t != nil {
		step.Totals = &stepTotals{Steps: t.Steps, Usage: t.Usage}
	}
	for _, c := range s.Calls {
		call := stepCall{
			ID: c.ID, Name: c.Name, Arguments: c.Arguments, Status: c.Status, BeganAt: c.Began, EndedAt: c.Ended, Duration: c.Duration, Decision: c.Decision,
		}
		if c.Result != nil {
			call.IsError, call.Result, call.Message = c.Result.IsError, c.Result.Data, c.Result.Message
		}
		w := c.Wait
		call.AskedAt, call.AnsweredAt, call.Action, call.Edited, call.Reason = w.Asked, w.Answered, w.Action, w.Edited, w.Reason
		call.WakesAt, call.Woken, call.User = w.WakeAt, w.Woken, w.User
		if w.Child != nil {
			call.Child = &callChild{RunID: w.Child.RunID, ThreadID: w.Child.ThreadID, AgentID: w.Child.AgentID}
		}
		step.Calls = append(step.Calls, call)
	}
	return step
}

// placedEvent is an event with its position, which is the id of its frame in a stream.
type placedEvent struct {
	Position string `json:"position"`
	core.Event
}

// eventList is a page of a run's events.
type eventList struct {
	Events     []placedEvent `json:"events"`
	HasMore    bool          `json:"has_more"`    // more events are committed now
	NextCursor *string       `json:"next_cursor"` // null: no more events are committed now; an open run may add some later
	Limit      int           `json:"limit"`       // the requested limit, clamped to 1 to 200; default 50
}

func (a *api) getEvents(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	runID, err := runOf(r)
	if err != nil {
		return err
	}
	limit, cursor, values, err := filteredQuery(r.URL.RawQuery, "after")
	if err != nil {
		return err
	}
	q := host.EventQuery{Limit: limit}
	switch {
	case cursor != nil && values.Has("after"):
		return core.Errorf(core.CodeInvalid, "query has both cursor and after, at most one is allowed")
	case cursor != nil:
		if q.After, err = placeOf(eventsCursor, cursor); err != nil {
			return err
		}
	default:
		q.After = values.Get("after")
	}
	got, err := a.Host.Committed(r.Context(), id, runID, q)
	if err != nil {
		return protocol.Hide(err, "run", runID.String())
	}
	page := eventList{Events: []placedEvent{}, HasMore: got.Next != "", NextCursor: cursorOf(eventsCursor, got.Next), Limit: shown(limit)}
	for _, e := range got.Items {
		page.Events = append(page.Events, placedEvent{Position: e.Position, Event: e})
	}
	protocol.JSON(w, http.StatusOK, page)
	return nil
}
