package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/tool"
)

// Resolve implements run.Agents: the run's agent, with the recorded model and tools.
func (d *director) Resolve(context.Context, string, string) (*registry.Resolved, error) {
	if d.played == nil {
		d.played = d.cast()
	}
	return d.played, nil
}

// cast is the run's agent as it is played.
func (d *director) cast() *registry.Resolved {
	tools := make(map[string]tool.Tool, len(d.recording.agent.Tools))
	for name, t := range d.recording.agent.Tools {
		tools[name] = recordedTool{t, d}
	}
	played := d.recording.agent.Played(d, tools)
	none := 0
	played.Spec.MaxContinuations, played.Spec.Retry = &none, agent.Retry{MaxRetries: &retries} // a turn comes as it was stored
	return played
}

// retries is how often a turn may break off that was stored in pieces.
var retries = 20

// Stream implements model.Model: it repeats the model's turn of the step that is under
// way.
func (d *director) Stream(ctx context.Context, _ model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		s := d.recording.steps[d.number]
		end := d.recording.record.Termination
		switch {
		case s != nil && s.turn != nil && s.turn.Window != nil && s.turn.Window.Refused && d.refused != d.number:
			d.refused = d.number
			yield(model.Delta{}, &model.Error{Kind: model.KindOverflow, Limit: s.turn.Window.Limit})
		case s != nil && s.turn != nil:
			d.say(s.turn.Message, yield)
		case s != nil && s.failed != nil:
			d.fail(s.failed, yield)
		case s != nil && s.words != nil:
			if yield(model.Delta{Type: model.DeltaText, Text: s.words.Message.Text()}, nil) && citeAll(s.words.Message.Content, yield) {
				yield(model.Delta{}, d.cancel(ctx, end.Type))
			}
		case !d.recording.ended():
			yield(model.Delta{}, d.stop(ctx))
		case end.Type == core.TerminationNatural || end.Type == core.TerminationStopped || end.Type == core.TerminationBlocked:
			d.differs(Difference{Step: d.number, Where: WhereRun, Field: "termination", Recorded: encode(end), Present: "the code calls the model for another turn"})
			yield(model.Delta{}, d.stop(ctx))
		default: // the step had no outcome, and the run ended
			d.closes = true
			yield(model.Delta{}, d.giveBack(ctx))
		}
	}
}

// fail fails permanently, as the model did. It reports the tokens of the failure once.
func (d *director) fail(e *thread.Entry, yield func(model.Delta, error) bool) {
	if d.said++; d.said == 1 && !yield(model.Delta{Type: model.DeltaUsage, Usage: d.spent(e)}, nil) {
		return
	}
	if e.Failed.Kind == otherKind {
		yield(model.Delta{}, errors.New(e.Failed.Text))
		return
	}
	yield(model.Delta{}, &model.Error{Kind: model.ErrorKind(e.Failed.Kind), Public: e.Failed.Text})
}

// otherKind is that of a failure which no provider has classified.
const otherKind = "other"

// spent are the tokens that the run's totals grew by with a record.
func (d *director) spent(e *thread.Entry) (usage core.Usage) {
	usage = e.Totals.Usage
	for i := range d.recording.entries {
		switch before := &d.recording.entries[i]; {
		case before.Failed == e.Failed:
			return usage
		case before.Totals != nil:
			usage = e.Totals.Usage.Minus(before.Totals.Usage)
		}
	}
	return usage
}

// say says a recorded turn. Two blocks of reasoning without an echo between them were
// said by two calls of the model, the first of which failed.
func (d *director) say(m *core.Message, yield func(model.Delta, error) bool) {
	from := 0 // bytes of text in this call before the block
	for d.said < len(m.Content) {
		block := m.Content[d.said]
		d.said++
		delta := model.Delta{Type: model.DeltaText, Text: block.Text, Echo: block.Echo}
		if block.Type == core.BlockReasoning {
			delta.Type = model.DeltaReasoning
		}
		if !yield(delta, nil) || !cite(&block, from, yield) {
			return
		}
		if block.Type == core.BlockText {
			from += len(block.Text)
		}
		if d.said < len(m.Content) && block.Type == core.BlockReasoning && m.Content[d.said].Type == block.Type && block.Echo == nil {
			yield(model.Delta{}, &model.Error{Kind: model.KindInterrupted})
			return
		}
	}
	for i, call := range m.ToolCalls {
		if !yield(model.Delta{Type: model.DeltaToolStart, Index: i, CallID: call.ID, Name: call.Name}, nil) ||
			!yield(model.Delta{Type: model.DeltaToolArgument, Index: i, Text: sent(call.Arguments)}, nil) {
			return
		}
	}
	if m.Usage != nil && !yield(model.Delta{Type: model.DeltaUsage, Usage: *m.Usage}, nil) {
		return
	}
	yield(model.Delta{Type: model.DeltaStop, Stop: m.StopReason}, nil)
}

// cite repeats the citations of a block that begins at a byte of the call's text.
func cite(block *core.Block, from int, yield func(model.Delta, error) bool) bool {
	for _, a := range block.Annotations {
		a.Start, a.End = a.Start+from, a.End+from
		if !yield(model.Delta{Type: model.DeltaAnnotation, Annotation: &a}, nil) {
			return false
		}
	}
	return true
}

// citeAll repeats the citations of texts that were said as one.
func citeAll(content []core.Block, yield func(model.Delta, error) bool) bool {
	from := 0
	for i := range content {
		if !cite(&content[i], from, yield) {
			return false
		}
		if content[i].Type == core.BlockText {
			from += len(content[i].Text)
		}
	}
	return true
}

// sent is the text that a model may have sent as the stored arguments: a text that is not
// JSON is stored as a JSON string.
func sent(stored json.RawMessage) string {
	var text string
	if json.Unmarshal(stored, &text) == nil && !json.Valid([]byte(text)) {
		if quoted, err := json.Marshal(text); err == nil && string(quoted) == string(stored) {
			return text
		}
	}
	return string(stored)
}

// recordedTool is a tool whose calls repeat their outcomes.
type recordedTool struct {
	tool.Tool
	director *director
}

// Run implements tool.Tool.
func (t recordedTool) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	d := t.director
	i, _ := strconv.Atoi(call.Key()[strings.LastIndexByte(call.Key(), '/')+1:])
	s := d.recording.steps[call.Step]
	decided := 0
	if call.Resume != nil {
		decided = 1 + slices.IndexFunc(s.asked[i], func(t thread.TicketRecord) bool { return t.Suspension.ID == call.Resume.Suspension })
	}
	if decided < len(s.asked[i]) && s.asked[i][decided].ByTool {
		asked := s.asked[i][decided]
		return tool.Suspended(core.TicketRequest{
			ID: asked.Suspension.ID, Action: asked.Action, Message: asked.Message, Parameters: asked.Parameters, Response: asked.ResponseSchema,
			Mode: asked.Mode, Kind: asked.Kind, WakeAt: d.wakeAt(asked.Ticket), Keep: asked.Keep,
		}), nil
	}
	result := s.result(i)
	if result == nil { // it was running when the record ends
		return tool.Result{}, tool.Fatal(d.stop(ctx))
	}
	switch status := result.Message.ToolResult.Status; {
	case status == core.ResultNotExecuted && (s.blocked() || d.closesIn(s)): // it asked, and no approver was asked any more
		return tool.Suspended(core.TicketRequest{}), nil
	case status == core.ResultOK, status == core.ResultError:
	case status == core.ResultUnknown && d.closesIn(s): // it was running when the run was ended
		d.closes = true
		return tool.Result{}, tool.Fatal(d.giveBack(ctx))
	default:
		d.differs(Difference{
			Step: call.Step, Seq: s.seq + 1 + uint64(i), Where: WhereLog, Field: "message.tool_result.status", By: "gates and before_tool_execute",
			Recorded: encode(result.Message.ToolResult.Status), Present: fmt.Sprintf("the tool %q runs", call.Name),
		})
		return tool.Result{}, tool.Fatal(d.stop(ctx))
	}
	returned := tool.Result{ToolResult: *result.Message.ToolResult}
	if result.Intents != nil {
		returned.Command = *result.Intents
		if returned.Command.Batch.Base != nil { // the record has the revision that the call as a whole began with
			returned.Command.Batch.Base = new(call.Snapshot.Revision())
		}
	}
	return returned, nil
}

// wakeAt is when a recorded ticket wakes by itself in the replay; zero: never. No time comes
// there: the recorded decision wakes it.
func (d *director) wakeAt(t core.Ticket) time.Time {
	if t.WakeAt == 0 {
		return time.Time{}
	}
	return time.UnixMilli(d.now).Add(core.MaxWait)
}
