package scripted

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/cutturn"
	"github.com/reveille-run/reveille/core/model"
)

// Turn is the model's response to one step of a run.
type Turn struct {
	// Input, if not empty, begins the turns of the runs whose first input is this text.
	Input string

	Reasoning string
	Text      string
	// Annotations are citations of Text, with offsets in bytes of it.
	Annotations []core.Annotation
	// Calls are made side by side, after the text. They have no ids: a run gives them its
	// own, which are unique in the thread. See [Call].
	Calls []core.ToolCall

	// Cut ends the turn in the middle of its text, as at the limit of tokens. The model
	// generates the rest when it has to continue.
	Cut bool
	// Err ends the turn after its text, with each call of the model: the run retries a
	// *model.Error that is transient, and ends with any other.
	Err   error
	Usage core.Usage      // zero: words are counted
	Stop  core.StopReason // zero: tool_use of a turn with calls, else end_turn
}

// summary is the response of [Turns] to a request of no step, as one for the summary of a
// thread is.
const summary = "A summary."

// Turns returns a model that generates the turns one after the other in each run: the first
// in its first step, and so on. The turn follows from [model.Request].Step, so that a step
// that is repeated gets the same, with any input between the steps of the run and however
// much of the thread the request shows.
//
// Turns that begin with an Input are those of the runs whose first input is that text;
// those before the first such turn are for all other runs. A run that takes more steps
// than it has turns ends with an error that states this. A request of no step, such as one
// for the summary of a thread, gets "A summary.".
//
//	model := scripted.Turns(
//		scripted.Turn{Calls: []core.ToolCall{scripted.Call("find", query{"soup"}), scripted.Call("find", query{"bread"})}},
//		scripted.Turn{Text: "Both are there."},
//		scripted.Turn{Input: "Thank you!", Text: "You are welcome."},
//	)
//
// An invalid turn is an error of the request, and of Check: the registry of agents returns
// it.
func Turns(turns ...Turn) model.Model {
	t := &played{runs: map[string][]Turn{}}
	input := ""
	for i, turn := range turns {
		if turn.Input != "" {
			input = strings.TrimSpace(turn.Input)
			if _, exists := t.runs[input]; exists || input == "" {
				t.err = errors.Join(t.err, fmt.Errorf("turn %d: input %q is empty, or given twice", i+1, core.Excerpt(turn.Input)))
			}
		}
		if err := turn.check(); err != nil {
			t.err = errors.Join(t.err, fmt.Errorf("turn %d: %w", i+1, err))
		}
		t.runs[input] = append(t.runs[input], turn)
	}
	return t
}

// unsound begins arguments that hold an error in place of JSON.
const unsound = "\x00"

// Call returns a call of a tool, for a [Turn]. args are encoded as JSON; nil: an empty
// object. A value that cannot be encoded is an error of the model, see [Turns].
func Call(name string, args any) core.ToolCall {
	if args == nil {
		return core.ToolCall{Name: name, Arguments: json.RawMessage("{}")}
	}
	text, err := core.EncodeJSON(args)
	if err != nil {
		text = []byte(unsound + err.Error())
	}
	return core.ToolCall{Name: name, Arguments: text}
}

func (t *Turn) check() error {
	if t.Cut && len(t.Text) < 2 {
		return fmt.Errorf("text %q is too short to be cut", t.Text)
	}
	for i, a := range t.Annotations {
		if a.Start < 0 || a.Start > a.End || a.End > len(t.Text) {
			return fmt.Errorf("annotation %d is of the bytes %d to %d, want a part of the %d of the text", i, a.Start, a.End, len(t.Text))
		}
	}
	for i, c := range t.Calls {
		why, broken := strings.CutPrefix(string(c.Arguments), unsound)
		switch {
		case c.Name == "":
			return fmt.Errorf("call %d has no name", i)
		case c.ID != "":
			return fmt.Errorf("call %d has the id %q, want none: a run gives each call its own", i, core.Excerpt(c.ID))
		case broken:
			return fmt.Errorf("call %d, of %s: %s", i, core.Excerpt(c.Name), why)
		}
	}
	return nil
}

// played is the model of [Turns].
type played struct {
	runs map[string][]Turn // by the input that they are for, "" for any other; never empty
	err  error
}

// Check implements model.Checker: it returns what is wrong with the turns.
func (p *played) Check(model.Request) error {
	if p.err != nil {
		return fmt.Errorf("%w: %w", errTurns, p.err)
	}
	return nil
}

// Stream implements model.Model.
func (p *played) Stream(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	turn, said, err := p.turn(request)
	input := countWords(request.Messages)
	return func(yield func(model.Delta, error) bool) {
		s := &script{ctx: ctx, yield: yield, said: len(said)}
		s.usage.Input = input
		if err == nil {
			err = s.turn(turn)
		}
		if err != nil && !s.left {
			yield(model.Delta{}, err)
		}
	}
}

// turn returns the turn that a request asks for, and what of its text an earlier call of
// the model has said.
func (p *played) turn(request model.Request) (t Turn, said string, err error) {
	if p.err != nil {
		return t, "", refused("%v", p.err)
	}
	if request.Step == 0 {
		return Turn{Text: summary}, "", nil
	}
	conversation, said := cutturn.Continued(request.Messages)
	input := ""
	if _, all := p.runs[""]; len(p.runs) > 1 || !all { // else it does not matter
		input = opening(conversation)
	}
	turns, ok := p.runs[input]
	if !ok {
		turns, ok = p.runs[""]
	}
	if !ok && len(p.runs) > 0 {
		return t, "", refused("no turns for a run with the input %q, want %s", core.Excerpt(input), p.inputs())
	}
	if request.Step > len(turns) {
		return t, "", refused("step %d of the run has no turn, there are %d", request.Step, len(turns))
	}
	t = turns[request.Step-1]
	if !strings.HasPrefix(t.Text, said) {
		return t, "", refused("the model is to go on from %q, which turn %d does not begin with", core.Excerpt(said), request.Step)
	}
	return t, said, nil
}

// errTurns is wrapped by the errors of a model of [Turns] that has no turn for a request:
// the script is wrong, or the agent does something else than it expects.
var errTurns = core.Errorf(core.CodeInvalid, "scripted turns")

// refused ends the run with a reason that clients may read.
func refused(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	return fmt.Errorf("%w: %w", errTurns, &model.Error{Kind: model.KindInvalid, Message: text, Public: errTurns.Error() + ": " + text})
}

// inputs lists those that there are turns for.
func (p *played) inputs() string {
	var quoted []string
	for _, input := range slices.Sorted(maps.Keys(p.runs)) {
		quoted = append(quoted, fmt.Sprintf("%q", core.Excerpt(input)))
	}
	return strings.Join(quoted, ", ")
}

// opening is the first input of the run that has the newest one. A window shows it before
// the rest of the thread.
func opening(messages []core.Message) string {
	text, newest := "", core.ID{}
	for i := len(messages) - 1; i >= 0; i-- {
		m := &messages[i]
		if !m.IsInput() || m.RunID.IsZero() { // the runtime's own words are of no run
			continue
		}
		if newest.IsZero() {
			newest = m.RunID
		}
		if m.RunID == newest {
			text = m.Text()
		}
	}
	return strings.TrimSpace(text)
}

// turn generates the rest of a turn.
func (s *script) turn(t Turn) error {
	text, stop := t.Text, cmp.Or(t.Stop, core.StopEndTurn)
	half := runeFrom(text, len(text)/2)
	cut := t.Cut && s.said < half
	if cut {
		text, stop = text[:half], core.StopMaxTokens
	}
	if t.Reasoning != "" && s.said == 0 {
		s.send(model.Delta{Type: model.DeltaReasoning, Text: t.Reasoning})
	}
	before := s.said
	s.speak(s.unsaid(text))
	for _, a := range t.Annotations {
		if a.End <= len(text) {
			s.note(a, before)
		}
	}
	if !cut && len(t.Calls) > 0 {
		stop = cmp.Or(t.Stop, core.StopToolUse)
		for i, c := range t.Calls {
			s.start(i, c.Name, cmp.Or(string(c.Arguments), "{}"))
		}
		s.usage.Output += len(t.Calls)
	}
	if t.Usage != (core.Usage{}) {
		s.usage = t.Usage
	}
	if t.Err != nil && !cut {
		return t.Err
	}
	return s.stop(stop)
}
