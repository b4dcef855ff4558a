package host

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// textShown is how much of the newest text of a child run a stream shows, in bytes.
const textShown = 2000

// progress is the listener of a child run's follower. It keeps what the stream of the parent
// shows of the run, and passes on the calls that wait for a person or a client.
//
// Of these it passes on the question, the decision and the result, and nothing of any other
// call: the child run's own stream has all of it. A question that comes before the first update
// waits for that, so that a reader knows the run whose question it is.
type progress struct {
	shared *lineage
	about  *core.ChildRun
	call   string         // of the stream's run, that waits for the child run
	status core.RunStatus // as its record has it

	text    string
	step    int // of the text
	tools   []running
	steps   int
	usage   core.Usage
	ended   *core.Termination
	asked   []string        // ids of the calls that were shown to wait
	held    []core.Event    // of those, until the first update
	open    map[uint64]bool // tickets that were shown and are not decided, by thread.TicketKey
	changed bool            // since the last update

	shown   core.ChildProgress // the last update
	shownAt time.Time
	bytes   json.RawMessage // of shown
}

// running is a call whose tool runs.
type running struct{ id, name string }

// Ready implements [Listener]: the child run's events are no faster than the stream's reader.
func (p *progress) Ready(ctx context.Context) error { return p.shared.stream.ready(ctx) }

// Wants implements [Choosing]: what a child run does to its state is not shown.
func (p *progress) Wants(core.EventType) bool { return false }

// Emit implements [Listener].
func (p *progress) Emit(e core.Event) error {
	// Most events change what is shown. The others leave the mark as it was.
	before := p.changed
	p.changed = true
	switch e.Type {
	case core.EventTextDelta:
		p.say(e)
	case core.EventStepRestarted, core.EventInferenceFailed: // what was said is void
		if p.tools = nil; p.step == e.Step {
			p.text = ""
		}
	case core.EventToolCallReady:
		p.tools = append(p.tools, running{e.CallID, e.Name})
	case core.EventInferenceComplete:
		if e.Usage != nil {
			p.usage = p.usage.Add(*e.Usage)
		}
	case core.EventStepEnd: // each call of the step has its result
		p.tools, p.steps = nil, max(p.steps, e.Step)
	case core.EventRunFinish:
		p.finish(e)
	case core.EventToolCallSuspended:
		return p.suspended(e)
	case core.EventToolCallDone:
		p.stop(e.CallID)
		return p.passOn(e)
	default:
		p.changed = before
	}
	return nil
}

// say adds a piece of the model's text. The text of an earlier step makes room for it.
func (p *progress) say(e core.Event) {
	if p.step != e.Step {
		p.text, p.step = "", e.Step
	}
	if p.text += e.Delta; len(p.text) > textShown {
		p.text = p.text[len(p.text)-textShown:]
		for len(p.text) > 0 && !utf8.RuneStart(p.text[0]) { // never a part of a character
			p.text = p.text[1:]
		}
		p.text = strings.Clone(p.text)
	}
}

// finish notes the end of the run. The text stays: it is the run's answer, or what it had said of
// one.
func (p *progress) finish(e core.Event) {
	// The record's figures include what no event of the stream had, such as failed calls.
	p.tools, p.steps, p.ended = nil, e.Steps, e.Termination
	if e.Usage != nil {
		p.usage = *e.Usage
	}
}

// stop notes that a call's tool does not run: the call waits, or has its result. A provider's id
// may name several calls of a turn, which then count as one.
func (p *progress) stop(call string) {
	p.tools = slices.DeleteFunc(p.tools, func(r running) bool { return r.id == call })
}

// suspended passes on a call that waits for a person or a client. One that waits for a child run
// or a time asks nothing: the status of the run says that it waits.
func (p *progress) suspended(e core.Event) error {
	p.stop(e.CallID)
	if t := e.Ticket; t == nil || t.Decision != nil || !t.ByPerson() && t.Kind != core.TicketClient {
		return nil
	}
	if !slices.Contains(p.asked, e.CallID) {
		p.asked = append(p.asked, e.CallID)
	}
	if p.open == nil {
		p.open = map[uint64]bool{}
	}
	p.open[thread.TicketKey(p.about.RunID, e.Ticket.Suspension.ID)] = true
	return p.passOn(e)
}

// decided passes on that a call which was shown to wait is decided: its tool runs next, if the
// decision lets it.
func (p *progress) decided(t *core.Ticket) error {
	if t.Decision == nil {
		return nil
	}
	p.tools, p.changed = append(p.tools, running{t.CallID, t.Tool}), true
	return p.passOn(core.Event{Type: core.EventToolCallResumed, CallID: t.CallID, Name: t.Tool, DecisionID: t.Decision.ID, Action: t.Decision.Action})
}

// passOn passes on an event of a call that was shown to wait.
func (p *progress) passOn(e core.Event) error {
	if !slices.Contains(p.asked, e.CallID) {
		return nil
	}
	if e.RunID, e.Step, e.Position = p.shared.stream.run, 0, ""; p.shownAt.IsZero() {
		p.held = append(p.held, e)
		return nil
	}
	return p.emit(e)
}

// emit shows the stream an event of the child run.
func (p *progress) emit(e core.Event) error {
	// The stream gives the event its number and its time, as any of its own.
	about := *p.about // a listener may keep it
	e.Child = &about
	return p.shared.stream.audience.emit(e)
}

// show shows the stream what the run does, as a whole: the reader may have nothing of it.
func (p *progress) show(now time.Time) error {
	content := core.ChildProgress{ChildRun: *p.about, Status: p.status, Text: p.text, Steps: p.steps, Usage: p.usage, Termination: p.ended}
	for _, r := range p.tools {
		content.Tools = append(content.Tools, r.name)
	}
	text, err := core.EncodeJSON(content)
	if err != nil { // texts, ids and numbers always encode
		return err
	}
	p.changed = false
	if bytes.Equal(text, p.bytes) {
		return nil
	}
	p.shown, p.shownAt, p.bytes = content, now, text
	p.held = append([]core.Event{{
		Type: core.EventActivitySnapshot, RunID: p.shared.stream.run, MessageID: "agent-run:" + p.about.RunID.String(), CallID: p.call,
		ActivityType: core.ActivityAgentRun, Content: text, Replace: true,
	}}, p.held...)
	for _, e := range p.held {
		if err := p.emit(e); err != nil {
			return err
		}
	}
	p.held = nil
	return nil
}
