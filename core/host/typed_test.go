package host_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/finalanswer"
	"github.com/reveille-run/reveille/core/internal/typed"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// forecast is an answer that a program reads.
type forecast struct {
	City string `json:"city"`
	High int    `json:"high"`
}

// lines is a model that says one turn after the other, whatever it is asked: by the
// number of turns that it is shown of the run. It keeps its requests.
type lines struct {
	turns  [][]model.Delta
	native bool // the provider has a response format

	mu       sync.Mutex
	requests []model.Request
}

func (m *lines) Stream(_ context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, r)
	said := 0
	for _, message := range r.Messages {
		if message.Role == core.RoleAssistant {
			said++
		}
	}
	return func(yield func(model.Delta, error) bool) {
		for _, d := range m.turns[min(said, len(m.turns)-1)] {
			if !yield(d, nil) {
				return
			}
		}
	}
}

// Check implements model.Checker.
func (m *lines) Check(r model.Request) error {
	if r.ResponseFormat != nil && !m.native {
		return core.Errorf(core.CodeInvalid, "no response format")
	}
	return nil
}

func says(text string) []model.Delta { return endsWith(text, core.StopEndTurn) }

func endsWith(text string, stop core.StopReason) []model.Delta {
	return []model.Delta{{Type: model.DeltaText, Text: text}, {Type: model.DeltaStop, Stop: stop}}
}

// callsTool is a turn with a call in pieces, behind a text.
func callsTool(text, name, arguments string) []model.Delta {
	half := len(arguments) / 2
	return []model.Delta{
		{Type: model.DeltaText, Text: text}, {Type: model.DeltaToolStart, CallID: "c1", Name: name},
		{Type: model.DeltaToolArgument, Text: arguments[:half]}, {Type: model.DeltaToolArgument, Text: arguments[half:]},
		{Type: model.DeltaStop, Stop: core.StopToolUse},
	}
}

func answering(t *testing.T, m *lines, change ...func(*agent.Spec)) *host.Host {
	t.Helper()
	echo := tool.New(tool.Spec{Name: "echo"}, func(_ context.Context, _ tool.Call, a echoArguments) (tool.Result, error) {
		return tool.NewResult(a.Text), nil
	})
	spec := agent.Spec{ID: "demo", Model: "m"}
	for _, c := range change {
		c(&spec)
	}
	r, err := host.InMemory(agent.Parts{Models: map[string]agent.ModelBinding{"m": {Model: m}}, Specs: []agent.Spec{spec}, Tools: []tool.Tool{echo}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func question(text string) mailbox.Submission {
	return mailbox.Submission{Opening: mailbox.Opening{AgentID: "demo"}, Messages: []core.Message{core.UserMessage(text)}}
}

func TestAnAnswerIsMendedUntilItIsOfItsForm(t *testing.T) {
	const good = `{"city":"Oslo","high":7}`
	once := func(s *agent.Spec) { s.MaxRepairs = new(1) }
	tests := []struct {
		name   string
		native bool
		turns  [][]model.Delta
		change func(*agent.Spec)
		want   forecast
		fails  string
		notes  []string // what the model is told
		calls  int      // of the model
	}{
		{name: "at once", native: true, turns: [][]model.Delta{says(good)}, want: forecast{"Oslo", 7}, calls: 1},
		{name: "behind a tool", native: true, turns: [][]model.Delta{callsTool("", "echo", `{"text":"a"}`), says(good)}, want: forecast{"Oslo", 7}, calls: 2},
		{
			name: "no JSON, then another form, then right", native: true, want: forecast{"Oslo", 7}, calls: 3,
			turns: [][]model.Delta{says("It is warm."), says(`{"city":"Oslo"}`), says(good)},
			notes: []string{
				"[The answer cannot be used: answer is not JSON: invalid character 'I' looking for beginning of value. Answer again, with nothing but JSON that matches its schema.]",
				`[The answer cannot be used: property "answer.high" is missing. Answer again, with nothing but JSON that matches its schema.]`,
			},
		},
		{
			name: "never", native: true, change: once, calls: 2, turns: [][]model.Delta{says("no"), says("")},
			fails: `agent "demo" failed: invalid_output: answer is empty`,
			notes: []string{"[The answer cannot be used: answer is not JSON: invalid character 'o' in literal null (expecting 'u'). Answer again, with nothing but JSON that matches its schema.]"},
		},
		{name: "none is mended", native: true, change: func(s *agent.Spec) { s.MaxRepairs = new(0) }, calls: 1, turns: [][]model.Delta{says("[]")}, fails: `agent "demo" failed: invalid_output: property "answer": got array, want object`},
		{name: "a refusal", native: true, calls: 1, turns: [][]model.Delta{endsWith("I cannot.", core.StopContentFilter)}, fails: `agent "demo" failed: invalid_output: the model refused to answer`},
		{name: "cut off", native: true, calls: 1, turns: [][]model.Delta{endsWith(`{"city":"Os`, core.StopMaxTokens)}, fails: `agent "demo" failed: invalid_output: the answer was cut off at the limit of its tokens`},
		{name: "the window is full", native: true, calls: 1, turns: [][]model.Delta{endsWith(`{"ci`, core.StopContextOverflow)}, fails: `agent "demo" failed: invalid_output: the answer was cut off at the end of the model's window`},
		{name: "by the tool", turns: [][]model.Delta{callsTool("", finalanswer.Tool, good)}, want: forecast{"Oslo", 7}, calls: 1},
		{name: "by the tool, behind words", turns: [][]model.Delta{callsTool("Here it is: ", finalanswer.Tool, good)}, want: forecast{"Oslo", 7}, calls: 1},
		{
			name: "the tool's arguments are mended", want: forecast{"Oslo", 7}, calls: 2,
			turns: [][]model.Delta{callsTool("", finalanswer.Tool, `{"city":1,"high":7}`), callsTool("", finalanswer.Tool, good)},
			notes: []string{`[The answer cannot be used: property "answer.city": got integer, want string. Answer again, by calling final_answer.]`},
		},
		{
			name: "words in place of the tool", want: forecast{"Oslo", 7}, calls: 2, turns: [][]model.Delta{says("Warm."), callsTool("", finalanswer.Tool, good)},
			notes: []string{"[The answer cannot be used: answer is not JSON: invalid character 'W' looking for beginning of value. Answer again, by calling final_answer.]"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := &lines{turns: test.turns, native: test.native}
			var changes []func(*agent.Spec)
			if test.change != nil {
				changes = append(changes, test.change)
			}
			got, result, err := typed.Run[forecast](t.Context(), answering(t, m, changes...), question("How warm?"))
			failed := ""
			if err != nil {
				failed = err.Error()
			}
			if failed != test.fails || got != test.want {
				t.Errorf("answer %+v, error %q, want %+v, %q", got, failed, test.want, test.fails)
			}
			if err == nil && result.Text != good {
				t.Errorf("the run's text is %q, want the answer alone", result.Text)
			}
			if len(m.requests) != test.calls {
				t.Errorf("%d calls of the model, want %d", len(m.requests), test.calls)
			}
			var notes []string
			for _, message := range result.Messages {
				if message.Repair {
					notes = append(notes, message.Text())
				}
				if len(message.ToolCalls) > 0 && message.ToolCalls[0].Name == finalanswer.Tool {
					t.Error("the answer is stored as a call")
				}
			}
			if diff := cmp.Diff(test.notes, notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			for i, r := range m.requests {
				last := r.Tools[len(r.Tools)-1].Name
				if (r.ResponseFormat != nil) != test.native || (last == finalanswer.Tool) == test.native {
					t.Errorf("request %d has the format %v and the last tool %s", i, r.ResponseFormat, last)
				}
			}
			if err != nil {
				var ended *host.RunError
				if !errors.As(err, &ended) || ended.Termination.Code != "invalid_output" {
					t.Errorf("error %v, want a RunError with code invalid_output", err)
				}
			}
		})
	}
}

// An agent's own format holds for every run of it, whoever asks.
func TestAnAgentWithAFormatIsHeldToIt(t *testing.T) {
	m := &lines{native: true, turns: [][]model.Delta{says("hm"), says(`{"a":1}`)}}
	r := answering(t, m, func(s *agent.Spec) {
		s.ResponseFormat = &model.ResponseFormat{Name: "x", Schema: []byte(`{"type":"object","required":["a"]}`)}
	})
	result, err := r.Play(t.Context(), question("go"), nil, nil)
	if err != nil || result.Text != `{"a":1}` || result.Run.Steps != 2 {
		t.Errorf("%q after %d steps, %v", result.Text, result.Run.Steps, err)
	}
	if m.requests[1].Messages[2].Role != core.RoleUser || !strings.Contains(m.requests[1].Messages[2].Text(), "not JSON") {
		t.Errorf("the model is told %+v", m.requests[1].Messages)
	}
	if name := m.requests[0].ResponseFormat.Name; name != "x" {
		t.Errorf("format %q", name)
	}
}

// What the runtime says to the model is no input: lists and another answer go by what a
// person said.
func TestAMendedAnswerIsToWhatAPersonSaid(t *testing.T) {
	m := &lines{native: true, turns: [][]model.Delta{says("hm"), says(`{"city":"Oslo","high":7}`)}}
	r := answering(t, m)
	_, first, err := typed.Run[forecast](t.Context(), r, question("How warm?"))
	if err != nil || len(first.Messages) != 4 || !first.Messages[2].Repair {
		t.Fatalf("%+v, %v, want the question, an answer, a note and an answer", first.Messages, err)
	}
	info, err := r.Thread(t.Context(), core.Identity{Tenant: host.LocalTenant}, first.Run.ThreadID)
	if err != nil || info.Asked != "How warm?" {
		t.Errorf("asked was %q, %v", info.Asked, err)
	}
	s := question("")
	s.Thread, s.Messages, s.Opening.Retake = core.ThreadKey{Tenant: host.LocalTenant, Thread: first.Run.ThreadID}, nil, &mailbox.Retake{Message: first.Messages[3].ID}
	_, second, err := typed.Run[forecast](t.Context(), r, s)
	if err != nil || second.Run.ID == first.Run.ID || len(m.requests) != 4 || len(m.requests[2].Messages) != 1 || m.requests[2].Messages[0].Text() != "How warm?" {
		t.Errorf("%+v, %v, want another answer to the question alone", m.requests, err)
	}
}

// A stop policy's end is the run's end: nothing is checked, nothing mended.
func TestAStopComesBeforeTheForm(t *testing.T) {
	m := &lines{native: true, turns: [][]model.Delta{says("hm")}}
	_, result, err := typed.Run[forecast](t.Context(), answering(t, m, func(s *agent.Spec) { s.MaxRounds = new(1) }), question("go"))
	const want = `agent "demo" has no answer: stopped: max_rounds: `
	if failed, ok := errors.AsType[*host.RunError](err); !ok || !strings.HasPrefix(failed.Error(), want) || failed.Termination != result.Termination || failed.Run != result.Run.ID {
		t.Errorf("%+v, %v", result.Termination, err)
	}
}

// Where the answer is called beside another tool, it is none: the model reads why.
func TestAnAnswerBesideACallIsNone(t *testing.T) {
	both := []model.Delta{
		{Type: model.DeltaToolStart, Index: 0, CallID: "c1", Name: "echo"}, {Type: model.DeltaToolArgument, Index: 0, Text: `{"text":"a"}`},
		{Type: model.DeltaToolStart, Index: 1, CallID: "c2", Name: finalanswer.Tool}, {Type: model.DeltaToolArgument, Index: 1, Text: `{"city":"Rome","high":1}`},
		{Type: model.DeltaStop, Stop: core.StopToolUse},
	}
	m := &lines{turns: [][]model.Delta{both, callsTool("", finalanswer.Tool, `{"city":"Oslo","high":7}`)}}
	got, result, err := typed.Run[forecast](t.Context(), answering(t, m), question("go"))
	if err != nil || got.City != "Oslo" {
		t.Fatalf("%+v, %v", got, err)
	}
	refused := result.Messages[3].ToolResult
	if refused == nil || refused.Status != core.ResultInvalid || refused.Text() != "final_answer is called alone, behind the results of all other calls" {
		t.Errorf("result %+v", refused)
	}
}

// An agent that may call no tools answers by the one that takes the answer, which is
// then the only one that it may call; one that must call a tool first is asked for that.
func TestTheChoiceOfToolsLeavesTheAnswerPossible(t *testing.T) {
	const good = `{"city":"Oslo","high":7}`
	for _, test := range []struct {
		name         string
		native       bool
		choice       model.ToolChoice
		turns        [][]model.Delta
		first, later model.ToolChoice // that is asked for
	}{
		{
			name: "none", choice: model.ToolChoice{Mode: model.ToolNone}, turns: [][]model.Delta{callsTool("", finalanswer.Tool, good)},
			first: model.ToolChoice{Mode: model.ToolNamed, Name: "final_answer"},
		},
		{name: "none, in the provider's way", native: true, choice: model.ToolChoice{Mode: model.ToolNone}, turns: [][]model.Delta{says(good)}, first: model.ToolChoice{Mode: model.ToolNone}},
		{
			name: "one first", choice: model.ToolChoice{Mode: model.ToolNamed, Name: "echo"}, turns: [][]model.Delta{callsTool("", "echo", `{"text":"a"}`), callsTool("", finalanswer.Tool, good)},
			first: model.ToolChoice{Mode: model.ToolNamed, Name: "echo"},
		},
		{
			name: "any first", choice: model.ToolChoice{Mode: model.ToolRequired}, turns: [][]model.Delta{callsTool("", "echo", `{"text":"a"}`), callsTool("", finalanswer.Tool, good)},
			first: model.ToolChoice{Mode: model.ToolRequired},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := &lines{turns: test.turns, native: test.native}
			got, _, err := typed.Run[forecast](t.Context(), answering(t, m, func(s *agent.Spec) { s.ToolChoice = test.choice }), question("go"))
			if err != nil || got != (forecast{"Oslo", 7}) || len(m.requests) != len(test.turns) {
				t.Fatalf("%+v after %d requests, %v", got, len(m.requests), err)
			}
			if c := m.requests[0].ToolChoice; c != test.first {
				t.Errorf("the first choice is %+v, want %+v", c, test.first)
			}
			if c := m.requests[len(m.requests)-1].ToolChoice; len(m.requests) > 1 && c != test.later {
				t.Errorf("the last choice is %+v, want %+v", c, test.later)
			}
		})
	}
}

// Models call a tool without arguments where none has to be given: an answer all of whose
// parts may be left out is an empty object then.
func TestAnAnswerWithoutArgumentsIsAnEmptyObject(t *testing.T) {
	type optional struct {
		City string `json:"city,omitempty"`
	}
	start, stop := model.Delta{Type: model.DeltaToolStart, CallID: "c1", Name: finalanswer.Tool}, model.Delta{Type: model.DeltaStop, Stop: core.StopToolUse}
	for name, turn := range map[string][]model.Delta{
		"alone":                {start, stop},
		"behind words":         {{Type: model.DeltaText, Text: "None."}, start, stop},
		"with an empty piece":  {start, {Type: model.DeltaToolArgument}, stop},
		"with an empty object": {start, {Type: model.DeltaToolArgument, Text: "{}"}, stop},
	} {
		m := &lines{turns: [][]model.Delta{turn}}
		_, result, err := typed.Run[optional](t.Context(), answering(t, m), question("go"))
		if err != nil || len(m.requests) != 1 {
			t.Errorf("%s: %d requests, %v", name, len(m.requests), err)
			continue
		}
		if got := finalanswer.Of(&result.Messages[1]); got != "{}" {
			t.Errorf("%s: the answer is %q", name, got)
		}
	}
	cut := &lines{turns: [][]model.Delta{{start, {Type: model.DeltaStop, Stop: core.StopMaxTokens}}}}
	if _, _, err := typed.Run[optional](t.Context(), answering(t, cut), question("go")); err == nil || !strings.Contains(err.Error(), "cut off at the limit") {
		t.Errorf("cut off: %v", err)
	}
}

// What listeners are shown of an answer that comes by the tool is text, piece by piece,
// as the record has it.
func TestAnAnswerByTheToolStreamsAsText(t *testing.T) {
	m := &lines{turns: [][]model.Delta{callsTool("So: ", finalanswer.Tool, `{"city":"Oslo","high":7}`)}}
	r := answering(t, m)
	s := question("go")
	format, err := typed.Format[forecast]()
	if err != nil {
		t.Fatal(err)
	}
	s.Opening.Frontend = &core.Frontend{Answer: &format}
	var got []string
	for e, err := range r.EventsOf(t.Context(), s) {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Type {
		case core.EventTextDelta:
			got = append(got, e.Delta)
		case core.EventToolCallStart, core.EventToolCallDelta, core.EventToolCallReady:
			t.Errorf("event %s", e.Type)
		case core.EventInferenceComplete:
			got = append(got, string(e.StopReason))
		}
	}
	if diff := cmp.Diff([]string{"So: ", `{"city":"Osl`, `o","high":7}`, "end_turn"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAFormThatIsNoneIsRefused(t *testing.T) {
	m := &lines{native: true, turns: [][]model.Delta{says("{}")}}
	r := answering(t, m)
	if _, _, err := typed.Run[string](t.Context(), r, question("go")); core.CodeOf(err) != core.CodeInvalid || err.Error() != `answers of type string: its schema is of type "string", want a struct` {
		t.Errorf("a string: %v", err)
	}
	for schema, want := range map[string]string{
		`[]`:                             `frontend.answer: response_format.schema is [], want a JSON Schema object`,
		`{"type":"object","$ref":"#/x"}`: `frontend.answer: response_format.schema cannot be used: `,
	} {
		s := question("go")
		s.Opening.Frontend = &core.Frontend{Answer: &core.AnswerFormat{Name: "answer", Schema: []byte(schema)}}
		if _, err := r.Play(t.Context(), s, nil, nil); core.CodeOf(err) != core.CodeInvalid || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v, want %s", schema, err, want)
		}
	}
	if len(m.requests) != 0 {
		t.Error("the model was asked")
	}
}

// A fault at any operation of a run neither mends an answer twice nor forgets that it
// was mended: whoever goes on finds the form and the count.
func TestAFaultMendsNothingTwice(t *testing.T) {
	format, err := typed.Format[forecast]()
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			most := 0
			for k, reached := 1, true; reached; k++ {
				synctest.Test(t, func(t *testing.T) {
					var asked int
					asked, reached = mendAt(t, fault, k, &format)
					most = max(most, asked)
				})
			}
			if most > 4 { // three turns, and one whose commit was lost
				t.Errorf("the model was asked %d times", most)
			}
		})
	}
}

func mendAt(t *testing.T, fault fault, k int, format *core.AnswerFormat) (asked int, reached bool) {
	r := newRig(t)
	m := &lines{native: true, turns: [][]model.Delta{says("hm"), says("hm"), says(`{"city":"Oslo","high":7}`)}}
	bind := func(c *host.Options) {
		c.Agents.Models = map[string]agent.ModelBinding{"m": {Model: m}}
	}
	way := newWay(r.store)
	way.fault, way.at = fault, k
	process := r.process("first", way, bind)
	s := submission("t1", "go")
	s.Key.Value, s.Opening.Frontend = "once", &core.Frontend{Answer: format}
	begun := r.through(way, process, func() (mailbox.Receipt, error) { return process.Submit(t.Context(), s) })
	if way.isDead() || way.isAsleep() {
		process = r.process("second", r.store, bind)
	}
	r.settle(process, s.Thread)
	receipt, refused := begun()
	if refused != nil { // the client tries again
		var err error
		if receipt, err = process.Submit(t.Context(), s); err != nil {
			t.Fatalf("operation %d: submit again: %v", k, err)
		}
	}
	r.settle(process, s.Thread)
	reader := r.process("reader", r.store)
	record, err := reader.ReadRun(t.Context(), local, receipt.RunID)
	if err != nil || record.Termination == nil || record.Termination.Type != core.TerminationNatural || record.Response != `{"city":"Oslo","high":7}` || record.Steps != 3 {
		t.Errorf("operation %d: run %+v, %v", k, record, err)
	}
	want := []string{
		"user: go",
		"assistant: hm", "user: " + mendNote, "assistant: hm", "user: " + mendNote,
		`assistant: {"city":"Oslo","high":7}`,
	}
	if diff := cmp.Diff(want, transcript(t, reader, "t1")); diff != "" {
		t.Errorf("operation %d: transcript (-want +got):\n%s", k, diff)
	}
	return len(m.requests), way.reached()
}

const mendNote = "[The answer cannot be used: answer is not JSON: invalid character 'h' looking for beginning of value. Answer again, with nothing but JSON that matches its schema.]"

// A program that gets no error has an answer: what waits for a person has none yet.
func TestARunThatWaitsHasNoAnswer(t *testing.T) {
	asks := tool.New(tool.Spec{Name: "ask", Description: "Asks a person."}, func(context.Context, tool.Call, struct{}) (tool.Result, error) {
		return tool.Suspended(core.TicketRequest{Action: "tool:ask"}), nil
	})
	m := &lines{native: true, turns: [][]model.Delta{callsTool("", "ask", "{}"), says(`{"city":"Oslo","high":7}`)}}
	r, err := host.InMemory(agent.Parts{Models: map[string]agent.ModelBinding{"m": {Model: m}}, Specs: []agent.Spec{{ID: "demo", Model: "m"}}, Tools: []tool.Tool{asks}})
	if err != nil {
		t.Fatal(err)
	}
	got, result, err := typed.Run[forecast](t.Context(), r, question("How warm?"))
	failed, _ := errors.AsType[*host.RunError](err)
	if failed == nil || failed.Termination.Type != core.TerminationSuspended || core.CodeOf(err) != core.CodeNotFound || len(result.Tickets) != 1 || got != (forecast{}) {
		t.Errorf("%+v with %d tickets, %v; want a RunError, and the ticket", got, len(result.Tickets), err)
	}
}

// broken is a plugin whose hook returns an error.
type broken struct{ err error }

func (broken) ID() string { return "ledger" }

func (f broken) Register(r *plugin.Registrar) error {
	r.OnStepStart(func(context.Context, plugin.StepStart) (state.Command, error) { return state.Command{}, f.err })
	return nil
}
