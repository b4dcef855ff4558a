package run

import (
	"errors"
	"fmt"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/finalanswer"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/wire"
	"github.com/reveille-run/reveille/core/model"
)

// An agent (response_format) or the run's input may require an answer of a form.
// Such a run is not at its end when its model thinks so. The answer is checked, by
// the form and by the program that waits for it (Options.Accept). An answer that
// cannot be used is sent back to the model with the error, as a message of the log.
// Totals count how often, so that no crash adds one.

// CodeInvalidOutput ends a run whose answer is not of its form, or not accepted.
const CodeInvalidOutput = "invalid_output"

// answer is the verdict on a turn without calls as the run's answer. The zero
// value: the answer is right, or no form is required.
type answer struct {
	wrong error // nil: nothing is
	mends bool  // the model is to mend it
}

// checkAnswer returns what is wrong with a turn without calls that has to be the run's
// answer, and whether the model is to mend it.
func (m *machine) checkAnswer(turn *core.Message) answer {
	form := m.base.agent.Spec.ResponseFormat
	if form == nil {
		return answer{}
	}
	if why := cutOrRefused(turn); why != "" {
		return answer{wrong: errors.New(why)}
	}
	// By its form first, and then by the program that reads it.
	text := finalanswer.Of(turn)
	err := finalanswer.Check(form, text)
	if accept := m.holder.s.accept; err == nil && accept != nil {
		err = env.Protect(func() error { return accept(m.holder.id, turn.Step, finalanswer.DropNulls(form, text)) })
	}
	return answer{wrong: err, mends: err != nil && int(m.draft.totals.Repairs) < m.base.agent.Spec.Repairs()}
}

// complaint is the text about an answer that cannot be used, for the model and the
// readers of the run.
func complaint(wrong error) string {
	if _, panicked := errors.AsType[*env.PanicError](wrong); panicked {
		return "its check panicked" // its text is for the log alone
	}
	return strings.ToValidUTF8(wire.Shorten(wrong.Error(), maxDetail), "\uFFFD")
}

// cutOrRefused returns the reason why another attempt would not help: the same
// request would be cut or refused again.
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

// unusable begins the message that asks for another answer, and again begins what it asks.
const (
	unusable = "[The answer cannot be used: "
	again    = "Answer again, "
)

// Complaint returns the error in a message of the runtime's that returns an answer to its
// model; "" for any other message.
func Complaint(m *core.Message) string {
	text, ok := strings.CutPrefix(m.Text(), unusable)
	if !m.Repair || !ok {
		return ""
	}
	return text[:max(0, strings.LastIndex(text, ". "+again))]
}

// askToMend adds the message to the log, and counts it. native means that the
// model's request had the form in the provider's own field.
func (d *draft) askToMend(turn *core.Message, wrong error, native bool) {
	d.totals.Repairs++
	totals := d.totals
	how := again + "with nothing but JSON that matches its schema."
	if !native {
		how = again + "by calling " + finalanswer.Tool + "."
	}
	note := core.UserMessage(unusable + complaint(wrong) + ". " + how + "]").WithID(turn.ID + ".repair")
	note.RunID, note.Step, note.CreatedAt, note.Repair = d.run, turn.Step, turn.CreatedAt, true
	d.add(thread.Entry{Run: d.run, Step: d.step, At: d.at, Message: &note, Totals: &totals})
}

// askToGoOn adds the first message of a run that continues one which ended after an
// answer: that the answer cannot be used, or that there is more to do. Models
// respond to messages of others, and some providers refuse a conversation that ends
// with an answer. It is not one of the run's own repairs, and is not counted. form
// is that of the run's answer; nil: no form.
func (d *draft) askToGoOn(form *model.ResponseFormat) {
	last := d.past.Messages.Len() - 1
	if last < 0 {
		return
	}
	turn := d.past.Messages.At(last)
	if turn.Role != core.RoleAssistant { // a turn with calls has their results after it
		return
	}
	text := "[The run has ended with an error behind this answer. Go on with what is left to do.]"
	if form != nil {
		why := cutOrRefused(turn)
		if err := finalanswer.Check(form, finalanswer.Of(turn)); why == "" && err != nil {
			why = err.Error()
		}
		if why != "" {
			text = fmt.Sprintf("[The answer cannot be used: %s. Answer again, in the form that was asked for.]", why)
		}
	}
	note := core.UserMessage(text).WithID(history.TurnID(d.run, 0) + ".repair")
	note.RunID, note.CreatedAt, note.Repair = d.run, d.at, true
	d.add(thread.Entry{Run: d.run, At: d.at, Message: &note})
}
