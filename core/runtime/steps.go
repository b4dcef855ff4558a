package runtime

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// Step is one step of a run as its records tell of it. Times are unix milliseconds; 0:
// not known, or not yet.
type Step struct {
	Number    int
	MessageID string // of its turn; empty: it has none
	Began     int64  // when the claim that said its turn began it
	Said      int64  // when the turn was whole
	Ended     int64  // when its last result was there, or its turn where it called nothing; 0: it is open
	Model     string
	Stop      core.StopReason
	Usage     *core.Usage
	Duration  int64        // of the model's calls whose words the turn has, milliseconds
	Retries   int          // calls of the model that failed before, as far as they are known
	Window    *core.Window // what the model was shown of the thread; nil: the record does not say
	Text      string
	Reasoning string
	Failed    *thread.Failure // the inference failed for good; nil: it did not
	Calls     []StepCall
	Revision  uint64 // of the state behind it; 0: it has changed none
	Totals    *thread.Totals
}

// StepCall is one tool call of a step. Status is that of its result, or where it has none
// how it stands: "new", "running", "suspended", "resuming" or "cancelling".
type StepCall struct {
	core.ToolCall
	Status   string
	Result   *core.ToolResult // nil: it has none yet
	Began    int64            // of the tool, unix milliseconds; 0: it did not run, or not known
	Ended    int64
	Duration int64  // how long the tool ran, milliseconds
	Decision string // id of the decision that the result follows
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
	Next  uint64 // After of the next page; 0: there is none
}

// Steps reads the timeline of a run: each step with its turn, its calls and their results,
// as the log has them, and of an open round as the head says.
func (r *Runtime) Steps(ctx context.Context, id core.Identity, runID core.ID, q StepQuery) (page StepPage, err error) {
	bounds, err := MessageQuery{Limit: q.Limit}.complete()
	if err != nil {
		return page, err
	}
	key, head, record, err := r.reads.runRecord(ctx, id, runID)
	if err != nil {
		return page, err
	}
	b := steps{page: StepPage{Run: record, Steps: []Step{}}, limit: bounds.Limit}
	from := max(record.FirstSeq, q.After)
	if from == 0 || from > head.Seq {
		return b.page, nil
	}
	for e, err := range store.Entries(ctx, r.reads.store, r.reads.records, key, from, head.Seq) {
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
	return b.page, r.reads.openCalls(ctx, key, head, runID, &b)
}

// steps gathers the records of a run as steps.
type steps struct {
	page  StepPage
	limit int
	size  int
	done  int // calls of the last step that have a result
}

// add adds the next record of the run. If the page is full, it sets the page's Next to
// the record's sequence instead.
func (b *steps) add(e store.LogEntry) {
	begins := e.Failed != nil || e.Message != nil && e.Message.Role == core.RoleAssistant
	if begins && len(b.page.Steps) > 0 && (len(b.page.Steps) == b.limit || b.size+e.Size > maxPageBytes) {
		b.page.Next = e.Seq
		return
	}
	b.size += e.Size
	switch m := e.Message; {
	case e.Failed != nil:
		b.page.Steps, b.done = append(b.page.Steps, Step{Number: e.Step, Began: e.At, Ended: e.Failed.At, Failed: e.Failed}), 0
	case m == nil, m.Role == core.RoleUser:
	case m.Role == core.RoleAssistant:
		b.addTurn(e.Entry)
	default:
		b.addResult(e.Entry)
	}
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
		Duration: e.Duration, Retries: int(e.Retried), Window: e.Window,
	}
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
	b.page.Steps, b.done = append(b.page.Steps, s), 0
}

// addResult adds the result of the next call. The log has them in call order.
func (b *steps) addResult(e thread.Entry) {
	n := len(b.page.Steps)
	if n == 0 || b.done >= len(b.page.Steps[n-1].Calls) {
		return
	}
	s := &b.page.Steps[n-1]
	s.Calls[b.done].setResult(e)
	if b.done++; b.done == len(s.Calls) {
		for _, c := range s.Calls {
			s.Ended = max(s.Ended, c.Ended)
		}
	}
}

// setResult fills in what the record of a call's result says of the call.
func (c *StepCall) setResult(e thread.Entry) {
	c.Result, c.Ended, c.Duration, c.Decision = e.Message.ToolResult, e.Message.CreatedAt, e.Duration, e.Decision
	c.Status = string(c.Result.Status)
	if e.Duration > 0 {
		c.Began = c.Ended - c.Duration
	}
}

// openCalls sets the status of the calls of an open round, as the head has it.
func (r *reader) openCalls(ctx context.Context, key core.ThreadKey, head thread.Head, runID core.ID, b *steps) error {
	n := len(b.page.Steps)
	if n == 0 || !head.Open() || head.Run.ID != runID || head.Run.Cursor != thread.CursorTools {
		return nil
	}
	s := &b.page.Steps[n-1]
	if len(s.Calls) != len(head.Run.Calls) || s.Number != int(head.Run.Step) {
		return nil
	}
	for i, status := range head.Run.Calls {
		s.Calls[i].Status = [...]string{"new", "running", "suspended", "resuming", "cancelling", "done"}[min(int(status), 5)]
	}
	for result, err := range r.openResults(ctx, key, head) {
		if err != nil {
			return err
		}
		s.Calls[result.call].setResult(result.entry)
	}
	return nil
}
