package simtest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/scripted"
)

// Scenario is what people do with an agent, in one thread. The model is a scripted one,
// see package scripted: what a person says decides which tools it calls, or Turns do.
type Scenario struct {
	Name   string // names the subtest
	Agent  string // empty: the default agent of the parts
	Person []Act  // in this order

	// Turns are what the model says, turn by turn, with any calls, in each run: of the
	// children too, whose turns begin with their Input. A run that takes more steps than
	// it has turns is a mistake. nil: the model follows the rules of package scripted.
	Turns []scripted.Turn

	// Varies means that the time of a fault may decide how the run continues: such as a run
	// that a person cancels or steers while it works, or that reads the end of a child in
	// the background. Its worlds are not compared with the one without faults; Check must
	// test what holds for all of them.
	Varies bool
	// Check returns the error in the end of a world; nil: no check.
	Check func(e Ended) error

	poison string // the tool whose calls end the process that runs them
}

// check returns the error in scenarios: a name that is missing or given twice, no acts,
// or invalid turns.
func check(scenarios []Scenario) error {
	known := map[string]bool{}
	for i, s := range scenarios {
		switch {
		case s.Name == "":
			return core.Errorf(core.CodeInvalid, "scenario %d has no name", i+1)
		case known[s.Name]:
			return core.Errorf(core.CodeInvalid, "scenario %q is listed twice", s.Name)
		case len(s.Person) == 0:
			return core.Errorf(core.CodeInvalid, "scenario %q has no acts", s.Name)
		}
		if checker, ok := scripted.Turns(s.Turns...).(model.Checker); ok {
			if err := checker.Check(model.Request{}); err != nil {
				return fmt.Errorf("scenario %q: %w", s.Name, err)
			}
		}
		known[s.Name] = true
	}
	return nil
}

// Ended is the outcome of a world.
type Ended struct {
	Messages []core.Message     // of the thread, oldest first
	Runs     []core.Termination // how its runs ended, oldest first; of a run that waits, the type is suspended

	Inferences int            // calls of the model
	Executions map[string]int // of each tool, by name

	// Children are the other threads, in the order of their start: those of runs that calls
	// have started. Their inferences and executions are counted above.
	Children []Ended
}

// Lines are the messages as "role: text", with the calls of a turn as
// "assistant: [tool {arguments}]".
func (e Ended) Lines() []string {
	lines := make([]string, 0, len(e.Messages))
	for _, m := range e.Messages {
		line := string(m.Role) + ": " + m.Text()
		for _, call := range m.ToolCalls {
			line += "[" + call.Name + " " + string(call.Arguments) + "]"
		}
		lines = append(lines, line)
	}
	return lines
}

// Act is one thing that a person does: see [Say].
type Act struct {
	kind    actKind
	text    string
	payload json.RawMessage
	while   string        // the tool whose call must have started
	from    uint64        // of the message: sequence from which on the log is superseded; 0: nothing is
	delay   time.Duration // of the message, until its run may start
	hasty   bool          // it is done immediately, also while something runs
	repeats int           // of an event: how often it is repeated immediately

	remember core.Remember // of a decision: for how long the answer holds
}

type actKind uint8

const (
	actSay actKind = iota
	actSteer
	actInterrupt
	actCancel
	actDecide
	actDeny
	actStop   // an interrupt that brings nothing
	actDelete // of the thread
	actEvent  // what a trigger tells: text has the delivery's number as its one argument
)

// Say sends a message when nothing runs any more. Where a call waits for a decision,
// it takes the wait back.
func Say(text string) Act { return Act{kind: actSay, text: text} }

// Steer sends a message to the run that works, for its next step: see [Act.While].
func Steer(text string) Act { return Act{kind: actSteer, text: text} }

// Interrupt ends the run that works, and sends a message that opens another one: see
// [Act.While].
func Interrupt(text string) Act { return Act{kind: actInterrupt, text: text} }

// Cancel ends the run that works, or waits: see [Act.While].
func Cancel() Act { return Act{kind: actCancel} }

// Approve lets the first call go on that waits for a decision.
func Approve() Act { return Act{kind: actDecide} }

// Reply resumes the first waiting call with a JSON payload: the output of a client's tool,
// or the reply to the ticket's question.
func Reply(payload string) Act { return Act{kind: actDecide, payload: json.RawMessage(payload)} }

// Deny refuses the first call that waits for a decision.
func Deny(reason string) Act { return Act{kind: actDeny, text: reason} }

// While returns the act as one that is done while a call of the tool runs, for the
// first time: for Cancel, Steer and Interrupt, which the person would else do when
// nothing runs any more. The call has to take its time: a tool that waits for its
// context, or that sleeps.
func (a Act) While(tool string) Act {
	a.while = tool
	return a
}
