package host_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/internal/finalanswer"
	"github.com/reveille-run/reveille/core/internal/typed"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
)

// What is optional may be null where a provider enforces the form: it is left out then, of
// the answer and of the run's record.
func TestANullOfAnOptionalFieldIsLeftOut(t *testing.T) {
	type trip struct {
		City string          `json:"city"`
		Note string          `json:"note,omitempty"`
		Days []forecast      `json:"days,omitempty"`
		Raw  json.RawMessage `json:"raw,omitempty"`
	}
	m := &lines{native: true, turns: [][]model.Delta{says(`{"city":"Oslo","note":null,"days":null,"raw":null}`)}}
	r := answering(t, m)
	got, result, err := typed.Run[trip](t.Context(), r, question("go"))
	if diff := cmp.Diff(trip{City: "Oslo", Raw: json.RawMessage("null")}, got); diff != "" || err != nil {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
	if want := `{"city":"Oslo","days":null,"raw":null}`; result.Text != want { // these may be null
		t.Errorf("the run's text is %s, want %s", result.Text, want)
	}
}

var errCold = errors.New("high is below 0")

// reading has a check, which counts.
type reading struct {
	City string `json:"city"`
	High int    `json:"high"`
}

var checks int

func (r reading) Check() error {
	checks++
	switch {
	case r.City == "panic":
		panic("db.internal")
	case r.High < 0:
		return fmt.Errorf("%s: %w", r.City, errCold)
	}
	return nil
}

// filled has a check by pointer, which fills in.
type filled struct {
	City string `json:"city"`
	Note string `json:"note,omitempty"`
}

func (f *filled) Check() error {
	if f.City == "" {
		return errors.New("city is empty")
	}
	f.Note = "checked"
	return nil
}

// narrow does not take all numbers that its schema does.
type narrow struct {
	High even `json:"high"`
}

type even int

func (e *even) UnmarshalJSON(text []byte) error {
	if string(text) != "2" {
		return errors.New("high is odd")
	}
	*e = 2
	return nil
}

// notesOf are what the runtime has told the model.
func notesOf(r host.Result) (notes []string) {
	for _, m := range r.Messages {
		if m.Repair {
			notes = append(notes, m.Text())
		}
	}
	return notes
}

func TestTheErrorOfACheckGoesBackToTheModel(t *testing.T) {
	const cold, warm = `{"city":"Oslo","high":-1}`, `{"city":"Oslo","high":7}`
	const note = "[The answer cannot be used: Oslo: high is below 0. Answer again, with nothing but JSON that matches its schema.]"
	for _, tt := range []struct {
		name   string
		native bool
		turns  [][]model.Delta
		repair int
		fails  string
		cause  bool
		notes  []string
		checks int
	}{
		{name: "right at once", native: true, turns: [][]model.Delta{says(warm)}, checks: 1},
		{name: "right then", native: true, turns: [][]model.Delta{says(cold), says(warm)}, repair: 2, notes: []string{note}, checks: 2},
		{name: "by the tool", turns: [][]model.Delta{callsTool("", finalanswer.Tool, cold), callsTool("", finalanswer.Tool, warm)}, repair: 2, checks: 2,
			notes: []string{"[The answer cannot be used: Oslo: high is below 0. Answer again, by calling final_answer.]"}},
		{name: "behind one of another form", native: true, turns: [][]model.Delta{says("{}"), says(cold), says(warm)}, repair: 2, checks: 2,
			notes: []string{`[The answer cannot be used: property "answer.city" is missing. Answer again, with nothing but JSON that matches its schema.]`, note}},
		{name: "never", native: true, turns: [][]model.Delta{says(cold)}, repair: 2, notes: []string{note, note}, checks: 1, cause: true, // of the same answer
			fails: `agent "demo" failed: invalid_output: Oslo: high is below 0`},
		{name: "not mended", native: true, turns: [][]model.Delta{says(cold)}, checks: 1, cause: true, fails: `agent "demo" failed: invalid_output: Oslo: high is below 0`},
		{name: "a panic", native: true, turns: [][]model.Delta{says(`{"city":"panic","high":1}`), says(warm)}, repair: 1, checks: 2,
			notes: []string{"[The answer cannot be used: its check panicked. Answer again, with nothing but JSON that matches its schema.]"}},
		{name: "a panic at last", native: true, turns: [][]model.Delta{says(`{"city":"panic","high":1}`)}, checks: 1, fails: `agent "demo" failed: invalid_output: its check panicked`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checks = 0
			m := &lines{turns: tt.turns, native: tt.native}
			got, result, err := typed.Run[reading](t.Context(), answering(t, m, func(s *agent.Spec) { s.MaxRepairs = &tt.repair }), question("go"))
			failed := ""
			if err != nil {
				failed = err.Error()
			}
			if failed != tt.fails || failed == "" && got != (reading{"Oslo", 7}) || failed != "" && got != (reading{}) {
				t.Errorf("%+v, %q, want the error %q", got, failed, tt.fails)
			}
			if errors.Is(err, errCold) != tt.cause || err != nil && core.CodeOf(err) != "invalid_output" {
				t.Errorf("%v with code %s, want Check's own within: %t", err, core.CodeOf(err), tt.cause)
			}
			if panicked, ok := errors.AsType[*env.PanicError](err); ok != (tt.name == "a panic at last") || ok && panicked.Value != "db.internal" {
				t.Errorf("the panic is %v", panicked)
			}
			if diff := cmp.Diff(tt.notes, notesOf(result)); diff != "" || checks != tt.checks {
				t.Errorf("%d checks, want %d; notes (-want +got):\n%s", checks, tt.checks, diff)
			}
		})
	}
}

func TestACheckByPointerMayFillIn(t *testing.T) {
	m := &lines{native: true, turns: [][]model.Delta{says(`{"city":""}`), says(`{"city":"Oslo","note":null}`)}}
	got, result, err := typed.Run[filled](t.Context(), answering(t, m), question("go"))
	if err != nil || got != (filled{"Oslo", "checked"}) || result.Text != `{"city":"Oslo"}` || len(notesOf(result)) != 1 {
		t.Errorf("%+v, %s, %q, %v", got, result.Text, notesOf(result), err)
	}
}

func TestAnAnswerThatDoesNotDecodeGoesBackToTheModel(t *testing.T) {
	m := &lines{native: true, turns: [][]model.Delta{says(`{"high":3}`), says(`{"high":2}`)}}
	got, result, err := typed.Run[narrow](t.Context(), answering(t, m), question("go"))
	want := []string{"[The answer cannot be used: high is odd. Answer again, with nothing but JSON that matches its schema.]"}
	if diff := cmp.Diff(want, notesOf(result)); err != nil || got.High != 2 || diff != "" {
		t.Errorf("%+v, %v, notes (-want +got):\n%s", got, err, diff)
	}
}

// Where another process has taken the answer, it is checked behind the end: the run stays as
// it is, and the program reads why it has no answer.
func TestAnAnswerThatAnotherProcessTookIsCheckedAtTheEnd(t *testing.T) {
	for answer, want := range map[string]string{
		`{"city":"Oslo","high":7}`:  "",
		`{"city":"Oslo","high":-1}`: "Oslo: high is below 0",
		`{"city":"panic","high":7}`: "panic: db.internal",
	} {
		m := &lines{native: true, turns: [][]model.Delta{says(answer)}}
		r := answering(t, m)
		format, err := typed.Format[reading]()
		if err != nil {
			t.Fatal(err)
		}
		s := question("go")
		s.Thread, s.Key.Value, s.Opening.Frontend = core.ThreadKey{Tenant: host.LocalTenant, Thread: "t1"}, "once", &core.Frontend{Answer: &format}
		if _, err := r.Play(t.Context(), s, nil, nil); err != nil { // which knows no Check
			t.Fatal(err)
		}
		got, result, err := typed.Run[reading](t.Context(), r, s)
		if want == "" {
			if err != nil || got != (reading{"Oslo", 7}) {
				t.Errorf("%s: %+v, %v", answer, got, err)
			}
			continue
		}
		const text = `agent "demo" failed: invalid_output: the answer, which this process did not take, cannot be used`
		if failed, ok := errors.AsType[*host.RunError](err); !ok || core.CodeOf(err) != "invalid_output" || err.Error() != text || fmt.Sprint(failed.Unwrap()) != want {
			t.Errorf("%s: %v", answer, err)
		}
		if errors.Is(err, errCold) != (answer == `{"city":"Oslo","high":-1}`) || result.Termination.Type != core.TerminationNatural || len(m.requests) != 1 || got != (reading{}) {
			t.Errorf("%s: %+v after %d requests, %v", answer, result.Termination, len(m.requests), err)
		}
	}
}

// A check is of the run that its caller waits for, and of no other.
func TestACheckIsOfItsOwnRun(t *testing.T) {
	m := &lines{native: true, turns: [][]model.Delta{says(`{"city":"Oslo","high":-1}`), says(`{"city":"Oslo","high":7}`)}}
	r := answering(t, m)
	if _, _, err := typed.Run[reading](t.Context(), r, question("go")); err != nil {
		t.Fatal(err)
	}
	m.turns = [][]model.Delta{says(`{"city":"Oslo","high":-2}`)}
	checks = 0
	if got, _, err := typed.Run[forecast](t.Context(), r, mailbox.Submission{Opening: mailbox.Opening{AgentID: "demo"}, Messages: question("go").Messages}); err != nil || got.High != -2 || checks != 0 {
		t.Errorf("%+v, %v after %d checks: another run is asked about by whoever waited for the first", got, err, checks)
	}
}

// What a submission gives to a typed run beside the form of its answer stays.
func TestATypedRunKeepsItsFrontend(t *testing.T) {
	m := &lines{native: true, turns: [][]model.Delta{says(`{"city":"Oslo","high":7}`)}}
	s := question("hello")
	s.Opening.Frontend = &core.Frontend{Context: []core.FrontendContext{{Description: "the page", Value: "a garden"}}}
	if _, _, err := typed.Run[forecast](t.Context(), answering(t, m), s); err != nil {
		t.Fatal(err)
	}
	if sent := fmt.Sprint(m.requests); !strings.Contains(sent, "a garden") {
		t.Errorf("the model is sent %s", sent)
	}
	if s.Opening.Frontend.Answer != nil {
		t.Error("the caller's frontend has changed")
	}
}

// What ended the run is there for the program that waited, and only for it.
func TestARunErrorHasItsCodeAndItsCause(t *testing.T) {
	cause := errors.New("dial db.internal: refused")
	m := &lines{native: true, turns: [][]model.Delta{says("hi")}}
	r, err := host.InMemory(agent.Parts{
		Models: map[string]agent.ModelBinding{"m": {Model: m}}, Plugins: []plugin.Plugin{broken{cause}},
		Specs: []agent.Spec{{ID: "demo", Model: "m", Plugins: []string{"ledger"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Play(t.Context(), question("go"), nil, nil)
	if !errors.Is(err, cause) || core.CodeOf(err) != "plugin" {
		t.Errorf("%v with code %s, want the hook's error behind it and code plugin", err, core.CodeOf(err))
	}
	failed, ok := errors.AsType[*engine.FailedError](err)
	if !ok || failed.Plugin != "ledger" || failed.Phase != core.PhaseStepStart {
		t.Errorf("%+v, want the plugin and the phase", failed)
	}
	if want := `agent "demo" failed: plugin: phase step_start: plugin "ledger" failed`; err.Error() != want {
		t.Errorf("%s, want %s", err, want)
	}
}
