package httpapi

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
)

// runStep is the wire form of a step of a run. Times are unix milliseconds.
type runStep struct {
	Step      int             `json:"step"`
	MessageID string          `json:"message_id,omitempty"`
	BeganAt   int64           `json:"began_at,omitempty"`
	SaidAt    int64           `json:"said_at,omitempty"`  // its turn was whole
	EndedAt   int64           `json:"ended_at,omitempty"` // its last result was there
	Open      bool            `json:"open,omitempty"`     // calls of it have no result yet
	Model     string          `json:"model,omitempty"`
	Stop      core.StopReason `json:"stop_reason,omitempty"`
	Usage     *core.Usage     `json:"usage,omitempty"`
	Duration  int64           `json:"duration_ms,omitempty"` // of the calls of the model whose words it has
	Retries   int             `json:"retries,omitempty"`     // calls of the model that failed before
	Shown     *stepWindow     `json:"shown,omitempty"`       // what the model was shown of the thread
	Text      string          `json:"text,omitempty"`
	Reasoning string          `json:"reasoning,omitempty"`
	Failed    *stepFailure    `json:"failed,omitempty"` // its inference failed for good, and the run went on
	Calls     []stepCall      `json:"calls,omitempty"`
	Revision  uint64          `json:"revision,omitempty"` // of the state behind it, where it has changed that
	Totals    *stepTotals     `json:"totals,omitempty"`   // of the run, with this step
}

type stepFailure struct {
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
	Calls  int    `json:"calls,omitempty"` // of the model that failed
}

// stepWindow says what a model was shown of the thread, by sequences of its log.
type stepWindow struct {
	First     uint64 `json:"first,omitempty"`     // the oldest message; what is before it was left out; absent: nothing was
	Opening   uint64 `json:"opening,omitempty"`   // what the run was asked, shown all the same
	Shortened uint64 `json:"shortened,omitempty"` // large results before it were shortened
	Summary   uint64 `json:"summary,omitempty"`   // a summary stood for what was said up to it
	Estimate  int    `json:"estimate,omitempty"`  // of the request, in tokens
	Tokens    int    `json:"tokens,omitempty"`    // of the request, as the provider counts them
}

// stepCall is a tool call of a step.
type stepCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Status    string          `json:"status"` // of its result; without one new, running, suspended, resuming or cancelling
	IsError   bool            `json:"is_error,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`  // any JSON
	Message   string          `json:"message,omitempty"` // what the model reads instead
	BeganAt   int64           `json:"began_at,omitempty"`
	EndedAt   int64           `json:"ended_at,omitempty"`
	Duration  int64           `json:"duration_ms,omitempty"`
	Decision  string          `json:"decision_id,omitempty"` // that the result follows
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
	NextCursor *string   `json:"next_cursor"` // null: there is no more
	Limit      int       `json:"limit"`       // how many it has at most: the limit that was asked for, clamped to 1 to 200; 50 without
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
	}
	if f := s.Failed; f != nil {
		step.Failed = &stepFailure{Reason: f.Kind, Detail: f.Text, Calls: f.Calls}
	}
	if w := s.Window; w != nil {
		step.Shown = &stepWindow{First: w.First, Opening: w.Opening, Shortened: w.Short, Summary: w.Summary, Estimate: w.Estimate, Tokens: w.Tokens}
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
		step.Calls = append(step.Calls, call)
	}
	return step
}

// placedEvent is an event with its place, which is the id of a stream's frame.
type placedEvent struct {
	Position string `json:"position"`
	core.Event
}

// eventList is a page of a run's events.
type eventList struct {
	Events     []placedEvent `json:"events"`
	HasMore    bool          `json:"has_more"`    // more are committed now
	NextCursor *string       `json:"next_cursor"` // null: there is no more now; a run that is not over goes on behind the last
	Limit      int           `json:"limit"`       // how many it has at most: the limit that was asked for, clamped to 1 to 200; 50 without
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
