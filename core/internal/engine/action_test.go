package engine_test

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
	"github.com/reveille-run/reveille/core/internal/engine"
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
			case "unknown":
				return state.Combine(tally.Update("x"), plugin.Action[int]{Phase: core.PhaseStepEnd, Name: "nobody"}.Schedule(1)), nil
			case "strange":
				return state.Combine(tally.Update("x"), plugin.Effect[int]{Name: "nobody"}.Emit(1)), nil
			case "bad":
				return state.Command{Batch: state.Batch{Mutations: []state.Mutation{{Key: "tally", Update: json.RawMessage("1")}}}}, nil
			case "stale":
				c := tally.Update("x")
				c.Batch.Base = new(uint64(99))
				return c, nil
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

// A phase runs what was scheduled for it before: in the order of the ids, which count
// from 1 through the run, each action on the state that the one before it left, and
// each once. What is scheduled for another phase goes on waiting.
func TestScheduledActionsOfAPhase(t *testing.T) {
	later := plugin.Action[string]{Phase: core.PhaseStepEnd, Name: "later"}
	see := plugin.Action[string]{Phase: core.PhaseBeforeInference, Name: "see"}
	gone := func(r *plugin.Registrar) error { return nil }
	laters := func(r *plugin.Registrar) error {
		later.Handle(r, func(context.Context, plugin.HandlerContext, string) (state.Command, error) {
			return tally.Update("later"), nil
		})
		see.Handle(r, func(_ context.Context, c plugin.HandlerContext, name string) (state.Command, error) {
			v, err := tally.Read(c.Snapshot)
			return state.Combine(tally.Update(fmt.Sprintf("%s saw %d", name, len(v))), later.Schedule(name)), err
		})
		return nil
	}
	entry := func(id, phase, key, payload string) string {
		return `{"action":{"key":"` + key + `","payload":"` + payload + `","phase":"` + phase + `"},"id":` + id + `}`
	}
	tests := []struct {
		name    string
		waits   state.Command // scheduled before, while its plugin was there
		plugin  func(r *plugin.Registrar) error
		hook    state.Command // of the phase itself
		then    func(s state.Snapshot) state.Snapshot
		want    []string
		pending string // the queue behind the phase
	}{
		{name: "nothing", plugin: laters, pending: ""},
		{
			name: "in the order of the ids, and then the phase's own", plugin: laters,
			waits: state.Combine(see.Schedule("a"), see.Schedule("b")), hook: see.Schedule("c"),
			want:    []string{"a saw 0", "b saw 1", "c saw 2"},
			pending: `{"last":5,"queue":[` + entry("3", "step_end", "later", "a") + `,` + entry("4", "step_end", "later", "b") + `,` + entry("5", "step_end", "later", "c") + `]}`,
		},
		{
			name: "for another phase", plugin: laters, waits: state.Combine(later.Schedule("x"), see.Schedule("a")),
			want:    []string{"a saw 0"},
			pending: `{"last":3,"queue":[` + entry("1", "step_end", "later", "x") + `,` + entry("3", "step_end", "later", "a") + `]}`,
		},
		{
			name: "behind a hook of the phase that has changed the state", plugin: laters, waits: see.Schedule("a"), hook: tally.Update("hook"),
			want: []string{"hook", "a saw 1"}, pending: `{"last":2,"queue":[` + entry("2", "step_end", "later", "a") + `]}`,
		},
		{
			name: "of a plugin that is gone", plugin: gone, waits: see.Schedule("a"),
			pending: `{"last":1,"queue":[` + entry("1", "before_inference", "see", "a") + `]}`,
		},
		{
			name: "over the end of a step", plugin: laters, waits: see.Schedule("a"), then: state.Snapshot.BeginStep,
			want: []string{"a saw 0"}, pending: `{"last":2,"queue":[` + entry("2", "step_end", "later", "a") + `]}`,
		},
		{name: "not over the end of a run", plugin: laters, waits: see.Schedule("a"), then: state.Snapshot.BeginRun, pending: ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			waiting, err := built(t, part{"laters", laters}).Submit(state.Snapshot{}, 0, test.waits)
			if err != nil {
				t.Fatal(err)
			}
			s := waiting.Snapshot
			if test.then != nil {
				s = test.then(s)
			}
			e := built(t, part{"laters", test.plugin}, on("hook", core.PhaseBeforeInference, returns(test.hook)))
			between := run(t, e, at(core.PhaseAfterInference, s)) // at another phase nothing happens
			got := run(t, e, at(core.PhaseBeforeInference, between.Snapshot))
			if diff := cmp.Diff(test.want, read(t, tally, got.Snapshot)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.pending, values(got.Snapshot)["/run/reveille.pending_actions"]); diff != "" {
				t.Errorf("the queue (-want +got):\n%s", diff)
			}
			if len(test.hook.Actions) > 0 {
				return // they are the hook's own, and come with it again
			}
			again := run(t, e, at(core.PhaseBeforeInference, got.Snapshot))
			if diff := cmp.Diff(values(got.Snapshot)["/run/reveille.pending_actions"], values(again.Snapshot)["/run/reveille.pending_actions"]); diff != "" {
				t.Errorf("the phase ran an action twice: %s", diff)
			}
		})
	}
}

// An action whose handler fails, or whose command cannot be applied, is put aside with
// its id: the phase goes on, and nothing of it is committed or tried again.
func TestFailedScheduledActions(t *testing.T) {
	e := built(t, actor(nil))
	c := notes("fail", "one", "panic", "stray", "unknown", "strange", "bad", "stale", "unmade")
	c.Actions = append(c.Actions, state.Action{Phase: core.PhaseBeforeInference, Key: "note", Payload: json.RawMessage("1")})
	waiting, err := e.Submit(state.Snapshot{}, 0, c)
	if err != nil {
		t.Fatal(err)
	}
	got := run(t, e, at(core.PhaseBeforeInference, waiting.Snapshot))
	if diff := cmp.Diff([]string{"one"}, read(t, tally, got.Snapshot)); diff != "" {
		t.Error(diff)
	}
	failed, err := engine.FailedScheduledActions.Read(got.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	action := func(payload string) state.Action {
		return state.Action{Phase: "before_inference", Key: "note", Payload: json.RawMessage(payload)}
	}
	want := []engine.FailedAction{
		{ID: 1, Action: action(`"fail"`), Error: "no paper"},
		{ID: 3, Action: action(`"panic"`), Error: "panic: oh"},
		{ID: 4, Action: action(`"stray"`), Error: `unknown state key "nobody"`},
		{ID: 5, Action: action(`"unknown"`), Error: `no handler for scheduled action "nobody" at phase "step_end"`},
		{ID: 6, Action: action(`"strange"`), Error: `no handler for effect "nobody"`},
		{ID: 7, Action: action(`"bad"`), Error: `committing state: decoding the update of state key "tally": json: cannot unmarshal number into Go value of type string`},
		{ID: 8, Action: action(`"stale"`), Error: "committing state: the batch is for revision 99, the state is at revision 8"},
		{ID: 9, Action: action(`"unmade"`), Error: "no number"},
		{ID: 10, Action: action(`1`), Error: "decoding the payload: json: cannot unmarshal number into Go value of type string"},
	}
	if diff := cmp.Diff(want, failed); diff != "" {
		t.Error(diff)
	}
	if again := run(t, e, at(core.PhaseBeforeInference, got.Snapshot)); !again.Command.IsZero() {
		t.Errorf("retried: %v", again.Command)
	}
}

// Sixteen rounds that do something pass; that a seventeenth is due is the error.
func TestScheduledActionsOfSixteenRounds(t *testing.T) {
	tests := []struct {
		rounds int
		want   string
	}{
		{1, "<nil>"},
		{16, "<nil>"},
		{17, `phase before_inference: scheduled actions did not end within 16 rounds, "chain" is due again`},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.rounds), func(t *testing.T) {
			e := built(t, actor(nil))
			waiting, err := e.Submit(state.Snapshot{}, 0, chain.Schedule(test.rounds))
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.Phase(t.Context(), env.System(), at(core.PhaseBeforeInference, waiting.Snapshot))
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
			if err != nil {
				if !errors.Is(err, engine.ErrTooManyRounds) || !got.Command.IsZero() {
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
	e := built(t, part{"slow", func(r *plugin.Registrar) error {
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
	e := built(t, part{"quick", func(r *plugin.Registrar) error {
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
	waiting, err := built(t, acts(note, later, gone)).Submit(state.Snapshot{}, 0, state.Combine(later.Schedule("later"), gone.Schedule("gone"), note.Schedule("now")))
	if err != nil {
		t.Fatal(err)
	}
	got := run(t, built(t, acts(note, later)), at(core.PhaseBeforeInference, waiting.Snapshot))
	want := map[string]string{
		"/run/tally":                    `["now"]`,
		"/run/reveille.pending_actions": `{"last":3,"queue":[{"action":{"key":"note","payload":"later","phase":"step_end"},"id":1},{"action":{"key":"gone","payload":"gone","phase":"before_inference"},"id":2}]}`,
	}
	if diff := cmp.Diff(want, values(got.Snapshot)); diff != "" {
		t.Error(diff)
	}
}

func TestWhatAnotherCallHasTakenIsNotRunAgain(t *testing.T) {
	e := built(t, part{"acts", func(r *plugin.Registrar) error {
		note.Handle(r, func(_ context.Context, _ plugin.HandlerContext, text string) (state.Command, error) {
			return tally.Update(text), nil
		})
		return nil
	}})
	waiting, err := e.Submit(state.Snapshot{}, 0, state.Combine(note.Schedule("one"), note.Schedule("two"), note.Schedule("three")))
	if err != nil {
		t.Fatal(err)
	}
	m := at(core.PhaseBeforeInference, waiting.Snapshot)
	m.Taken = 2
	if diff := cmp.Diff(`["three"]`, values(run(t, e, m).Snapshot)["/run/tally"]); diff != "" {
		t.Error(diff)
	}
}

func TestAQueueThatCannotBeReadIsThePhasesError(t *testing.T) {
	var sent []string
	damaged := state.Snapshot{}.With(1, map[state.KeyPath]json.RawMessage{{Name: "reveille.pending_actions"}: json.RawMessage(`5`)})
	_, err := built(t, actor(&sent)).Phase(t.Context(), env.System(), at(core.PhaseBeforeInference, damaged))
	want := `phase before_inference: decoding the value of state key "reveille.pending_actions": json: cannot unmarshal number into Go value of type engine.pending`
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
			e := built(t, part{"fails", func(r *plugin.Registrar) error {
				note.Handle(r, func(context.Context, plugin.HandlerContext, string) (state.Command, error) {
					return state.Command{}, errors.New(test.text)
				})
				return nil
			}})
			waiting, err := e.Submit(state.Snapshot{}, 0, notes("one"))
			if err != nil {
				t.Fatal(err)
			}
			failed, err := engine.FailedScheduledActions.Read(run(t, e, at(core.PhaseBeforeInference, waiting.Snapshot)).Snapshot)
			if err != nil || len(failed) != 1 || failed[0].Error != test.want {
				t.Errorf("got %v, %v, want %s", failed, err, test.want)
			}
		})
	}
}

func TestAPayloadThatDoesNotDecodeReachesNoHandler(t *testing.T) {
	var sent []string
	e := built(t, actor(&sent))
	err := errors.Join(e.RunEffects(t.Context(), at("", state.Snapshot{}), []state.Effect{{Key: "mail", Payload: json.RawMessage(`5`)}, {Key: "mail"}})...)
	want := `effect "mail" of plugin "actor": decoding the payload: json: cannot unmarshal number into Go value of type string`
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{""}, sent); diff != "" { // no payload is the zero one
		t.Error(diff)
	}
}

func TestEffectsAllRunAndEachFailureIsReturned(t *testing.T) {
	var sent []string
	e := built(t, actor(&sent), on("mails", core.PhaseStepEnd, func(context.Context, plugin.Context) (state.Command, error) {
		return state.Combine(mail.Emit("a"), mail.Emit("fail"), mail.Emit("b")), nil
	}))
	got := run(t, e, at(core.PhaseStepEnd, state.Snapshot{}))
	if sent != nil {
		t.Errorf("sent before the commit: %v", sent)
	}
	var failed []string
	for _, err := range e.RunEffects(t.Context(), at("", got.Snapshot), append(got.Command.Effects, state.Effect{Key: "nobody"})) {
		failed = append(failed, err.Error())
	}
	if diff := cmp.Diff([]string{`effect "mail" of plugin "actor": no stamp`, `no handler for effect "nobody"`}, failed); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "b"}, sent); diff != "" {
		t.Error(diff)
	}
}

func TestHandleWithoutAHandlerIsAnError(t *testing.T) {
	_, err := engine.New([]plugin.Plugin{part{"bad", func(r *plugin.Registrar) error {
		note.Handle(r, nil)
		mail.Handle(r, nil)
		return nil
	}}}, engine.Options{})
	want := "registering plugin \"bad\": action \"note\" of phase \"before_inference\" has no key or no handler\neffect \"mail\" has no key or no handler"
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
}

// What waits for a phase is named by the newest id of the run, and a command has taken
// from the queue what it removes of the ids that waited before it.
func TestWhatWaitedBeforeACommandIsTakenByIt(t *testing.T) {
	var sent []string
	e := built(t, actor(&sent))
	scheduled, err := e.Submit(state.Snapshot{}, 0, notes("a"))
	if err != nil {
		t.Fatal(err)
	}
	for phase, want := range map[core.Phase]uint64{core.PhaseBeforeInference: 1, core.PhaseStepEnd: 0} {
		if got := e.Waiting(scheduled.Snapshot, phase); got != want {
			t.Errorf("%s: the newest id that waits is %d, want %d", phase, got, want)
		}
	}
	if got := e.Waiting(state.Snapshot{}, core.PhaseBeforeInference); got != 0 {
		t.Errorf("without a queue: %d", got)
	}
	later := plugin.Action[string]{Phase: core.PhaseStepEnd, Name: "later"}
	laters := built(t, part{"laters", func(r *plugin.Registrar) error {
		later.Handle(r, func(context.Context, plugin.HandlerContext, string) (state.Command, error) {
			return state.Command{}, nil
		})
		return nil
	}})
	atEnd, err := laters.Submit(state.Snapshot{}, 0, later.Schedule("x"))
	if err != nil || laters.Waiting(atEnd.Snapshot, core.PhaseStepEnd) != 1 {
		t.Fatalf("an action waits for the end of a step: %v", err)
	}
	if got := e.Waiting(atEnd.Snapshot, core.PhaseStepEnd); got != 0 {
		t.Errorf("without the plugin that handles it %d waits", got)
	}
	ran := run(t, e, at(core.PhaseBeforeInference, scheduled.Snapshot))
	if got := e.Waiting(ran.Snapshot, core.PhaseBeforeInference); got != 0 {
		t.Errorf("after the phase %d waits", got)
	}
	for _, test := range []struct {
		name    string
		command *state.Command
		last    uint64
		want    bool
	}{
		{"the phase that has run the action", &ran.Command, 1, true},
		{"one that came before the action", &ran.Command, 0, false},
		{"a command that only schedules", &scheduled.Command, 1, false},
		{"no command", nil, 1, false},
	} {
		if got := e.Took(test.command, test.last); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
