package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

var (
	note  = plugin.Action[string]{Phase: core.PhaseBeforeInference, Name: "note"}
	chain = plugin.Action[int]{Phase: core.PhaseBeforeInference, Name: "chain"}
	mail  = plugin.Effect[string]{Name: "mail"}
)

// actor notes payloads in the tally; chain schedules itself until it has run n times.
func actor(sent *[]string) part {
	return part{"actor", func(r *plugin.Registrar) error {
		note.Handle(r, func(ctx context.Context, c plugin.HandlerContext, text string) (state.Command, error) {
			switch text {
			case "fail":
				return state.Command{}, errors.New("no paper")
			case "panic":
				panic("oh")
			case "unmade":
				return state.Combine(tally.Update("x"), state.Command{Err: errUnmade}), nil
			case "stray":
				return state.Command{Batch: state.Batch{Mutations: []state.Mutation{{Key: "nobody"}}}}, nil
			}
			return tally.Update(text), nil
		})
		chain.Handle(r, func(ctx context.Context, c plugin.HandlerContext, n int) (state.Command, error) {
			command := tally.Update(fmt.Sprint(n))
			if n > 1 {
				command.Append(chain.Schedule(n - 1))
			}
			return command, nil
		})
		mail.Handle(r, func(_ context.Context, _ plugin.HandlerContext, text string) error {
			if text == "fail" {
				return errors.New("no stamp")
			}
			*sent = append(*sent, text)
			return nil
		})
		return nil
	}}
}

func notes(texts ...string) (c state.Command) {
	for _, text := range texts {
		c.Append(note.Schedule(text))
	}
	return c
}

func TestActionsWaitForTheirPhase(t *testing.T) {
	e := engine(t, actor(nil), on("asks", core.PhaseAfterToolExecute, func(context.Context, plugin.Context) (state.Command, error) {
		return notes("one", "two"), nil
	}))
	first := run(t, e, at(core.PhaseAfterToolExecute, state.Snapshot{}))
	between := run(t, e, at(core.PhaseStepEnd, first.Snapshot.BeginStep()))
	if got := read(t, tally, between.Snapshot); got != nil {
		t.Errorf("ran early: %v", got)
	}
	second := run(t, e, at(core.PhaseBeforeInference, between.Snapshot))
	if diff := cmp.Diff([]string{"one", "two"}, read(t, tally, second.Snapshot)); diff != "" {
		t.Error(diff)
	}
	third := run(t, e, at(core.PhaseBeforeInference, second.Snapshot))
	if !third.Command.IsZero() {
		t.Errorf("ran again: %v", third.Command)
	}
}

func TestWaitingActionsRunBeforeThoseOfThePhaseItself(t *testing.T) {
	e := engine(t, actor(nil), on("asks", core.PhaseBeforeInference, func(context.Context, plugin.Context) (state.Command, error) {
		return notes("own"), nil
	}))
	waiting, err := e.Submit(state.Snapshot{}, 0, notes("waiting"))
	if err != nil {
		t.Fatal(err)
	}
	got := run(t, e, at(core.PhaseBeforeInference, waiting.Snapshot))
	if diff := cmp.Diff([]string{"waiting", "own"}, read(t, tally, got.Snapshot)); diff != "" {
		t.Error(diff)
	}
}

func TestWaitingActionsEndWithTheirRun(t *testing.T) {
	e := engine(t, actor(nil))
	waiting, err := e.Submit(state.Snapshot{}, 0, notes("one"))
	if err != nil {
		t.Fatal(err)
	}
	got := run(t, e, at(core.PhaseBeforeInference, waiting.Snapshot.BeginRun()))
	if !got.Command.IsZero() {
		t.Errorf("ran in the next run: %v", got.Command)
	}
}

func TestFailedActionsAreRecordedAndNotRetried(t *testing.T) {
	e := engine(t, actor(nil))
	c := notes("fail", "one", "panic", "stray", "unmade")
	c.Actions = append(c.Actions, state.Action{Phase: core.PhaseBeforeInference, Key: "note", Payload: json.RawMessage("1")})
	waiting, err := e.Submit(state.Snapshot{}, 0, c)
	if err != nil {
		t.Fatal(err)
	}
	got := run(t, e, at(core.PhaseBeforeInference, waiting.Snapshot))
	if diff := cmp.Diff([]string{"one"}, read(t, tally, got.Snapshot)); diff != "" {
		t.Error(diff)
	}
	failed, err := plugin.FailedScheduledActions.Read(got.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	action := func(payload string) state.Action {
		return state.Action{Phase: "before_inference", Key: "note", Payload: json.RawMessage(payload)}
	}
	want := []plugin.FailedAction{
		{Action: action(`"fail"`), Error: "no paper"},
		{Action: action(`"panic"`), Error: "panic: oh"},
		{Action: action(`"stray"`), Error: `unknown state key "nobody"`},
		{Action: action(`"unmade"`), Error: "no number"},
		{Action: action(`1`), Error: "decoding the payload: json: cannot unmarshal number into Go value of type string"},
	}
	if diff := cmp.Diff(want, failed); diff != "" {
		t.Error(diff)
	}
	if again := run(t, e, at(core.PhaseBeforeInference, got.Snapshot)); !again.Command.IsZero() {
		t.Errorf("retried: %v", again.Command)
	}
}

func TestActionsMayTakeSixteenRounds(t *testing.T) {
	tests := []struct {
		rounds int
		want   string
	}{
		{1, "<nil>"},
		{16, "<nil>"},
		{17, `phase before_inference: scheduled actions did not come to an end within 16 rounds, "chain" is due again`},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.rounds), func(t *testing.T) {
			e := engine(t, actor(nil))
			waiting, err := e.Submit(state.Snapshot{}, 0, chain.Schedule(test.rounds))
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.Phase(t.Context(), env.System(), at(core.PhaseBeforeInference, waiting.Snapshot))
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
			if err != nil {
				if !errors.Is(err, plugin.ErrTooManyRounds) || !got.Command.IsZero() {
					t.Errorf("%v, command %v", err, got.Command)
				}
				return
			}
			if n := len(read(t, tally, got.Snapshot)); n != test.rounds {
				t.Errorf("%d rounds ran, want %d", n, test.rounds)
			}
		})
	}
}

func TestAnActionIsNotBlamedForAWorkerThatStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	e := engine(t, part{"slow", func(r *plugin.Registrar) error {
		note.Handle(r, func(ctx context.Context, _ plugin.HandlerContext, _ string) (state.Command, error) {
			cancel()
			return state.Command{}, ctx.Err()
		})
		return nil
	}})
	waiting, err := e.Submit(state.Snapshot{}, 0, notes("one"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Phase(ctx, env.System(), at(core.PhaseBeforeInference, waiting.Snapshot))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

// An action that has succeeded counts, although its worker is to stop.
func TestAnActionThatSucceedsWhileItsWorkerStopsIsDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	e := engine(t, part{"quick", func(r *plugin.Registrar) error {
		note.Handle(r, func(_ context.Context, _ plugin.HandlerContext, text string) (state.Command, error) {
			cancel()
			return tally.Update(text), nil
		})
		return nil
	}})
	waiting, err := e.Submit(state.Snapshot{}, 0, notes("one"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.Phase(ctx, env.System(), at(core.PhaseBeforeInference, waiting.Snapshot))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"one"}, read(t, tally, got.Snapshot)); diff != "" {
		t.Error(diff)
	}
}

// A phase leaves alone what waits for another one, and what it has no handler for: a
// later version of the code may have one.
func TestActionsThatAreNotDueGoOnWaiting(t *testing.T) {
	later := plugin.Action[string]{Phase: core.PhaseStepEnd, Name: "note"}
	gone := plugin.Action[string]{Phase: core.PhaseBeforeInference, Name: "gone"}
	acts := func(actions ...plugin.Action[string]) part {
		return part{"acts", func(r *plugin.Registrar) error {
			for _, a := range actions {
				a.Handle(r, func(_ context.Context, _ plugin.HandlerContext, text string) (state.Command, error) {
					return tally.Update(text), nil
				})
			}
			return nil
		}}
	}
	waiting, err := engine(t, acts(note, later, gone)).Submit(state.Snapshot{}, 0, state.Combine(later.Schedule("later"), gone.Schedule("gone"), note.Schedule("now")))
	if err != nil {
		t.Fatal(err)
	}
	got := run(t, engine(t, acts(note, later)), at(core.PhaseBeforeInference, waiting.Snapshot))
	want := map[string]string{
		"/run/tally":                    `["now"]`,
		"/run/reveille.pending_actions": `{"last":3,"queue":[{"action":{"key":"note","payload":"later","phase":"step_end"},"id":1},{"action":{"key":"gone","payload":"gone","phase":"before_inference"},"id":2}]}`,
	}
	if diff := cmp.Diff(want, values(got.Snapshot)); diff != "" {
		t.Error(diff)
	}
}

func TestAQueueThatCannotBeReadIsThePhasesError(t *testing.T) {
	var sent []string
	damaged := state.Restore(1, map[state.KeyPath]json.RawMessage{{Name: "reveille.pending_actions"}: json.RawMessage(`5`)})
	_, err := engine(t, actor(&sent)).Phase(t.Context(), env.System(), at(core.PhaseBeforeInference, damaged))
	want := `phase before_inference: decoding the value of state key "reveille.pending_actions": json: cannot unmarshal number into Go value of type plugin.pending`
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
}

func TestAFailedActionKeepsTheBeginningOfALongError(t *testing.T) {
	long := strings.Repeat("e", 499)
	tests := []struct{ name, text, want string }{
		{"at the limit", long + "e", long + "e"},
		{"behind it", long + "ee", long + "e..."},
		{"within a character", long + "ä", long + "..."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := engine(t, part{"fails", func(r *plugin.Registrar) error {
				note.Handle(r, func(context.Context, plugin.HandlerContext, string) (state.Command, error) {
					return state.Command{}, errors.New(test.text)
				})
				return nil
			}})
			waiting, err := e.Submit(state.Snapshot{}, 0, notes("one"))
			if err != nil {
				t.Fatal(err)
			}
			failed, err := plugin.FailedScheduledActions.Read(run(t, e, at(core.PhaseBeforeInference, waiting.Snapshot)).Snapshot)
			if err != nil || len(failed) != 1 || failed[0].Error != test.want {
				t.Errorf("got %v, %v, want %s", failed, err, test.want)
			}
		})
	}
}

func TestAPayloadThatDoesNotDecodeReachesNoHandler(t *testing.T) {
	var sent []string
	e := engine(t, actor(&sent))
	err := e.RunEffects(t.Context(), at("", state.Snapshot{}), []state.Effect{{Key: "mail", Payload: json.RawMessage(`5`)}, {Key: "mail"}})
	want := `effect "mail" of plugin "actor": decoding the payload: json: cannot unmarshal number into Go value of type string`
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{""}, sent); diff != "" { // no payload is the zero one
		t.Error(diff)
	}
}

func TestEffectsAllRunAndTheirErrorsAreJoined(t *testing.T) {
	var sent []string
	e := engine(t, actor(&sent), on("mails", core.PhaseStepEnd, func(context.Context, plugin.Context) (state.Command, error) {
		return state.Combine(mail.Emit("a"), mail.Emit("fail"), mail.Emit("b")), nil
	}))
	got := run(t, e, at(core.PhaseStepEnd, state.Snapshot{}))
	if sent != nil {
		t.Errorf("sent before the commit: %v", sent)
	}
	err := e.RunEffects(t.Context(), at("", got.Snapshot), append(got.Command.Effects, state.Effect{Key: "nobody"}))
	want := "effect \"mail\" of plugin \"actor\": no stamp\nno handler for effect \"nobody\""
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "b"}, sent); diff != "" {
		t.Error(diff)
	}
}

func TestHandleWithoutAHandlerIsAnError(t *testing.T) {
	_, err := plugin.New([]plugin.Plugin{part{"bad", func(r *plugin.Registrar) error {
		note.Handle(r, nil)
		mail.Handle(r, nil)
		return nil
	}}}, plugin.Options{})
	want := "registering plugin \"bad\": action \"note\" of phase \"before_inference\" has no key or no handler\neffect \"mail\" has no key or no handler"
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
}
