package host

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
)

// A run's timeline is its log, read as steps: a turn starts one, the results of its calls
// belong to it, and a failed inference is a step without a turn.

// Step is one step of a run, from its records. Times are unix milliseconds; 0: not known,
// or not yet.
type Step struct {
	Number int
	// MessageID is the id of its turn; empty: it has no turn.
	MessageID string
	// Began is when the claim whose turn it has started it.
	Began int64
	// Said is when the turn was complete.
	Said int64
	// Ended is when its last result was stored, or the turn if it calls nothing; 0: the step
	// is open.
	Ended int64
	Model string
	Stop  core.StopReason
	Usage *core.Usage
	// Duration is that of the model calls that made the turn, in milliseconds.
	Duration int64
	// Queued is how long the run was due before the claim whose turn it has took it, in
	// milliseconds; 0: the claim had it already, or it is not known.
	Queued int64
	// First is when the first piece of the turn came; 0: not known.
	First int64
	// Attempts are the calls of models in the delivery that made the turn, at most 16. The
	// last one made it, or failed permanently, or was cut short by the run's end. Retries counts
	// those of all deliveries.
	Attempts []thread.Attempt
	// Losses are the claims that were lost in the step, each of which another worker has
	// taken over, or will.
	Losses []thread.Loss
	// Retries counts failed model calls before it, as far as they are known.
	Retries int
	// Window is the part of the thread that the model was sent; nil: the record does not
	// have it.
	Window    *core.Window
	Text      string
	Reasoning string
	// Failed is set if the inference failed after all retries; nil: it did not.
	Failed *thread.Failure
	// Cut is set if the run's end has cut the step short: its turn has last words at most.
	Cut bool
	// Calls are in the order in which the model made them.
	Calls []StepCall
	// Revision is that of the state after it; 0: it has not changed the state.
	Revision uint64
	// Totals are the run's up to and including this step; nil: it has none yet.
	Totals *thread.Totals
}

// StepCall is one tool call of a step.
type StepCall struct {
	core.ToolCall
	// Status is its result's, or without a result one of "new", "running", "suspended",
	// "resuming" and "cancelling".
	Status string
	Result *core.ToolResult // nil: not yet
	// Began is when the tool started, in unix milliseconds; 0: the tool did not run, or it
	// is not known.
	Began int64
	// Ended is when the result was stored, in unix milliseconds; 0: not yet.
	Ended int64
	// Duration is how long the tool ran, in milliseconds.
	Duration int64
	// Decision is the id of the decision that the result follows; empty: none.
	Decision string
	// Wait is the last wait of the call; zero: it did not wait, or the records of the wait
	// are gone.
	Wait CallWait
}

// StepQuery selects a page of a run's steps.
type StepQuery struct {
	After uint64 // a page's Next; 0: from the first
	Limit int    // 1 to 200; 0: 50
}

// StepPage is a page of a run's steps, oldest first. The last of them may be open.
type StepPage struct {
	Run   core.Run
	Steps []Step
	Next  uint64 // After of the next page; 0: this is the last
}

// Steps reads the timeline of a run: each step with its turn, its calls and their results
// as the log has them. The calls of an open round are as the head has them.
func (r *Host) Steps(ctx context.Context, id core.Identity, runID core.ID, q StepQuery) (page StepPage, err error) {
	bounds, err := MessageQuery{Limit: q.Limit}.complete()
	if err != nil {
		return page, err
	}
	key, head, record, err := r.reads.runRecord(ctx, id, runID)
	if err != nil {
		return page, err
	}
	b := steps{page: StepPage{Run: record, Steps: []Step{}}, limit: bounds.Limit}
	unfinished, losses, err := r.reads.aside(ctx, key, head, record)
	if err != nil {
		return page, err
	}
	defer func() {
		page.setLosses(losses)
		if err == nil {
			err = r.reads.noteWaits(ctx, key, head, runID, &b)
		}
	}()
	// A page starts with the record of a turn, or of a failed inference: After is where the
	// last page has stopped, which is one.
	from := max(record.FirstSeq, q.After)
	if from == 0 || from > head.Seq {
		b.addUnfinished(unfinished)
		return b.page, nil
	}
	for e, err := range threadlog.Entries(ctx, r.reads.store, r.reads.records, key, from, head.Seq) {
		if err != nil {
			return page, err
		}
		if e.Run != runID {
			break
		}
		if b.add(e); b.page.Next != 0 {
			return b.page, nil
		}
	}
	b.addUnfinished(unfinished)
	// Only the last page reaches the run's end, where a round may be open, and where the step
	// is that the end has cut short. Both are outside of the log.
	return b.page, r.reads.openCalls(ctx, key, head, runID, &b)
}

// steps collects the records of a run into a page of steps. A page begins and ends between two
// steps: the records of one step are never divided, however many bytes its results have.
type steps struct {
	page  StepPage
	limit int    // of the page, in steps
	size  int    // of the records on the page, in bytes
	done  int    // calls of the last step that have a result
	last  uint64 // sequence of the newest record that was added
	turn  uint64 // sequence of the turn of the last step
	// decided are the calls on the page whose result follows a decision, and open reports
	// that the last step is the open round of the head.
	decided []decidedCall
	open    bool
}

// add adds the next record of the run. If the page is full, it sets the page's Next to
// the record's sequence instead.
func (b *steps) add(e threadlog.Entry) {
	begins := e.Failed != nil || e.Message != nil && e.Message.Role == core.RoleAssistant
	size := e.JSONSize()
	if begins && len(b.page.Steps) > 0 && (len(b.page.Steps) == b.limit || b.size+size > maxPageBytes) {
		b.page.Next = e.Seq
		return
	}
	b.size, b.last = b.size+size, e.Seq
	switch m := e.Message; {
	case e.Failed != nil:
		b.page.Steps = append(b.page.Steps, failedStep(&e.Entry))
	case m == nil, m.Role == core.RoleUser: // input belongs to no step: the next turn reads it
	case m.Role == core.RoleAssistant:
		b.addTurn(e.Entry)
	default:
		b.addResult(e.Entry)
	}
	// Each record of a step may change the state, and the last one has the totals. Closing
	// records are the run's, and what supersedes the log's tail precedes the first step.
	if n := len(b.page.Steps); n > 0 && !e.Closing {
		last := &b.page.Steps[n-1]
		if len(e.Patch) > 0 && e.Superseded == nil {
			last.Revision = e.Revision
		}
		if e.Totals != nil {
			last.Totals = e.Totals
		}
	}
}

// addTurn starts a step with its turn.
func (b *steps) addTurn(e thread.Entry) {
	m := e.Message
	s := Step{
		Number: m.Step, MessageID: m.ID, Began: e.At, Said: m.CreatedAt, Model: m.Model, Stop: m.StopReason, Usage: m.Usage,
		Duration: e.Duration, Retries: int(e.Retried), Window: e.Window, Queued: e.Queued, Cut: e.Totals == nil && len(m.ToolCalls) == 0, // last words
	}
	s.setAttempts(&e)
	for _, block := range m.Content {
		if block.Type == core.BlockReasoning {
			s.Reasoning += block.Text
		}
	}
	s.Text = m.Text()
	for _, c := range m.ToolCalls {
		s.Calls = append(s.Calls, StepCall{ToolCall: c, Status: "new"})
	}
	if len(s.Calls) == 0 {
		s.Ended = s.Said
	}
	b.page.Steps, b.done, b.turn = append(b.page.Steps, s), 0, b.last
}

// addResult adds the result of the next call. The log has them in call order.
func (b *steps) addResult(e thread.Entry) {
	n := len(b.page.Steps)
	if n == 0 || b.done >= len(b.page.Steps[n-1].Calls) {
		return // the page starts inside a round: After was not a page's Next
	}
	s := &b.page.Steps[n-1]
	b.setResult(n-1, b.done, e)
	// The step ends when its last result is there; tools of a parallel round end in any
	// order.
	if b.done++; b.done == len(s.Calls) {
		for _, c := range s.Calls {
			s.Ended = max(s.Ended, c.Ended)
		}
	}
}

// setResult fills in the result of a call, and notes that its decision is to be read.
func (b *steps) setResult(step, call int, e thread.Entry) {
	b.page.Steps[step].Calls[call].setResult(e)
	if e.Decision != "" {
		b.decided = append(b.decided, decidedCall{step: step, call: call, turn: b.turn, resumed: e.At})
	}
}

// setResult fills in what the record of a call's result says of the call.
func (c *StepCall) setResult(e thread.Entry) {
	c.Result, c.Ended, c.Duration, c.Decision = e.Message.ToolResult, e.Message.CreatedAt, e.Duration, e.Decision
	c.Status, c.Wait.Edited = string(c.Result.Status), e.Arguments
	if e.Duration > 0 {
		c.Began = c.Ended - c.Duration
	}
}

// openCalls sets the status of the calls of an open round, as the head has it.
func (r *reader) openCalls(ctx context.Context, key core.ThreadKey, head thread.Head, runID core.ID, b *steps) error {
	n := len(b.page.Steps)
	if n == 0 || head.Run.ID != runID || head.Run.Cursor != thread.CursorTools {
		return nil
	}
	s := &b.page.Steps[n-1]
	if len(s.Calls) != len(head.Run.Calls) || s.Number != int(head.Run.Step) {
		return nil // the page ends before the open round
	}
	// The results that already count replace the status of their calls.
	b.open = true
	for i, status := range head.Run.Calls {
		s.Calls[i].Status = [...]string{"new", "running", "suspended", "resuming", "cancelling", "done"}[min(int(status), 5)]
	}
	for result, err := range r.openResults(ctx, key, head) {
		if err != nil {
			return err
		}
		b.setResult(n-1, result.call, result.entry)
	}
	return nil
}
