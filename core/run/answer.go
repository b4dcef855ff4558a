package run

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/thread"
)

// A run that has to come to an answer of a form (the agent's response_format, or what
// its input asked for) is not at its end when its model thinks so: the answer is
// checked, and one that is not of the form goes back to the model with what is wrong,
// as a message of the log. Totals count how often, so that no crash adds one.

// codeInvalidOutput ends a run whose answer is not of its form.
const codeInvalidOutput = "invalid_output"

// mends returns what is wrong with a turn without calls that has to be the run's
// answer, if the model is to mend it; nil if it is right or stays as it is.
func (d *draft) mends(turn *core.Message) error {
	if d.agent.Spec.ResponseFormat == nil || d.totals.Repairs >= d.agent.Spec.Repairs() || cutOrRefused(turn) != "" {
		return nil
	}
	return agent.CheckAnswer(d.agent.Spec.ResponseFormat, agent.AnswerOf(turn))
}

// cutOrRefused says why an answer is none that another try would mend: the same request
// would be cut or refused again.
func cutOrRefused(turn *core.Message) string {
	switch turn.StopReason {
	case core.StopMaxTokens:
		return "the answer was cut off at the limit of its tokens"
	case core.StopContextOverflow:
		return "the answer was cut off at the end of the model's window"
	case core.StopContentFilter:
		return "the model refused to answer"
	}
	return ""
}

// answered decides what a turn without calls comes to, at which nothing else stops the
// run: its natural end, an end with an error, or, where it returns nil, another step,
// in which the model is to mend its answer.
func (m *machine) answered(ctx context.Context, turn *core.Message) *core.Termination {
	form := m.agent.Spec.ResponseFormat
	if form == nil {
		return naturalEnd(*turn)
	}
	if m.wrong != nil {
		m.askToMend(turn, m.wrong, m.unsaid.asked.ResponseFormat != nil)
		m.warn(ctx, "the answer is not of its form and goes back to the model", "repair", m.totals.Repairs, "error", m.wrong)
		return nil
	}
	why := cutOrRefused(turn)
	if why == "" {
		err := agent.CheckAnswer(form, agent.AnswerOf(turn))
		if err == nil {
			return naturalEnd(*turn)
		}
		why = err.Error()
	}
	return &core.Termination{Type: core.TerminationError, Code: codeInvalidOutput, Detail: core.Shorten(why, maxDetail)}
}

// askToMend adds the message to the log, and counts it. native says that the model was
// asked for the form in its provider's own way.
func (d *draft) askToMend(turn *core.Message, wrong error, native bool) {
	d.totals.Repairs++
	totals := d.totals
	how := "Answer again, with nothing but JSON that matches its schema."
	if !native {
		how = "Answer again, by calling " + agent.FinalAnswer + "."
	}
	note := core.UserMessage(turn.ID+".repair", fmt.Sprintf("[The answer cannot be used: %s. %s]", wrong, how))
	note.RunID, note.Step, note.CreatedAt, note.Repair = d.id, turn.Step, turn.CreatedAt, true
	d.add(thread.Entry{Run: d.id, Step: d.events.step, At: d.at, Message: &note, Totals: &totals})
}

// askToGoOn adds what a run begins with that takes up one which has ended behind an
// answer: that it cannot be used, or that there is more to do. Models go on from what
// others say, and some providers refuse a conversation that ends with an answer. It is
// none of the run's own repairs, and not counted.
func (d *draft) askToGoOn() {
	last := d.past.messages.len() - 1
	if last < 0 {
		return
	}
	turn := &d.past.messages.items[last]
	if turn.Role != core.RoleAssistant || len(turn.ToolCalls) > 0 {
		return
	}
	text := "[The run has ended with an error behind this answer. Go on with what is left to do.]"
	if form := d.agent.Spec.ResponseFormat; form != nil {
		why := cutOrRefused(turn)
		if err := agent.CheckAnswer(form, agent.AnswerOf(turn)); why == "" && err != nil {
			why = err.Error()
		}
		if why != "" {
			text = fmt.Sprintf("[The answer cannot be used: %s. Answer again, in the form that was asked for.]", why)
		}
	}
	note := core.UserMessage(turnID(d.id, 0)+".repair", text)
	note.RunID, note.CreatedAt, note.Repair = d.id, d.at, true
	d.add(thread.Entry{Run: d.id, At: d.at, Message: &note})
}

// answers reports whether a call is the answer: what the model says next is its text. A
// call beside others is none.
func (t *turnBuilder) answers(d model.Delta) bool {
	f := t.draft.agent.Spec.ResponseFormat
	return d.Name == agent.FinalAnswer && f != nil && t.asked.ResponseFormat == nil && len(t.calls)+len(t.dropped) == 0
}
